// The rules, the text that a person is changing, and what policy would say: all judged by the server, nothing runs.
import { computed, signal } from "@preact/signals";
import type { PolicyWhy, PolicyWhyParams, RuleChange, RuleInfo, RuleList, RulesChecked, RulesText } from "../protocol/operations";
import { CallError, socket } from "../protocol/socket";

export type { ClassInfo, LineChange, PolicyWhy, RuleChange, RuleInfo, RuleList, RulesChecked, RulesProblem } from "../protocol/operations";

export type Decide = RuleInfo["decide"];
export const DECISIONS: readonly Decide[] = ["deny", "ask", "allow"];

export const rules = signal<RuleList | null>(null);
export const problem = signal("");

/** The text as the file has it, as far as this page knows. */
export const file = signal<RulesText | null>(null);
/** What a person wrote and did not save; it outlives a look at another screen. */
export const draft = signal<string | null>(null);
export const text = computed(() => draft.value ?? file.value?.text ?? "");
export const isChanged = computed(() => draft.value !== null && draft.value !== file.value?.text);
/** Of `text`, or of one before it while the new one is on its way. */
export const checked = signal<{ text: string; result: RulesChecked } | null>(null);
export const isChecked = computed(() => checked.value?.text === text.value);
/** The file's text, when the file is not any more what the draft was made from. */
export const theirs = signal<RulesText | null>(null);

addEventListener("beforeunload", (event) => isChanged.value && event.preventDefault());

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

export async function loadRules(): Promise<void> {
  try {
    rules.value = await socket.call("rules.list", {});
    problem.value = "";
  } catch (error) {
    problem.value = messageOf(error);
  }
}

/** The file as it is now. A draft stays; when the file moved on under it, that is a conflict. */
export async function loadText(): Promise<void> {
  try {
    const read = await socket.call("rules.text", {});
    problem.value = "";
    if (isChanged.value && file.value && read.hash !== file.value.hash) theirs.value = read;
    else file.value = read;
  } catch (error) {
    problem.value = messageOf(error);
  }
}

let asked = 0;

export async function checkText(wanted: string): Promise<void> {
  const turn = ++asked;
  try {
    const answer = await socket.call("rules.check", { text: wanted });
    if (turn !== asked) return;
    checked.value = { text: wanted, result: answer };
    problem.value = "";
    if (file.value && answer.base !== file.value.hash) await loadText();
  } catch (error) {
    if (turn === asked) problem.value = messageOf(error);
  }
}

/** Whether it was saved; if not, `theirs` says why, or the error is thrown. */
export async function saveText(): Promise<boolean> {
  const saving = text.value;
  try {
    await socket.call("rules.save", { text: saving, base: file.value?.hash ?? "" });
  } catch (error) {
    if (!(error instanceof CallError && error.code === "rules_changed")) throw error;
    await loadText();
    return false;
  }
  draft.value = null;
  checked.value = null;
  await Promise.all([loadText(), loadRules()]);
  return true;
}

/** Go on from their text: with it alone, or with the draft in its place once that was looked at. */
export function settleConflict(keep: "mine" | "theirs"): void {
  file.value = theirs.value;
  theirs.value = null;
  checked.value = null;
  if (keep === "theirs") draft.value = null;
}

export async function revokeStanding(standing: string): Promise<void> {
  await socket.call("approval.revoke", { standing });
  await loadRules();
}

export interface Tried {
  command: string;
  cwd: string;
  mode: "interactive" | "headless";
  profile: "" | "open" | "guarded" | "strict";
  actor: "agent" | "person" | "node";
}

export function why(tried: Tried, draftText: string | null): Promise<PolicyWhy> {
  const { command, cwd, mode, profile, actor } = tried;
  const params: PolicyWhyParams = { cwd, mode, actor };
  if (/^mcp__\S+$/.test(command.trim())) params.tool = command.trim();
  else params.command = command;
  if (profile) params.profile = profile;
  if (draftText !== null) params.text = draftText;
  return socket.call("policy.why", params);
}

export interface OtherOutcome {
  example: string;
  before: Decide;
  after: Decide;
  rule: string;
}

const MOST_EXAMPLES = 40;

/** Examples of the rules that change, with what would become of each before and after, where that differs. */
export async function otherOutcomes(changes: RuleChange[], newText: string): Promise<OtherOutcome[]> {
  const examples = changes.flatMap(({ before, after }) => [before, after].flatMap((rule) => (rule ? [...rule.matches, ...rule.not_matches] : [])));
  const found: OtherOutcome[] = [];
  for (const example of [...new Set(examples)].slice(0, MOST_EXAMPLES)) {
    const tried: Tried = { command: example, cwd: "", mode: "interactive", profile: "", actor: "agent" };
    const [before, after] = await Promise.all([why(tried, null), why(tried, newText)]);
    if (before.decision !== after.decision) found.push({ example, before: before.decision, after: after.decision, rule: after.rule });
  }
  return found;
}

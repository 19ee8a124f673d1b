// Upstreams: the MCP servers behind this one, followed while a screen shows them.
import { signal } from "@preact/signals";
import type { ToolInfo, UpstreamInfo, UpstreamList, UpstreamOffer, UpstreamQuestion } from "../protocol/operations";
import { CallError, socket } from "../protocol/socket";
import { happenedNow } from "./clock";
import { complain, notify } from "./notices";

export type { ToolInfo, UpstreamInfo, UpstreamOffer, UpstreamQuestion } from "../protocol/operations";

/** Well within the time after which a call without an answer means a dead connection. */
const WAIT_MS = 10_000;
const PAUSE_MS = 1_000;
/** Records of the trail that are looked through: a call has two, itself and how it ended. */
const RECORDS = 1_000;

export const upstreams = signal<UpstreamInfo[] | null>(null);
/** Servers that files of open projects name. */
export const offers = signal<UpstreamOffer[]>([]);
/** What servers ask a person. */
export const questions = signal<UpstreamQuestion[]>([]);
export const problem = signal("");
/** What was switched here and is not answered yet. */
const switched = signal<ReadonlyMap<string, boolean>>(new Map());

/** One call of a tool, as the trail has it. */
export interface ToolCall {
  id: string;
  atMs: number;
  actor: string;
  decision: string;
  /** done, or the code of an error; empty while it goes on */
  outcome: string;
}
const called = signal<ReadonlyMap<string, ToolCall[]>>(new Map());
/** Whether the trail goes back further than was looked. */
export const isCut = signal(false);
export const callsOf = (upstream: UpstreamInfo, tool: ToolInfo) => called.value.get(keyOf(upstream, tool)) ?? [];

const inside = (value: unknown) => (typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {});
const text = (value: unknown) => (typeof value === "string" ? value : "");

async function loadCalls(): Promise<void> {
  if (!socket.may("admin")) return;
  const records = await socket.call("audit.list", { operation: "upstreams.call", limit: RECORDS });
  const outcomes = new Map<string, string>();
  const found = new Map<string, ToolCall[]>();
  for (const each of records) {
    const id = text(each["call"]);
    if (each["kind"] === "outcome") outcomes.set(id, text(each["outcome"]));
    if (each["kind"] !== "call") continue;
    const { upstream, tool } = inside(each["arguments"]);
    const key = `${text(upstream)} ${text(tool)}`;
    const call = { id, atMs: Number(each["at_ns"]) / 1e6, actor: text(inside(each["actor"])["name"]), decision: text(inside(each["decision"])["decision"]), outcome: outcomes.get(id) ?? "" };
    found.set(key, [...(found.get(key) ?? []), call]);
  }
  called.value = found;
  isCut.value = records.length === RECORDS;
}

/** Takes every change until the function that is returned is called. */
export function followUpstreams(): () => void {
  let gone = false;
  const follow = async () => {
    let seq: number | null = null;
    while (!gone) {
      try {
        const list: UpstreamList = await socket.call("upstreams.list", seq === null ? {} : { after: seq, wait_ms: WAIT_MS });
        if (gone) return;
        if (seq !== null) for (const each of list.upstreams) if (isNew(each)) happenedNow(each.since);
        seq = list.seq;
        upstreams.value = list.upstreams;
        offers.value = list.offers ?? [];
        questions.value = list.questions ?? [];
        problem.value = "";
        await loadCalls().catch(complain);
      } catch (error) {
        if (gone) return;
        seq = null;
        problem.value = error instanceof Error ? error.message : String(error);
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      }
    }
  };
  void follow();
  return () => {
    gone = true;
  };
}

/** Whether it has come into its state since it was last heard of. */
const isNew = (upstream: UpstreamInfo) => upstreams.value?.some((each) => each.name === upstream.name && each.since !== upstream.since) ?? false;

const keyOf = (upstream: UpstreamInfo, tool?: ToolInfo) => `${upstream.name} ${tool?.name ?? ""}`;

/** As it was last switched here, until the server has answered. */
export const isOn = (upstream: UpstreamInfo, tool?: ToolInfo) => switched.value.get(keyOf(upstream, tool)) ?? (tool ?? upstream).on;

/** Only what is waited for is shown before it is true; an error undoes it. */
export async function turn(upstream: UpstreamInfo, on: boolean, tool?: ToolInfo): Promise<void> {
  const key = keyOf(upstream, tool);
  switched.value = new Map(switched.value).set(key, on);
  try {
    took(await socket.call("upstreams.turn", { upstream: upstream.name, on, ...(tool ? { tool: tool.name } : {}) }));
  } catch (error) {
    complain(error);
  } finally {
    const left = new Map(switched.value);
    left.delete(key);
    switched.value = left;
  }
}

export async function restart(upstream: UpstreamInfo): Promise<void> {
  try {
    const now = await socket.call("upstreams.restart", { upstream: upstream.name });
    if (now) took(now);
    else upstreams.value = (upstreams.value ?? []).filter((each) => each.name !== upstream.name);
  } catch (error) {
    complain(error);
  }
}

/** Where a person signs in to it; empty where there is no such page. */
export async function signInPage(upstream: UpstreamInfo): Promise<string> {
  try {
    const { url } = await socket.call("upstreams.login", { upstream: upstream.name });
    return url && /^https?:/.test(url) ? url : "";
  } catch (error) {
    complain(error);
    return "";
  }
}

export async function signedIn(upstream: UpstreamInfo, returned: string): Promise<void> {
  await socket.call("upstreams.login", { upstream: upstream.name, returned }).catch(complain);
}

/** Accepts tools as they are shown: what changed meanwhile is not accepted unseen. */
export async function accept(upstream: UpstreamInfo, tools: ToolInfo[]): Promise<void> {
  try {
    took(await socket.call("upstreams.trust", { upstream: upstream.name, fingerprint: upstream.fingerprint ?? "", tools: tools.map((each) => each.name) }));
    notify(tools.length === 1 ? `${plainName(tools[0]?.name ?? "")} is accepted as it is` : `${tools.length} tools are accepted as they are`, { kind: "good" });
  } catch (error) {
    if (error instanceof CallError && error.code === "fingerprint_changed") notify("Its tools changed while you looked: nothing was accepted. Look again.", { kind: "bad" });
    else complain(error);
  }
}

/** Starts the servers of a project's file as it is shown: one that changed meanwhile starts nothing. */
export async function acceptOffer(offer: UpstreamOffer): Promise<void> {
  try {
    await socket.call("upstreams.accept", { file: offer.file, fingerprint: offer.fingerprint });
    notify("The servers of this file are started", { kind: "good" });
  } catch (error) {
    if (error instanceof CallError && error.code === "fingerprint_changed") notify("The file changed while you looked: nothing was started. Look again.", { kind: "bad" });
    else complain(error);
  }
}

export async function withdrawOffer(offer: UpstreamOffer): Promise<void> {
  await socket.call("upstreams.withdraw", { file: offer.file }).catch(complain);
}

export async function answerQuestion(question: UpstreamQuestion, action: "accept" | "decline", content: Record<string, unknown> = {}): Promise<void> {
  await socket.call("upstreams.answer", { question: question.id, action, content }).catch(complain);
}

/** Listed to agents always, however many tools there are. */
export async function mark(upstream: UpstreamInfo, tool: ToolInfo, on: boolean): Promise<void> {
  try {
    took(await socket.call("upstreams.mark", { upstream: upstream.name, tool: tool.name, on }));
  } catch (error) {
    complain(error);
  }
}

/** Something of an upstream that can be read, as a message to an agent names it. */
export interface Readable {
  key: string;
  reference: string;
  note: string;
  /** JSON to fill in, where it takes anything. */
  takes?: string;
  /** What it takes, as names and types. */
  about?: string;
  read: (given: Record<string, unknown>) => Promise<string>;
}

const blocksText = (blocks: Record<string, unknown>[]) => blocks.map((each) => text(each["text"]) || text(inside(each["content"])["text"]) || "[not text]").join("\n");

/** Without what was left empty, and as text: so prompts take it. */
const filled = (given: Record<string, unknown>) => Object.fromEntries(Object.entries(given).filter(([, each]) => each !== "").map(([key, each]) => [key, typeof each === "string" ? each : JSON.stringify(each)]));

/** What it must be given, as JSON to fill in: each with an empty value of its type. */
const blank = (names: string[], schemas: Record<string, unknown> = {}) => JSON.stringify(Object.fromEntries(names.map((each) => [each, empty(inside(schemas[each]))])), null, 2);

const EMPTY: Record<string, unknown> = { array: [], object: {}, boolean: false, integer: 0, number: 0 };
const empty = (schema: Record<string, unknown>) => schema["default"] ?? (schema["enum"] as unknown[] | undefined)?.[0] ?? EMPTY[text(schema["type"])] ?? "";

function parameters(schema: Record<string, unknown>): { takes: string; about?: string } {
  const required = (schema["required"] as string[] | undefined) ?? [];
  const known = inside(schema["properties"]);
  const words = Object.keys(known).map((name) => `${plainName(name)} (${[text(inside(known[name])["type"]) || "any", ...(required.includes(name) ? [] : ["optional"])].join(", ")})`);
  return { takes: blank(required, known), ...(words.length && { about: words.join(" · ").slice(0, 600) }) };
}

/** Resources, prompts and tools of all upstreams that can be used. */
export async function browse(): Promise<Readable[]> {
  const list = await socket.call("upstreams.list", {});
  const found = await Promise.all(
    list.upstreams
      .filter((each) => each.state === "ready" || each.state === "idle")
      .map(async ({ name, tools }) => {
        const resources = await socket.call("upstreams.resources", { upstream: name }).then((each) => each.resources, () => []);
        const prompts = await socket.call("upstreams.prompts", { upstream: name }).then((each) => each.prompts, () => []);
        return [
          ...resources.map((each) => ({
            key: `resource ${name} ${text(each["uri"])}`,
            reference: plainName(`@mcp:${name}/${text(each["name"]) || text(each["uri"])}`),
            note: `resource ${text(each["mimeType"])}`.trim(),
            read: async () => blocksText((await socket.call("upstreams.read", { upstream: name, uri: text(each["uri"]) })).contents),
          })),
          ...prompts.map((each) => {
            const takes = (each["arguments"] as { name: string }[] | undefined) ?? [];
            return {
              key: `prompt ${name} ${text(each["name"])}`,
              reference: plainName(`mcp__${name}__${text(each["name"])}`),
              note: "prompt",
              ...(takes.length && { takes: blank(takes.map((argument) => argument.name)) }),
              read: async (given: Record<string, unknown>) =>
                blocksText((await socket.call("upstreams.prompt", { upstream: name, prompt: text(each["name"]), arguments: filled(given) })).messages),
            };
          }),
          ...tools
            .filter((each) => each.usable)
            .map((each) => ({
              key: `tool ${name} ${each.name}`,
              reference: plainName(each.id ?? each.name),
              note: "tool",
              ...parameters(inside(each.input_schema)),
              read: async (given: Record<string, unknown>) => blocksText((await socket.call("upstreams.call", { upstream: name, tool: each.name, arguments: given })).content),
            })),
        ];
      }),
  );
  return found.flat();
}

/** For places that show text as it comes: a name of letters, digits and signs, whatever the upstream made it of. */
export const plainName = (name: string) => name.replace(/[^!-~]/gu, (char) => `⟨U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}⟩`);

function took(changed: UpstreamInfo): void {
  upstreams.value = (upstreams.value ?? []).map((each) => (each.name === changed.name ? changed : each));
}

/** A page's credential that may not change them need not be offered to. */
export const mayChange = () => socket.may("control") && (socket.me.value?.kind ?? "person") === "person";

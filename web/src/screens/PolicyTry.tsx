// What would become of a command: judged as it is typed, by the server's own policy. Nothing runs.
import { useEffect, useState } from "preact/hooks";
import { socket } from "../protocol/socket";
import { notify } from "../state/notices";
import { type PolicyWhy, type Tried, checked, isChanged, isChecked, rules, text, why } from "../state/policy";
import { adjust, route } from "../state/route";
import { Button, Field, Input, Spoken, parts } from "../ui/ui";
import { Decision } from "./PolicyRules";
import { Words } from "./Words";
import css from "./Policy.late.module.css";

const PAUSE_MS = 150;

const REASONS: Record<string, string> = {
  proven: "Every command is known to only read.",
  by_profile: "The profile lets it pass.",
  allowed_by_rule: "A rule allows it.",
  destructive: "Something destructive was found in it.",
  not_allowlisted: "It is literal, but not a use that is known to only read.",
  not_provable: "It is not literal, or cannot be read at all.",
  asked_by_rule: "A rule asks.",
  denied_by_rule: "A rule denies it.",
};

const OUTCOMES = { allow: "It would run.", ask: "A person would be asked first.", deny: "It would be refused." };

const MODES = ["interactive", "headless"] as const;
const PROFILES = ["open", "guarded", "strict"] as const;
const ACTORS = ["agent", "person", "node"] as const;

function oneOf<Word extends string, Other>(words: readonly Word[], wanted: string | null, other: Other): Word | Other {
  return words.find((each) => each === wanted) ?? other;
}

export function Tester() {
  const { query } = route.value;
  const tried: Tried = {
    command: query.get("command") ?? "",
    cwd: query.get("cwd") ?? "",
    mode: oneOf(MODES, query.get("mode"), "interactive"),
    profile: oneOf(PROFILES, query.get("profile"), ""),
    actor: oneOf(ACTORS, query.get("actor"), "agent"),
  };
  const [answer, setAnswer] = useState<PolicyWhy | null>(null);
  const [problem, setProblem] = useState("");
  const [withDraft, setWithDraft] = useState(true);
  const live = socket.connection.value.is === "live";
  const canDraft = isChanged.value && isChecked.value && checked.value?.result.good === true;
  const draftText = canDraft && withDraft ? text.value : null;
  const isBlank = !tried.command.trim();

  useEffect(() => {
    if (!live || isBlank) {
      setAnswer(null);
      setProblem("");
      return;
    }
    let gone = false;
    const timer = setTimeout(() => {
      why(tried, draftText).then(
        (found) => {
          if (gone) return;
          setAnswer(found);
          setProblem("");
        },
        (error: Error) => {
          if (gone) return;
          setAnswer(null);
          setProblem(error.message);
        },
      );
    }, PAUSE_MS);
    return () => {
      gone = true;
      clearTimeout(timer);
    };
    // Rules that were saved or revoked meanwhile may decide otherwise.
  }, [live, draftText, rules.value?.digest, rules.value?.rules.length, ...Object.values(tried)]);

  return (
    <form class={css.tester} aria-label="Try a command" onSubmit={(event) => event.preventDefault()}>
      <h2>Try a command</h2>
      <p class={parts.hint}>Nothing runs: the rules are asked, and no more.</p>
      <Field label="A command line, or a tool (mcp__SERVER__TOOL)">
        <textarea
          class={`${parts.input} ${css.command}`}
          rows={2}
          spellcheck={false}
          autocomplete="off"
          autocapitalize="off"
          placeholder="git push --force origin main"
          value={tried.command}
          onInput={(event) => adjust({ command: event.currentTarget.value })}
        />
      </Field>
      <div class={css.fields}>
        <Field label="Profile">
          <select class={parts.input} value={tried.profile} onChange={(event) => adjust({ profile: event.currentTarget.value })}>
            <option value="">{rules.value ? `${rules.value.profile} (in force)` : "in force"}</option>
            {PROFILES.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </Field>
        <Field label="Mode">
          <select class={parts.input} value={tried.mode} onChange={(event) => adjust({ mode: event.currentTarget.value === "headless" ? "headless" : "" })}>
            {MODES.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </Field>
        <Field label="Who">
          <select class={parts.input} value={tried.actor} onChange={(event) => adjust({ actor: event.currentTarget.value === "agent" ? "" : event.currentTarget.value })}>
            {ACTORS.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </Field>
        <Field label="Directory">
          <Input value={tried.cwd} placeholder="/home/me/project" onInput={(event) => adjust({ cwd: event.currentTarget.value })} class={css.command} />
        </Field>
      </div>
      {canDraft && (
        <label class={css.check}>
          <input type="checkbox" checked={withDraft} onChange={(event) => setWithDraft(event.currentTarget.checked)} /> with my text that is not saved yet
        </label>
      )}
      <div class={css.answer} role="status" aria-live="polite" id="answer" data-is={answer?.decision}>
        {problem && <p class={parts.problem}>{problem}</p>}
        {answer && <Answer answer={answer} command={tried.command} />}
        {isBlank && <p class={parts.hint}>What you type is judged as you type.</p>}
      </div>
      {!isBlank && (
        <div class={parts.row}>
          <Button onClick={() => void navigator.clipboard.writeText(location.href).then(() => notify("The link is copied: it opens this trial", { kind: "good" }))}>Copy link</Button>
          <Button look="quiet" onClick={() => adjust({ command: "", cwd: "", mode: "", profile: "", actor: "" })}>
            Clear
          </Button>
        </div>
      )}
    </form>
  );
}

function Answer({ answer, command }: { answer: PolicyWhy; command: string }) {
  const meant = answer.rules.filter((each) => each.is_meant);
  const [kind, name = ""] = answer.rule.split(/:(.*)/);
  const rule = kind === "rule" ? answer.rules.find((each) => each.name === name) : undefined;
  return (
    <>
      <p class={css.outcome}>
        <Decision is={answer.decision} /> {OUTCOMES[answer.decision]}
      </p>
      {answer.shown !== null && answer.shown !== command && (
        <p class={css.warning}>
          <code>
            <Words text={answer.shown} />
          </code>
        </p>
      )}
      <dl class={css.facts}>
        <div>
          <dt>Decided by</dt>
          <dd>
            <code>{answer.rule}</code>
            {rule && <small>{rule.where}</small>}
          </dd>
        </div>
        <div>
          <dt>Why</dt>
          <dd>
            <span>{REASONS[answer.reason] ?? answer.reason}</span>
            {rule?.why && <Words text={rule.why} />}
            {answer.detail && answer.detail !== rule?.why && !answer.found.length && (
              <small>
                <Words text={answer.detail} />
              </small>
            )}
            {answer.decision === "ask" && !answer.can_ask && <small>No person is present to be asked just now: it would be refused.</small>}
          </dd>
        </div>
        {answer.found.length > 0 && (
          <div>
            <dt>Found</dt>
            <dd>
              <ul>
                {answer.found.map((each) => (
                  <li key={each.name + each.what}>
                    <code>{each.name}</code>
                    {each.grave && " (no rule can allow it)"}: {each.reason}
                    <small>
                      <Words text={each.what} />
                    </small>
                  </li>
                ))}
              </ul>
            </dd>
          </div>
        )}
        {answer.suggestion && (
          <div>
            <dt>Safer</dt>
            <dd>
              <p>
                <Spoken text={answer.suggestion} />
              </p>
            </dd>
          </div>
        )}
        {answer.unreadable.length > 0 && (
          <div>
            <dt>Unreadable</dt>
            <dd>
              {answer.unreadable.map((each) => (
                <small key={each}>
                  <Words text={each} />
                </small>
              ))}
            </dd>
          </div>
        )}
        {answer.commands.length > 0 && (
          <div>
            <dt>Reads as</dt>
            <dd>
              {answer.commands.map((each, index) => (
                <code key={index} class={css.words}>
                  {each.map((word, at) => (
                    <span key={at}>
                      <Words text={word} />
                    </span>
                  ))}
                </code>
              ))}
              {answer.not_literal && <small>Not literal: {answer.not_literal}</small>}
              {answer.not_proven && <small>Not proven: {answer.not_proven}</small>}
            </dd>
          </div>
        )}
        {answer.runs_as && (
          <div>
            <dt>Runs as</dt>
            <dd>
              <code>
                <Words text={answer.runs_as} />
              </code>
            </dd>
          </div>
        )}
        {meant.length > 0 && (
          <div>
            <dt>Rules</dt>
            <dd>
              {meant.map((each) => (
                <p key={each.name + each.where}>
                  <Decision is={each.decide} /> {each.name} <small>{each.where}</small>
                </p>
              ))}
            </dd>
          </div>
        )}
      </dl>
    </>
  );
}

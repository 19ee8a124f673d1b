// A rule of the person's own in place of a question: as narrow as what was asked, theirs to edit, and tried before it is saved.
import { useEffect, useState } from "preact/hooks";
import type { ApprovalInfo, RulesChecked } from "../protocol/operations";
import { socket } from "../protocol/socket";
import { Field, focusOnce, parts } from "../ui/ui";
import { Shown } from "./Shown";
import css from "./card.late.module.css";

const PAUSE_MS = 250;
const MOST_LINES = 5;
/** Words that mean to a rule what they mean to the shell: no quotes, patterns, variables or joins. */
const PLAIN = /^[\w@%+=:,./-]+( [\w@%+=:,./-]+)*$/;

export const canBeRule = (info: ApprovalInfo) => info.command_line !== null && PLAIN.test(info.command_line);

/** Exactly this line, there, by this agent. JSON's strings are TOML's too. */
function narrowest(info: ApprovalInfo): string {
  return [
    "[[policy.rules]]",
    `name = "allowed-${info.id}"`,
    'decide = "allow"',
    `command = [${JSON.stringify(info.command_line)}]`,
    ...(info.cwd ? [`cwd = ${JSON.stringify(info.cwd)}`] : []),
    `actor = ${JSON.stringify(info.actor)}`,
    ...(info.classes.length ? [`even_destructive = ${JSON.stringify(info.classes)}`] : []),
    'why = "allowed when it was asked for"',
  ].join("\n");
}

export interface Save {
  text: string;
  base: string;
}

export function OwnRule({ info, ready }: { info: ApprovalInfo; ready: (save: Save | null) => void }) {
  const [rule, setRule] = useState(() => narrowest(info));
  const [found, setFound] = useState<RulesChecked | null>(null);
  const [problem, setProblem] = useState("");
  useEffect(() => {
    let gone = false;
    ready(null);
    const check = async () => {
      const written = await socket.call("rules.text", {});
      const text = `${written.text.trimEnd()}\n\n${rule.trim()}\n`.trimStart();
      const checked = await socket.call("rules.check", { text });
      if (gone) return;
      setFound(checked);
      setProblem(written.problem ?? "");
      if (checked.good && written.changeable) ready({ text, base: written.hash });
    };
    const timer = setTimeout(() => check().catch((error: Error) => !gone && setProblem(error.message)), PAUSE_MS);
    return () => {
      gone = true;
      clearTimeout(timer);
    };
  }, [rule]);
  const others = found?.lines?.filter((each) => each.command_line !== info.command_line) ?? [];
  const covers = found?.lines?.some((each) => each.command_line === info.command_line && each.after === "allow");
  return (
    <>
      <Field label="This rule is added to your policy">
        <textarea ref={focusOnce} class={parts.input} rows={rule.split("\n").length + 1} spellcheck={false} value={rule} onInput={(event) => setRule(event.currentTarget.value)} />
      </Field>
      {problem && <p class={parts.problem}>{problem}</p>}
      {found?.problems.map((each) => (
        <p key={each.message} class={parts.problem} role="alert">
          {each.message}
          {each.hint && `. ${each.hint}`}
        </p>
      ))}
      {found?.good && (
        <div class={parts.hint} id={`covers-${info.id}`}>
          {covers ? "✓ This line runs unasked from then on." : "This line is still asked about: another rule does, or this one does not cover it."}
          {others.length > 0 && ` Of what was run before, ${others.length} other ${others.length === 1 ? "line is" : "lines are"} decided otherwise:`}
          {others.slice(0, MOST_LINES).map((each) => (
            <div key={each.command_line}>
              {each.before} → {each.after}:{" "}
              <code class={css.shown}>
                <Shown text={each.command_line} most={120} />
              </code>
            </div>
          ))}
        </div>
      )}
    </>
  );
}

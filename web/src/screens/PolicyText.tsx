// The person's rules as text: judged while it is written, looked at before it is saved.
import { useEffect, useRef, useState } from "preact/hooks";
import { socket } from "../protocol/socket";
import { complain, notify } from "../state/notices";
import { type OtherOutcome, type RuleChange, type RulesChecked, checkText, checked, draft, file, isChanged, isChecked, otherOutcomes, rules, saveText, settleConflict, text, theirs } from "../state/policy";
import { Button, focusOnce, parts } from "../ui/ui";
import { Diff } from "./Diff";
import { Decision } from "./PolicyRules";
import { Words } from "./Words";
import css from "./Policy.late.module.css";

const PAUSE_MS = 250;

const EXAMPLE = `[[policy.rules]]
name = "no-publishing"
decide = "deny"                                # deny, ask or allow
command = ["npm publish **"]                   # * within a word, ** for any more words
matches = ["cd pkg && npm publish --tag next"] # checked whenever the rules are read
not_matches = ["npm pack"]
why = "a person publishes"
`;

export function RulesEditor() {
  const [isReview, setReview] = useState(false);
  const now = text.value;
  const read = file.value;
  const live = socket.connection.value.is === "live";
  useEffect(() => {
    if (!live || !read) return;
    const timer = setTimeout(() => void checkText(now), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [live, now, read?.hash]);
  const isConflict = theirs.value !== null;
  useEffect(() => setReview(false), [isConflict]);
  if (!read) return null;
  const readOnly = !read.changeable || !socket.may("admin");
  const result = isChecked.value ? checked.value?.result : undefined;
  const canReview = !readOnly && result?.good === true && (isChanged.value || rules.value?.is_current === false);
  if (isConflict) return <Conflict />;
  if (isReview && canReview) return <Review result={result} onBack={() => setReview(false)} />;
  return (
    <>
      <p class={parts.hint}>
        The rules of <code>{read.file}</code>
        {!read.exists && ", which does not exist yet"}. Other settings of that file stay as they are.
      </p>
      {readOnly && (
        <p class={css.warning} role="status">
          {read.problem ? <Words text={read.problem} /> : "You may read the rules, not change them: that needs the scope admin."}
        </p>
      )}
      <Editor readOnly={readOnly} onReview={() => canReview && setReview(true)} />
      <div class={parts.row}>
        {!readOnly && (
          <Button look="primary" disabled={!canReview} onClick={() => setReview(true)}>
            Review changes…
          </Button>
        )}
        {isChanged.value && (
          <Button look="quiet" onClick={() => (draft.value = null)}>
            Drop my changes
          </Button>
        )}
        {!readOnly && !now.trim() && <Button onClick={() => (draft.value = EXAMPLE)}>Start with an example</Button>}
        <span class={parts.hint} role="status" id="checked">
          {isChecked.value ? (result?.good ? (isChanged.value ? `Good: ${counted(result.rules.length, "rule")}` : "As in the file") : "") : "Checking…"}
        </span>
      </div>
    </>
  );
}

const counted = (count: number, word: string) => (count === 1 ? `one ${word}` : `${count} ${word}s`);

function Editor({ readOnly, onReview }: { readOnly: boolean; onReview: () => void }) {
  const area = useRef<HTMLTextAreaElement>(null);
  const gutter = useRef<HTMLDivElement>(null);
  const now = text.value;
  const lines = now.split("\n");
  // While a new text is being checked what was wrong with the last one stays in sight.
  const problems = checked.value?.result.problems ?? [];
  const bad = new Set(problems.map((each) => each.line));
  const goTo = (line: number, column: number) => {
    const target = area.current;
    if (!target) return;
    const start = lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0);
    // Columns are counted in code points.
    const at = start + [...(lines[line - 1] ?? "")].slice(0, column - 1).join("").length;
    target.focus();
    target.setSelectionRange(at, at);
    target.scrollTop = Math.max(0, (target.scrollHeight / lines.length) * (line - 4));
  };
  return (
    <>
      <div class={css.editor} data-bad={problems.length > 0}>
        <div class={css.gutter} ref={gutter} aria-hidden="true">
          {lines.map((_, index) => (
            <div key={index} data-bad={bad.has(index + 1)}>
              {index + 1}
            </div>
          ))}
        </div>
        <textarea
          ref={area}
          id="rules"
          aria-label="Text of the rules"
          aria-invalid={problems.length > 0}
          aria-describedby="problems"
          spellcheck={false}
          autocomplete="off"
          autocapitalize="off"
          wrap="off"
          readOnly={readOnly}
          rows={Math.min(34, Math.max(14, lines.length + 1))}
          placeholder={EXAMPLE}
          value={now}
          onInput={(event) => (draft.value = event.currentTarget.value)}
          onScroll={(event) => gutter.current && (gutter.current.scrollTop = event.currentTarget.scrollTop)}
          onKeyDown={(event) => {
            if (event.key.toLowerCase() !== "s" || !(event.ctrlKey || event.metaKey) || event.shiftKey) return;
            event.preventDefault();
            onReview();
          }}
        />
      </div>
      <ul id="problems" class={css.problems} aria-live="polite" aria-label="Problems">
        {problems.map((each) => (
          <li key={`${each.line}:${each.column}:${each.message}`}>
            <Button onClick={() => goTo(each.line, each.column)}>Line {each.line}</Button>
            <span>
              <Words text={each.message} />
              {each.hint && (
                <small>
                  <Words text={each.hint} />
                </small>
              )}
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}

function Review({ result, onBack }: { result: RulesChecked; onBack: () => void }) {
  const [other, setOther] = useState<OtherOutcome[] | null>(null);
  const [isSaving, setSaving] = useState(false);
  const before = file.value?.text ?? "";
  const now = text.value;
  useEffect(() => {
    let gone = false;
    otherOutcomes(result.changes, now).then((found) => !gone && setOther(found), complain);
    return () => {
      gone = true;
    };
  }, [result]);
  const save = async () => {
    setSaving(true);
    try {
      if (await saveText()) {
        notify("Saved, and in force", { kind: "good" });
        onBack();
      }
    } catch (error) {
      complain(error);
    }
    setSaving(false);
  };
  return (
    <div class={css.review} id="review" onKeyDown={(event) => event.key === "Escape" && onBack()}>
      <h2 tabIndex={-1} ref={focusOnce}>
        What would change
      </h2>
      <Diff before={before} after={now} label="Lines added and removed" />
      <Changes changes={result.changes} />
      <section>
        <h3>Examples that would be decided otherwise</h3>
        {other === null && <p class={parts.hint}>Trying them…</p>}
        {other?.length === 0 && <p class={parts.hint}>None.</p>}
        <Outcomes list={(other ?? []).map((each) => ({ ...each, line: each.example, cwd: "" }))} />
      </section>
      {result.lines && (
        <section>
          <h3>Of the last calls on the trail</h3>
          {result.lines.length === 0 && <p class={parts.hint}>None would be decided otherwise.</p>}
          <Outcomes list={result.lines.map((each) => ({ ...each, line: each.command_line }))} />
        </section>
      )}
      <div class={parts.row}>
        <Button onClick={onBack}>Back to the text</Button>
        <Button look="primary" disabled={isSaving} onClick={() => void save()}>
          Save, in force at once
        </Button>
      </div>
    </div>
  );
}

const CHANGES: Record<RuleChange["change"], string> = { added: "+ added", removed: "− removed", changed: "~ changed" };

function Changes({ changes }: { changes: RuleChange[] }) {
  return (
    <section>
      <h3>Rules</h3>
      {!changes.length && <p class={parts.hint}>The rules stay the same; only their text changes.</p>}
      <ul class={css.changes}>
        {changes.map(({ name, change, before, after }) => {
          const is = after ?? before;
          return (
            <li key={name} data-is={change}>
              <b>{CHANGES[change]}</b> <code>{name}</code> {before && after && before.decide !== after.decide && <Decision is={before.decide} />}
              {before && after && before.decide !== after.decide && " → "}
              {is && <Decision is={is.decide} />}
            </li>
          );
        })}
      </ul>
    </section>
  );
}

function Outcomes({ list }: { list: { line: string; cwd: string; before: OtherOutcome["before"]; after: OtherOutcome["after"]; rule: string }[] }) {
  if (!list.length) return null;
  return (
    <ul class={css.changes}>
      {list.map((each) => (
        <li key={`${each.cwd}\n${each.line}`}>
          <Decision is={each.before} /> → <Decision is={each.after} />{" "}
          <code>
            <Words text={each.line} />
          </code>{" "}
          <small>
            {each.cwd && `in ${each.cwd} · `}by {each.rule}
          </small>
        </li>
      ))}
    </ul>
  );
}

function Conflict() {
  const [base, other] = [file.value, theirs.value];
  if (!base || !other) return null;
  return (
    <div class={css.review} role="alert" id="conflict">
      <h2>The rules were changed elsewhere meanwhile</h2>
      <p>Your text is not saved, and nothing is lost. This is the change:</p>
      <Diff before={base.text} after={other.text} label="What they changed" />
      <p>And this is what you would change of theirs:</p>
      <Diff before={other.text} after={text.value} label="What you would change" />
      <div class={parts.row}>
        <Button onClick={() => settleConflict("theirs")}>Take theirs, drop mine</Button>
        <Button look="primary" onClick={() => settleConflict("mine")}>
          Go on with mine
        </Button>
      </div>
    </div>
  );
}

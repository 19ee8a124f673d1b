// What servers ask a person: forms, addresses to open, completions to write. Their words, shown as such.
import { useState } from "preact/hooks";
import { type UpstreamQuestion, answerQuestion, plainName, questions } from "../state/tools";
import { Button, Input } from "../ui/ui";
import { Words } from "./Words";
import css from "./Tools.late.module.css";

export function Questions() {
  return (
    <>
      {questions.value.map((each) => (
        <Question key={each.id} question={each} />
      ))}
    </>
  );
}

interface Field {
  type?: string;
  title?: string;
  description?: string;
  enum?: string[];
  default?: unknown;
}

const ASKS: Record<UpstreamQuestion["kind"], string> = { form: "asks you", url: "asks you to open an address", sampling: "asks for a completion" };

function Question({ question }: { question: UpstreamQuestion }) {
  const form = question.form as { properties?: Record<string, Field>; required?: string[] } | null | undefined;
  const fields = Object.entries(form?.properties ?? {});
  const [given, setGiven] = useState<Record<string, unknown>>(() => Object.fromEntries(fields.filter(([, each]) => each.default !== undefined).map(([name, each]) => [name, each.default])));
  const set = (name: string, value: unknown) => setGiven({ ...given, [name]: value });
  return (
    <article class={css.upstream} data-question={question.kind} aria-label={`Question of ${question.upstream}`}>
      <div class={css.head}>
        <h2>
          {question.upstream} {ASKS[question.kind]}
        </h2>
        {question.asker && <span class={css.state}>during a call of {plainName(question.asker)}</span>}
      </div>
      <p class={css.words}>In its own words:</p>
      <p class={css.long}>
        <Words text={question.message} most={2000} />
      </p>
      {question.kind === "sampling" && <pre class={css.long}>{JSON.stringify(question.request["messages"], null, 2).slice(0, 8000)}</pre>}
      {question.url && (
        <p class={css.long}>
          <code>{plainName(question.url)}</code>
        </p>
      )}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (question.url) open(question.url, "_blank", "noopener,noreferrer");
          void answerQuestion(question, "accept", given);
        }}
      >
        {fields.map(([name, each]) => (
          <p key={name}>
            <label>
              {plainName(each.title ?? name)}{" "}
              {each.enum ? (
                <select value={String(given[name] ?? "")} onChange={(event) => set(name, event.currentTarget.value)}>
                  <option value="" />
                  {each.enum.map((word) => (
                    <option key={word}>{word}</option>
                  ))}
                </select>
              ) : each.type === "boolean" ? (
                <input type="checkbox" checked={given[name] === true} onChange={(event) => set(name, event.currentTarget.checked)} />
              ) : (
                <Input
                  value={String(given[name] ?? "")}
                  required={form?.required?.includes(name) ?? false}
                  onInput={(event) => set(name, each.type === "number" || each.type === "integer" ? Number(event.currentTarget.value) : event.currentTarget.value)}
                />
              )}
            </label>
            {each.description && (
              <small>
                {" "}
                <Words text={each.description} most={300} />
              </small>
            )}
          </p>
        ))}
        {question.kind === "sampling" && (
          <p>
            <label>
              Your answer in the model’s place <Input value={String(given["text"] ?? "")} required onInput={(event) => set("text", event.currentTarget.value)} />
            </label>
          </p>
        )}
        <Button type="submit" look="primary">
          {question.kind === "url" ? "Open it" : "Answer"}
        </Button>{" "}
        <Button onClick={() => void answerQuestion(question, "decline")}>Decline</Button>
      </form>
    </article>
  );
}

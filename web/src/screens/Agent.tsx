// A chat with the agent, beside the terminal that it works in.
import { useEffect, useRef, useState } from "preact/hooks";
import { Card } from "../asking/Card";
import { socket } from "../protocol/socket";
import { type ConversationEntryInfo, agentPath, completions, conversations, entries, follow, info, loadConversations, missing, partial, problem, resume, send, stop } from "../state/agent";
import { complain } from "../state/notices";
import { roomy } from "../state/panes";
import { nameHere } from "../state/machines";
import { base, navigate, route, sessionPath } from "../state/route";
import { session as sessionOf, sessions } from "../state/sessions";
import { Button, ago, clockTime, lazy } from "../ui/ui";
import css from "./Agent.late.module.css";
import { Words } from "./Words";

const Pane = lazy(() => import("../terminal/Pane").then((loaded) => loaded.Pane));

const STATES: Record<string, string> = { idle: "ready", running: "working", awaiting_approval: "waits for your approval", failed: "ended early" };

export function Agent() {
  const id = route.value.conversation ?? null;
  const live = socket.connection.value.is === "live";
  useEffect(() => (id ? follow(id) : void 0), [id]);
  useEffect(() => {
    if (live) loadConversations().catch(complain);
  }, [live, id]);
  if (!id) return <List />;
  const works = info.value?.session ? nameHere(info.value.session) : null;
  return (
    <div class={css.agent}>
      <Chat id={id} />
      {roomy.value && works && sessionOf(works) && (
        <div class={css.terminal} data-region>
          <Pane key={works} name={works} />
        </div>
      )}
    </div>
  );
}

function List() {
  const [session, setSession] = useState("");
  return (
    <section class={css.start} data-region aria-label="Agent">
      <h1>Agent</h1>
      <p>Say what you want; watch it happen in a terminal that you share.</p>
      {missing.value && <p class={css.missing} role="status">{missing.value}</p>}
      <label class={css.where}>
        Works in
        <select value={session} onChange={(event) => setSession(event.currentTarget.value)}>
          <option value="">a session of its own</option>
          {sessions.value.filter((each) => each.state !== "exited").map((each) => (
            <option key={each.name} value={each.name}>
              {each.name}
            </option>
          ))}
        </select>
      </label>
      <Say id={null} session={session || null} />
      <ul class={css.list}>
        {(conversations.value ?? []).map((each) => (
          <li key={each.id}>
            <a href={base + agentPath(each.id)} onClick={(event) => (event.preventDefault(), navigate(agentPath(each.id)))}>
              <b>{each.title}</b>
              <small>
                {STATES[each.state]} · {ago(Date.now() - Date.parse(each.created_at))} · {each.tokens_in + each.tokens_out} tokens
              </small>
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Chat({ id }: { id: string }) {
  const log = useRef<HTMLOListElement>(null);
  const now = info.value;
  const shown = entries.value;
  const results = new Map(shown.filter((each) => each.kind === "result").map((each) => [String(each.body["call"]), each]));
  /** A person who reads further up stays there. */
  const atEnd = useRef(true);
  const toEnd = () => {
    if (log.current && atEnd.current) log.current.scrollTop = log.current.scrollHeight;
  };
  useEffect(toEnd, [shown, partial.value, now?.state]);
  useEffect(() => {
    // What unfolds or loads late makes it longer too.
    const list = log.current;
    if (!list) return;
    const watch = new MutationObserver(toEnd);
    watch.observe(list, { childList: true, subtree: true });
    const sized = new ResizeObserver(toEnd); // the buttons below it come and go
    sized.observe(list);
    return () => (watch.disconnect(), sized.disconnect());
  }, []);
  const works = now?.state === "running" || now?.state === "awaiting_approval";
  return (
    <section class={css.chat} data-region aria-label="Conversation">
      <header class={css.head}>
        <Button look="quiet" icon aria-label="All conversations" onClick={() => navigate("agent")}>
          ‹
        </Button>
        <h1>{now?.title ?? "…"}</h1>
        {now?.session && !roomy.value && <Button onClick={() => navigate(sessionPath(nameHere(now.session ?? "")))}>Terminal</Button>}
      </header>
      <ol
        class={css.log}
        ref={log}
        onScroll={(event) => {
          const { scrollHeight, scrollTop, clientHeight } = event.currentTarget;
          atEnd.current = scrollHeight - scrollTop - clientHeight < 40;
        }}
        aria-live="polite" aria-label="Messages and calls" tabIndex={0}>
        {shown.map((each) => (
          <Entry key={each.seq} entry={each} result={results.get(String(each.body["call"]))} />
        ))}
        {partial.value && (
          <li data-is="answer">
            <Answer text={partial.value} />
          </li>
        )}
        {now?.approval && (
          <li data-is="approval">
            <Card info={now.approval} beside />
          </li>
        )}
      </ol>
      {problem.value && <p class={css.missing} role="alert">{problem.value}</p>}
      <footer class={css.foot}>
        <div class={css.state} data-is={now?.state} role="status" id="agent-state">
          <i aria-hidden="true" />
          <span>
            {STATES[now?.state ?? "idle"]}
            {now?.doing && works ? `: ${now.doing}` : ""}
            {now?.state === "failed" ? `: ${now.reason ?? ""}` : ""}
          </span>
          {now && (
            <small>
              {now.tokens_in + now.tokens_out} tokens{now.cost_usd === null ? "" : ` · $${now.cost_usd.toFixed(4)}`}
            </small>
          )}
          {works && (
            <div class={css.stops}>
              <Button look="danger" onClick={() => stop(id, false)}>Stop</Button>
              <Button look="danger" title="And press Ctrl-C where it works" onClick={() => stop(id, true)}>Stop and interrupt</Button>
            </div>
          )}
          {now?.state === "failed" && <Button look="primary" onClick={() => resume(id)}>Resume</Button>}
        </div>
        <Say id={id} session={now?.session ?? null} />
      </footer>
    </section>
  );
}

const FENCED = /^```[^\n]*\n([\s\S]*?)(?:^```[^\S\n]*$\n?|$(?![\s\S]))/m;
const MARKED = /(`[^`\n]+`|\*\*[^*\n]+\*\*|^#{1,6} .+$)/m;

/** The model's words. Of their Markdown, code and what is bold are drawn; all else stands as it came. */
function Answer({ text }: { text: string }) {
  return text.slice(0, 100_000).replace(/ +$/gm, "").split(FENCED).map((piece, at) =>
    at % 2 ? (
      <pre key={at}>
        <Words text={piece.trimEnd()} most={100_000} />
      </pre>
    ) : (
      piece.replace(/^\n+|\n+$/g, "").split(MARKED).map((words, number) => {
        if (number % 2 === 0) return <Spaced key={number} text={words} />;
        const [Is, inner] = words.startsWith("`") ? (["code", words.slice(1, -1)] as const) : (["b", words.replace(/^(#+ |\*\*)|\*\*$/g, "")] as const);
        return <Is key={number}><Words text={inner} /></Is>;
      })
    ),
  );
}

/** Blanks at the ends hide nothing here: something stands before and behind them. */
function Spaced({ text }: { text: string }) {
  const [, before, words = "", behind] = /^([ \n]*)([\s\S]*?)([ \n]*)$/.exec(text) ?? [];
  return <>{before}{words && <Words text={words} most={100_000} />}{behind}</>;
}

const text = (value: unknown) => (typeof value === "string" ? value : "");

function Entry({ entry, result }: { entry: ConversationEntryInfo; result: ConversationEntryInfo | undefined }) {
  const { kind, body } = entry;
  switch (kind) {
    case "message":
      return (
        <li data-is="message" title={clockTime(entry.at)}>
          {body["is_person"] === false && <small>{text(body["by"])}</small>}
          <Words text={text(body["text"]).replace(/ +$/gm, "")} most={20_000} />
        </li>
      );
    case "answer":
      return text(body["text"]) ? (
        <li data-is="answer">
          <Answer text={text(body["text"])} />
        </li>
      ) : null;
    case "call":
      return <Call body={body} result={result?.body} />;
    case "context":
      return (
        <li data-is="note">
          <details>
            <summary>Given with the message: {(body["pieces"] as [string, string][]).map(([name]) => name).join(", ")}</summary>
            {(body["pieces"] as [string, string][]).map(([name, piece]) => (
              <div key={name}>
                <h3>{name}</h3>
                <pre>
                  <Words text={piece} />
                </pre>
              </div>
            ))}
          </details>
        </li>
      );
    case "told":
      return <li data-is="note">{text(body["text"])}</li>;
    case "fault":
      return (
        <li data-is="fault">
          {text(body["text"]) && <p><Words text={text(body["text"])} most={100_000} /></p>}
          {text(body["message"])} [{text(body["code"])}]{typeof body["again_in_s"] === "number" ? `; asking again in ${body["again_in_s"]} s` : ""}
        </li>
      );
    case "limit":
      return <li data-is="note">Limit of {text(body["what"])}: {text(body["reason"])}. {body["granted"] ? "It went on." : "It ended here."}</li>;
    case "summary":
      return <li data-is="note">Earlier parts were summed up for the model; all of them stand here.</li>;
    case "state":
      return body["reason"] ? <li data-is="note">{text(body["reason"])}</li> : null;
    default:
      return null;
  }
}

function Call({ body, result }: { body: Record<string, unknown>; result: Record<string, unknown> | undefined }) {
  const given = (body["arguments"] ?? {}) as Record<string, unknown>;
  const shown = text(given["input"]) || text(given["path"]) || text(given["data"]) || Object.values(given).map(String).join(" ");
  const diff = text(((result?.["details"] ?? {}) as Record<string, unknown>)["diff"]);
  const is = result ? (result["ok"] ? "good" : "bad") : "running";
  return (
    <li data-is="call">
      <details data-end={is} open={Boolean(diff)}>
        <summary>
          <i aria-hidden="true" />
          <b>{text(body["tool"])}</b> <code>{shown.slice(0, 200)}</code>
          <span class="hidden">{is === "good" ? "done" : is === "bad" ? "failed" : "in progress"}</span>
        </summary>
        {diff ? <Changes diff={diff} /> : <pre>{JSON.stringify(given, null, 1)}</pre>}
        {result && !diff && (
          <pre data-end={is}>
            <Words text={text(result["text"])} most={30_000} />
          </pre>
        )}
      </details>
    </li>
  );
}

const SIGNS: Record<string, string> = { "+": "new", "-": "gone", "@": "place" };

function Changes({ diff }: { diff: string }) {
  return (
    <pre class={css.diff} aria-label="What changed" tabIndex={0}>
      {diff.trimEnd().split("\n").map((line, at) => (
        <span key={at} data-is={SIGNS[line[0] ?? ""] ?? "same"}>
          <Words text={line} />
          {"\n"}
        </span>
      ))}
    </pre>
  );
}

function Say({ id, session }: { id: string | null; session: string | null }) {
  const [words, setWords] = useState("");
  const [offered, setOffered] = useState<string[]>([]);
  const box = useRef<HTMLTextAreaElement>(null);
  const mention = /(?:^|\s)@([^\s@]*)$/.exec(words)?.[1];
  useEffect(() => {
    if (mention === undefined) return setOffered([]);
    let gone = false;
    void completions(mention, session).then((found) => !gone && setOffered(found.filter((each) => each !== mention).slice(0, 8)));
    return () => {
      gone = true;
    };
  }, [mention, session]);
  const put = (value: string) => {
    setWords(words.replace(/@[^\s@]*$/, `@${value}`));
    box.current?.focus();
  };
  const submit = async () => {
    if (words.trim() && (await send(words.trim(), id, session))) setWords("");
  };
  return (
    <form class={css.say} onSubmit={(event) => (event.preventDefault(), void submit())}>
      {offered.length > 0 && (
        <ul class={css.offered} aria-label="Completions">
          {offered.map((each) => (
            <li key={each}>
              <button type="button" onClick={() => put(each)}>@{each}</button>
            </li>
          ))}
        </ul>
      )}
      <textarea
        ref={box}
        aria-label="Message to the agent"
        placeholder="What should it do? @ names a file, a block, a session"
        rows={2}
        value={words}
        onInput={(event) => setWords(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Tab" && offered[0]) {
            event.preventDefault();
            put(offered[0]);
          } else if (event.key === "Enter" && !event.shiftKey) {
            event.preventDefault();
            void submit();
          }
        }}
      />
      <Button look="primary" type="submit">Send</Button>
    </form>
  );
}

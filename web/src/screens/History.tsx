// Everything that was ever run, in every session: search by words, newest first without them.
import { useEffect, useState } from "preact/hooks";
import type { BlockInfo, SearchHit } from "../protocol/operations";
import { socket } from "../protocol/socket";
import { nameHere } from "../state/machines";
import { endOf, endWords } from "../state/blocks";
import { ask } from "../state/dialogs";
import { navigate, route } from "../state/route";
import { Input, ago, duration } from "../ui/ui";
import css from "./pages.module.css";

const PAUSE_MS = 150;

interface Found {
  block: BlockInfo;
  hit: SearchHit | null;
}

export function History() {
  const query = route.value.query.get("q") ?? "";
  const failed = route.value.query.get("failed") === "yes";
  const [found, setFound] = useState<Found[] | null>(null);
  const [problem, setProblem] = useState("");
  const live = socket.connection.value.is === "live";

  useEffect(() => {
    if (!live) return;
    let gone = false;
    const timer = setTimeout(() => {
      const asked: Promise<Found[]> = query.trim()
        ? socket.call("history.search", { query, limit: 100, ...(failed ? { failed } : {}) }).then((hits) => hits.map((hit) => ({ block: hit.block, hit })))
        : socket.call("history.list", { limit: 200 }).then((blocks) => blocks.filter((each) => !failed || endOf(each) === "bad").map((block) => ({ block, hit: null })));
      asked.then(
        (list) => {
          if (gone) return;
          setFound(list);
          setProblem("");
        },
        (error: Error) => !gone && setProblem(error.message),
      );
    }, PAUSE_MS);
    return () => {
      gone = true;
      clearTimeout(timer);
    };
  }, [query, failed, live]);

  const go = (next: { q?: string; failed?: boolean }) => {
    const words = new URLSearchParams();
    if (next.q ?? query) words.set("q", next.q ?? query);
    if (next.failed ?? failed) words.set("failed", "yes");
    navigate(`history${words.size ? `?${words}` : ""}`, { replace: true });
  };
  return (
    <section class={css.sheet} data-region aria-label="History">
      <h1>History</h1>
      <search class={css.searchRow}>
        <Input type="search" aria-label="Search all commands and their output" placeholder={'Words, "a phrase", prefix*'} value={query} autofocus onInput={(event) => go({ q: event.currentTarget.value })} />
        <label>
          <input type="checkbox" checked={failed} onChange={(event) => go({ failed: event.currentTarget.checked })} /> only failed
        </label>
      </search>
      {problem && <p role="alert">{problem}</p>}
      {found && !found.length && <p>{query ? `Nothing that was run holds “${query}”.` : failed ? "Nothing that was run has failed." : "Nothing was run yet. Every command of every session is kept here with its output, whether a person or an agent ran it: search for any word of either."}</p>}
      <ul class={css.hits} id="hits">
        {found?.map(({ block, hit }) => (
          <li key={block.id + (hit?.field ?? "")} class={css.hit} data-is={endOf(block)}>
            <button type="button" onClick={() => ask({ is: "block", session: nameHere(block.session), block: block.id })}>
              <header>
                <code>{block.command_line ?? "(unknown)"}</code>
                <b class={css.code} data-is={endOf(block)}>{endWords(block)}</b>
                <small>
                  {block.session} · {ago(Date.now() - Date.parse(block.started_at))}
                  {block.duration_ms !== null && ` · ${duration(block.duration_ms)}`}
                </small>
              </header>
              {hit?.field === "output" && <Snippet hit={hit} />}
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Snippet({ hit }: { hit: SearchHit }) {
  const parts = [];
  // Places are counted in code points, strings here in UTF-16 units.
  const chars = [...hit.snippet];
  let at = 0;
  for (const [start, end] of hit.matches) {
    parts.push(chars.slice(at, start).join(""), <mark key={start}>{chars.slice(start, end).join("")}</mark>);
    at = end;
  }
  return (
    <pre>
      {parts}
      {chars.slice(at).join("")}
    </pre>
  );
}

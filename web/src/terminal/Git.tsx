// The repository that a session stands in, as `duetty context git` tells it: one line in the head, its files on demand.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { GitState } from "../protocol/operations";
import { socket } from "../protocol/socket";
import { session as sessionOf } from "../state/sessions";
import { Words } from "../screens/Words";
import { px } from "../ui/ui";
import css from "./Git.late.module.css";
import type { TerminalView } from "./view";

export function Git({ view }: { view: TerminalView }) {
  const [state, setState] = useState<GitState | null>(null);
  const [open, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const cwd = sessionOf(view.session)?.cwd;
  const ended = view.blocks.list.value.find((each) => !each.running)?.id;
  const live = socket.connection.value.is === "live";

  useEffect(() => {
    if (!live) return;
    let gone = false;
    socket.call("context.git", { session: view.session }).then(
      (found) => gone || setState(found.root === null ? null : found),
      () => gone || setState(null),
    );
    return () => {
      gone = true;
    };
  }, [view, cwd, ended, live]);

  useLayoutEffect(() => {
    const shown = list.current;
    if (!open || !shown || !button.current) return;
    const at = button.current.getBoundingClientRect();
    shown.showPopover();
    shown.style.top = px(at.bottom + 4);
    shown.style.left = px(Math.max(8, Math.min(at.left, innerWidth - shown.offsetWidth - 8)));
    shown.focus();
  }, [open]);

  if (!state) return null;
  const parts = [
    { title: "Staged", files: state.staged },
    { title: "Modified", files: state.modified },
    { title: "Untracked", files: state.untracked.map((path) => ({ path, change: "" })) },
  ].filter((each) => each.files.length > 0);
  const counts = parts.map((each) => `${each.files.length}${state.truncated ? "+" : ""} ${each.title.toLowerCase()}`).join(", ") || "nothing changed";
  const where = state.branch ?? `detached ${state.commit?.slice(0, 7) ?? ""}`;
  const away = [state.ahead ? `↑${state.ahead}` : "", state.behind ? `↓${state.behind}` : ""].join("");
  const awayWords = [state.ahead ? `, ${state.ahead} ahead` : "", state.behind ? `, ${state.behind} behind` : ""].join("");
  const changed = new Set(parts.flatMap((each) => each.files.map((file) => file.path))).size;
  return (
    <>
      <button
        ref={button}
        type="button"
        class={css.chip}
        aria-label={`Git: ${where}${awayWords}; ${counts}`}
        aria-expanded={open}
        title={`${counts}${state.upstream ? `\nfollows ${state.upstream}${awayWords}` : ""}`}
        onClick={() => setOpen(true)}
      >
        <span class={css.branch}>⎇ {where}</span>
        {away && <span class={css.away}>{away}</span>}
        {changed > 0 && <span class={css.changed}>±{changed}</span>}
      </button>
      {open && (
        <div
          ref={list}
          popover="auto"
          role="dialog"
          aria-label="Changes in the repository"
          tabIndex={-1}
          class={css.list}
          onToggle={(event) => {
            if (event.newState !== "closed") return;
            setOpen(false);
            if (!document.activeElement || document.activeElement === document.body) button.current?.focus();
          }}
        >
          <p>
            <b>
              <Words text={where} />
            </b>{" "}
            in <Words text={state.root ?? ""} />
            <br />
            {state.upstream ? (
              <>
                {awayWords ? awayWords.slice(2) : "as"} {awayWords ? "of " : ""}
                <Words text={state.upstream} />
              </>
            ) : (
              "follows no other branch"
            )}
          </p>
          {parts.length === 0 && <p>Nothing changed.</p>}
          {parts.map(({ title, files }) => (
            <section key={title}>
              <h2>
                {title} ({files.length})
              </h2>
              <ul>
                {files.map((file) => (
                  <li key={file.path}>
                    <Words text={file.path} />
                    <small>{file.change.replace("_", " ")}</small>
                  </li>
                ))}
              </ul>
            </section>
          ))}
          {state.truncated && <p>There is more: `git status` in the terminal shows all.</p>}
        </div>
      )}
    </>
  );
}

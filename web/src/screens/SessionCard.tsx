// One session in a list: its last rows as text, its name, what it does. Only cards on screen ask for rows.
import { useEffect, useRef } from "preact/hooks";
import { ask } from "../state/dialogs";
import { awayWords, machineOf, shortName } from "../state/machines";
import { openSession } from "../state/panes";
import { prefs } from "../state/prefs";
import { base, navigate, recordingPath, sessionPath } from "../state/route";
import { type SessionInfo, isWaiting, othersWatching, quietMs, showThumb, shownState, thumbOf } from "../state/sessions";
import { Dot, Menu, ago, stateWords } from "../ui/ui";
import css from "./shell.module.css";

/** One for all cards. */
const watched = new WeakMap<Element, (visible: boolean) => void>();
const observer = new IntersectionObserver((entries) => entries.forEach((each) => watched.get(each.target)?.(each.isIntersecting)), { rootMargin: "60px" });

export function SessionCard({ session, current, rows }: { session: SessionInfo; current: boolean; rows: number }) {
  const card = useRef<HTMLLIElement>(null);
  const lines = thumbOf(session.name).value;
  useEffect(() => {
    const element = card.current;
    if (!element) return;
    let stop: (() => void) | null = null;
    watched.set(element, (visible) => {
      if (visible && !session.away_since) stop ??= showThumb(session.name);
      else {
        stop?.();
        stop = null;
      }
    });
    observer.observe(element);
    return () => {
      observer.unobserve(element);
      watched.delete(element);
      stop?.();
    };
  }, [session.name, session.away_since]);
  const exited = session.state === "exited";
  const away = session.away_since;
  return (
    <li ref={card} class={`${css.card} ${exited || away ? css.gone : ""}`} data-current={current} data-waits={isWaiting(session)} data-session={session.name}>
      <a
        href={base + sessionPath(session.name)}
        aria-current={current ? "page" : undefined}
        onClick={(event) => {
          if (event.ctrlKey || event.metaKey || event.shiftKey) return;
          event.preventDefault();
          openSession(session.name);
        }}
      >
        <pre class={css.thumb} aria-hidden="true">
          {/* One text: a hundred cards with an element for each row are slow to lay out. */}
          <span>{(session.state === "fullscreen" ? lines?.slice(0, rows) : lines?.slice(-rows))?.join("\n")}</span>
        </pre>
        <div class={css.title}>
          <Dot state={shownState(session)} bad={(session.exit_code ?? 0) !== 0 || session.exit_signal !== null} />
          <b>{shortName(session.name)}</b>
        </div>
        <div class={css.meta}>{away ? awayWords(away) : metaOf(session)}</div>
      </a>
      <div class={css.more} hidden={!!away}>
        <Menu
          label={`Actions for ${session.name}`}
          items={[
            { label: "Open", run: () => openSession(session.name) },
            { label: "Rename…", run: () => ask({ is: "rename", session: session.name }) },
            { label: "Tags…", run: () => ask({ is: "tags", session: session.name }) },
            { label: "Play recording", run: () => navigate(recordingPath(session.name)) },
            { label: exited ? "Remove…" : "End…", run: () => ask({ is: "end", session: session.name }) },
          ]}
        >
          ⋯
        </Menu>
      </div>
    </li>
  );
}

function metaOf(session: SessionInfo) {
  const others = othersWatching(session);
  const machine = machineOf(session.name);
  const rest = [
    ...(machine && (isWaiting(session) || prefs.value.groupBy !== "none") ? [machine] : []),
    ...(session.state === "exited" ? [] : [ago(quietMs(session))]),
    ...(others > 0 ? [`${others} watching`] : []),
    ...session.tags.map((tag) => `#${tag}`),
  ];
  const end = session.exit_signal ?? (session.exit_code === null ? "unknown" : `code ${session.exit_code}`);
  const word =
    session.state === "exited" ? (
      session.exit_code === 0 ? <>exited, {end}</> : <strong>exited, {end}</strong>
    ) : isWaiting(session) ? (
      <em>{stateWords[shownState(session)]}</em>
    ) : (
      <>{stateWords[session.state]}</>
    );
  return (
    <>
      {word}
      {rest.map((each) => ` · ${each}`)}
    </>
  );
}

// One session, whole: its head, the command in sight, the terminal with what agents drew, and its state in words.
import { useSignal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { socket } from "../protocol/socket";
import { asksIn } from "../state/approvals";
import { endOf, endWords } from "../state/blocks";
import { ask } from "../state/dialogs";
import { shownKeys } from "../state/keys";
import { machineOf, nameOn } from "../state/machines";
import { complain, notify, say } from "../state/notices";
import { closePane, current, focusMode, layout, leaves, listShown, openSession, sideShown, toggleList, toggleSide } from "../state/panes";
import { prefs } from "../state/prefs";
import { navigate, recordingPath, route } from "../state/route";
import { createdHere } from "../state/created";
import { isWaiting, loaded, othersWatching, session as sessionOf, shownState } from "../state/sessions";
import { addView, views } from "../state/views";
import { Button, Dot, Menu, bytes, duration, lazy, loadAhead, px, stateWords } from "../ui/ui";
import css from "../screens/session.module.css";
import { copySelection, copyWithColours, pasteClipboard } from "./clipboard";
import { Drawing } from "./Drawing";
import { PhoneKeys } from "./PhoneKeys";
import { Side } from "./Side";
import { TerminalView } from "./view";

const loadFindBar = () => import("./FindBar").then((loaded) => loaded.FindBar);
const loadPager = () => import("./Pager").then((loaded) => loaded.Pager);
const loadTextView = () => import("./TextView").then((loaded) => loaded.TextView);
const FindBar = lazy(loadFindBar);
const Pager = lazy(loadPager);
const TextView = lazy(loadTextView);
const Git = lazy(() => import("./Git").then((loaded) => loaded.Git));
const Asks = lazy(() => import("../asking/Cards").then((loaded) => loaded.Asks));
// After the terminal itself, before a person opens them.
loadAhead(1000, loadFindBar, loadPager, loadTextView);

declare global {
  interface Window {
    /** The open terminals by session, for tests and the curious. */
    duettyViews?: Map<string, TerminalView>;
  }
}
window.duettyViews ??= new Map();

export function Pane({ name }: { name: string }) {
  const host = useRef<HTMLDivElement>(null);
  const stage = useRef<HTMLDivElement>(null);
  const [view, setView] = useState<TerminalView | null>(null);
  const finding = useSignal(false);
  const asText = useSignal(false);
  const paging = useSignal(false);
  const info = sessionOf(name);
  const isCurrent = current.value === name;
  // The name of a session that was removed, or was not there, may become another's.
  const [opened, setOpened] = useState("");
  const successor = view?.stream.ended.value && info && info.id !== view.stream.id ? info.id : "";
  useEffect(() => {
    if (successor) setOpened(successor);
  }, [successor]);

  useEffect(() => {
    if (!host.current || !stage.current) return;
    const made = new TerminalView(host.current, stage.current, name, prefs.value.fitOnOpen || createdHere.delete(name));
    window.duettyViews?.set(name, made);
    const forget = addView({
      get session() {
        return made.session;
      },
      focus: () => made.term.focus(),
      find: () => {
        made.term.blur(); // what is typed from here on is meant for the search
        finding.value = true;
      },
      toCommand: (step) => toCommand(made, step),
      toBlock: (number) => toBlock(made, number),
      copy: () => void copySelection(made.term),
      paste: () => void pasteClipboard(made.term),
      takeControl: () => void takeControl(made),
      toggleHold: () => made.hold(!made.stream.holds.value),
      toggleText: () => (asText.value = !asText.value),
      openScrollback: () => (paging.value = true),
      copyWithColours: () => void copyWithColours(made.term).catch(complain),
      send: (text) => made.stream.type(text),
    });
    setView(made);
    return () => {
      forget();
      window.duettyViews?.delete(name);
      made.dispose();
    };
  }, [name, opened]);

  useEffect(() => {
    if (isCurrent && view && matchMedia("(pointer: fine)").matches) view.term.focus();
  }, [isCurrent, view]);

  useEffect(
    () =>
      view?.wantsOlder.subscribe((wanted) => {
        if (!wanted) return;
        view.wantsOlder.value = false;
        paging.value = true;
      }),
    [view],
  );

  const wanted = isCurrent ? route.value.query.get("block") : null;
  useEffect(() => {
    if (!view || !wanted) return;
    // A link to a command: to its row when it is still here, else its output in a dialog.
    let done = false;
    return view.blocks.settled.subscribe((settled) => {
      if (!settled || done) return;
      done = true;
      if (!toBlock(view, Number(wanted))) ask({ is: "block", session: name, block: wanted });
    });
  }, [view, wanted]);

  const live = socket.connection.value.is === "live";
  const withSide = view !== null && isCurrent && sideShown.value && !focusMode.value && leaves(layout.value).length === 1;
  const captured = view?.stream.elements.value?.input_mode === "capture";
  const shows = view?.stream.size.value;
  return (
    <section
      class={css.pane}
      data-region
      data-current={isCurrent}
      data-pane={name}
      aria-label={`Session ${name}`}
      onFocusCapture={() => {
        if (!isCurrent) openSession(name);
      }}
    >
      {!focusMode.value && <Head name={name} view={view} asText={asText.value} />}
      {!withSide && info && asksIn(info) && <Asks key="asks" session={info} />}
      {captured && view ? (
        <div key="capture" class={css.capture} role="alert">
          <span>
            Keys go to <b>{view.stream.capturedBy.value ?? "an agent"}</b>. Esc twice takes them back.
          </span>
          <Button look="primary" onClick={() => void takeControl(view)}>
            Take control
          </Button>
        </div>
      ) : (
        view && !focusMode.value && <Sticky view={view} />
      )}
      {/* With a key: a terminal must never be made anew because something above it came or went. */}
      <div key="middle" class={css.middle}>
        {view && <Gutter view={view} />}
        <div key="stage" ref={stage} data-scroll={(view?.fitting.magnified.value ?? 1) > 1} class={`${css.stage} ${shows && shows.holder !== "you" ? css.letterbox : ""} ${captured ? css.captured : ""}`}>
          <div
            class={`${css.grid} ${live ? "" : css.stale}`}
            style={shows && view ? { width: px(shows.cols * view.fitting.viewport.value.cellWidth), height: px(shows.rows * view.fitting.viewport.value.cellHeight) } : undefined}
          >
            <div key="terminal" ref={host} class={css.terminal} style={{ top: px(shows && view ? shows.top * view.fitting.viewport.value.cellHeight : 0) }} onClick={() => view?.term.focus()} />
            {view?.stream.elements.value && shows && (
              <Drawing elements={view.stream.elements.value} size={shows} viewport={view.fitting.viewport.value} dismiss={(kind, id) => void dismissElement(view, kind, id)} />
            )}
          </div>
        </div>
        {view && finding.value && <FindBar view={view} close={() => ((finding.value = false), view.term.focus())} />}
        {view && paging.value && <Pager view={view} close={() => ((paging.value = false), view.term.focus())} />}
        {view && asText.value && <TextView view={view} close={() => ((asText.value = false), view.term.focus())} />}
        {view?.stream.ended.value && <Ended name={name} reason={view.stream.ended.value.reason} hint={view.stream.ended.value.hint} />}
        {!view?.stream.ended.value && loaded.value && !info && view && !view.stream.ready.value && <Ended name={name} reason={`There is no session ${name}`} />}
        <div key="strips" class={css.strips}>
          {view && focusMode.value && isCurrent && (
            <Button class={css.leave ?? ""} icon aria-label="Leave focus mode" title={`Leave focus mode (${shownKeys("Ctrl+Shift+Enter")})`} onClick={() => ((focusMode.value = false), view.term.focus())}>
              ✕
            </Button>
          )}
          {view && view.stream.skipped.value > 0 && (
            <div class={css.strip} role="status">
              <span>Too much to show: {bytes(view.stream.skipped.value)} skipped. This is the latest; the recording has everything.</span>
              <Button onClick={() => navigate(recordingPath(name))}>Open recording</Button>
            </div>
          )}
          {info?.state === "exited" && (
            <div class={css.strip} role="status">
              <span>
                The process ended{info.exit_signal ? ` by ${info.exit_signal}` : info.exit_code === null ? "" : ` with code ${info.exit_code}`}. Its screen and history stay.
              </span>
              <Button onClick={() => navigate(recordingPath(name))}>Play recording</Button>
              <Button onClick={() => void openAgain(name)}>Open again</Button>
              <Button look="danger" onClick={() => ask({ is: "end", session: name })}>
                Remove…
              </Button>
            </div>
          )}
          {info?.degraded && (
            <div class={css.strip} role="status">
              <span>Not everything is kept: {info.degraded}</span>
            </div>
          )}
        </div>
        {view && withSide && <Side view={view} />}
      </div>
      {view && info?.state !== "exited" && socket.may("input") && <PhoneKeys view={view} />}
    </section>
  );
}

function Head({ name, view, asText }: { name: string; view: TerminalView | null; asText: boolean }) {
  const info = sessionOf(name);
  const size = view?.stream.size.value;
  const several = leaves(layout.value).length > 1;
  const mayType = socket.may("input");
  const mayControl = socket.may("control");
  const others = info ? othersWatching(info) : 0;
  return (
    <header class={css.paneHead}>
      <div class={css.who}>
        <Dot state={info ? shownState(info) : "unknown"} bad={(info?.exit_code ?? 0) !== 0} />
        <b>{name}</b>
        {info && (
          <span class={css.badge} data-kind={isWaiting(info) ? "wait" : info.state === "exited" && info.exit_code !== 0 ? "bad" : "plain"}>
            {stateWords[shownState(info)]}
          </span>
        )}
        <span class={css.cwd}>{info?.title && info.title !== name ? `${info.title} · ` : ""}{info?.cwd}</span>
        {view && <Git key={view.session} view={view} />}
      </div>
      {size && (
        <span class={`${css.badge} ${css.sizeInfo}`} title={holderWords[size.holder]}>
          {size.cols}×{size.rows}
          {others > 0 ? ` · ${others} more watching` : ""}
        </span>
      )}
      <div class={css.buttons}>
        {!mayType && <span class={css.badge} title="What you type here goes nowhere">view only</span>}
        {view && mayType && (
          <Button look="quiet" aria-pressed={view.stream.holds.value} title={`${size ? holderWords[size.holder] : ""} (${shownKeys("Ctrl+Shift+G")})`} onClick={() => view.hold(!view.stream.holds.value)}>
            Fit
          </Button>
        )}
        {mayType && <Button class={css.wide ?? ""} title={`Keys and size to you (${shownKeys("Ctrl+Shift+.")})`} onClick={() => view && void takeControl(view)}>
          Take control
        </Button>}
        {socket.may("admin") && <Button class={css.wide ?? ""} onClick={() => navigate(`share?session=${encodeURIComponent(name)}`)}>
          Share
        </Button>}
        <Menu
          label={`More for ${name}`}
          items={[
            { label: "Find…", keys: shownKeys("Ctrl+Shift+F"), run: () => view && sendView(name, "find") },
            { label: asText ? "Terminal" : "Text view", keys: shownKeys("Ctrl+Shift+X"), run: () => sendView(name, "toggleText") },
            { label: "All scrollback", run: () => sendView(name, "openScrollback") },
            { label: "Copy with colours", run: () => sendView(name, "copyWithColours") },
            ...(mayType
              ? [
                  { label: "Take control", keys: shownKeys("Ctrl+Shift+."), run: () => view && void takeControl(view) },
                  { label: view?.stream.holds.value ? "Give the size up" : "Fit to my window", keys: shownKeys("Ctrl+Shift+G"), run: () => view?.hold(!view.stream.holds.value) },
                ]
              : []),
            { label: "Focus mode", keys: shownKeys("Ctrl+Shift+Enter"), run: () => (focusMode.value = true) },
            { label: sideShown.value ? "Hide commands" : "Show commands", keys: shownKeys("Ctrl+Shift+B"), run: toggleSide },
            { label: listShown.value ? "Hide sessions" : "Show sessions", keys: shownKeys("Ctrl+Shift+L"), run: toggleList },
            { label: "Play recording", run: () => navigate(recordingPath(name)) },
            ...(socket.may("admin") ? [{ label: "Share…", run: () => navigate(`share?session=${encodeURIComponent(name)}`) }] : []),
            ...(mayControl ? [{ label: "Rename…", run: () => ask({ is: "rename", session: name }) }, { label: "Tags…", run: () => ask({ is: "tags", session: name }) }] : []),
            ...(several ? [{ label: "Close pane", keys: shownKeys("Ctrl+Shift+Q"), run: () => closePane(name) }] : []),
            ...(mayControl ? [{ label: info?.state === "exited" ? "Remove…" : "End…", run: () => ask({ is: "end", session: name }) }] : []),
          ]}
        >
          ⋯
        </Menu>
      </div>
    </header>
  );
}

const holderWords = {
  you: "Your window sets the size",
  other: "Another viewer sets the size; you see all of it, scaled",
  nobody: "No window sets the size; you see all of it, scaled",
};

function sendView(name: string, what: "find" | "toggleText" | "openScrollback" | "copyWithColours"): void {
  views.value.get(name)?.[what]();
}

function Sticky({ view }: { view: TerminalView }) {
  const { top, rows, atBottom } = view.fitting.viewport.value;
  const marks = view.blocks.marks.value;
  // The command that the first row shown belongs to; at the bottom, the latest one.
  const above = marks.filter((each) => each.row <= top).at(-1);
  const mark = atBottom ? marks.at(-1) ?? above : above ?? marks.find((each) => each.row < top + rows);
  const block = mark?.block ?? (atBottom ? view.blocks.list.value[0] : undefined);
  // Always there: a row that came and went would change the size of what is below.
  if (!block) return <div class={css.sticky}><span>{view.blocks.list.value.length ? "" : "no command yet"}</span></div>;
  return (
    <button type="button" class={css.sticky} id="sticky" title="To this command" onClick={() => (mark ? view.term.scrollToLine(mark.row) : ask({ is: "block", session: view.session, block: block.id }))}>
      <b class={css.code} data-is={endOf(block)}>{endWords(block)}</b>
      <code>{block.command_line}</code>
      <span>{duration(block.duration_ms)}</span>
    </button>
  );
}

function Gutter({ view }: { view: TerminalView }) {
  const { top, rows, cellHeight, alternate } = view.fitting.viewport.value;
  const offset = (view.stream.size.value?.top ?? 0) * cellHeight + 4;
  return (
    <div class={css.gutter} role="group" aria-label="Commands in sight">
      {!alternate &&
        view.blocks.marks.value
          .filter((each) => each.row >= top && each.row < top + rows)
          .map(({ block, row }) => (
            <button
              key={block.id}
              type="button"
              class={css.mark}
              data-is={endOf(block)}
              style={{ top: px(offset + (row - top) * cellHeight), height: px(cellHeight) }}
              aria-label={`${block.command_line ?? "command"}: ${endWords(block)}`}
              title={`${block.command_line ?? ""}\n${endWords(block)}  ${duration(block.duration_ms)}`}
              onClick={() => ask({ is: "block", session: view.session, block: block.id })}
            />
          ))}
    </div>
  );
}

function Ended({ name, reason, hint }: { name: string; reason: string; hint?: string | undefined }) {
  const words: Record<string, string> = { removed: `${name} was removed` };
  return (
    <div class={css.centre} role="alert">
      <h2>{words[reason] ?? reason}</h2>
      {hint && <p>{hint}</p>}
      <div>
        <Button onClick={() => navigate("")}>All sessions</Button>
      </div>
    </div>
  );
}

function toCommand(view: TerminalView, step: -1 | 1): void {
  const { top, atBottom, rows } = view.fitting.viewport.value;
  const marks = view.blocks.marks.value;
  const cursor = atBottom && step < 0 ? top + rows : top;
  const target = step < 0 ? marks.filter((each) => each.row < (atBottom ? top : cursor)).at(-1) ?? marks[0] : marks.find((each) => each.row > top);
  if (!target) {
    if (step > 0) view.term.scrollToBottom();
    return;
  }
  view.term.scrollToLine(target.row);
  view.blocks.here.value = target.block.number;
  say(`${target.block.command_line ?? "command"}, ${endWords(target.block)}`);
}

function toBlock(view: TerminalView, number: number): boolean {
  const found = view.blocks.marks.value.find((each) => each.block.number === number);
  if (!found) return false;
  view.blocks.here.value = number;
  view.term.scrollToLine(found.row);
  return true;
}

async function takeControl(view: TerminalView): Promise<void> {
  try {
    if (view.stream.elements.value?.input_mode === "capture") await socket.call("input.release", { session: view.session });
    view.hold(true);
    view.term.focus();
    say("You have control");
  } catch (error) {
    complain(error);
  }
}

async function dismissElement(view: TerminalView, kind: "overlay" | "panel", id: string): Promise<void> {
  try {
    if (kind === "overlay") await socket.call("overlay.delete", { session: view.session, id });
    else await socket.call("panel.delete", { session: view.session, id });
  } catch (error) {
    complain(error);
  }
}

async function openAgain(name: string): Promise<void> {
  const before = sessionOf(name);
  if (!before) return;
  try {
    const made = await socket.call("session.open", { command: before.command, cwd: before.cwd, tags: before.tags, cols: before.cols, rows: before.rows }, machineOf(name));
    const opened = nameOn(made, machineOf(name));
    openSession(opened);
    notify(`Opened ${opened}`, { kind: "good" });
  } catch (error) {
    complain(error);
  }
}

// What is around every screen: the bar, the list, the state of the connection, dialogs and notices.
import { Fragment } from "preact";
import { useEffect, useState } from "preact/hooks";
import { type Connection, socket } from "../protocol/socket";
import { asked, bypasses } from "../state/approvals";
import { ask, dialog } from "../state/dialogs";
import { nextWaiting, shownKeys } from "../state/keys";
import { machine } from "../state/machines";
import { alarmed, dismiss, notices, spoken } from "../state/notices";
import { current, focusMode, listShown, roomy } from "../state/panes";
import { type Route, base, navigate, route } from "../state/route";
import { waiting } from "../state/sessions";
import { Button, Kbd, Menu, lazy, loadAhead, parts } from "../ui/ui";
import { Logo } from "../ui/logo";
import { SessionList } from "./SessionList";
import { Sessions } from "./Sessions";
import css from "./shell.module.css";

const SignIn = lazy(() => import("./SignIn").then((loaded) => loaded.SignIn));
const loadSession = () => import("./Session").then((loaded) => loaded.Session);
const Session = lazy(loadSession);
// At once where a session is what was asked for; else before it is, when there is nothing better to do.
loadAhead(route.peek().screen === "session" ? 0 : 1500, loadSession);
const History = lazy(() => import("./History").then((loaded) => loaded.History));
const Recordings = lazy(() => import("./Recordings").then((loaded) => loaded.Recordings));
const Recording = lazy(() => import("./Recording").then((loaded) => loaded.Recording));
const Settings = lazy(() => import("./Settings").then((loaded) => loaded.Settings));
const Share = lazy(() => import("./Share").then((loaded) => loaded.Share));
const Approvals = lazy(() => import("./Approvals").then((loaded) => loaded.Approvals));
const Audit = lazy(() => import("./Audit").then((loaded) => loaded.Audit));
const Tools = lazy(() => import("./Tools").then((loaded) => loaded.Tools));
const Agent = lazy(() => import("./Agent").then((loaded) => loaded.Agent));
const Policy = lazy(() => import("./Policy").then((loaded) => loaded.Policy));
const Unasked = lazy(() => import("./Unasked").then((loaded) => loaded.Unasked));
const MachineChoice = lazy(() => import("./MachineChoice").then((loaded) => loaded.MachineChoice));
const loadDialogs = () => import("./Dialogs").then((loaded) => loaded.Dialogs);
const Dialogs = lazy(loadDialogs);
// What is typed right after a dialog's key should find it there.
loadAhead(500, loadDialogs);

const SCREENS: { path: string; screen: Route["screen"]; title: string; sign: string; admin?: boolean }[] = [
  { path: "", screen: "sessions", title: "Sessions", sign: "▤" },
  { path: "agent", screen: "agent", title: "Agent", sign: "✦" },
  { path: "approvals", screen: "approvals", title: "Approvals", sign: "✓" },
  { path: "history", screen: "history", title: "History", sign: "⌕" },
  { path: "recordings", screen: "recordings", title: "Recordings", sign: "▷" },
  { path: "tools", screen: "tools", title: "Tools", sign: "⚒" },
  { path: "policy", screen: "policy", title: "Policy", sign: "⚖" },
  { path: "audit", screen: "audit", title: "Audit", sign: "≣", admin: true },
  { path: "share", screen: "share", title: "Share", sign: "⇪", admin: true },
  { path: "settings", screen: "settings", title: "Settings", sign: "⚙" },
];

const isShown = (screen: Route["screen"]) =>
  route.value.screen === screen || (screen === "sessions" && route.value.screen === "session") || (screen === "recordings" && route.value.screen === "recording");

/** As many as there is room for, the one that is shown among them; the others in a menu. */
function Links({ most }: { most: number }) {
  const all = SCREENS.filter((each) => !each.admin || socket.may("admin"));
  const here = all.findIndex((each) => isShown(each.screen));
  const first = all.filter((_, at) => at < most - (here >= most ? 1 : 0) || at === here);
  const rest = all.filter((each) => !first.includes(each));
  return (
    <>
      {first.map((each) => (
        <a
          key={each.path}
          href={base + each.path}
          aria-current={isShown(each.screen) ? "page" : undefined}
          onClick={(event) => {
            event.preventDefault();
            navigate(each.path);
          }}
        >
          <b aria-hidden="true" class={css.sign}>{each.sign}</b>
          {each.title}
          {each.screen === "approvals" && asked.value.length > 0 && <i class={css.number} aria-label={`${asked.value.length} waiting`}>{asked.value.length}</i>}
        </a>
      ))}
      {rest.length > 0 && (
        <Menu label="More screens" items={rest.map((each) => ({ label: each.title, run: () => navigate(each.path) }))}>
          ⋯
        </Menu>
      )}
    </>
  );
}

export function Shell() {
  const state = socket.connection.value;
  const { screen } = route.value;
  if (state.is === "signed_out") return <SignIn />;
  const withList = screen === "session" && listShown.value && !focusMode.value;
  const classes = [css.page, focusMode.value && current.value && css.focus, screen === "session" && css.inSession];
  return (
    <div class={classes.filter(Boolean).join(" ")}>
      <header class={css.bar} data-region>
        <a class={css.brand} href={base} aria-label="Duetty, all sessions" onClick={(event) => (event.preventDefault(), navigate(""))}>
          <Logo />
          <span>Duetty</span>
        </a>
        <button type="button" class={css.search} aria-label={`Search everything… ${shownKeys("Ctrl+K")}`} onClick={() => ask({ is: "palette" })}>
          <b aria-hidden="true">⌕</b>
          <span>Search everything…</span>
          <Kbd>{shownKeys("Ctrl+K")}</Kbd>
        </button>
        <nav class={css.nav} aria-label="Screens">
          <Links most={roomy.value ? 20 : 4} />
        </nav>
        {waiting.value.length > 0 && (
          <button type="button" class={css.waits} onClick={nextWaiting} title={`Next: ${shownKeys("Ctrl+Shift+Y")}`}>
            {waiting.value.length} waiting
          </button>
        )}
        <Link state={state} />
      </header>
      <Banner state={state} />
      {bypasses.value.length > 0 && <Unasked />}
      <Damage state={state} />
      <main class={css.main}>
        {withList && <SessionList />}
        <div class={css.content}>
          {OF_ONE_MACHINE.has(screen) && <MachineChoice />}
          <Fragment key={OF_ONE_MACHINE.has(screen) ? machine.value : null}>{screenOf(screen)}</Fragment>
        </div>
      </main>
      <nav class={css.bottom} aria-label="Screens">
        <Links most={4} />
      </nav>
      {dialog.value && <Dialogs />}
      <Notices />
      <div class="hidden" role="status" aria-live="polite">
        {spoken.value}
      </div>
      <div class="hidden" aria-live="assertive">
        {alarmed.value}
      </div>
    </div>
  );
}

const OF_ONE_MACHINE = new Set<Route["screen"]>(["agent", "approvals", "history", "tools", "policy", "audit"]);

/** What the server found damaged, or cannot keep as it promises: looked for whenever the page connects. */
function Damage({ state }: { state: Connection }) {
  const [found, setFound] = useState<Record<string, string>>({});
  const [seen, setSeen] = useState("");
  useEffect(() => {
    if (state.is === "live") socket.call("server.status", {}).then((status) => setFound(status.degraded), () => setFound({}));
  }, [state.is]);
  const damage = Object.entries(found).map(([part, reason]) => `${part}: ${reason}`).join("; ");
  if (!damage || damage === seen) return null;
  return (
    <div class={css.banner} role="status" id="damage">
      <span>
        Damaged, or not kept as it should be: {damage}. <code>duetty repair</code> lists what was kept and what can be done.
      </span>
      <Button onClick={() => setSeen(damage)}>Hide</Button>
    </div>
  );
}

function screenOf(screen: Route["screen"]) {
  switch (screen) {
    case "session":
      return <Session />;
    case "history":
      return <History />;
    case "recordings":
      return <Recordings />;
    case "recording":
      return <Recording key={route.value.session} name={route.value.session ?? ""} />;
    case "settings":
      return <Settings />;
    case "share":
      return <Share />;
    case "approvals":
      return <Approvals />;
    case "audit":
      return <Audit />;
    case "policy":
      return <Policy />;
    case "tools":
      return <Tools />;
    case "agent":
      return <Agent />;
    default:
      return <Sessions />;
  }
}

const WORDS: Record<Connection["is"], string> = { connecting: "connecting", live: "live", retrying: "reconnecting", signed_out: "signed out" };

function Link({ state }: { state: Connection }) {
  const ms = socket.latencyMs.value;
  const text = state.is === "live" && ms !== null ? `live · ${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms` : WORDS[state.is];
  return (
    <div class={css.link} data-is={state.is} id="connection" title={`Duetty ${socket.version.value}`}>
      <i aria-hidden="true" />
      <span>{text}</span>
    </div>
  );
}

function Banner({ state }: { state: Connection }) {
  const [, redraw] = useState(0);
  const retrying = state.is === "retrying";
  useEffect(() => {
    if (!retrying) return;
    const timer = setInterval(() => redraw((n) => n + 1), 500);
    return () => clearInterval(timer);
  }, [retrying]);
  // A blip that is over at once needs no words.
  if (state.is !== "retrying" || state.tries < 2) return null;
  const seconds = Math.max(0, Math.ceil((state.at - Date.now()) / 1000));
  return (
    <div class={css.banner} role="status">
      No connection to the server. What you see is the last it sent. {seconds > 0 ? `Next try in ${seconds} s.` : "Trying…"}
      <Button onClick={() => socket.retryNow()}>Try now</Button>
    </div>
  );
}

function Notices() {
  return (
    <div class={parts.notices} role="region" aria-label="Notices" aria-live="polite">
      {notices.value.map((each) => (
        <div key={each.id} class={`${parts.notice} ${each.kind === "plain" ? "" : parts[each.kind]}`}>
          <div>
            {each.text}
            {each.hint && <div class={parts.hint}>{each.hint}</div>}
          </div>
          {each.action && (
            <Button
              onClick={() => {
                each.action?.run();
                dismiss(each.id);
              }}
            >
              {each.action.label}
            </Button>
          )}
          <Button look="quiet" icon aria-label="Dismiss" onClick={() => dismiss(each.id)}>
            ✕
          </Button>
        </div>
      ))}
    </div>
  );
}

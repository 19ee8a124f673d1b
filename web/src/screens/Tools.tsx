// MCP servers behind this one: how they are, what their tools can do, and which of them agents may use.
import { useEffect, useState } from "preact/hooks";
import { socket } from "../protocol/socket";
import { untilMs } from "../state/clock";
import { ask } from "../state/dialogs";
import { adjust, route } from "../state/route";
import { type UpstreamInfo, accept, followUpstreams, isOn, mayChange, plainName, problem, restart, signInPage, signedIn, turn, upstreams } from "../state/tools";
import { Offers } from "./ToolsOffers";
import { Questions } from "./ToolsQuestions";
import { Button, Copyable, Input, ago, parts } from "../ui/ui";
import { Switch, Tool } from "./ToolsTool";
import { Words } from "./Words";
import css from "./Tools.late.module.css";
import pages from "./pages.module.css";

const STATES: Record<UpstreamInfo["state"], string> = {
  off: "off",
  starting: "starting",
  idle: "starts when needed",
  ready: "ready",
  failed: "failed",
  quarantined: "waits for you",
  needs_login: "needs you to sign in",
};

const TRUST: Record<UpstreamInfo["trust"], string> = {
  trusted: "trusted: its accepted tools run unasked",
  untrusted: "not trusted: each call asks, unless a rule allows it",
  sandbox: "confined, and each call asks",
};

const ADD = "duetty upstreams add files -- npx -y @modelcontextprotocol/server-filesystem ~/project";
const TABLE = `[upstreams.files]
command = "npx"
args = ["-y", "@modelcontextprotocol/server-filesystem", "/home/me/project"]
tools = { deny = ["delete_*"] }

[upstreams.search]
url = "https://search.example/mcp"
token_env = "SEARCH_TOKEN"
`;

export function Tools() {
  const live = socket.connection.value.is === "live";
  useEffect(() => (live ? followUpstreams() : undefined), [live]);
  const list = upstreams.value;
  const query = route.value.query.get("q") ?? "";
  const onlyWaiting = route.value.query.get("only") === "waiting";
  const waiting = list?.reduce((sum, each) => sum + each.waiting, 0) ?? 0;
  return (
    <section class={`${pages.sheet} ${css.tools}`} data-region aria-label="Tools">
      <header>
        <h1>Tools</h1>
        <p>MCP servers behind this one. Agents use their tools through Duetty: decided, asked about and recorded like everything else.</p>
      </header>
      {problem.value && <p role="alert" class={parts.problem}>{problem.value}</p>}
      <Questions />
      <Offers />
      {list?.length === 0 && <Empty />}
      {list && list.length > 0 && (
        <>
          <search class={css.filter}>
            <Input id="filter" type="search" aria-label="Filter tools" placeholder="Filter by server, tool, description…" value={query} onInput={(event) => adjust({ q: event.currentTarget.value })} />
            {(waiting > 0 || onlyWaiting) && (
              <Button aria-pressed={onlyWaiting} look={onlyWaiting ? "primary" : "plain"} onClick={() => adjust({ only: onlyWaiting ? "" : "waiting" })}>
                {waiting === 1 ? "One waits for you" : `${waiting} wait for you`}
              </Button>
            )}
          </search>
          {list.map((each) => (
            <Upstream key={each.name} upstream={each} query={query} onlyWaiting={onlyWaiting} few={list.length <= 2} />
          ))}
          <details class={css.more}>
            <summary>Add another</summary>
            <HowToAdd />
          </details>
        </>
      )}
    </section>
  );
}

function Upstream({ upstream, query, onlyWaiting, few }: { upstream: UpstreamInfo; query: string; onlyWaiting: boolean; few: boolean }) {
  const isWaiting = upstream.waiting > 0;
  const [open, setOpen] = useState(few);
  // What waits, or is looked for, is in sight; what was opened is not closed while a person reads it.
  useEffect(() => {
    if (isWaiting || query) setOpen(true);
  }, [isWaiting, query !== ""]);
  const wanted = query.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (text: string) => wanted.every((word) => text.toLowerCase().includes(word));
  const named = fits(`${upstream.name} ${upstream.target} ${upstream.implementation ?? ""}`);
  const shown = upstream.tools.filter((each) => (!onlyWaiting || each.pin !== "known") && (named || fits(`${upstream.name} ${each.name} ${each.title ?? ""} ${each.description} ${each.risk}`)));
  if (!shown.length && (onlyWaiting || !named)) return null;
  const waiting = upstream.tools.filter((each) => each.pin !== "known");
  const on = isOn(upstream);
  const acceptAll = () =>
    ask({
      is: "confirm",
      title: `Accept ${waiting.length} tools of “${upstream.name}”?`,
      text: "From now on agents may use them as your rules allow. If one of them changes, it waits for you again.",
      detail: waiting.map((each) => `${plainName(each.name)} (${each.risk}${each.warnings.length ? `, ${each.warnings.join(", ")}` : ""})`).join("\n"),
      yes: "Accept",
      run: () => void accept(upstream, waiting),
    });
  return (
    <article class={css.upstream} data-upstream={upstream.name} data-state={upstream.state} aria-label={upstream.name}>
      <div class={css.head}>
        <i class={css.dot} data-state={upstream.state} aria-hidden="true" />
        <h2>{upstream.name}</h2>
        <span class={css.state}>
          <span role="status">{STATES[upstream.state]}</span> <Since at={upstream.since} />
        </span>
        {mayChange() && upstream.state !== "off" && (
          <Button look="quiet" aria-label={`Restart ${upstream.name}`} onClick={() => void restart(upstream)}>
            Restart
          </Button>
        )}
        <Switch label={upstream.name} on={on} onTurn={(wants) => void turn(upstream, wants)} />
      </div>
      <p class={css.facts}>
        <code>
          <Words text={upstream.target} most={300} />
        </code>
        <span data-trust={upstream.trust}>{TRUST[upstream.trust]}</span>
        {upstream.may_ask && upstream.may_ask.length > 0 && <span>may ask for {upstream.may_ask.join(" and ")}</span>}
        {upstream.project && (
          <span>
            named by <code>{plainName(upstream.project)}</code>
          </span>
        )}
        {upstream.sandbox && <span>{upstream.sandbox === "none" ? "no sandbox" : `in a sandbox (${upstream.sandbox})`}</span>}
        {upstream.implementation && (
          <span>
            calls itself <q><Words text={upstream.implementation} most={120} /></q>
          </span>
        )}
        {upstream.protocol && <span>MCP {upstream.protocol}</span>}
        {upstream.restarts > 0 && <span>came back {upstream.restarts === 1 ? "once" : `${upstream.restarts} times`}</span>}
      </p>
      {upstream.state === "needs_login" && <SignIn upstream={upstream} />}
      {upstream.error && upstream.state !== "ready" && upstream.state !== "needs_login" && <Failed upstream={upstream} />}
      {upstream.instructions && (
        <details class={css.about}>
          <summary>How it wants to be used, in its own words</summary>
          <p class={css.long}>
            <Words text={upstream.instructions} most={8000} />
          </p>
        </details>
      )}
      {waiting.length > 0 && (
        <p class={css.warning}>
          <span>
            {waiting.length === 1 ? "One tool is" : `${waiting.length} tools are`} new, or not what you accepted: agents cannot use {waiting.length === 1 ? "it" : "them"} before you have looked.
          </span>
          {mayChange() && waiting.length > 1 && <Button onClick={acceptAll}>Accept all…</Button>}
        </p>
      )}
      {shown.length > 0 && (
        <details class={css.list} open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
          <summary>
            {shown.length === 1 ? "One tool" : `${shown.length} tools`}
            {shown.length !== upstream.tools.length && ` of ${upstream.tools.length}`}
            <small>{upstream.tools.filter((each) => each.usable).length} can be used now</small>
          </summary>
          {open && (
            <ul>
              {shown.map((each) => (
                <Tool key={each.name} upstream={upstream} tool={each} />
              ))}
            </ul>
          )}
        </details>
      )}
      {upstream.tools.length === 0 && upstream.state === "ready" && <p class={parts.hint}>It has no tools.</p>}
    </article>
  );
}

/** A state that lasts is read again every now and then; one that is over at once is not. */
function useTick(everyMs: number): void {
  const [, redraw] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => redraw((n) => n + 1), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
}

function Since({ at }: { at: string }) {
  useTick(10_000);
  const time = ago(-untilMs(at));
  return <time dateTime={at} title={new Date(at).toLocaleString()}>{time === "now" ? "just now" : `for ${time}`}</time>;
}

/** The page to sign in on is asked for first: a window that opens after a wait would be kept from opening. */
function SignIn({ upstream }: { upstream: UpstreamInfo }) {
  const [page, setPage] = useState("");
  const [returned, setReturned] = useState("");
  return (
    <div class={css.warning}>
      <span>
        <Words text={upstream.error?.message ?? "A person has to sign in to it."} most={500} />
      </span>
      {mayChange() && !page && <Button onClick={() => void signInPage(upstream).then(setPage)}>Sign in…</Button>}
      {page && (
        <>
          <a href={page} target="_blank" rel="noopener noreferrer">
            Open its sign-in page
          </a>
          <details class={css.about}>
            <summary>The browser ends at a page that does not open?</summary>
            <p>This browser is on another machine than the server. Paste the address where it ended:</p>
            <Input aria-label="Address where the browser ended" value={returned} onInput={(event) => setReturned(event.currentTarget.value)} />
            <Button onClick={() => void signedIn(upstream, returned)}>Go on</Button>
          </details>
        </>
      )}
    </div>
  );
}

function Failed({ upstream }: { upstream: UpstreamInfo }) {
  useTick(1000);
  const { error } = upstream;
  if (!error) return null;
  const seconds = upstream.retry_at ? Math.max(0, Math.ceil(untilMs(upstream.retry_at) / 1000)) : null;
  return (
    <div class={css.failed}>
      <p>
        <Words text={error.message} most={1000} />
      </p>
      <p class={parts.hint}>
        {error.hint ? <Words text={error.hint} most={500} /> : "See what it says itself: run its command by hand in a session."}
      </p>
      <p class={parts.hint}>
        {upstream.state === "failed" && (seconds === null ? "It is not tried again by itself: mend it, then restart it." : seconds > 0 ? `Next try in ${seconds} s.` : "Trying again…")}
      </p>
    </div>
  );
}

function Empty() {
  return (
    <div class={pages.box} id="empty">
      <h2>No server yet</h2>
      <p>
        Agents that work through Duetty can use tools of other MCP servers too: files, issues, databases, browsers. Each is started in the sandbox, its tools wait until you have looked at
        them, and every call of an agent passes your rules.
      </p>
      <HowToAdd />
    </div>
  );
}

function HowToAdd() {
  return (
    <div class={css.how}>
      <p>With one command; what follows <code>--</code> starts the server:</p>
      <Copyable label="Command" text={ADD} />
      <p>Or in <code>config.toml</code>, where a web address works too:</p>
      <Copyable label="Settings" text={TABLE} />
      <p class={parts.hint}>
        Rules know a tool as <code>mcp__files__delete_file</code>, patterns as <code>mcp__*__delete_*</code>.
      </p>
    </div>
  );
}

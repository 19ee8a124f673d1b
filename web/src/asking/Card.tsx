// One question to a person: what would run, where, by which rule it is asked, how long there is, and the answers.
// It never takes the focus away from a terminal, and no key or click answers what has only just appeared.
import { Fragment } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { CallError, socket } from "../protocol/socket";
import { type ApprovalInfo, approve, calm, decline, dismissCard, isMeant, isMine, leftMs, mayAnswer, mayEdit, mayStand, stir } from "../state/approvals";
import { openSession } from "../state/panes";
import { base, navigate, sessionPath } from "../state/route";
import { Button, Field, Input, Kbd, Spoken, focusOnce, parts } from "../ui/ui";
import { OwnRule, type Save, canBeRule } from "./OwnRule";
import { Shown, seen } from "./Shown";
import css from "./card.late.module.css";

const TICK_MS = 250;
const HURRY_MS = 30_000;
/** A line longer than this is shown in part at first, and cannot be approved until all of it was opened. */
const SHORT_LINES = 12;
const SHORT_CHARS = 900;

const DOES: Record<string, string> = {
  "command.run": "asks to run a command",
  "process.run": "asks to run a command",
  "process.start": "asks to start a command",
  "session.open": "asks to open a session",
  "agent.resume": "asks whether to go on",
};

const isTyped = (info: ApprovalInfo) => info.operation.startsWith("input.");
const nameOf = (actor: string) => actor.slice(actor.indexOf(":") + 1) || actor;

interface CardProps {
  info: ApprovalInfo;
  /** Opened to be answered: Decline has the focus. */
  focus?: boolean;
  /** Beside its session, which needs no link then. */
  beside?: boolean;
}

export function Card({ info, focus = false, beside = false }: CardProps) {
  const card = useRef<HTMLElement>(null);
  const waits = info.state === "pending";
  const before = useRef(waits);
  useLayoutEffect(stir, []);
  useEffect(() => {
    // What a person had the focus on is gone: it goes to how the question ended.
    if (before.current && !waits && card.current?.contains(document.activeElement) === false && document.activeElement === document.body) card.current.focus();
    before.current = waits;
  }, [waits]);
  const does = DOES[info.operation] ?? (isTyped(info) ? "asks to type a line" : `asks for ${info.operation}`);
  return (
    <article ref={card} class={css.card} tabIndex={-1} data-approval={info.id} data-state={info.state} aria-label={`${nameOf(info.actor)} ${does}`}>
      <header>
        <h3>
          <Shown text={nameOf(info.actor)} most={60} /> {does}
        </h3>
        {waits && <Countdown info={info} />}
      </header>
      {info.command_line === null ? info.operation !== "agent.resume" && <pre class={css.line}>{info.operation}</pre> : waits ? null : <pre class={css.line}>{seen(info.command_line).nodes}</pre>}
      {waits ? <Question info={info} focus={focus} beside={beside} card={card} /> : <Outcome info={info} />}
    </article>
  );
}

function Countdown({ info }: { info: ApprovalInfo }) {
  const [, redraw] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => redraw((n) => n + 1), TICK_MS);
    return () => clearInterval(timer);
  }, []);
  const left = leftMs(info);
  const s = Math.ceil(left / 1000);
  return (
    <time class={css.left} data-soon={left < HURRY_MS} title="No answer counts as a no">
      {left > 0 ? `declines in ${Math.floor(s / 60)}:${String(s % 60).padStart(2, "0")}` : "time is up"}
    </time>
  );
}

function Facts({ info, beside }: { info: ApprovalInfo; beside: boolean }) {
  return (
    <dl class={css.facts}>
      {info.session !== null && !beside && (
        <>
          <dt>Session</dt>
          <dd>
            <a
              href={base + sessionPath(info.session)}
              onClick={(event) => {
                event.preventDefault();
                openSession(info.session as string);
              }}
            >
              {info.session}
            </a>
          </dd>
        </>
      )}
      {info.cwd !== null && (
        <>
          <dt>Directory</dt>
          <dd>
            <code>
              <Shown text={info.cwd} />
            </code>
          </dd>
        </>
      )}
      {info.said !== null && (
        <>
          <dt>Agent says</dt>
          <dd>
            <q>
              <Shown text={info.said} most={500} />
            </q>{" "}
            <small>(its own words, not checked)</small>
          </dd>
        </>
      )}
      <dt>Policy</dt>
      <dd>
        <Shown text={info.reason} most={1000} />
      </dd>
      {info.rule !== null && (
        <>
          <dt>Rule</dt>
          <dd>
            <code>
              <Shown text={info.rule} />
            </code>
            {info.classes.length > 0 && !info.rule.startsWith("catalogue:") && ` (${info.classes.join(", ").replaceAll("_", " ")})`}
          </dd>
        </>
      )}
      {info.suggestion !== null && (
        <>
          <dt>Instead</dt>
          <dd>
            <Spoken text={info.suggestion} />
          </dd>
        </>
      )}
    </dl>
  );
}

/** Never away from something that a person is about to use. */
function focusIfFree(element: HTMLElement | null): void {
  if (document.activeElement === null || document.activeElement === document.body) focusOnce(element);
}

type Mode = "ask" | "edit" | "allow";
type Covers = ApprovalInfo["choices"][number]["covers"];

const SCOPES: Record<Covers, string> = { once: "Once", conversation: "This conversation", session: "This session", project: "This project", hours: "For a time", always: "Always" };
/** At most eight: the server takes no more. */
const HOURS = [0.25, 0.5, 1, 2, 4, 8];
const hoursText = (hours: number) => (hours < 1 ? `${hours * 60} minutes` : hours === 1 ? "1 hour" : `${hours} hours`);

function Question({ info, focus, beside, card }: { info: ApprovalInfo; focus: boolean; beside: boolean; card: { current: HTMLElement | null } }) {
  const line = info.command_line ?? "";
  const isLong = line.length > SHORT_CHARS || line.split("\n").length > SHORT_LINES;
  const [mode, setMode] = useState<Mode>("ask");
  const [open, setOpen] = useState(!isLong);
  const [edited, setEdited] = useState(line);
  const more = info.choices.filter((each) => each.covers === "session" || each.covers === "conversation" || (each.covers !== "once" && mayStand()));
  const [covers, setCovers] = useState<Covers>(more[0]?.covers ?? "once");
  const [hours, setHours] = useState(1);
  const [editing, setEditing] = useState(false);
  const [own, setOwn] = useState<Save | null>(null);
  const isOwn = covers === "always" && editing;
  const [noting, setNoting] = useState(false);
  const [note, setNote] = useState("");
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  /** What the changed line does beyond the question: shown before it may run. */
  const [beyond, setBeyond] = useState<{ line: string; reason: string; suggestion: string } | null>(null);
  const isBeyond = beyond?.line === edited;
  const may = mayAnswer();
  const canEdit = info.command_line !== null && mayEdit();
  const odd = seen(line);
  /** A question that has only just appeared cannot be answered yet. */
  const still = { "aria-disabled": !calm.value };
  const rule = more.find((each) => each.covers === covers)?.rule ?? "";

  const answer = async (event: Event, run: () => Promise<void>) => {
    if (busy || !isMeant(event)) return;
    setBusy(true);
    setProblem("");
    try {
      await run();
    } catch (error) {
      if (error instanceof CallError && error.code === "edit_unconfirmed") {
        setBeyond({ line: edited, reason: String(error.details["reason"]), suggestion: String(error.details["suggestion"] ?? "") });
        stir();
      } else setProblem(error instanceof CallError && error.hint ? `${error.message}. ${error.hint}` : String((error as Error).message));
      setBusy(false);
    }
  };
  const withNote = note.trim() ? { note: note.trim() } : {};
  const no = (event: Event) => answer(event, () => decline(info.id, note.trim()));
  const yes = (event: Event) => open && answer(event, () => approve(info.id, withNote));
  const yesEdited = (event: Event) => answer(event, () => approve(info.id, { command_line: edited, ...(isBeyond ? { confirm: true } : {}), ...withNote }));
  const yesAlways = (event: Event) =>
    open &&
    answer(event, async () => {
      if (!isOwn) return approve(info.id, { covers, rule, ...(covers === "hours" ? { hours } : {}), ...withNote });
      if (own) await socket.call("rules.save", own);
      await approve(info.id, withNote);
    });
  const change = (event: Event, to: Mode) => {
    if (!isMeant(event)) return;
    setMode(to);
    if (to === "ask") card.current?.focus();
  };

  useEffect(() => {
    const element = card.current;
    if (!element || !may) return;
    const press = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.altKey || event.metaKey || event.repeat) return;
      if (event.key === "Escape" && mode !== "ask") {
        event.preventDefault();
        change(event, "ask");
        return;
      }
      if (/^(INPUT|TEXTAREA)$/.test((event.target as HTMLElement).tagName) || mode !== "ask") return;
      const run = { d: no, a: yes, e: canEdit ? () => change(event, "edit") : undefined }[event.key.toLowerCase()];
      if (!run) return;
      event.preventDefault();
      void run(event);
    };
    element.addEventListener("keydown", press);
    return () => element.removeEventListener("keydown", press);
  });

  return (
    <>
      {info.command_line !== null && (
        <>
          <pre class={css.line} data-open={open} tabIndex={0} aria-label="The command, as it would run">{odd.nodes}</pre>
          {!open && (
            <Button onClick={() => setOpen(true)}>
              Show all: {line.split("\n").length} lines, {line.length} characters
            </Button>
          )}
        </>
      )}
      {odd.hidden > 0 && <p class={css.warn}>⚠ {odd.hidden} hidden {odd.hidden === 1 ? "character is" : "characters are"} shown by number.</p>}
      {odd.alike.length > 0 && <p class={css.warn}>⚠ Some characters look like others: {odd.alike.join(", ")}.</p>}
      <Facts info={info} beside={beside} />
      {mode === "edit" && (
        <div class={css.more}>
          <Field label="Run this instead, once">
            <textarea ref={focusOnce} class={parts.input} rows={Math.min(8, edited.split("\n").length + 1)} spellcheck={false} value={edited} onInput={(event) => setEdited(event.currentTarget.value)} />
          </Field>
          {edited !== line && <Difference before={line} after={edited} />}
          {isBeyond && (
            <p class={css.warn} role="alert">
              ⚠ It does what the question did not say: <Shown text={beyond.reason} most={1000} />
              {beyond.suggestion && (
                <>
                  . Safer: <Spoken text={beyond.suggestion} />
                </>
              )}
            </p>
          )}
          <p class={parts.hint}>It is judged again; {isTyped(info) ? "nothing is typed, and the agent's answer says what to run instead." : "the agent learns that you changed it."}</p>
        </div>
      )}
      {mode === "allow" && (
        <fieldset class={css.more}>
          <legend>Run it, and do not ask again</legend>
          {more.map((each) => (
            <Fragment key={each.covers}>
              <label>
                <input type="radio" name={`covers-${info.id}`} checked={covers === each.covers} onChange={() => setCovers(each.covers)} />
                <span>
                  <b>{each.covers === "hours" ? `For ${hoursText(hours)}` : SCOPES[each.covers]}</b>: <Shown text={each.says} most={1000} />
                </span>
              </label>
              {each.covers === "hours" && covers === "hours" && (
                <label class={css.ends}>
                  Ends after
                  <select class={parts.input} value={String(hours)} onChange={(event) => setHours(Number(event.currentTarget.value))}>
                    {HOURS.map((length) => (
                      <option key={length} value={String(length)}>
                        {hoursText(length)}
                      </option>
                    ))}
                  </select>
                </label>
              )}
            </Fragment>
          ))}
          {covers === "always" && canBeRule(info) && (
            <label>
              <input type="checkbox" checked={editing} onChange={() => setEditing(!editing)} /> as a rule of your policy that you can edit
            </label>
          )}
          {isOwn && <OwnRule info={info} ready={setOwn} />}
          {covers === "always" && !isOwn && (
            <>
              <p class={parts.hint}>This rule is saved:</p>
              <pre class={css.line} id={`rule-${info.id}`}>{seen(rule).nodes}</pre>
            </>
          )}
        </fieldset>
      )}
      {problem && (
        <p class={parts.problem} role="alert">
          {problem}
        </p>
      )}
      {!may ? (
        <p class={parts.hint}>You can look on. Who may approve answers.</p>
      ) : (
        <>
          {noting && (
            <Field label="Note to the agent, sent with your answer">
              <Input ref={focusOnce} value={note} maxLength={500} onInput={(event) => setNote(event.currentTarget.value)} />
            </Field>
          )}
          <footer>
            <Button look="danger" disabled={busy} data-first ref={focus ? focusIfFree : null} {...still} onClick={(event) => void no(event)}>
              Decline <Kbd>D</Kbd>
            </Button>
            {!noting && mode === "ask" && (
              <Button look="quiet" {...still} onClick={(event) => isMeant(event) && setNoting(true)}>
                Add a note…
              </Button>
            )}
            {mode !== "ask" && <Button {...still} onClick={(event) => change(event, "ask")}>Back</Button>}
            {mode === "ask" && canEdit && (
              <Button disabled={busy} {...still} onClick={(event) => change(event, "edit")}>
                Edit… <Kbd>E</Kbd>
              </Button>
            )}
            {mode === "ask" && more.length > 0 && (
              <Button disabled={busy} {...still} onClick={(event) => change(event, "allow")}>
                Allow…
              </Button>
            )}
            {mode === "ask" && (
              <Button class={css.yes ?? ""} disabled={busy || !open} title={open ? "" : "Open all of it first"} {...still} onClick={(event) => void yes(event)}>
                Approve once <Kbd>A</Kbd>
              </Button>
            )}
            {mode === "edit" && (
              <Button class={css.yes ?? ""} disabled={busy || !edited.trim() || edited === line} {...still} onClick={(event) => void yesEdited(event)}>
                {isBeyond ? "Run it all the same" : "Approve the edited line"}
              </Button>
            )}
            {mode === "allow" && (
              <Button class={css.yes ?? ""} disabled={busy || !open || (isOwn && !own)} {...still} onClick={(event) => void yesAlways(event)}>
                {covers === "always" ? "Save rule and approve" : covers === "hours" ? `Approve for ${hoursText(hours)}` : `Approve in ${SCOPES[covers].toLowerCase()}`}
              </Button>
            )}
          </footer>
        </>
      )}
    </>
  );
}

/** What an edit takes away and puts in; both in full where they are not alike at all. */
function Difference({ before, after }: { before: string; after: string }) {
  let start = 0;
  while (start < Math.min(before.length, after.length) && before[start] === after[start]) start += 1;
  let end = 0;
  while (end < Math.min(before.length, after.length) - start && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  const middle = (text: string) => text.slice(start, text.length - end);
  return (
    <pre class={css.line} aria-label="What you changed">
      {seen(before.slice(0, start)).nodes}
      {middle(before) && <del>{seen(middle(before)).nodes}</del>}
      {middle(after) && <ins>{seen(middle(after)).nodes}</ins>}
      {seen(end ? before.slice(-end) : "").nodes}
    </pre>
  );
}

const COVERS: Record<Covers, string> = { once: "once", conversation: "for this conversation", session: "for this session", project: "for this project", hours: "for a time", always: "from now on" };

export function outcomeWords(info: ApprovalInfo): string {
  const who = isMine(info.id) ? "you" : info.settled_by ?? "a person";
  const where = isMine(info.id) || !info.via ? "" : `, ${WHERE[info.via] ?? info.via}`;
  switch (info.state) {
    case "granted":
      return info.edited === null ? `Approved ${COVERS[info.covers ?? "once"]} by ${who}${where}` : `Approved with edits by ${who}${where}`;
    case "rejected":
      return `Declined by ${who}${where}`;
    case "expired":
      return "No answer in time: declined";
    case "withdrawn":
      return TAKEN_BACK[info.via ?? ""] ?? "Taken back: its caller went away";
    default:
      return "Waiting";
  }
}

const WHERE: Record<string, string> = { page: "on a page", attach: "in a terminal", cli: "on the command line", http: "over HTTP", elicitation: "in the agent's own program", standing: "with another answer" };
const TAKEN_BACK: Record<string, string> = { timeout: "Taken back: its caller waited no longer", policy: "Taken back: your rules refuse it now" };

function Outcome({ info }: { info: ApprovalInfo }) {
  return (
    <>
      <p class={css.end} data-yes={info.state === "granted"} role="status">
        {info.state === "granted" ? "✓" : "✗"} <Shown text={outcomeWords(info)} />
      </p>
      {info.edited !== null && (
        <>
          <p class={parts.hint}>What runs instead:</p>
          <pre class={css.line}>{seen(info.edited).nodes}</pre>
        </>
      )}
      {info.said !== null && (
        <p class={parts.hint}>
          The agent's reason: <q><Shown text={info.said} most={500} /></q>
        </p>
      )}
      {info.note !== null && (
        <p class={parts.hint}>
          Note to the agent: “<Shown text={info.note} />”
        </p>
      )}
      <footer>
        <Button look="quiet" onClick={() => dismissCard(info.id)}>
          Dismiss
        </Button>
        {socket.may("admin") && (
          <Button look="quiet" onClick={() => navigate(`audit?text=${encodeURIComponent(info.id)}`)}>
            In the audit
          </Button>
        )}
      </footer>
    </>
  );
}

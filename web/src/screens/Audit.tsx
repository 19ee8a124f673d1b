// The trail: what was called, decided, asked and answered. The address holds the filters, so that a view can be kept and sent.
import { signal } from "@preact/signals";
import type { InputHTMLAttributes } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Shown } from "../asking/Shown";
import { ask, hasToken } from "../protocol/credential";
import type { AuditParams, AuditVerified } from "../protocol/operations";
import { server, socket } from "../protocol/socket";
import { complain } from "../state/notices";
import { narrow } from "../state/panes";
import { base, navigate, route } from "../state/route";
import { sessions } from "../state/sessions";
import { Button, Field, Input, parts } from "../ui/ui";
import css from "./audit.late.module.css";
import pages from "./pages.module.css";

const PAGE = 100;
const PAUSE_MS = 200;

type Fields = Record<string, unknown>;
interface Record_ extends Fields {
  seq: number;
  at_ns: number;
  kind: string;
  hash: string;
  prev: string;
}

/** Names in the address, and how each is asked of the server. */
const TEXTS = ["actor", "operation", "session", "outcome", "text", "call"] as const;
const TIMES: [string, string][] = [["", "any time"], ["3600", "last hour"], ["86400", "last day"], ["604800", "last week"], ["between", "between…"]];
type Kind = NonNullable<AuditParams["kind"]>;
const KINDS = Object.keys({ call: 0, approval: 0, outcome: 0, standing: 0, rules: 0, trail: 0 } satisfies Record<Kind, 0>) as Kind[];

function paramsOf(query: URLSearchParams): AuditParams {
  const params: AuditParams = { limit: PAGE };
  for (const name of TEXTS) if (query.get(name)) params[name] = query.get(name);
  const kind = KINDS.find((each) => each === query.get("kind"));
  const decision = query.get("decision");
  if (kind) params.kind = kind;
  if (decision && ["allow", "ask", "deny", "refused"].includes(decision)) params.decision = decision as NonNullable<AuditParams["decision"]>;
  if (Number(query.get("since")) > 0) params.since_s = Number(query.get("since"));
  const ago = (name: string) => (Date.now() - Date.parse(query.get(name) ?? "")) / 1000;
  if (ago("from") > 0) params.since_s = ago("from");
  if (ago("to") > 0) params.until_s = ago("to");
  if (Number(query.get("before")) > 0) params.before = Number(query.get("before"));
  return params;
}

const text = (value: unknown) => (typeof value === "string" ? value : value === undefined || value === null ? "" : JSON.stringify(value));
const inside = (value: unknown): Fields => (typeof value === "object" && value !== null ? (value as Fields) : {});

function who(record: Record_): string {
  return text(inside(record["actor"])["name"]) || text(record["by"]);
}

/** One line that tells what this was about. */
function about(record: Record_): string {
  const line = inside(record["judged"])["command_line"] ?? record["command_line"] ?? record["rule"];
  if (line) return text(line);
  if (record.kind === "approval") return `question ${text(record["approval"])}${record["via"] ? `, via ${text(record["via"])}` : ""}`;
  const given = inside(record["arguments"]);
  return Object.entries(given).filter(([, value]) => value !== null).map(([name, value]) => `${name}=${text(value)}`).join(" ");
}

/** What became of it, in a word. */
function end(record: Record_): { word: string; is: "good" | "bad" | "wait" | "plain" } {
  const decided = text(inside(record["decision"])["decision"]);
  const word = text(record["outcome"]) || decided || text(record["event"]);
  if (["done", "allow", "granted", "used", "covered"].includes(word)) return { word, is: "good" };
  if (["ask", "asked"].includes(word)) return { word, is: "wait" };
  return { word, is: ["trail", "standing", "rules"].includes(record.kind) ? "plain" : "bad" };
}

/** A call and how it ended in one row, where both are on this page. */
function joined(list: Record_[]): { record: Record_; later: Record_ | undefined }[] {
  const calls = new Set(list.filter((each) => each.kind === "call").map((each) => each["call"]));
  const ends = new Map(list.filter((each) => each.kind === "outcome").map((each) => [each["call"], each]));
  return list
    .filter((each) => each.kind !== "outcome" || !calls.has(each["call"]))
    .map((record) => ({ record, later: record.kind === "call" ? ends.get(record["call"]) : undefined }));
}

export function Audit() {
  const { query } = route.value;
  const [list, setList] = useState<Record_[] | null>(null);
  const [open, setOpen] = useState<number | null>(null);
  const [problem, setProblem] = useState("");
  const [between, setBetween] = useState(query.has("from") || query.has("to"));
  const live = socket.connection.value.is === "live";
  const address = query.toString();

  useEffect(() => {
    if (!live) return;
    let gone = false;
    const timer = setTimeout(
      () =>
        socket.call("audit.list", paramsOf(query)).then(
          (found) => {
            if (gone) return;
            setList(found as Record_[]);
            setProblem("");
          },
          (error: Error) => !gone && setProblem(error.message),
        ),
      list === null ? 0 : PAUSE_MS,
    );
    return () => {
      gone = true;
      clearTimeout(timer);
    };
  }, [address, live]);

  const go = (changes: Record<string, string>, { replace = true, stay = false } = {}) => {
    const next = new URLSearchParams(query);
    if (!stay) next.delete("before");
    for (const [name, value] of Object.entries(changes)) value ? next.set(name, value) : next.delete(name);
    navigate(`audit${next.size ? `?${next}` : ""}`, { replace });
  };
  const field = (name: string, label: string, attributes: InputHTMLAttributes<HTMLInputElement> = {}) => (
    <Field label={label}>
      <Input value={query.get(name) ?? ""} onInput={(event) => go({ [name]: event.currentTarget.value })} {...attributes} />
    </Field>
  );
  const choice = (name: string, label: string, choices: [string, string][], value = query.get(name) ?? "", change = (to: string) => go({ [name]: to })) => (
    <Field label={label}>
      <select class={parts.input} value={value} onChange={(event) => change(event.currentTarget.value)}>
        {choices.map(([each, words]) => (
          <option key={each} value={each}>
            {words}
          </option>
        ))}
      </select>
    </Field>
  );
  const filtered = [...query.keys()].some((name) => name !== "before");
  const last = list?.at(-1);
  const shown = query.has("call") ? (list ?? []).map((record) => ({ record, later: undefined })) : joined(list ?? []);
  const filters = (
    <search class={css.filters}>
      {field("text", "Anywhere", { type: "search", placeholder: "words of a command, an id…" })}
      {field("actor", "Who", { placeholder: "claude, person:ada" })}
      {field("operation", "Operation", { placeholder: "command.run" })}
      {field("session", "Session", { list: "audit-sessions" })}
      {choice("decision", "Decision", [["", "any"], ["allow", "allowed"], ["ask", "asked"], ["deny", "denied"], ["refused", "did not run"]])}
      {choice("kind", "Kind", [["", "any"], ...KINDS.map((each): [string, string] => [each, each])])}
      {choice("since", "Time", TIMES, between ? "between" : query.get("since") ?? "", (to) => {
        setBetween(to === "between");
        go(to === "between" ? { since: "" } : { since: to, from: "", to: "" });
      })}
      {between && field("from", "From", { type: "datetime-local" })}
      {between && field("to", "To", { type: "datetime-local" })}
      <datalist id="audit-sessions">
        {sessions.value.map((each) => (
          <option key={each.id} value={each.name} />
        ))}
      </datalist>
    </search>
  );

  return (
    <section class={`${pages.sheet} ${css.wide}`} data-region aria-label="Audit">
      <header class={css.head}>
        <h1>Audit</h1>
        <Chain />
        <Export />
      </header>
      {narrow.value ? (
        <details open={filtered}>
          <summary>Filters</summary>
          {filters}
        </details>
      ) : (
        filters
      )}
      {problem && <p role="alert">{problem}</p>}
      {list && !list.length && (
        <p>
          {filtered ? (
            <>
              No record fits. <Button onClick={() => navigate("audit")}>Show all</Button>
            </>
          ) : (
            "Nothing was recorded yet. Every call that changes something leaves a record here, with what was decided about it and by which rule."
          )}
        </p>
      )}
      {list && list.length > 0 && (
        <div class={pages.scroll}>
          <table class={`${pages.table} ${css.trail}`} id="trail">
            <thead>
              <tr>
                <th>Time</th>
                <th>Who</th>
                <th>What</th>
                <th class={pages.optional}>Session</th>
                <th>End</th>
              </tr>
            </thead>
            <tbody>
              {shown.map(({ record, later }) => (
                <Row key={record.seq} record={record} later={later} open={open === record.seq} toggle={() => setOpen(open === record.seq ? null : record.seq)} go={go} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      <p class={parts.row}>
        {query.has("before") && <Button onClick={() => go({ before: "" }, { replace: false })}>Newest</Button>}
        {list?.length === PAGE && last && <Button onClick={() => go({ before: String(last.seq) }, { replace: false, stay: true })}>Older</Button>}
        {filtered && <Button look="quiet" onClick={() => (setBetween(false), navigate("audit"))}>Clear filters</Button>}
      </p>
    </section>
  );
}

type Go = (changes: Record<string, string>, options?: { replace?: boolean }) => void;

const today = (at: Date) => at.toDateString() === new Date().toDateString();

function Row({ record, later, open, toggle, go }: { record: Record_; later: Record_ | undefined; open: boolean; toggle: () => void; go: Go }) {
  const ended = end(record);
  const at = new Date(record.at_ns / 1e6);
  return (
    <>
      <tr data-seq={record.seq} data-kind={record.kind}>
        <td class={css.time}>
          <button type="button" aria-expanded={open} onClick={toggle} title={`Record ${record.seq}`}>
            <span aria-hidden="true">{open ? "▾" : "▸"}</span> <time dateTime={at.toISOString()}>{today(at) ? at.toLocaleTimeString() : at.toLocaleString(undefined, { dateStyle: "short", timeStyle: "medium" })}</time>
          </button>
        </td>
        <td class={css.who}>
          <Shown text={who(record)} most={40} />
        </td>
        <td class={css.what}>
          <b>{text(record["operation"]) || record.kind}</b> <code><Shown text={about(record)} most={160} /></code>
        </td>
        <td class={pages.optional}>{text(record["session"])}</td>
        <td>
          <span class={css.end} data-is={ended.is}>
            {ended.word.replaceAll("_", " ")}
          </span>
          {later && end(later).word !== ended.word && (
            <span class={css.end} data-is={end(later).is}>
              → {end(later).word.replaceAll("_", " ")}
            </span>
          )}
        </td>
      </tr>
      {open && (
        <tr class={css.detail}>
          <td colSpan={5}>
            <Detail record={record} go={go} />
          </td>
        </tr>
      )}
    </>
  );
}

function Detail({ record, go }: { record: Record_; go: Go }) {
  const call = text(record["call"]);
  const fields = Object.entries(record).filter(([name, value]) => value !== null && value !== "" && !["hash", "prev", "seq", "at_ns"].includes(name));
  return (
    <div class={css.fields}>
      <dl>
        <dt>record</dt>
        <dd>{record.seq}</dd>
        {fields.map(([name, value]) => (
          <>
            <dt key={name}>{name}</dt>
            <dd>
              <code>
                <Shown text={typeof value === "string" ? value : JSON.stringify(value).replaceAll(",\"", ", \"")} most={9000} />
              </code>
            </dd>
          </>
        ))}
        <dt>hash</dt>
        <dd>
          <code>{record.hash}</code>
        </dd>
        <dt>before it</dt>
        <dd>
          <code>{record.prev}</code> <ChainOf seq={record.seq} />
        </dd>
      </dl>
      {call && (
        <a
          href={`${base}audit?call=${call}`}
          onClick={(event) => {
            event.preventDefault();
            go({ ...Object.fromEntries([...route.value.query.keys()].map((name) => [name, ""])), call }, { replace: false });
          }}
        >
          Everything about this call
        </a>
      )}
    </div>
  );
}

// The chain is read whole once the screen is opened, and again on request.

const verified = signal<AuditVerified | null>(null);

async function verify(): Promise<void> {
  verified.value = null;
  verified.value = await socket.call("audit.verify", {});
}

function Chain() {
  const found = verified.value;
  const live = socket.connection.value.is === "live";
  useEffect(() => {
    if (live) void verify().catch(complain);
  }, [live]);
  return (
    <div class={css.chain} id="chain" data-intact={found?.intact} role="status">
      {found === null ? (
        "Checking the chain…"
      ) : found.intact ? (
        <span title={`${found.anchored ? "Both ends fit what the database remembers. " : ""}Last hash: ${found.last_hash ?? "none"}`}>✓ Chain intact: {found.records} records</span>
      ) : (
        <span>
          ✗ Chain broken: {found.problems.map((each) => `${each.file}, line ${each.line}: ${each.what}`).join("; ")}
        </span>
      )}
      <Button look="quiet" onClick={() => void verify().catch(complain)}>
        Verify
      </Button>
    </div>
  );
}

function ChainOf({ seq }: { seq: number }) {
  const found = verified.value;
  if (!found) return null;
  const wrong = found.problems.find((each) => each.seq === seq);
  if (wrong) return <b class={css.end} data-is="bad">✗ {wrong.what}</b>;
  if (found.last_seq !== null && seq > found.last_seq) return <span>written since the chain was verified</span>;
  return <b class={css.end} data-is="good">✓ fits the chain</b>;
}

function Export() {
  const [busy, setBusy] = useState(false);
  const take = async () => {
    setBusy(true);
    try {
      // The cookie alone reads what is shown; this needs more, which the connection has proven.
      const authorization = hasToken() ? {} : { authorization: `Ticket ${(await socket.call("auth.ticket", {})).ticket}` };
      const answer = await ask(new URL("audit/export", server), { headers: authorization });
      if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
      const link = document.createElement("a");
      link.href = URL.createObjectURL(await answer.blob());
      link.download = "audit.jsonl";
      link.click();
      URL.revokeObjectURL(link.href);
    } catch (error) {
      complain(error);
    }
    setBusy(false);
  };
  return (
    <Button disabled={busy} title="The whole trail, as it stands: it can be verified elsewhere" onClick={() => void take()}>
      Export JSONL
    </Button>
  );
}

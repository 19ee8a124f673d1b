// Everything that opens above the page.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { BlockOutput } from "../protocol/operations";
import { socket } from "../protocol/socket";
import { copyCommand, copyLink, copyMarkdown, copyOutput, endOf, endWords } from "../state/blocks";
import { createdHere } from "../state/created";
import { type Dialog as Asked, ask, closeDialog, dialog } from "../state/dialogs";
import { actions, available, shownKeys } from "../state/keys";
import { machine, machines, nameOn, shortName } from "../state/machines";
import { complain, notify } from "../state/notices";
import { layout, leaves, openSession } from "../state/panes";
import { navigate } from "../state/route";
import { type Readable, browse } from "../state/tools";
import { session as sessionOf, sessions } from "../state/sessions";
import { Button, Dialog, Dot, Field, Input, Kbd, duration, parts, stateWords } from "../ui/ui";
import css from "./pages.module.css";

export function Dialogs() {
  const asked = dialog.value;
  switch (asked?.is) {
    case "palette":
      return <Palette />;
    case "keys":
      return <Keys />;
    case "create":
      return <Create machine={asked.machine} />;
    case "rename":
      return <Rename name={asked.session} />;
    case "tags":
      return <Tags name={asked.session} />;
    case "end":
      return <End name={asked.session} />;
    case "pick":
      return <Pick asked={asked} />;
    case "block":
      return <Block session={asked.session} block={asked.block} />;
    case "try":
      return <Try asked={asked} />;
    case "confirm":
      return <Confirm asked={asked} />;
    default:
      return null;
  }
}

interface Choice {
  key: string;
  title: string;
  note: string;
  keys?: string | undefined;
  state?: string;
  run: () => void;
}

function Chooser({ title, placeholder, choices }: { title: string; placeholder: string; choices: (query: string) => Choice[] }) {
  const [query, setQuery] = useState("");
  const [at, setAt] = useState(0);
  const list = useRef<HTMLUListElement>(null);
  const found = choices(query);
  useEffect(() => {
    list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  }, [at]);
  const choose = (choice: Choice | undefined) => {
    if (!choice) return;
    closeDialog();
    // The dialog gives the focus back first; what runs may move it on.
    setTimeout(choice.run);
  };
  return (
    <Dialog title={title} onClose={closeDialog} bare top>
      <div class={css.palette}>
        <Input
          autofocus
          role="combobox"
          aria-expanded="true"
          aria-controls="choices"
          aria-activedescendant={found[at] ? `choice-${at}` : undefined}
          aria-label={title}
          placeholder={placeholder}
          value={query}
          onInput={(event) => {
            setQuery(event.currentTarget.value);
            setAt(0);
          }}
          onKeyDown={(event) => {
            if (event.key === "ArrowDown") setAt(Math.min(found.length - 1, at + 1));
            else if (event.key === "ArrowUp") setAt(Math.max(0, at - 1));
            else if (event.key === "Enter") choose(found[at]);
            else return;
            event.preventDefault();
          }}
        />
        <ul ref={list} id="choices" role="listbox" aria-label={title}>
          {found.map((each, index) => (
            <li key={each.key} id={`choice-${index}`} role="option" aria-selected={index === at} onPointerMove={() => setAt(index)} onClick={() => choose(each)}>
              {each.state && <Dot state={each.state} />}
              <strong>{each.title}</strong>
              {each.keys ? <Kbd>{each.keys}</Kbd> : <small>{each.note}</small>}
            </li>
          ))}
          {!found.length && <li role="option" aria-selected="false" aria-disabled="true">Nothing found</li>}
        </ul>
      </div>
    </Dialog>
  );
}

/** All letters in order; the closer together and the earlier, the better. 0 is no match. */
function score(query: string, text: string): number {
  const wanted = query.toLowerCase();
  const given = text.toLowerCase();
  const whole = given.indexOf(wanted);
  if (whole >= 0) return 1000 - whole;
  let at = -1;
  let spread = 0;
  for (const char of wanted.replace(/\s+/g, "")) {
    const next = given.indexOf(char, at + 1);
    if (next < 0) return 0;
    spread += at < 0 ? 0 : next - at;
    at = next;
  }
  return Math.max(1, 200 - spread);
}

const sessionChoices = (run: (name: string) => void): Choice[] =>
  sessions.value.map((each) => ({ key: `s ${each.id}`, title: each.name, note: stateWords[each.state] ?? "", state: each.state, run: () => run(each.name) }));

function Palette() {
  const all = useMemo<Choice[]>(
    () => [
      ...sessionChoices(openSession),
      ...available()
        .filter((each) => each.id !== "palette" && !each.id.startsWith("session-"))
        .map((each) => ({ key: each.id, title: each.title, note: each.group, keys: each.keys ? shownKeys(each.keys) : each.outside, run: each.run })),
    ],
    [],
  );
  const [readable, setReadable] = useState<Choice[]>([]);
  const live = socket.connection.value.is === "live";
  useEffect(() => {
    if (!live || !socket.may("input")) return;
    void browse().then(
      (found) => setReadable(found.map((each) => ({ key: each.key, title: each.reference, note: each.note, run: () => void readUpstream(each) }))),
      () => undefined, // what cannot be listed is not there to choose
    );
  }, [live]);
  return (
    <Chooser
      title="Search sessions, commands and actions"
      placeholder="Search sessions, commands, actions…"
      choices={(query) => {
        if (!query.trim()) return all;
        const found = [...all, ...readable]
          .map((each) => ({ each, rank: score(query, `${each.title} ${each.note}`) }))
          .filter(({ rank }) => rank > 0)
          .sort((a, b) => b.rank - a.rank)
          .map(({ each }) => each);
        const history = { key: "history", title: `Search history for “${query}”`, note: "History", run: () => navigate(`history?q=${encodeURIComponent(query)}`) };
        return [...found, history];
      }}
    />
  );
}

/** Shows what stands there, once it has what it takes; its reference can be taken along into a message to an agent. */
async function readUpstream(readable: Readable): Promise<void> {
  if (readable.takes)
    return ask({
      is: "try",
      title: readable.reference,
      text: readable.about ? `What it is given, as JSON: ${readable.about}` : "What it is given, as JSON.",
      given: readable.takes,
      run: async (given) => {
        const content = await readable.read(given);
        setTimeout(() => showUpstream(readable, content));
      },
    });
  try {
    showUpstream(readable, await readable.read({}));
  } catch (error) {
    complain(error);
  }
}

function showUpstream(readable: Readable, content: string): void {
  ask({
    is: "confirm",
    title: readable.reference,
    text: "The server's own words, as an agent would get them.",
    detail: content.slice(0, 20_000),
    yes: "Copy its reference",
    run: () => void navigator.clipboard.writeText(readable.reference).then(() => notify("Copied", { kind: "good" }), complain),
  });
}

function Try({ asked }: { asked: Extract<Asked, { is: "try" }> }) {
  const [given, setGiven] = useState(asked.given);
  return (
    <Form title={asked.title} yes="Call" run={async () => asked.run(objectOf(given))}>
      <Field label={asked.text}>
        <textarea class={parts.input} rows={8} spellcheck={false} value={given} onInput={(event) => setGiven(event.currentTarget.value)} />
      </Field>
    </Form>
  );
}

function objectOf(text: string): Record<string, unknown> {
  const given: unknown = JSON.parse(text || "{}");
  if (typeof given !== "object" || given === null || Array.isArray(given)) throw new Error("it takes an object: { … }");
  return given as Record<string, unknown>;
}

function Pick({ asked }: { asked: Extract<Asked, { is: "pick" }> }) {
  const open = leaves(layout.value);
  const all = sessionChoices(asked.run).filter((each) => !open.includes(each.title));
  return <Chooser title={asked.title} placeholder="Which session…" choices={(query) => all.filter((each) => !query || score(query, each.title) > 0)} />;
}

function Keys() {
  const groups = ["Session", "Commands", "View", "Page"] as const;
  return (
    <Dialog title="Keyboard shortcuts" onClose={closeDialog} wide>
      <p class={parts.hint}>Inside a terminal every key belongs to the program, except these with Ctrl+Shift (⌘⇧ on a Mac) and F6. Keys without Ctrl work outside of terminals.</p>
      <div class={css.keysheet}>
        {groups.map((group) => (
          <section key={group}>
            <h3>{group}</h3>
            {actions
              .filter((each) => each.group === group && (each.keys || each.outside) && !/^session-[2-9]$/.test(each.id))
              .map((each) => (
                <div key={each.id}>
                  <span>{each.id === "session-1" ? "Session 1 to 9 of the list" : each.title}</span>
                  <Kbd>{each.keys ? shownKeys(each.keys) : each.outside}</Kbd>
                </div>
              ))}
          </section>
        ))}
        <section>
          <h3>Recording</h3>
          {[["Play or pause", "space"], ["Previous or next command", "[ ]"], ["Slower or faster", "< >"], ["To a tenth of it", "0 … 9"]].map(([what, keys]) => (
            <div key={keys}>
              <span>{what}</span>
              <Kbd>{keys}</Kbd>
            </div>
          ))}
        </section>
      </div>
    </Dialog>
  );
}

/** A form in a dialog: runs, shows the server's reason when it refuses, closes when it is done. */
function Form({ title, yes, run, children, danger }: { title: string; yes: string; run: () => Promise<void>; children: preact.ComponentChildren; danger?: boolean }) {
  const [problem, setProblem] = useState<{ message: string; hint?: string | undefined } | null>(null);
  const [busy, setBusy] = useState(false);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        setBusy(true);
        run().then(closeDialog, (error: Error & { hint?: string }) => {
          setBusy(false);
          setProblem({ message: error.message, hint: error.hint });
        });
      }}
    >
      <Dialog
        title={title}
        onClose={closeDialog}
        foot={
          <>
            <Button onClick={closeDialog}>Cancel</Button>
            <Button type="submit" look={danger ? "danger" : "primary"} disabled={busy}>
              {yes}
            </Button>
          </>
        }
      >
        {children}
        {problem && (
          <p class={parts.problem} role="alert">
            {problem.message}
            {problem.hint && <span class={parts.hint}> {problem.hint}</span>}
          </p>
        )}
      </Dialog>
    </form>
  );
}

function Create({ machine: wanted }: { machine?: string | undefined }) {
  const [at, setAt] = useState(wanted ?? machine.value);
  const [name, setName] = useState("");
  const [command, setCommand] = useState("");
  const [cwd, setCwd] = useState("");
  const [tags, setTags] = useState("");
  return (
    <Form
      title="New session"
      yes="Open"
      run={async () => {
        const made = await socket.call("session.open", {
          ...(name ? { name } : {}),
          ...(command ? { command } : {}),
          ...(cwd ? { cwd } : {}),
          tags: tags.split(/[\s,]+/).map((tag) => tag.replace(/^#/, "")).filter(Boolean),
        }, at);
        createdHere.add(nameOn(made, at));
        openSession(nameOn(made, at));
      }}
    >
      {machines.value.length > 0 && (
        <Field label="Machine">
          <select class={parts.input} value={at ?? ""} onChange={(event) => setAt(event.currentTarget.value || null)}>
            {!socket.me.value?.user && <option value="">this hub</option>}
            {machines.value.map((each) => (
              <option key={each} value={each}>
                {each}
              </option>
            ))}
          </select>
        </Field>
      )}
      <Field label="Name" hint="A number is chosen when left out">
        <Input autofocus value={name} onInput={(event) => setName(event.currentTarget.value)} placeholder="build" />
      </Field>
      <Field label="Command" hint="Your shell when left out">
        <Input value={command} onInput={(event) => setCommand(event.currentTarget.value)} placeholder="bash" />
      </Field>
      <div class={parts.row}>
        <Field label="Directory">
          <Input value={cwd} onInput={(event) => setCwd(event.currentTarget.value)} placeholder="your home" />
        </Field>
        <Field label="Tags">
          <Input value={tags} onInput={(event) => setTags(event.currentTarget.value)} placeholder="ci, api" />
        </Field>
      </div>
    </Form>
  );
}

function Rename({ name }: { name: string }) {
  const [next, setNext] = useState(shortName(name));
  return (
    <Form title={`Rename ${name}`} yes="Rename" run={async () => void (await socket.call("session.update", { session: name, name: next }))}>
      <Field label="New name" hint="Letters, digits and - _ .">
        <Input autofocus value={next} onInput={(event) => setNext(event.currentTarget.value)} onFocus={(event) => event.currentTarget.select()} />
      </Field>
    </Form>
  );
}

function Tags({ name }: { name: string }) {
  const before = sessionOf(name)?.tags ?? [];
  const [text, setText] = useState(before.join(" "));
  return (
    <Form
      title={`Tags of ${name}`}
      yes="Save"
      run={async () => {
        const after = text.split(/[\s,]+/).map((tag) => tag.replace(/^#/, "")).filter(Boolean);
        await socket.call("session.update", {
          session: name,
          add_tags: after.filter((tag) => !before.includes(tag)),
          remove_tags: before.filter((tag) => !after.includes(tag)),
        });
      }}
    >
      <Field label="Tags, with spaces between">
        <Input autofocus value={text} onInput={(event) => setText(event.currentTarget.value)} placeholder="ci api" />
      </Field>
    </Form>
  );
}

function End({ name }: { name: string }) {
  const info = sessionOf(name);
  const exited = info?.state === "exited";
  const [remove, setRemove] = useState(exited);
  const [typed, setTyped] = useState("");
  const busy = !exited && info?.state !== "prompt";
  const sure = !remove || typed === name;
  return (
    <Form
      title={exited ? `Remove ${name}?` : `End ${name}?`}
      yes={exited ? "Remove" : remove ? "End and remove" : "End"}
      danger
      run={async () => {
        if (!sure) throw new Error(`type ${name} to confirm: what is removed cannot be brought back`);
        if (remove) await socket.call("session.remove", { session: name });
        else await socket.call("session.close", { session: name });
        notify(remove ? `Removed ${name}` : `Ended ${name}`, { kind: "good" });
      }}
    >
      {!exited && <p>{busy ? "A program is running in it. It is asked to end, and killed if it does not." : "The shell is asked to end, and killed if it does not."}</p>}
      {!exited && (
        <label class={parts.row}>
          <input type="checkbox" checked={remove} onChange={(event) => setRemove(event.currentTarget.checked)} /> Remove its screen and recording too
        </label>
      )}
      {remove ? (
        <Field label={`Screen, scrollback and recording are deleted for good. Type “${name}” to confirm.`}>
          <Input autofocus={exited} value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
        </Field>
      ) : (
        <p class={parts.hint}>Its screen, history and recording stay, and you can open it again.</p>
      )}
    </Form>
  );
}

function Confirm({ asked }: { asked: Extract<Asked, { is: "confirm" }> }) {
  return (
    <Dialog
      title={asked.title}
      onClose={closeDialog}
      foot={
        <>
          <Button onClick={closeDialog} autofocus>
            Cancel
          </Button>
          <Button
            look={asked.danger ? "danger" : "primary"}
            onClick={() => {
              closeDialog();
              asked.run();
            }}
          >
            {asked.yes}
          </Button>
        </>
      }
    >
      <p>{asked.text}</p>
      {asked.detail && <pre class={parts.detail} tabIndex={0}>{asked.detail}</pre>}
    </Dialog>
  );
}

const PAGE_LINES = 1000;

function Block({ session, block }: { session: string; block: string }) {
  const [page, setPage] = useState<BlockOutput | null>(null);
  const [problem, setProblem] = useState("");
  const read = (offset: number) =>
    void socket.call("block.output", { session, block, offset, limit: PAGE_LINES }).then(setPage, (error: Error) => setProblem(error.message));
  useEffect(() => read(0), [session, block]);
  const info = page?.block;
  return (
    <Dialog
      title={info?.command_line ?? "Command"}
      onClose={closeDialog}
      wide
      foot={
        info && (
          <>
            {page && page.total_lines > PAGE_LINES && (
              <>
                <Button disabled={page.offset === 0} onClick={() => read(Math.max(0, page.offset - PAGE_LINES))}>
                  Earlier
                </Button>
                <Button disabled={page.offset + page.lines.length >= page.total_lines} onClick={() => read(page.offset + PAGE_LINES)}>
                  Later
                </Button>
              </>
            )}
            <Button onClick={() => void copyLink(info)}>Copy link</Button>
            <Button onClick={() => void copyMarkdown(info)}>Copy as Markdown</Button>
            <Button onClick={() => void copyCommand(info)}>Copy command</Button>
            <Button look="primary" onClick={() => void copyOutput(info)}>
              Copy output
            </Button>
          </>
        )
      }
    >
      {problem && <p class={parts.problem}>{problem}</p>}
      {info && (
        <p class={parts.hint}>
          <b class={css.code} data-is={endOf(info)}>
            {endWords(info)}
          </b>{" "}
          {duration(info.duration_ms)} · {info.cwd} · by {info.actor} · {new Date(info.started_at).toLocaleString()}
          {page && page.total_lines > PAGE_LINES && ` · lines ${page.offset + 1} to ${page.offset + page.lines.length} of ${page.total_lines}`}
        </p>
      )}
      {page && <pre class={parts.detail} tabIndex={0} id="block-output">{page.lines.join("\n") || "(no output)"}</pre>}
    </Dialog>
  );
}


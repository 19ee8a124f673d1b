// Who may look and who may type: tokens with scopes, for one session or all, for a time, revocable.
import { useEffect, useState } from "preact/hooks";
import { sharedLink } from "../protocol/credential";
import type { NewToken, TokenInfo } from "../protocol/operations";
import { socket } from "../protocol/socket";
import { ask } from "../state/dialogs";
import { complain, notify } from "../state/notices";
import { base, route, sessionPath } from "../state/route";
import { sessions } from "../state/sessions";
import { Button, Copyable, Field, Input, since, parts } from "../ui/ui";
import css from "./pages.module.css";

type Scope = "read" | "input" | "control" | "approve" | "admin";
const KINDS: { name: string; label: string; scopes: Scope[] }[] = [
  { name: "view", label: "Look on", scopes: ["read"] },
  { name: "type", label: "Look and type", scopes: ["read", "input"] },
  { name: "approve", label: "Look and answer agents’ questions", scopes: ["read", "approve"] },
  { name: "control", label: "Look, type, open and end sessions", scopes: ["read", "input", "control"] },
];
const TIMES: [string, number | null][] = [["10 minutes", 600], ["1 hour", 3600], ["1 day", 86_400], ["1 week", 604_800], ["30 days", 2_592_000], ["no end", null]];

export function Share() {
  const [list, setList] = useState<TokenInfo[] | null>(null);
  const [problem, setProblem] = useState("");
  const [made, setMade] = useState<NewToken | null>(null);
  const [name, setName] = useState("");
  const [kind, setKind] = useState("view");
  const [session, setSession] = useState(route.value.query.get("session") ?? "");
  const [time, setTime] = useState("1 day");
  const live = socket.connection.value.is === "live";
  const load = () => void socket.call("token.list", {}).then(setList, (error: Error) => setProblem(error.message));
  useEffect(() => {
    if (live) load();
  }, [live]);

  const create = async () => {
    const scopes = KINDS.find((each) => each.name === kind)?.scopes ?? ["read"];
    const until = TIMES.find(([label]) => label === time)?.[1] ?? null;
    try {
      setMade(await socket.call("token.create", { name, scopes, ...(session ? { session } : {}), ...(until ? { expires_in_s: until } : {}) }));
      load();
    } catch (error) {
      complain(error);
    }
  };
  const revoke = (token: TokenInfo) =>
    ask({
      is: "confirm",
      title: `Take back “${token.name}”?`,
      text: "Its connections end at once, and it is refused from now on.",
      yes: "Take back",
      danger: true,
      run: () =>
        void socket.call("token.revoke", { token: token.id }).then(() => {
          notify(`“${token.name}” is refused from now on`, { kind: "good" });
          load();
        }, complain),
    });

  return (
    <section class={css.sheet} data-region aria-label="Share">
      <h1>Share</h1>
      <p>Let another person, an agent or a program in, for as much and as long as you say.</p>
      <form
        class={css.box}
        onSubmit={(event) => {
          event.preventDefault();
          void create();
        }}
      >
        <div class={parts.row}>
          <Field label="For whom">
            <Input required value={name} onInput={(event) => setName(event.currentTarget.value)} placeholder="ada" maxLength={64} />
          </Field>
          <Field label="May">
            <select class={parts.input} value={kind} onChange={(event) => setKind(event.currentTarget.value)}>
              {KINDS.map((each) => (
                <option key={each.name} value={each.name}>
                  {each.label}
                </option>
              ))}
            </select>
          </Field>
          <Field label="Sessions">
            <select class={parts.input} value={session} onChange={(event) => setSession(event.currentTarget.value)}>
              <option value="">all of them</option>
              {sessions.value.map((each) => (
                <option key={each.id}>{each.name}</option>
              ))}
            </select>
          </Field>
          <Field label="For">
            <select class={parts.input} value={time} onChange={(event) => setTime(event.currentTarget.value)}>
              {TIMES.map(([label]) => (
                <option key={label}>{label}</option>
              ))}
            </select>
          </Field>
        </div>
        <div class={parts.row}>
          <Button type="submit" look="primary" disabled={!name.trim()}>
            Create
          </Button>
        </div>
        {made && (
          <div role="status">
            <p>For “{made.info.name}”, shown this once. A link that opens this page:</p>
            <Copyable label="Link" text={sharedLink(new URL(made.info.session ? sessionPath(made.info.session) : made.info.scopes.includes("approve") ? "approvals" : "", new URL(base, location.href)).href, made.token)} />
            <p>The token alone, for programs:</p>
            <Copyable label="Token" text={made.token} />
          </div>
        )}
      </form>
      {problem && <p role="alert">{problem}</p>}
      {list && <Access title="Links and tokens" none="None yet." list={list.filter((each) => each.kind !== "browser")} revoke={revoke} />}
      {list && <Access title="Signed-in browsers" none="None." list={list.filter((each) => each.kind === "browser")} revoke={revoke} />}
    </section>
  );
}

function Access({ title, none, list, revoke }: { title: string; none: string; list: TokenInfo[]; revoke: (token: TokenInfo) => void }) {
  return (
        <div class={css.box}>
          <h2>{title}</h2>
          {!list.length && <p class={parts.hint}>{none}</p>}
          <div class={css.scroll}>
            <table class={css.table}>
              {list.length > 0 && (
                <thead>
                  <tr>
                    <th>Name</th>
                    <th>May</th>
                    <th>Sessions</th>
                    <th class={css.optional}>Last used</th>
                    <th class={css.optional}>Until</th>
                    <th />
                  </tr>
                </thead>
              )}
              <tbody>
                {list.map((token) => (
                  <tr key={token.id} data-off={!token.valid}>
                    <td>
                      {token.name}
                    </td>
                    <td>{token.scopes.join(", ")}</td>
                    <td>{token.session ?? "all"}</td>
                    <td class={css.optional}>{token.last_used_at ? since(token.last_used_at) : "never"}</td>
                    <td class={css.optional}>{token.expires_at ? new Date(token.expires_at).toLocaleString() : "no end"}</td>
                    <td class={css.right}>
                      {token.valid ? (
                        <Button look="danger" onClick={() => revoke(token)}>
                          Take back
                        </Button>
                      ) : token.revoked_at ? (
                        "taken back"
                      ) : (
                        "expired"
                      )}
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </div>
  );
}

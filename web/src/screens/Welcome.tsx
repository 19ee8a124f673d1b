// What to do when there is no session, or no machine of a hub.
import { useEffect, useState } from "preact/hooks";
import type { HostEntry } from "../protocol/operations";
import { socket } from "../protocol/socket";
import { ask } from "../state/dialogs";
import { shownKeys } from "../state/keys";
import { Button, Copyable, Kbd } from "../ui/ui";
import css from "./shell.module.css";

export function Welcome() {
  const user = socket.me.value?.user;
  return user ? <NoMachine user={user} /> : <NoSession />;
}

/** A user of a hub whose machines are not there. */
function NoMachine({ user }: { user: string }) {
  const hub = new URL("../../", import.meta.url).href.replace(/\/$/, "");
  return (
    <section class={css.empty} data-region aria-label="Sessions">
      <h1>No machine yet</h1>
      <p>A machine joins this hub by itself, from behind any router. Its sessions are shown here then.</p>
      <ul class={css.steps}>
        <li>
          <h2>On the hub, a token for a machine of {user}</h2>
          <Copyable label="Command for the hub" text={`duetty hub token create ${user} --scope join`} />
        </li>
        <li>
          <h2>On that machine</h2>
          <Copyable label="Command for the machine" text={`duetty join ${hub}`} />
        </li>
      </ul>
    </section>
  );
}

function NoSession() {
  const [entry, setEntry] = useState<HostEntry | null>(null);
  useEffect(() => {
    void socket.call("server.status", {}).then(({ mcp_host }) => setEntry(mcp_host), () => {});
  }, []);
  const { env, ...bridge } = entry ?? { command: "duetty", args: ["mcp"], env: {} };
  const config = JSON.stringify({ mcpServers: { duetty: Object.keys(env).length ? { ...bridge, env } : bridge } }, null, 2);
  return (
    <section class={css.empty} data-region aria-label="Sessions">
      <h1>No session yet</h1>
      <p>A session is one terminal that you and an agent share. Open one here, from a shell, or let an agent do it.</p>
      <div>
        <Button look="primary" onClick={() => ask({ is: "create" })}>
          New session
        </Button>{" "}
        <Kbd>{shownKeys("Ctrl+Shift+E")}</Kbd>
      </div>
      <ul class={css.steps}>
        <li>
          <h2>From an agent’s host</h2>
          <p>Put this into its MCP configuration:</p>
          <Copyable label="MCP configuration" text={config} />
        </li>
        <li>
          <h2>From a shell</h2>
          <Copyable label="Command" text="duetty run -- echo hello" />
        </li>
        <li>
          <h2>From a program</h2>
          <Copyable
            label="curl example"
            text={`curl -H "Authorization: Bearer $(duetty token)" \\\n  -H "Content-Type: application/json" \\\n  -d '{"name": "build"}' ${new URL("../../sessions", import.meta.url).href}`}
          />
        </li>
      </ul>
    </section>
  );
}

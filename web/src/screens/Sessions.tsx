// All sessions as tiles, those that wait for a person first; and what to do when there is none.
import { useEffect, useState } from "preact/hooks";
import type { HostEntry } from "../protocol/operations";
import { socket } from "../protocol/socket";
import { ask } from "../state/dialogs";
import { prefs } from "../state/prefs";
import { filter, isWaiting, loaded, sessions, shown } from "../state/sessions";
import { Button, Copyable, Kbd } from "../ui/ui";
import { shownKeys } from "../state/keys";
import { SessionCard } from "./SessionCard";
import { ListTools, grouped } from "./SessionList";
import css from "./shell.module.css";

const THUMB_ROWS = 12;

export function Sessions() {
  if (!loaded.value) return null;
  if (!sessions.value.length) return <Welcome />;
  const waits = shown.value.filter(isWaiting);
  const others = shown.value.filter((each) => !isWaiting(each));
  return (
    <section class={css.overview} data-region aria-label="Sessions">
      <header>
        <h1>Sessions</h1>
        <div class={css.wideTools}>
          <ListTools />
        </div>
      </header>
      {waits.length > 0 && (
        <>
          <h2 class={css.section}>Waiting for you</h2>
          <ul class={css.tiles} id="waiting">
            {waits.map((each) => (
              <SessionCard key={each.id} session={each} current={false} rows={THUMB_ROWS} />
            ))}
          </ul>
        </>
      )}
      {grouped(others, prefs.value.groupBy).map(([name, list]) => (
        <>
          {name && <h2 class={css.section}>{name}</h2>}
          <ul class={css.tiles}>
            {list.map((each) => (
              <SessionCard key={each.id} session={each} current={false} rows={THUMB_ROWS} />
            ))}
          </ul>
        </>
      ))}
      {!shown.value.length && (
        <p>
          No session matches “{filter.value}”. <Button onClick={() => (filter.value = "")}>Show all</Button>
        </p>
      )}
    </section>
  );
}

function Welcome() {
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

// Every session is recorded as long as it is kept.
import { ask } from "../state/dialogs";
import { base, navigate, recordingPath } from "../state/route";
import { loaded, sessions } from "../state/sessions";
import { Button, Dot, parts, stateWords } from "../ui/ui";
import css from "./pages.module.css";

export function Recordings() {
  const newest = [...sessions.value].sort((a, b) => b.created_at.localeCompare(a.created_at));
  return (
    <section class={css.sheet} data-region aria-label="Recordings">
      <h1>Recordings</h1>
      <p>Everything a session printed is kept with its times until the session is removed.</p>
      {loaded.value && !newest.length && (
        <div class={css.box}>
          <h2>Nothing is recorded yet</h2>
          <p class={parts.hint}>Open a session, or let an agent open one: from its first byte on it can be played here, faster or slower, with its commands on the scrubber, and downloaded for any player of asciicast files.</p>
          <p>
            <Button look="primary" onClick={() => ask({ is: "create" })}>
              New session
            </Button>
          </p>
        </div>
      )}
      {newest.length > 0 && (
        <div class={css.box}>
          <table class={css.table}>
            <thead>
              <tr>
                <th>Session</th>
                <th>State</th>
                <th class={css.optional}>Command</th>
                <th>Opened</th>
              </tr>
            </thead>
            <tbody>
              {newest.map((each) => (
                <tr key={each.id}>
                  <td>
                    <a
                      href={base + recordingPath(each.name)}
                      onClick={(event) => {
                        event.preventDefault();
                        navigate(recordingPath(each.name));
                      }}
                    >
                      {each.name}
                    </a>
                  </td>
                  <td>
                    <Dot state={each.state} bad={(each.exit_code ?? 0) !== 0} /> {stateWords[each.state]}
                    {each.state === "exited" && each.exit_code !== null ? `, code ${each.exit_code}` : ""}
                  </td>
                  <td class={css.optional}>{each.command}</td>
                  <td>{new Date(each.created_at).toLocaleString()}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

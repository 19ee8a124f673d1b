// All sessions as tiles, those that wait for a person first; and what to do when there is none.
import { ask } from "../state/dialogs";
import { allMachines, machines } from "../state/machines";
import { prefs } from "../state/prefs";
import { filter, isWaiting, loaded, sessions, shown } from "../state/sessions";
import { Button, lazy } from "../ui/ui";
import { SessionCard } from "./SessionCard";
import { AwayWords, ListTools, grouped } from "./SessionList";
import css from "./shell.module.css";

const Welcome = lazy(() => import("./Welcome").then((loaded) => loaded.Welcome));

const THUMB_ROWS = 12;

export function Sessions() {
  if (!loaded.value) return null;
  if (!sessions.value.length && !allMachines.value.length) return <Welcome />;
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
          {name && (
            <h2 class={css.section}>
              {name}
              <AwayWords machine={name} />
            </h2>
          )}
          <ul class={css.tiles} data-group={name}>
            {list.map((each) => (
              <SessionCard key={each.id} session={each} current={false} rows={THUMB_ROWS} />
            ))}
          </ul>
          {!list.length && machines.value.includes(name) && !waits.length && (
            <p class={css.none}>
              No session here. <Button onClick={() => ask({ is: "create", machine: name })}>New session on {name}</Button>
            </p>
          )}
        </>
      ))}
      {!allMachines.value.length && !shown.value.length && (
        <p>
          No session matches “{filter.value}”. <Button onClick={() => (filter.value = "")}>Show all</Button>
        </p>
      )}
    </section>
  );
}

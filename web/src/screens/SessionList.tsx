// The list beside an open session.
import { ask } from "../state/dialogs";
import { current } from "../state/panes";
import { allMachines, away, awayWords, machineOf, machines } from "../state/machines";
import { type Prefs, prefs, setPref } from "../state/prefs";
import { type SessionInfo, filter, isWaiting, running, shown, tags, waiting } from "../state/sessions";
import { Button, Input, stateWords } from "../ui/ui";
import { SessionCard } from "./SessionCard";
import css from "./shell.module.css";

const THUMB_ROWS = 8;

export function grouped(list: SessionInfo[], by: Prefs["groupBy"]): [string, SessionInfo[]][] {
  if (by === "none") return allMachines.value.length ? byMachine(list) : [["", list]];
  const groups = new Map<string, SessionInfo[]>();
  for (const each of list) {
    const names = by === "state" ? [isWaiting(each) ? "waits for you" : stateWords[each.state] ?? ""] : each.tags.length ? [`#${each.tags[0]}`] : ["no tag"];
    for (const name of names) groups.set(name, [...(groups.get(name) ?? []), each]);
  }
  return [...groups];
}

export function AwayWords({ machine }: { machine: string }) {
  const since = !machines.value.includes(machine) && away.value[machine];
  return since ? <small> · {awayWords(since)}</small> : null;
}

/** A machine without a session is one on which a session can be opened. */
function byMachine(list: SessionInfo[]): [string, SessionInfo[]][] {
  const here = list.filter((each) => machineOf(each.name) === null);
  const there = allMachines.value.map((machine): [string, SessionInfo[]] => [machine, list.filter((each) => machineOf(each.name) === machine)]);
  return [...(here.length ? [["this hub", here] as [string, SessionInfo[]]] : []), ...there];
}

export function ListTools() {
  return (
    <>
      <div class={css.tools}>
        <Input
          id="filter"
          type="search"
          placeholder="Filter…"
          aria-label="Filter sessions"
          value={filter.value}
          onInput={(event) => (filter.value = event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === "Escape") {
              filter.value = "";
              event.currentTarget.blur();
            }
          }}
        />
        <Button icon aria-label="New session" title="New session" onClick={() => ask({ is: "create" })}>
          +
        </Button>
      </div>
      {tags.value.length > 0 && (
        <div class={css.chips} role="group" aria-label="Filter by tag">
          {tags.value.map((tag) => (
            <button key={tag} type="button" aria-pressed={filter.value === `#${tag}`} onClick={() => (filter.value = filter.value === `#${tag}` ? "" : `#${tag}`)}>
              #{tag}
            </button>
          ))}
        </div>
      )}
      <div class={css.count}>
        <span>
          {running.value.length} running{waiting.value.length ? ` · ${waiting.value.length} waiting` : ""}
        </span>
        <select aria-label="Group sessions by" value={prefs.value.groupBy} onChange={(event) => setPref("groupBy", event.currentTarget.value as Prefs["groupBy"])}>
          <option value="none">{allMachines.value.length ? "by machine" : "no groups"}</option>
          <option value="tag">by tag</option>
          <option value="state">by state</option>
        </select>
      </div>
    </>
  );
}

export function SessionList() {
  return (
    <aside class={css.list} data-region aria-label="Sessions">
      <ListTools />
      <ul class={css.cards}>
        {grouped(shown.value, prefs.value.groupBy).map(([name, list]) => [
          name && (
            <li key={`group ${name}`} class={css.group}>
              {name}
              <AwayWords machine={name} />
            </li>
          ),
          ...list.map((each) => <SessionCard key={each.id} session={each} current={each.name === current.value} rows={THUMB_ROWS} />),
        ])}
      </ul>
    </aside>
  );
}

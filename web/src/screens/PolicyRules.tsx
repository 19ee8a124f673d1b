// Every rule and where it comes from; the strictest first, as they count.
import { useState } from "preact/hooks";
import { socket } from "../protocol/socket";
import { ask } from "../state/dialogs";
import { complain, notify } from "../state/notices";
import { type ClassInfo, DECISIONS, type Decide, type RuleInfo, revokeStanding, rules } from "../state/policy";
import { adjust, route } from "../state/route";
import { Button, Input, parts } from "../ui/ui";
import { Words } from "./Words";
import css from "./Policy.late.module.css";

const SOURCES: [RuleInfo["source"], string, string][] = [
  ["config", "Yours", "in your settings file"],
  ["standing", "Standing approvals", "answers of yours that cover later calls too"],
  ["project", "Of projects", "they may deny and ask, never allow"],
  ["shipped", "Shipped", "they come with Duetty"],
];

export const DECIDES: Record<Decide, { word: string; sign: string }> = {
  deny: { word: "deny", sign: "✕" },
  ask: { word: "ask", sign: "?" },
  allow: { word: "allow", sign: "✓" },
};

/** By shape and word as well as by colour. */
export const Decision = ({ is }: { is: Decide }) => (
  <b class={css.decision} data-is={is}>
    <i aria-hidden="true">{DECIDES[is].sign}</i>
    {DECIDES[is].word}
  </b>
);

const words = (rule: RuleInfo) =>
  [rule.name, rule.decide, rule.why, rule.where, rule.session ?? "", ...Object.values(rule.conditions).flat(), ...rule.matches, ...rule.not_matches].join("\n").toLowerCase();

export function RulesTable() {
  const list = rules.value;
  const query = route.value.query.get("q") ?? "";
  const only = route.value.query.get("only") as Decide | null;
  if (!list) return null;
  const wanted = query.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (text: string) => wanted.every((word) => text.includes(word));
  const shown = list.rules.filter((rule) => (!only || rule.decide === only) && fits(words(rule)));
  const classes = only && only !== "ask" ? [] : list.classes.filter((each) => fits(`${each.name}\n${each.reason}\n${each.instead}`.toLowerCase()));
  return (
    <>
      <search class={css.filter}>
        <Input id="filter" type="search" aria-label="Filter rules" placeholder="Filter by name, command, reason…" value={query} onInput={(event) => adjust({ q: event.currentTarget.value })} />
        <div class={parts.row} role="group" aria-label="Only those that">
          {DECISIONS.map((each) => (
            <button key={each} type="button" class={css.chip} aria-pressed={only === each} onClick={() => adjust({ only: only === each ? "" : each })}>
              <Decision is={each} /> {list.rules.filter((rule) => rule.decide === each).length}
            </button>
          ))}
        </div>
      </search>
      {!list.is_current && (
        <p class={css.warning} role="status">
          {list.file} was changed since its rules were read: what is in it is not in force yet.
          <Button onClick={() => adjust({ view: "text" })}>Look at it</Button>
        </p>
      )}
      {list.problems.map((each) => (
        <p key={each.file} class={css.warning} role="status">
          <span>
            Rules of a project cannot be read, so that agents can do nothing there: <code>{each.file}</code>: <Words text={each.message} />
          </span>
        </p>
      ))}
      {SOURCES.map(([source, title, note]) => (
        <Group key={source} title={title} note={source === "config" ? list.file : note} rules={shown.filter((rule) => rule.source === source)} isFiltered={Boolean(query || only)} isMine={source === "config"} />
      ))}
      {classes.length > 0 && <Classes classes={classes} isOpen={Boolean(query)} />}
      {!shown.length && !classes.length && <p class={parts.hint}>No rule fits that.</p>}
    </>
  );
}

function Group({ title, note, rules: list, isFiltered, isMine }: { title: string; note: string; rules: RuleInfo[]; isFiltered: boolean; isMine: boolean }) {
  if (!list.length && (!isMine || isFiltered)) return null;
  const sorted = DECISIONS.flatMap((each) => list.filter((rule) => rule.decide === each));
  return (
    <section class={css.group}>
      <h2>
        {title} <small>{note}</small>
      </h2>
      {!list.length && (
        <p class={parts.hint}>
          You have no rules of your own: the profile and the shipped rules decide. <Button onClick={() => adjust({ view: "text" })}>Write one</Button>
        </p>
      )}
      {list.length > 0 && (
        <table role="table" class={css.rules} aria-label={title}>
          <thead role="rowgroup">
            <tr role="row">
              <th role="columnheader" scope="col">Decides</th>
              <th role="columnheader" scope="col">Rule</th>
              <th role="columnheader" scope="col">Why</th>
            </tr>
          </thead>
          <tbody role="rowgroup">
            {sorted.map((rule) => (
              <Row key={`${rule.where} ${rule.name}`} rule={rule} />
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

function Row({ rule }: { rule: RuleInfo }) {
  const revoke = () =>
    ask({
      is: "confirm",
      title: "Take back this standing approval?",
      text: "From now on such a call asks again.",
      detail: (rule.conditions["command"] ?? []).join("\n"),
      yes: "Take back",
      danger: true,
      run: () => void revokeStanding(rule.standing ?? "").then(() => notify("It asks again from now on", { kind: "good" }), complain),
    });
  return (
    <tr role="row" data-off={!rule.in_force} data-rule={rule.name}>
      <td role="cell">
        <Decision is={rule.decide} />
      </td>
      <td role="cell">
        {rule.source !== "standing" && (
          <strong>
            <Words text={rule.name} />
          </strong>
        )}
        <dl class={css.conditions}>
          {Object.entries(rule.conditions).map(
            ([key, values]) =>
              values.length > 0 && (
                <div key={key}>
                  <dt>{key}</dt>
                  <dd>
                    {values.map((value) => (
                      <code key={value}>
                        <Words text={value} />
                      </code>
                    ))}
                  </dd>
                </div>
              ),
          )}
          {rule.even_destructive.length > 0 && (
            <div>
              <dt>even</dt>
              <dd>{rule.even_destructive.join(", ")}</dd>
            </div>
          )}
        </dl>
        <Examples rule={rule} />
      </td>
      <td role="cell">
        {rule.why && (
          <p>
            <Words text={rule.why} />
          </p>
        )}
        <small title={rule.where}>
          {rule.source === "config" ? rule.where.split("/").at(-1) : rule.where}
          {rule.session && ` · only in ${rule.session}`}
          {!rule.in_force && " · not in force in this profile"}
        </small>
        {rule.standing !== null && socket.may("admin") && (
          <Button look="danger" onClick={revoke} aria-label={`Take back: ${(rule.conditions["command"] ?? []).join(" ")}`}>
            Take back
          </Button>
        )}
      </td>
    </tr>
  );
}

function Examples({ rule }: { rule: RuleInfo }) {
  const all: [string, boolean][] = [...rule.matches.map((each): [string, boolean] => [each, true]), ...rule.not_matches.map((each): [string, boolean] => [each, false])];
  if (!all.length) return null;
  return (
    <details class={css.examples}>
      <summary>{all.length === 1 ? "one example" : `${all.length} examples`}</summary>
      <ul>
        {all.map(([line, isMeant]) => (
          <li key={line}>
            <button type="button" onClick={() => adjust({ command: line })} title="Try it">
              <span>{isMeant ? "meant" : "not meant"}</span>
              <code>
                <Words text={line} />
              </code>
            </button>
          </li>
        ))}
      </ul>
    </details>
  );
}

function Classes({ classes, isOpen }: { classes: ClassInfo[]; isOpen: boolean }) {
  const [open, setOpen] = useState(false);
  return (
    <details class={css.classes} open={open || isOpen} onToggle={(event) => !isOpen && setOpen(event.currentTarget.open)}>
      <summary>
        <h2>
          What is asked about as destructive <small>{classes.length === 1 ? "one class" : `${classes.length} classes`}</small>
        </h2>
      </summary>
      <table role="table" class={css.rules} aria-label="Destructive classes">
        <thead role="rowgroup">
          <tr role="row">
            <th role="columnheader" scope="col">Class</th>
            <th role="columnheader" scope="col">Why it is asked about</th>
            <th role="columnheader" scope="col">Instead</th>
          </tr>
        </thead>
        <tbody role="rowgroup">
          {classes.map((each) => (
            <tr key={each.name} role="row" data-class={each.name}>
              <td role="cell">
                <code>{each.name}</code>
                {each.grave && <small>no rule can allow it</small>}
              </td>
              <td role="cell">{each.reason}</td>
              <td role="cell">{each.instead}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}

// One tool: what it says of itself, what is known, and whether agents may use it.
import type { JSX } from "preact";
import { untilMs } from "../state/clock";
import { base, navigate } from "../state/route";
import { type ToolCall, type ToolInfo, type UpstreamInfo, accept, callsOf, isCut, isOn, mayChange, turn } from "../state/tools";
import { Button, ago, parts } from "../ui/ui";
import { Diff } from "./Diff";
import { Words } from "./Words";
import css from "./Tools.late.module.css";

const RISKS: Record<ToolInfo["risk"], { word: string; sign: string }> = {
  read: { word: "reads", sign: "○" },
  write: { word: "changes things", sign: "◐" },
  destructive: { word: "may destroy", sign: "▲" },
  unknown: { word: "risk unknown", sign: "?" },
};

const MOST_CALLS = 5;

const PINS: Record<ToolInfo["pin"], string> = { known: "", new: "new", changed: "changed since you accepted it" };

export function Tool({ upstream, tool }: { upstream: UpstreamInfo; tool: ToolInfo }) {
  const risk = RISKS[tool.risk];
  const [first = "", ...others] = tool.description.split("\n");
  const more = others.join("\n").trim();
  return (
    <li class={css.tool} data-tool={tool.name} data-pin={tool.pin}>
      <div class={css.name}>
        <h3>
          <code>
            <Words text={tool.name} most={256} />
          </code>
        </h3>
        <span class={css.risk} data-is={tool.risk}>
          <i aria-hidden="true">{risk.sign}</i>
          {risk.word}
        </span>
        <small>{tool.risk_known_by === "annotations" ? "its own word" : "it does not say"}</small>
        {tool.pin !== "known" && <span class={css.pin}>{PINS[tool.pin]}</span>}
        <Switch label={`${upstream.name}: ${tool.name}`} on={isOn(upstream, tool)} onTurn={(wants) => void turn(upstream, wants, tool)} />
      </div>
      {first && (
        <p class={css.words}>
          <Words text={first} most={600} />
        </p>
      )}
      {tool.warnings.length > 0 && (
        <ul class={css.warnings}>
          {tool.warnings.map((each) => (
            <li key={each}>
              <Words text={each} most={400} />
            </li>
          ))}
        </ul>
      )}
      {tool.pin === "known" && isOn(upstream, tool) && !tool.usable && tool.why_not && (
        <p class={parts.hint}>
          <Words text={tool.why_not} most={400} />
        </p>
      )}
      {tool.differences.map((each) => (
        <section key={each.part} class={css.difference} aria-label={`What changed of ${tool.name}`}>
          <h4>{each.part}</h4>
          <Diff before={laidOut(each.was)} after={laidOut(each.now)} label={`${each.part} of ${tool.name}: as accepted, and now`} />
        </section>
      ))}
      {tool.pin !== "known" && mayChange() && (
        <div class={parts.row}>
          <Button look={tool.pin === "changed" ? "danger" : "plain"} onClick={() => void accept(upstream, [tool])} aria-label={`Accept ${tool.name} as it is`}>
            {tool.pin === "changed" ? "Accept the change" : "Accept"}
          </Button>
        </div>
      )}
      <Calls calls={callsOf(upstream, tool)} />
      <details class={css.about}>
        <summary>All that it says</summary>
        {more && (
          <p class={css.long}>
            <Words text={more} />
          </p>
        )}
        <Arguments schema={tool.input_schema} />
        <dl>
          {tool.title && (
            <div>
              <dt>Title</dt>
              <dd>
                <Words text={tool.title} most={200} />
              </dd>
            </div>
          )}
          {tool.id && (
            <div>
              <dt>Rules know it as</dt>
              <dd>
                <code>{tool.id}</code>{" "}
                <Button look="quiet" onClick={() => navigate(`policy?command=${encodeURIComponent(tool.id ?? "")}`)}>
                  What would policy say?
                </Button>
              </dd>
            </div>
          )}
          <div>
            <dt>Fingerprint</dt>
            <dd>
              <code>{tool.fingerprint}</code>
            </dd>
          </div>
        </dl>
      </details>
    </li>
  );
}

const since = (call: ToolCall) => {
  const time = ago(-untilMs(new Date(call.atMs).toISOString()));
  return time === "now" ? "just now" : `${time} ago`;
};

/** How often it was called, and the last times: by whom, what was decided, how it ended. */
function Calls({ calls }: { calls: ToolCall[] }) {
  const [last] = calls;
  if (!last) return null;
  return (
    <details class={css.about}>
      <summary>
        {calls.length === 1 && !isCut.value ? "One call" : `${calls.length}${isCut.value ? "+" : ""} calls`}, the last {since(last)}
      </summary>
      <ol class={css.calls}>
        {calls.slice(0, MOST_CALLS).map((each) => (
          <li key={each.id}>
            <a
              href={`${base}audit?call=${each.id}`}
              onClick={(event) => {
                event.preventDefault();
                navigate(`audit?call=${each.id}`);
              }}
            >
              <Words text={each.actor} most={60} />
            </a>
            <span>
              {each.decision}, {each.outcome === "done" ? "✓ done" : each.outcome ? `✗ ${each.outcome}` : "▸ running"}
            </span>
            <time title={new Date(each.atMs).toLocaleString()}>{since(each)}</time>
          </li>
        ))}
      </ol>
    </details>
  );
}

export function Switch({ label, on, onTurn }: { label: string; on: boolean; onTurn: (on: boolean) => void }) {
  return (
    <button type="button" role="switch" class={css.switch} aria-checked={on} aria-label={label} disabled={!mayChange()} onClick={() => onTurn(!on)}>
      <i aria-hidden="true" />
      <span aria-hidden="true">{on ? "on" : "off"}</span>
    </button>
  );
}

/** JSON line by line, so that its parts can be compared; anything else as it is. */
function laidOut(text: string | null): string {
  if (!text) return "";
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" ? JSON.stringify(value, null, 2) : text;
  } catch {
    return text;
  }
}

interface Property {
  type?: unknown;
  description?: unknown;
}

const asText = (value: unknown): string => (typeof value === "string" ? value : value === undefined ? "" : JSON.stringify(value));

function Arguments({ schema }: { schema: Record<string, unknown> }): JSX.Element {
  const properties = Object.entries((schema["properties"] ?? {}) as Record<string, Property | null>);
  const required = Array.isArray(schema["required"]) ? schema["required"] : [];
  if (!properties.length) return <p class={parts.hint}>It takes no arguments.</p>;
  return (
    <dl>
      {properties.map(([name, each]) => (
        <div key={name}>
          <dt>
            <code>
              <Words text={name} most={100} />
            </code>
          </dt>
          <dd>
            {asText(each?.type)}
            {required.includes(name) && " (must be given)"} <Words text={asText(each?.description)} most={1000} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

// A recording with its commands on the scrubber, and beside it the messages to the agent and its calls.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ask, hasToken } from "../protocol/credential";
import type { BlockInfo } from "../protocol/operations";
import { server, socket } from "../protocol/socket";
import { machineOf, shortName } from "../state/machines";
import { endOf } from "../state/blocks";
import { dialog } from "../state/dialogs";
import { openSession } from "../state/panes";
import { session } from "../state/sessions";
import { Player, markedTimes, parseCast } from "../terminal/player";
import { Button } from "../ui/ui";
import late from "./Recording.late.module.css";
import { Words } from "./Words";
import css from "./pages.module.css";

const SPEEDS = [0.5, 1, 2, 4, 8, 16];
const CAPS: [string, number][] = [["pauses up to 1 s", 1], ["pauses up to 2 s", 2], ["pauses up to 5 s", 5], ["all pauses", Infinity]];
const MOST_BLOCKS = 1000;
/** Of the scrubber. The end seldom falls on one: the last of them means it. */
const STEP_S = 0.01;
/** Below this whole seconds say too little about where one is. */
const SHORT_S = 60;

function clock(seconds: number, length: number): string {
  if (length < SHORT_S) return `${seconds.toFixed(1)} s`;
  const whole = Math.floor(seconds);
  const rest = `${String(Math.floor((whole % 3600) / 60)).padStart(2, "0")}:${String(whole % 60).padStart(2, "0")}`;
  return whole >= 3600 ? `${Math.floor(whole / 3600)}:${rest}` : rest;
}

export function Recording({ name }: { name: string }) {
  const host = useRef<HTMLDivElement>(null);
  const stage = useRef<HTMLDivElement>(null);
  const [player, setPlayer] = useState<Player | null>(null);
  const [blocks, setBlocks] = useState<BlockInfo[]>([]);
  const [problem, setProblem] = useState("");
  const live = socket.connection.value.is === "live";
  const machine = machineOf(name);
  const href = new URL(`sessions/${encodeURIComponent(shortName(name))}/recording?version=3${machine ? `&server=${encodeURIComponent(machine)}` : ""}`, server).href;

  useEffect(() => {
    if (!live || player) return;
    let made: Player | null = null;
    let gone = false;
    const stop = new AbortController();
    void (async () => {
      try {
        const answer = await ask(href, { signal: stop.signal });
        const text = await answer.text();
        if (!answer.ok) throw new Error((JSON.parse(text) as { error?: { message?: string } }).error?.message ?? answer.statusText);
        const list = await socket.call("block.list", { session: name, limit: MOST_BLOCKS });
        if (gone || !host.current || !stage.current) return;
        made = new Player(host.current, stage.current, parseCast(text));
        setBlocks([...list].reverse());
        setPlayer(made);
      } catch (error) {
        if (!gone) setProblem(error instanceof Error ? error.message : String(error));
      }
    })();
    return () => {
      gone = true;
      stop.abort();
      made?.dispose();
      setPlayer(null);
    };
  }, [live, name]);

  const exact = useMemo(() => (player ? markedTimes(player.cast, blocks.length) : []), [player, blocks]);
  const cap = player?.cap.value;
  const marks = useMemo(
    () => (player ? blocks.map((block, index) => ({ block, at: player.toShown(exact[index] ?? Math.max(0, Date.parse(block.started_at) / 1000 - player.cast.began)) })) : []),
    [player, blocks, exact, cap],
  );
  const messages = useMemo(
    () => (player ? player.cast.events.filter((each) => each.code === "m" && each.data).map((each) => ({ text: each.data, at: player.toShown(each.at) })) : []),
    [player, cap],
  );
  const latest = useRef({ player, marks });
  latest.current = { player, marks };
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const { player: at, marks: all } = latest.current;
      if (!at || dialog.value || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.target instanceof HTMLElement && /^(SELECT|BUTTON)$/.test(event.target.tagName) && event.key === " ") return;
      const now = at.now.value;
      const step = SPEEDS.indexOf(at.speed.value);
      if (event.key === " ") at.playing.value ? at.pause() : at.play();
      else if (event.key === "[") at.seek(all.filter((each) => each.at < now - 0.5).at(-1)?.at ?? 0);
      else if (event.key === "]") at.seek(all.find((each) => each.at > now + 0.05)?.at ?? at.length.value);
      else if (event.key === "<") at.speed.value = SPEEDS[Math.max(0, step - 1)] ?? 1;
      else if (event.key === ">") at.speed.value = SPEEDS[Math.min(SPEEDS.length - 1, step + 1)] ?? 1;
      else if (/^[0-9]$/.test(event.key)) at.seek((at.length.value * Number(event.key)) / 10);
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);

  const now = player?.now.value ?? 0;
  const length = player?.length.value ?? 0;
  const block = marks.filter((each) => each.at <= now).at(-1)?.block;
  return (
    <section class={css.player} data-region aria-label={`Recording of ${name}`}>
      <header class={css.playerHead}>
        <h1>Recording of {name}</h1>
        {!hasToken() && (
          <a class={css.optional} href={href} download={`${name}.cast`}>
            Download
          </a>
        )}
        {session(name) && <Button onClick={() => openSession(name)}>Open live</Button>}
      </header>
      {problem && <p role="alert">{problem}</p>}
      <div class={late.beside}>
        <div ref={stage} class={css.theatre}>
          <div ref={host} />
        </div>
        {messages.length > 0 && <Messages messages={messages} now={now} timeOf={(at) => clock(at, length)} go={(at) => player?.seek(at)} />}
      </div>
      <div class={css.controls}>
        <div class={css.scrub}>
          <input
            type="range"
            aria-label="Place in the recording"
            aria-valuetext={`${clock(now, length)} of ${clock(length, length)}`}
            min={0}
            max={length || 1}
            step={STEP_S}
            value={now}
            onInput={({ currentTarget: { valueAsNumber: at } }) => player?.seek(at + STEP_S > length ? length : at)}
          />
          {length > 0 && marks.map((each) => <i key={each.block.id} data-is={endOf(each.block)} title={each.block.command_line ?? ""} style={{ left: `${(each.at / length) * 100}%` }} />)}
        </div>
        <div>
          <Button look="primary" disabled={!player} onClick={() => (player?.playing.value ? player.pause() : player?.play())}>
            {player?.playing.value ? "❚❚ Pause" : "▶ Play"}
          </Button>
          <span class={css.time}>
            {clock(now, length)} / {clock(length, length)}
          </span>
          <span class={css.now}>{block?.command_line}</span>
          <select aria-label="Speed" value={player?.speed.value ?? 1} onChange={(event) => player && (player.speed.value = Number(event.currentTarget.value))}>
            {SPEEDS.map((each) => (
              <option key={each} value={each}>
                {each}×
              </option>
            ))}
          </select>
          <select aria-label="Pauses" value={String(player?.cap.value ?? 2)} onChange={(event) => player && (player.cap.value = Number(event.currentTarget.value))}>
            {CAPS.map(([label, cap]) => (
              <option key={label} value={String(cap)}>
                {label}
              </option>
            ))}
          </select>
        </div>
      </div>
    </section>
  );
}

/** The last message up to the played time stays in sight. */
function Messages({ messages, now, timeOf, go }: { messages: { text: string; at: number }[]; now: number; timeOf: (at: number) => string; go: (at: number) => void }) {
  const last = messages.findLastIndex((each) => each.at <= now);
  const list = useRef<HTMLOListElement>(null);
  useEffect(() => list.current?.children[Math.max(0, last)]?.scrollIntoView({ block: "nearest" }), [last]);
  return (
    <ol class={late.messages} ref={list} aria-label="Messages and calls">
      {messages.map((each, index) => (
        <li key={index} data-is={index > last ? "ahead" : "passed"} aria-current={index === last ? "step" : undefined}>
          <button type="button" onClick={() => go(each.at)}>
            <small>{timeOf(each.at)}</small>
            <Words text={each.text} most={4000} />
          </button>
        </li>
      ))}
    </ol>
  );
}

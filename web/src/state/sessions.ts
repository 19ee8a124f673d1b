// The sessions of this server, as they change.
import { batch, computed, effect, signal } from "@preact/signals";
import { type Stream, socket } from "../protocol/socket";
import type { SessionInfo } from "../protocol/operations";
import { asksIn } from "./approvals";

export type { SessionInfo } from "../protocol/operations";

const byName = signal<ReadonlyMap<string, SessionInfo>>(new Map());
/** When each was last heard of: `last_activity_ms` counts from there. */
const heardAt = new Map<string, number>();

export const loaded = signal(false);
export const sessions = computed(() => [...byName.value.values()]);
export const filter = signal("");

/** A session was renamed: read by the screens that show open sessions. */
export const renamed = signal<{ from: string; to: string } | null>(null);

/** What it does, as a person should read it: an agent's question comes before what the program does. */
export const shownState = (each: SessionInfo) => (asksIn(each) ? "asks" : each.state);
const isPrompting = (each: SessionInfo) => each.state === "awaiting_input" || each.state === "awaiting_password";
/** For a person: to type something, or to answer an agent. */
export const isWaiting = (each: SessionInfo) => isPrompting(each) || asksIn(each);
export const prompting = computed(() => sessions.value.filter(isPrompting));
export const waiting = computed(() => sessions.value.filter(isWaiting));
export const running = computed(() => sessions.value.filter((each) => each.state !== "exited" && !each.away_since));
export const tags = computed(() => [...new Set(sessions.value.flatMap((each) => each.tags))].sort());

export const shown = computed(() => {
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  const order = (each: SessionInfo) => (isWaiting(each) ? 0 : each.state === "exited" || each.away_since ? 2 : 1);
  return sessions.value
    .filter((each) => words.every((word) => matches(each, word)))
    .sort((a, b) => order(a) - order(b) || a.created_at.localeCompare(b.created_at));
});

function matches(each: SessionInfo, word: string): boolean {
  if (word.startsWith("#")) return each.tags.some((tag) => tag.toLowerCase() === word.slice(1));
  return [each.name, each.command, each.cwd, each.title, each.state, ...each.tags].some((text) => text.toLowerCase().includes(word));
}

export const session = (name: string) => byName.value.get(name);

/** Viewers besides this page. */
export const othersWatching = (each: SessionInfo) => each.clients - socket.streamsOf(each.name);

export function quietMs(each: SessionInfo): number {
  return each.last_activity_ms + Date.now() - (heardAt.get(each.name) ?? Date.now());
}

socket.onSessions = (message) =>
  batch(() => {
    if (message.type === "sessions") {
      byName.value = new Map(message.sessions.map((each) => [each.name, each]));
      for (const each of message.sessions) heardAt.set(each.name, Date.now());
      loaded.value = true;
      return;
    }
    const next = new Map(byName.value);
    if (message.change === "renamed" && message.old_name) {
      next.delete(message.old_name);
      renamed.value = { from: message.old_name, to: message.name };
    }
    if (message.change === "removed") next.delete(message.name);
    else if (message.session) next.set(message.name, message.session);
    heardAt.set(message.name, Date.now());
    byName.value = next;
  });

/** A session's state as its own stream tells it, which may be sooner than the list. */
export function heard(name: string, change: Partial<SessionInfo>): void {
  const known = byName.value.get(name);
  if (!known) return;
  byName.value = new Map(byName.value).set(name, { ...known, ...change });
}

// Whether a program waits is asked of the kernel only while a page looks. We look at the sessions that run something,
// also when their card is out of sight: a notice is the point. The most recent ones only, since asking costs.

const MOST_LOOKED_AT = 24;
const looks = new Map<string, Stream>();
const mayBeginToWait = (each: SessionInfo) => each.state !== "prompt" && each.state !== "exited" && !each.away_since;

effect(() => {
  // Those we look at already come first: looking is itself a change of the list, and must not lead to another.
  const wanted = sessions.value
    .filter(mayBeginToWait)
    .sort((a, b) => Number(looks.has(b.name)) - Number(looks.has(a.name)) || quietMs(a) - quietMs(b))
    .slice(0, MOST_LOOKED_AT)
    .map((each) => each.name);
  for (const [name, stream] of looks)
    if (!wanted.includes(name)) {
      looks.delete(name);
      socket.close(stream);
    }
  for (const name of wanted)
    if (!looks.has(name)) looks.set(name, socket.open(name, { ended: () => looks.delete(name) }, { mode: "none", scrollbackRows: 0 }));
});

// Thumbnails: text rows from the server, and only of cards that are on screen.

interface Thumb {
  lines: ReturnType<typeof signal<string[] | null>>;
  stream: Stream | null;
  users: number;
}

const thumbs = new Map<string, Thumb>();

export function thumbOf(name: string) {
  let thumb = thumbs.get(name);
  if (!thumb) thumbs.set(name, (thumb = { lines: signal<string[] | null>(null), stream: null, users: 0 }));
  return thumb.lines;
}

export function showThumb(name: string): () => void {
  thumbOf(name);
  const thumb = thumbs.get(name) as Thumb;
  thumb.users += 1;
  thumb.stream ??= socket.open(name, {
    thumb: (lines, state) => {
      thumb.lines.value = lines;
      if (byName.value.get(name)?.state !== state) heard(name, { state });
    },
    ended: () => (thumb.stream = null),
  }, { mode: "thumb", scrollbackRows: 0 });
  return () => {
    thumb.users -= 1;
    if (thumb.users > 0 || !thumb.stream) return;
    socket.close(thumb.stream);
    thumb.stream = null;
  };
}

// Machines that joined the hub this page comes from. Their sessions are called MACHINE/SESSION.
import { computed, effect, signal } from "@preact/signals";
import type { SessionInfo } from "../protocol/operations";
import { socket } from "../protocol/socket";
import { sessions } from "./sessions";

const found = signal<string[]>([]);

/** By name; by id where two have one name. Those whose sessions are known come before the list of machines does. */
export const machines = computed(() => [...new Set([...found.value, ...sessions.value.flatMap((each) => (each.away_since ? [] : (machineOf(each.name) ?? [])))])].sort());

/** Machines that joined before and are not connected: since when, by name. */
export const away = signal<Record<string, string>>({});
export const awayWords = (since: string): string => `away since ${new Date(since).toLocaleString()}`;
export const allMachines = computed(() => [...new Set([...machines.value, ...Object.keys(away.value).sort()])]);

/** The machine that is asked where a screen shows one machine; null is the server that the page comes from. */
const chosen = signal<string | null>(null);
export const machine = computed(() => {
  if (chosen.value !== null && machines.value.includes(chosen.value)) return chosen.value;
  return socket.me.value?.user ? (machines.value[0] ?? null) : null;
});
export const choose = (name: string | null) => (chosen.value = name);

/** `laptop` of `laptop/build`. */
export function machineOf(name: string): string | null {
  const slash = name.indexOf("/");
  return slash < 0 ? null : name.slice(0, slash);
}

/** `build` of `laptop/build`. */
export const shortName = (name: string) => name.slice(name.indexOf("/") + 1);

/** What a session that was just opened is called on this page. */
export const nameOn = ({ name }: SessionInfo, asked: string | null) => (asked ? `${asked}/${name}` : name);

/** A session of the chosen machine. */
export const nameHere = (session: string) => (machine.value ? `${machine.value}/${shortName(session)}` : session);

/** Who this page is, and of which machines, is known before any of them is asked. */
const looked = signal(false);
const isSettled = new Promise<void>((resolve) => {
  effect(() => {
    if (socket.me.value && (!socket.me.value.user || looked.value)) resolve();
  });
});
socket.placeOfCalls = () => isSettled.then(() => machine.value);

async function look(): Promise<void> {
  const list = await socket.call("server.list", {}).catch(() => []);
  const joined = list.filter((each) => each.address.startsWith("node:") && each.health === "healthy");
  const names = joined.map((each) => each.hostname ?? "");
  found.value = joined.map((each) => (names.filter((name) => name === each.hostname).length === 1 ? each.hostname : each.server_id) ?? "").filter(Boolean);
  away.value = Object.fromEntries(list.flatMap((each) => (each.away_since ? [[each.hostname, each.away_since]] : [])));
  looked.value = true;
}

// A machine that comes or goes brings or takes sessions, or none: then it is found a little later.
const known = computed(() => sessions.value.map((each) => `${machineOf(each.name) ?? ""}${each.away_since ?? ""}`).join());
effect(() => {
  void known.value;
  if (socket.connection.value.is === "live") void look();
});
setInterval(() => !document.hidden && socket.me.value?.user && void look(), 10_000);

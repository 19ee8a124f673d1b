// Which sessions are open side by side, and which of them has the person's attention.
import { computed, effect, signal } from "@preact/signals";
import { prefs, setPref } from "./prefs";
import { navigate, route, sessionPath } from "./route";
import { renamed, session } from "./sessions";

export type Direction = "row" | "column";
export type Layout = { session: string } | { direction: Direction; ratio: number; first: Layout; second: Layout };

export const MOST_PANES = 6;
const MOST_TABS = 12;

export const layout = signal<Layout | null>(null);
export const current = computed(() => (route.value.screen === "session" ? route.value.session : null));
/** Sessions opened in this tab, in order. */
export const tabs = signal<string[]>([]);
/** Where there is no room beside the terminal, list and commands lie above it, and only when asked for. */
export const narrow = mediaSignal("(max-width: 900px)");
/** For all screens in the bar. */
export const roomy = mediaSignal("(min-width: 1241px)");
export const tight = mediaSignal("(max-width: 1100px)");
const listDrawer = signal(false);
const sideDrawer = signal(false);

function mediaSignal(query: string) {
  const media = matchMedia(query);
  const matches = signal(media.matches);
  media.addEventListener("change", () => (matches.value = media.matches));
  return matches;
}

export const listShown = computed(() => (narrow.value ? listDrawer.value : prefs.value.listOpen));
export const sideShown = computed(() => (tight.value ? sideDrawer.value : prefs.value.sideOpen));

export function toggleList(): void {
  if (narrow.value) listDrawer.value = !listDrawer.value;
  else setPref("listOpen", !prefs.value.listOpen);
}

export function toggleSide(): void {
  if (tight.value) sideDrawer.value = !sideDrawer.value;
  else setPref("sideOpen", !prefs.value.sideOpen);
}

/** Nothing but the terminal. */
export const focusMode = signal(false);

export function leaves(tree: Layout | null): string[] {
  if (!tree) return [];
  return "session" in tree ? [tree.session] : [...leaves(tree.first), ...leaves(tree.second)];
}

function replaced(tree: Layout, name: string, by: Layout | null): Layout | null {
  if ("session" in tree) return tree.session === name ? by : tree;
  const first = replaced(tree.first, name, by);
  const second = replaced(tree.second, name, by);
  if (!first || !second) return first ?? second;
  return first === tree.first && second === tree.second ? tree : { ...tree, first, second };
}

// The address says which session has the attention; the layout follows it.
effect(() => {
  const name = current.value;
  if (!name) return;
  const tree = layout.peek();
  if (!tabs.peek().includes(name)) tabs.value = [...tabs.peek(), name].slice(-MOST_TABS);
  if (leaves(tree).includes(name)) return;
  const before = lastShown;
  layout.value = tree && before && leaves(tree).includes(before) ? replaced(tree, before, { session: name }) : { session: name };
});

let lastShown: string | null = null;
effect(() => {
  if (current.value) lastShown = current.value;
});

effect(() => {
  const change = renamed.value;
  if (!change) return;
  const tree = layout.peek();
  tabs.value = tabs.peek().map((each) => (each === change.from ? change.to : each));
  if (tree) layout.value = replaced(tree, change.from, { session: change.to });
  if (lastShown === change.from) lastShown = change.to;
  if (current.peek() === change.from) navigate(sessionPath(change.to), { replace: true });
});

export function openSession(name: string): void {
  listDrawer.value = false;
  navigate(sessionPath(name));
}

/** Show another session beside this one. */
export function split(name: string, direction: Direction, other: string): void {
  const tree = layout.value;
  if (!tree || leaves(tree).includes(other) || leaves(tree).length >= MOST_PANES) return;
  layout.value = replaced(tree, name, { direction, ratio: 0.5, first: { session: name }, second: { session: other } });
  navigate(sessionPath(other));
}

export function closePane(name: string): void {
  const tree = layout.value && replaced(layout.value, name, null);
  layout.value = tree;
  const next = leaves(tree)[0];
  if (current.value === name) navigate(next ? sessionPath(next) : "");
}

export function closeTab(name: string): void {
  tabs.value = tabs.value.filter((each) => each !== name);
  const left = layout.value && replaced(layout.value, name, null);
  layout.value = left;
  if (current.value !== name) return;
  const next = leaves(left)[0] ?? tabs.value.at(-1);
  navigate(next && session(next) ? sessionPath(next) : "");
}

export function setRatio(at: Layout, ratio: number): void {
  const clamped = Math.min(0.85, Math.max(0.15, ratio));
  const walk = (tree: Layout): Layout => {
    if (tree === at && "direction" in tree) return { ...tree, ratio: clamped };
    return "session" in tree ? tree : { ...tree, first: walk(tree.first), second: walk(tree.second) };
  };
  if (layout.value) layout.value = walk(layout.value);
}

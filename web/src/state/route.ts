// Where in the page we are. The address bar is ours alone: nothing a program prints reaches it.
import { signal } from "@preact/signals";

export const base = new URL("../", import.meta.url).pathname;

export interface Route {
  screen: "sessions" | "session" | "history" | "recordings" | "recording" | "settings" | "share" | "approvals" | "audit" | "policy" | "tools" | "agent";
  session: string | null;
  /** Of the one question that is shown. */
  approval?: string;
  /** With the agent, the one that is shown. */
  conversation?: string;
  query: URLSearchParams;
}

const SCREENS = ["history", "recordings", "settings", "share", "approvals", "audit", "policy", "tools", "agent"] as const;

function parse(): Route {
  const path = location.pathname.startsWith(base) ? location.pathname.slice(base.length) : "";
  const [first = "", ...rest] = path.split("/");
  const query = new URLSearchParams(location.search);
  const name = rest.map(safeDecode).join("/");
  if (first === "s" && name) return { screen: "session", session: name, query };
  if (first === "recordings" && name) return { screen: "recording", session: name, query };
  if (first === "approvals" && name) return { screen: "approvals", session: null, approval: name, query };
  if (first === "agent" && name) return { screen: "agent", session: null, conversation: name, query };
  const screen = SCREENS.find((each) => each === first) ?? "sessions";
  return { screen, session: null, query };
}

function safeDecode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}

export const route = signal<Route>(parse());
addEventListener("popstate", () => (route.value = parse()));

/** `path` is relative to the page's own address: "", "s/name", "history?q=x". */
export function navigate(path: string, { replace = false } = {}): void {
  const url = base + path;
  if (replace) history.replaceState(null, "", url);
  else if (url !== location.pathname + location.search) history.pushState(null, "", url);
  route.value = parse();
}

/** The same place with some words of its query changed; empty ones are left out. */
export function adjust(changes: Record<string, string>): void {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value) query.set(name, value);
    else query.delete(name);
  }
  navigate(location.pathname.slice(base.length) + (query.size ? `?${query}` : ""), { replace: true });
}

/** `laptop/build` is two words of the address. */
export const inPath = (name: string) => name.split("/").map(encodeURIComponent).join("/");
export const sessionPath = (name: string) => `s/${inPath(name)}`;
export const recordingPath = (name: string) => `recordings/${inPath(name)}`;

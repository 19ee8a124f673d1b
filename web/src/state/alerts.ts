// Tells a person that looks elsewhere: in the tab's title always, by a notification when they asked for it.
import { effect } from "@preact/signals";
import { type ApprovalInfo, approvalPath, asked, asksIn, isKnown } from "./approvals";
import { alarm, say } from "./notices";
import { current } from "./panes";
import { prefs } from "./prefs";
import { base, navigate, route, sessionPath } from "./route";
import { type SessionInfo, loaded, prompting } from "./sessions";

let worker: ServiceWorkerRegistration | null = null;

/** Ask the browser, when a person switched it on. */
export async function allowNotifications(): Promise<boolean> {
  if (!("Notification" in window)) return false;
  if ((await Notification.requestPermission()) !== "granted") return false;
  await startWorker();
  return true;
}

async function startWorker(): Promise<void> {
  try {
    worker = await navigator.serviceWorker.register(`${base}worker.js`, { scope: base });
  } catch {
    worker = null; // the page itself can notify, except on phones
  }
}

const words = (each: SessionInfo) =>
  each.state === "awaiting_password" ? `${each.name} waits for a password` : `${each.name} waits for your input`;

/** Without the command: notifications lie on locked screens, and the card shows it with everything made visible. */
const askWords = (each: ApprovalInfo) => `An agent asks${each.session ? ` in ${each.session}` : ""}: approve or decline`;

export function watchForAlerts(): void {
  if (prefs.value.notify) void startWorker();
  navigator.serviceWorker?.addEventListener("message", (event: MessageEvent<{ open?: string }>) => {
    if (event.data.open) navigate(event.data.open);
  });

  effect(() => {
    const count = asked.value.length + prompting.value.filter((each) => !asksIn(each)).length;
    document.title = `${count ? `(${count}) ` : ""}${current.value ? `${current.value} · ` : ""}Duetty`;
  });

  onBegin(
    loaded,
    () => prompting.value.map((each) => [each.name, each] as const),
    (each) => {
      say(words(each));
      tell(words(each), { tag: `waits-${each.name}`, path: sessionPath(each.name), seen: current.peek() === each.name, body: each.command });
    },
  );
  onBegin(
    isKnown,
    () => asked.value.map((each) => [each.id, each] as const),
    (each) => {
      alarm(askWords(each));
      const seen = route.peek().screen === "approvals" || (each.session !== null && current.peek() === each.session);
      tell(askWords(each), { tag: `asks-${each.id}`, path: approvalPath(each.id), seen, body: each.reason });
    },
  );
}

/** On the transition only, once for each that begins. What is there when the page comes is in sight by then. */
function onBegin<Item>(known: { readonly value: boolean }, now: () => (readonly [string, Item])[], begun: (item: Item) => void): void {
  let before: Set<string> | null = null;
  effect(() => {
    const found = new Map(now());
    if (!known.value) return;
    if (before) for (const [name, each] of found) if (!before.has(name)) begun(each);
    before = new Set(found.keys());
  });
}

function tell(title: string, { tag, path, seen, body }: { tag: string; path: string; seen: boolean; body: string }): void {
  const looking = seen && !document.hidden && document.hasFocus();
  if (looking || !prefs.peek().notify || !("Notification" in window) || Notification.permission !== "granted") return;
  const options = { body, tag, icon: `${base}icon.svg`, data: { path } };
  if (worker) {
    void worker.showNotification(title, options);
    return;
  }
  const shown = new Notification(title, options);
  shown.onclick = () => {
    window.focus();
    navigate(path);
    shown.close();
  };
}

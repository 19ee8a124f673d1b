// Tells a person that looks elsewhere: in the tab's title always, by a notification when they asked for it.
import { effect } from "@preact/signals";
import { say } from "./notices";
import { current } from "./panes";
import { prefs } from "./prefs";
import { base, navigate, sessionPath } from "./route";
import { type SessionInfo, isWaiting, sessions, waiting } from "./sessions";

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

export function watchForAlerts(): void {
  if (prefs.value.notify) void startWorker();
  navigator.serviceWorker?.addEventListener("message", (event: MessageEvent<{ open?: string }>) => {
    if (event.data.open) navigate(event.data.open);
  });

  effect(() => {
    const count = waiting.value.length;
    document.title = `${count ? `(${count}) ` : ""}${current.value ? `${current.value} · ` : ""}Duetty`;
  });

  // On the transition only, once for each time a session begins to wait.
  let before = new Set<string>();
  let first = true;
  effect(() => {
    const now = new Map(sessions.value.filter(isWaiting).map((each) => [each.name, each]));
    if (!first) for (const [name, each] of now) if (!before.has(name)) tell(each);
    first = sessions.value.length === 0 && first;
    before = new Set(now.keys());
  });
}

function tell(each: SessionInfo): void {
  say(words(each));
  const looking = !document.hidden && document.hasFocus() && current.peek() === each.name;
  if (looking || !prefs.peek().notify || !("Notification" in window) || Notification.permission !== "granted") return;
  const path = sessionPath(each.name);
  const options = { body: each.command, tag: `waits-${each.name}`, icon: `${base}icon.svg`, data: { path } };
  if (worker) {
    void worker.showNotification(words(each), options);
    return;
  }
  const shown = new Notification(words(each), options);
  shown.onclick = () => {
    window.focus();
    navigate(path);
    shown.close();
  };
}

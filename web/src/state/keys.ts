// Every action the page knows, once: the palette lists them, keys run them, the sheet explains them.
// Inside a terminal all keys belong to the program, except Ctrl+Shift (Cmd+Shift on a Mac) and F6.
import { complain, notify } from "./notices";
import { approvalPath, asked } from "./approvals";
import { ask, dialog } from "./dialogs";
import { closePane, current, focusMode, layout, leaves, openSession, split, toggleList, toggleSide } from "./panes";
import { prefs, setPref } from "./prefs";
import { navigate, recordingPath, route } from "./route";
import { sessions, shown, waiting } from "./sessions";
import { currentView } from "./views";

export const mac = /Mac|iPhone|iPad/.test(navigator.platform);

export interface Action {
  id: string;
  title: string;
  group: "Session" | "Commands" | "View" | "Page";
  /** Works everywhere, terminals included: "Ctrl+Shift+K". */
  keys?: string;
  /** Works outside of terminals: "g s", "?". */
  outside?: string;
  when?: () => boolean;
  run: () => void;
}

const inSession = () => current.value !== null;
const hasView = () => currentView.value !== null;

export const actions: Action[] = [
  { id: "palette", title: "Search sessions, commands and actions", group: "Page", keys: "Ctrl+Shift+K", outside: "Ctrl+K", run: () => ask({ is: "palette" }) },
  { id: "create", title: "New session", group: "Session", keys: "Ctrl+Shift+E", outside: "n", run: () => ask({ is: "create" }) },
  { id: "waiting", title: "Next session that waits for you", group: "Session", keys: "Ctrl+Shift+Y", run: nextWaiting },
  { id: "answer", title: "Go to the question that waits for your answer", group: "Session", keys: "Ctrl+Shift+Space", run: toQuestion },
  { id: "control", title: "Take control: keys back to you", group: "Session", keys: "Ctrl+Shift+.", when: hasView, run: () => currentView.value?.takeControl() },
  { id: "hold", title: "Fit the session to my window, or give that up", group: "Session", keys: "Ctrl+Shift+G", when: hasView, run: () => currentView.value?.toggleHold() },
  { id: "interrupt", title: "Interrupt the program (Ctrl-C)", group: "Session", when: hasView, run: () => currentView.value?.send("\x03") },
  { id: "rename", title: "Rename session", group: "Session", when: inSession, run: () => ask({ is: "rename", session: current.value as string }) },
  { id: "tags", title: "Change tags", group: "Session", when: inSession, run: () => ask({ is: "tags", session: current.value as string }) },
  { id: "end", title: "End session", group: "Session", when: inSession, run: () => ask({ is: "end", session: current.value as string }) },
  { id: "recording", title: "Play the recording of this session", group: "Session", when: inSession, run: () => navigate(recordingPath(current.value as string)) },
  { id: "previous", title: "Previous command", group: "Commands", keys: "Ctrl+Shift+ArrowUp", when: hasView, run: () => currentView.value?.toCommand(-1) },
  { id: "next", title: "Next command", group: "Commands", keys: "Ctrl+Shift+ArrowDown", when: hasView, run: () => currentView.value?.toCommand(1) },
  { id: "find", title: "Find in this session", group: "Commands", keys: "Ctrl+Shift+F", when: hasView, run: () => currentView.value?.find() },
  { id: "history", title: "Search everything that was ever run", group: "Commands", outside: "g h", run: () => navigate("history") },
  { id: "fix-error", title: "Fix the last error", group: "Commands", when: inSession, run: () => void askAgent("fix-error") },
  { id: "explain-output", title: "Explain the last output", group: "Commands", when: inSession, run: () => void askAgent("explain-output") },
  { id: "review-changes", title: "Review the changes in git", group: "Commands", when: inSession, run: () => void askAgent("review-changes") },
  { id: "sum-up-session", title: "Sum up this session", group: "Commands", when: inSession, run: () => void askAgent("sum-up-session") },
  { id: "text", title: "Text view: commands and output as a document", group: "View", keys: "Ctrl+Shift+X", when: hasView, run: () => currentView.value?.toggleText() },
  { id: "scrollback", title: "All of the scrollback", group: "View", keys: "Ctrl+Shift+Home", when: hasView, run: () => currentView.value?.openScrollback() },
  { id: "copy", title: "Copy selection", group: "View", keys: "Ctrl+Shift+C", when: hasView, run: () => currentView.value?.copy() },
  { id: "paste", title: "Paste", group: "View", keys: "Ctrl+Shift+V", when: hasView, run: () => currentView.value?.paste() },
  { id: "colours", title: "Copy with colours", group: "View", when: hasView, run: () => currentView.value?.copyWithColours() },
  { id: "larger", title: "Larger text", group: "View", keys: "Ctrl+Shift++", run: () => setPref("fontSize", Math.min(32, prefs.value.fontSize + 1)) },
  { id: "smaller", title: "Smaller text", group: "View", keys: "Ctrl+Shift+_", run: () => setPref("fontSize", Math.max(8, prefs.value.fontSize - 1)) },
  { id: "right", title: "Split: another session to the right", group: "View", keys: "Ctrl+Shift+|", when: inSession, run: () => splitWith("row") },
  { id: "down", title: "Split: another session below", group: "View", keys: "Ctrl+Shift+D", when: inSession, run: () => splitWith("column") },
  { id: "unsplit", title: "Close this pane (the session goes on)", group: "View", keys: "Ctrl+Shift+Q", when: () => leaves(layout.value).length > 1, run: () => current.value && closePane(current.value) },
  { id: "focus", title: "Focus mode: nothing but the terminal", group: "View", keys: "Ctrl+Shift+Enter", when: inSession, run: () => (focusMode.value = !focusMode.value) },
  { id: "list", title: "Show or hide the list of sessions", group: "View", keys: "Ctrl+Shift+L", run: toggleList },
  { id: "side", title: "Show or hide the commands beside the terminal", group: "View", keys: "Ctrl+Shift+B", run: toggleSide },
  { id: "region", title: "Next region of the page", group: "Page", keys: "F6", run: () => nextRegion(1) },
  { id: "region-back", title: "Previous region of the page", group: "Page", keys: "Shift+F6", run: () => nextRegion(-1) },
  { id: "go-sessions", title: "Sessions", group: "Page", outside: "g s", run: () => navigate("") },
  { id: "go-approvals", title: "Approvals", group: "Page", outside: "g a", run: () => navigate("approvals") },
  { id: "go-policy", title: "Policy: rules, and try a command", group: "Page", outside: "g p", run: () => navigate("policy") },
  { id: "go-tools", title: "Tools of upstreams", group: "Page", outside: "g t", run: () => navigate("tools") },
  { id: "go-audit", title: "Audit", group: "Page", outside: "g u", run: () => navigate("audit") },
  { id: "go-recordings", title: "Recordings", group: "Page", outside: "g r", run: () => navigate("recordings") },
  { id: "go-share", title: "Share", group: "Page", outside: "g l", run: () => navigate("share") },
  { id: "go-settings", title: "Settings", group: "Page", outside: "g ,", run: () => navigate("settings") },
  { id: "filter", title: "Filter the list", group: "Page", outside: "/", run: () => document.querySelector<HTMLElement>("#filter")?.focus() },
  { id: "list-next", title: "Next session of the list", group: "Page", outside: "j", run: () => stepList(1) },
  { id: "list-previous", title: "Previous session of the list", group: "Page", outside: "k", run: () => stepList(-1) },
  { id: "keys", title: "Keyboard shortcuts", group: "Page", outside: "?", run: () => ask({ is: "keys" }) },
];
for (let number = 1; number <= 9; number++)
  actions.push({ id: `session-${number}`, title: `Session ${number} of the list`, group: "Session", keys: `Ctrl+Shift+${number}`, run: () => goTo(number - 1) });

export const available = () => actions.filter((each) => !each.when || each.when());

export function nextWaiting(): void {
  const names = waiting.value.map((each) => each.name);
  const next = names[(names.indexOf(current.value ?? "") + 1) % names.length];
  if (next) openSession(next);
  else notify("No session waits for you");
}

/** Begins a conversation about the session that is shown. */
async function askAgent(wanted: string): Promise<void> {
  const name = current.value;
  if (!name) return;
  const { WISHES, problem, send } = await import("./agent");
  if (!(await send(`${WISHES[wanted]} @session:${name}`, null, name))) complain(new Error(problem.value));
}

/** Beside the terminal if it is there, else on its own screen. */
function toQuestion(): void {
  const card = document.querySelector<HTMLElement>("[data-approval][data-state=pending] [data-first]");
  const [first] = asked.value;
  if (card) card.focus();
  else if (first) navigate(approvalPath(first.id));
  else notify("Nothing waits for your approval");
}

function goTo(index: number): void {
  const wanted = shown.value[index];
  if (wanted) openSession(wanted.name);
}

function stepList(step: number): void {
  const names = shown.value.map((each) => each.name);
  const next = names[Math.min(names.length - 1, Math.max(0, names.indexOf(current.value ?? "") + step))];
  if (next) openSession(next);
}

function splitWith(direction: "row" | "column"): void {
  const name = current.value;
  if (!name) return;
  const others = sessions.value.filter((each) => !leaves(layout.value).includes(each.name));
  if (!others.length) {
    notify("There is no other session to show beside this one", { action: { label: "New session", run: () => ask({ is: "create" }) } });
    return;
  }
  ask({ is: "pick", title: direction === "row" ? "Show to the right" : "Show below", run: (other) => split(name, direction, other) });
}

/** Tab stays with the program, so F6 goes from one part of the page to the next. */
function nextRegion(step: number): void {
  const regions = [...document.querySelectorAll<HTMLElement>("[data-region]")].filter((each) => each.offsetParent !== null);
  const at = regions.findLastIndex((each) => each.contains(document.activeElement));
  const next = regions[(at + step + regions.length) % regions.length];
  if (!next) return;
  const target = next.querySelector<HTMLElement>(".xterm-helper-textarea") ?? next.querySelector<HTMLElement>("[tabindex='0'],input,button,a[href]");
  if (!target) next.tabIndex = -1;
  (target ?? next).focus();
}

// Reading keys.

const SHIFTED: Record<string, string> = { ">": ".", "<": ",", "!": "1", "@": "2", "#": "3", $: "4", "%": "5", "^": "6", "&": "7", "*": "8", "(": "9", "\\": "|", "-": "_", "=": "+" };

function spelled(event: KeyboardEvent): string {
  const parts = [];
  if (event.ctrlKey || (mac && event.metaKey)) parts.push("Ctrl");
  if (event.altKey) parts.push("Alt");
  if (event.shiftKey) parts.push("Shift");
  let key = event.key;
  if (event.shiftKey && event.code.startsWith("Digit")) key = event.code.slice(5);
  else if (event.shiftKey && SHIFTED[key]) key = SHIFTED[key] as string;
  parts.push(key === " " ? "Space" : key.length === 1 ? key.toUpperCase() : key);
  return parts.join("+");
}

const byKeys = new Map(actions.filter((each) => each.keys).map((each) => [each.keys as string, each]));

export const isOurKey = (event: KeyboardEvent) => byKeys.has(spelled(event));

let sequence = "";
let sequenceTimer = 0;

function typesText(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

function run(action: Action, event: KeyboardEvent): void {
  event.preventDefault();
  event.stopPropagation();
  if (action.when && !action.when()) return;
  try {
    action.run();
  } catch (error) {
    complain(error);
  }
}

export function listenForKeys(): void {
  addEventListener(
    "keydown",
    (event) => {
      const word = spelled(event);
      const everywhere = byKeys.get(word);
      if (everywhere && !(dialog.value && everywhere.id !== "palette")) return run(everywhere, event);
      if (typesText(event.target) || dialog.value) return;
      if (route.value.screen === "recording" && !event.ctrlKey && event.key !== "g" && event.key !== "?" && !sequence) return;
      if (word === "Ctrl+K") return run(byKeys.get("Ctrl+Shift+K") as Action, event);
      if (event.ctrlKey || event.altKey || event.metaKey || event.key.length > 1) return;
      clearTimeout(sequenceTimer);
      sequence = sequence ? `${sequence} ${event.key}` : event.key;
      const found = actions.find((each) => each.outside === sequence);
      if (found) {
        sequence = "";
        return run(found, event);
      }
      if (!actions.some((each) => each.outside?.startsWith(`${sequence} `))) sequence = "";
      sequenceTimer = setTimeout(() => (sequence = ""), 900);
    },
    { capture: true },
  );
}

export function shownKeys(keys: string): string {
  const named = keys.replace("ArrowUp", "↑").replace("ArrowDown", "↓");
  return mac ? named.replace("Ctrl", "⌘").replace("Shift", "⇧").replaceAll("+", "") : named;
}


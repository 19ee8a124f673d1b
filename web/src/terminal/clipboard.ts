// Text between a terminal and the clipboard: pastes with a question, copies with or without colours, OSC 52.
import type { Terminal } from "@xterm/xterm";
import { ask } from "../state/dialogs";
import { notify } from "../state/notices";
import { prefs } from "../state/prefs";

const MAX_CLIPBOARD_CHARS = 1_000_000;

/** Text as if it was pasted here, after a question when it holds several lines. */
export function paste(term: Terminal, text: string): void {
  if (!text) return;
  const lines = text.replace(/\r?\n$/, "").split(/\r?\n/);
  if (lines.length < 2 || !prefs.value.warnPaste) return term.paste(text);
  ask({
    is: "confirm",
    title: `Paste ${lines.length} lines?`,
    text: term.modes.bracketedPasteMode
      ? "The program gets them as one paste."
      : "The program does not know pastes: each line may run as soon as it arrives.",
    detail: text,
    yes: "Paste",
    run: () => term.paste(text),
  });
}

export async function pasteClipboard(term: Terminal): Promise<void> {
  try {
    paste(term, await navigator.clipboard.readText());
  } catch {
    notify("The browser does not let the page read the clipboard", { hint: "Paste with the browser's own key or menu" });
  }
}

/** Pastes of the browser's own key and menu come this way too. */
export function listenForPastes(term: Terminal, host: HTMLElement): void {
  const pasted = (event: ClipboardEvent) => {
    event.preventDefault();
    event.stopPropagation();
    paste(term, event.clipboardData?.getData("text/plain") ?? "");
  };
  host.addEventListener("paste", pasted, { capture: true });
}

export async function copySelection(term: Terminal): Promise<void> {
  const text = term.getSelection();
  if (text) await navigator.clipboard.writeText(text);
}

export function shownRows(term: Terminal): string {
  const { active } = term.buffer;
  return Array.from({ length: term.rows }, (_, row) => active.getLine(active.baseY + row)?.translateToString(true) ?? "").join("\n");
}

/** Everything on screen with its colours, as HTML and as text. */
export async function copyWithColours(term: Terminal): Promise<void> {
  const { SerializeAddon } = await import("@xterm/addon-serialize");
  const addon = new SerializeAddon();
  term.loadAddon(addon);
  const html = addon.serializeAsHTML({ onlySelection: term.hasSelection(), includeGlobalBackground: true });
  addon.dispose();
  const text = term.hasSelection() ? term.getSelection() : shownRows(term);
  await navigator.clipboard.write([
    new ClipboardItem({ "text/html": new Blob([html], { type: "text/html" }), "text/plain": new Blob([text], { type: "text/plain" }) }),
  ]);
  notify("Copied with colours", { kind: "good" });
}

/** OSC 52: a program may offer text for the clipboard; a person takes it or not. Reading is never answered. */
export function offerClipboard(term: Terminal, session: () => string): void {
  term.parser.registerOscHandler(52, (data) => {
    const content = data.slice(data.indexOf(";") + 1);
    if (content === "?" || !content || content.length > MAX_CLIPBOARD_CHARS) return true;
    let text: string;
    try {
      text = new TextDecoder().decode(Uint8Array.from(atob(content), (char) => char.charCodeAt(0)));
    } catch {
      return true;
    }
    notify(`A program in ${session()} offers ${text.length} characters for the clipboard`, {
      action: { label: "Copy", run: () => void navigator.clipboard.writeText(text) },
    });
    return true;
  });
}

// Short messages at the edge of the page, and announcements for screen readers.
import { signal } from "@preact/signals";

export interface Notice {
  id: number;
  kind: "plain" | "good" | "bad";
  text: string;
  hint?: string | undefined;
  action?: { label: string; run: () => void };
}

const SHOWN_MS = 6000;
const MOST = 5;

export const notices = signal<Notice[]>([]);
/** Read out politely; never what a program printed. */
export const spoken = signal("");
/** Read out at once: only for questions that wait for an answer. */
export const alarmed = signal("");
let next = 1;

export function notify(text: string, options: Partial<Omit<Notice, "id" | "text">> = {}): void {
  const notice: Notice = { kind: "plain", ...options, id: next++, text };
  notices.value = [...notices.value.slice(1 - MOST), notice];
  setTimeout(() => dismiss(notice.id), options.action ? SHOWN_MS * 2 : SHOWN_MS);
}

export function dismiss(id: number): void {
  notices.value = notices.value.filter((each) => each.id !== id);
}

export function say(text: string): void {
  spoken.value = text;
}

export function alarm(text: string): void {
  alarmed.value = text;
}

/** Tell what went wrong, with the server's own hint. */
export function complain(error: unknown): void {
  const hint = error instanceof Error && "hint" in error ? (error.hint as string | undefined) : undefined;
  notify(error instanceof Error ? error.message : String(error), { kind: "bad", hint });
}

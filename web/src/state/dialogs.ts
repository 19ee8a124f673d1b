// Which dialog is open; one at a time.
import { signal } from "@preact/signals";

export type Dialog =
  | { is: "palette" }
  | { is: "keys" }
  | { is: "create"; machine?: string }
  | { is: "rename"; session: string }
  | { is: "tags"; session: string }
  | { is: "end"; session: string }
  | { is: "pick"; title: string; run: (session: string) => void }
  | { is: "block"; session: string; block: string }
  | { is: "try"; title: string; text: string; given: string; run: (given: Record<string, unknown>) => Promise<void> }
  | { is: "confirm"; title: string; text: string; detail?: string; yes: string; danger?: boolean; run: () => void };

export const dialog = signal<Dialog | null>(null);

export function ask(next: Dialog): void {
  dialog.value = next;
}

export function closeDialog(): void {
  dialog.value = null;
}

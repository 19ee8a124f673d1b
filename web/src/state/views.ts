// What the rest of the page may ask of an open terminal, without knowing how it is drawn.
import { computed, signal } from "@preact/signals";
import { current } from "./panes";

export interface View {
  readonly session: string;
  focus(): void;
  find(): void;
  /** Scroll to the previous (-1) or next (1) command. */
  toCommand(step: -1 | 1): void;
  toBlock(number: number): boolean;
  copy(): void;
  paste(): void;
  takeControl(): void;
  toggleHold(): void;
  toggleText(): void;
  openScrollback(): void;
  copyWithColours(): void;
  send(text: string): void;
}

export const views = signal<ReadonlyMap<string, View>>(new Map());
export const currentView = computed(() => (current.value ? views.value.get(current.value) ?? null : null));

export function addView(view: View): () => void {
  views.value = new Map(views.value).set(view.session, view);
  return () => {
    if (views.value.get(view.session) !== view) return;
    const left = new Map(views.value);
    left.delete(view.session);
    views.value = left;
  };
}

import type { Terminal } from "@xterm/xterm";

const STEP_MS = 600;

/**
 * Lets the cursor blink, in two frames a step. xterm's own way is an animation of the style sheet, for which a
 * browser without a graphics card draws sixty frames a second: a tenth of a processor for a cursor.
 */
export function blink(term: Terminal, host: HTMLElement): () => void {
  const stands = matchMedia("(prefers-reduced-motion: reduce)");
  let moved = false;
  const moving = term.onCursorMove(() => (moved = true));
  const timer = setInterval(() => {
    const blinks = !moved && !stands.matches && !document.hidden && host.contains(document.activeElement);
    host.toggleAttribute("data-cursor-off", blinks && !host.hasAttribute("data-cursor-off"));
    moved = false;
  }, STEP_MS);
  return () => {
    clearInterval(timer);
    moving.dispose();
  };
}

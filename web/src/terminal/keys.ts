// Keys, wheel and fingers on a terminal: which of them are the page's, and which the program's.
import type { Terminal } from "@xterm/xterm";
import { socket } from "../protocol/socket";
import { isOurKey } from "../state/keys";
import { prefs, setPref } from "../state/prefs";
import type { Fitting } from "./fitting";
import type { SessionStream } from "./stream";

const TWICE_MS = 600;

export function zoom(step: number): void {
  setPref("fontSize", Math.min(32, Math.max(8, prefs.value.fontSize + step)));
}

/** What people type goes to the program, but for the page's own keys and two Escapes while the keyboard is captured. */
export function listenForKeys(term: Terminal, stream: SessionStream): void {
  let escapeAt = 0;
  term.onData((data) => stream.type(data));
  term.onBinary((data) => stream.typeBytes(Uint8Array.from(data, (char) => char.charCodeAt(0))));
  term.attachCustomKeyEventHandler((event) => {
    if (event.type === "keydown" && stream.elements.value?.input_mode === "capture" && event.key === "Escape") {
      // The way back that no program and no agent can take.
      const now = performance.now();
      if (now - escapeAt < TWICE_MS) {
        escapeAt = 0;
        void socket.call("input.release", { session: stream.session }).catch(() => {});
        return false;
      }
      escapeAt = now;
    }
    return !isOurKey(event);
  });
}

/** With Ctrl the wheel changes the size; above the oldest row kept here it asks for older ones. */
export function listenForWheel(term: Terminal, host: HTMLElement, wantOlder: () => void): void {
  const isAtTop = () => {
    const { active } = term.buffer;
    return active.type === "normal" && active.viewportY === 0 && term.modes.mouseTrackingMode === "none" && active.baseY > 0;
  };
  const wheel = (event: WheelEvent) => {
    if (event.ctrlKey) {
      event.preventDefault();
      event.stopPropagation();
      zoom(event.deltaY < 0 ? 1 : -1);
    } else if (event.deltaY < 0 && isAtTop()) wantOlder();
  };
  host.addEventListener("wheel", wheel, { capture: true, passive: false });
}

/** One finger scrolls, two change the size: xterm knows neither. */
export function listenForFingers(host: HTMLElement, fitting: Fitting): void {
  let last: { y: number; spread: number } | null = null;
  const spreadOf = (touches: TouchList) => {
    const [a, b] = [touches[0], touches[1]];
    return a && b ? Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY) : 0;
  };
  const began = (event: TouchEvent) => {
    last = { y: event.touches[0]?.clientY ?? 0, spread: spreadOf(event.touches) };
  };
  const moved = (event: TouchEvent) => {
    const finger = event.touches[0];
    if (!last || !finger) return;
    const spread = spreadOf(event.touches);
    if (spread && last.spread) {
      event.preventDefault();
      fitting.magnify(spread / last.spread);
    } else if (fitting.magnified.value === 1) {
      event.preventDefault();
      // As a wheel, so that programs, scrollback and the rows of the server are all reached as with a mouse.
      const wheel = { deltaY: last.y - finger.clientY, clientX: finger.clientX, clientY: finger.clientY, bubbles: true, cancelable: true };
      event.target?.dispatchEvent(new WheelEvent("wheel", wheel));
    }
    last = { y: finger.clientY, spread };
  };
  host.addEventListener("touchstart", began, { passive: true });
  host.addEventListener("touchmove", moved, { passive: false });
}

// The sixteen colours and their ground, for each theme of the page. Contrast against the ground is AA or better.
import type { ITheme } from "@xterm/xterm";

export const themes: Record<"dark" | "light" | "contrast", ITheme> = {
  dark: {
    background: "#0b0e14", foreground: "#dde3ee", cursor: "#8ab4ff", cursorAccent: "#0b0e14", selectionBackground: "#2c4a7a",
    black: "#3b4252", red: "#ff7b72", green: "#7ee787", yellow: "#e3b341", blue: "#79b8ff", magenta: "#d2a8ff", cyan: "#76e3ea", white: "#c9d1d9",
    brightBlack: "#8b949e", brightRed: "#ffa198", brightGreen: "#a5f3ac", brightYellow: "#f2cc60", brightBlue: "#a5d6ff",
    brightMagenta: "#e2c5ff", brightCyan: "#b3f0ff", brightWhite: "#ffffff",
  },
  light: {
    background: "#ffffff", foreground: "#1f2328", cursor: "#0550ae", cursorAccent: "#ffffff", selectionBackground: "#b6d7ff",
    black: "#24292f", red: "#b3261e", green: "#116329", yellow: "#7a4d00", blue: "#0550ae", magenta: "#6e40c9", cyan: "#0b6370", white: "#59636e",
    brightBlack: "#57606a", brightRed: "#a40e26", brightGreen: "#0b5a23", brightYellow: "#633c01", brightBlue: "#0a4ca3",
    brightMagenta: "#5a32a3", brightCyan: "#0f5b66", brightWhite: "#32383f",
  },
  contrast: {
    background: "#000000", foreground: "#ffffff", cursor: "#ffff00", cursorAccent: "#000000", selectionBackground: "#0050d0",
    black: "#5a5a5a", red: "#ff8080", green: "#5cff5c", yellow: "#ffff4d", blue: "#8cc8ff", magenta: "#ff9dff", cyan: "#5cffff", white: "#ffffff",
    brightBlack: "#c0c0c0", brightRed: "#ffb0b0", brightGreen: "#a0ffa0", brightYellow: "#ffffa0", brightBlue: "#c0e0ff",
    brightMagenta: "#ffd0ff", brightCyan: "#c0ffff", brightWhite: "#ffffff",
  },
};

const NAMED = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"] as const;
const BRIGHT = ["brightBlack", "brightRed", "brightGreen", "brightYellow", "brightBlue", "brightMagenta", "brightCyan", "brightWhite"] as const;

/** A colour of the 256, as CSS. */
export function indexed(index: number, theme: ITheme): string {
  if (index < 8) return theme[NAMED[index] as (typeof NAMED)[number]] ?? "";
  if (index < 16) return theme[BRIGHT[index - 8] as (typeof BRIGHT)[number]] ?? "";
  if (index >= 232) {
    const grey = 8 + 10 * (index - 232);
    return `rgb(${grey},${grey},${grey})`;
  }
  const part = (n: number) => (n === 0 ? 0 : 55 + 40 * n);
  const cube = index - 16;
  return `rgb(${part(Math.floor(cube / 36))},${part(Math.floor(cube / 6) % 6)},${part(cube % 6)})`;
}

export function named(name: string, theme: ITheme): string {
  const found = NAMED.find((each) => each === name);
  return found ? theme[found] ?? "" : "";
}

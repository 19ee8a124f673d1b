// The only module that reaches into xterm's private `_core`.
//
// Why: the public `.xterm-screen` is as wide as the grid rounded to whole pixels, so a width taken from it depends on
// how many columns there are, and what fits would depend on what was shown before. xterm gives the exact width of a
// cell only to its own addons (@xterm/addon-fit reads the same field). Without it the rounded width is used.
import type { Terminal } from "@xterm/xterm";

interface Internals {
  _core?: { _renderService?: { dimensions?: { device?: { cell?: { width?: number } } } } };
}

/** A cell's width in CSS pixels before any rounding; null when this xterm does not tell it. */
export function exactCellWidth(term: Terminal): number | null {
  const width = (term as unknown as Internals)._core?._renderService?.dimensions?.device?.cell?.width;
  return width ? width / devicePixelRatio : null;
}

// Overlays and panels as cells: text only, clipped, no HTML, no control characters.
import type { ITheme } from "@xterm/xterm";
import type { RegionWriteShape, SpanShape } from "../protocol/operations";
import { named } from "./themes";

export type Colour = NonNullable<SpanShape["fg"]>;
type Style = Pick<SpanShape, "fg" | "bg" | "bold" | "italic" | "underline">;

/** Text that looks the same, at a place of the element. */
export interface Run {
  row: number;
  col: number;
  text: string;
  style: Style;
}

const segments = new Intl.Segmenter(undefined, { granularity: "grapheme" });
const WIDE = /\p{Emoji_Presentation}|\p{Extended_Pictographic}\uFE0F|[\u1100-\u115F\u2E80-\u303E\u3041-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6]|[\u{1F300}-\u{1FAFF}]|[\u{20000}-\u{3FFFD}]/u;
// Invisible and direction-changing characters could make text look like something else.
const UNSHOWN = /[\u0000-\u0009\u000B-\u001F\u007F-\u009F\u200B\u200E\u200F\u202A-\u202E\u2060-\u2069\uFEFF]/g;

export function widthOf(text: string): number {
  let cells = 0;
  for (const { segment } of segments.segment(text)) cells += WIDE.test(segment) ? 2 : /^\p{M}+$/u.test(segment) ? 0 : 1;
  return cells;
}

export const shownText = (text: string) => text.replace(UNSHOWN, "�");

/** Spans flow from the element's corner, a line end begins its next row; writes lie above them. */
export function runsOf(spans: SpanShape[], writes: RegionWriteShape[] = []): Run[] {
  const runs: Run[] = [];
  let row = 0;
  let col = 0;
  for (const span of spans)
    for (const [index, line] of shownText(span.text).split("\n").entries()) {
      if (index > 0) [row, col] = [row + 1, 0];
      if (line) runs.push({ row, col, text: line, style: span });
      col += widthOf(line);
    }
  for (const write of writes)
    for (const [down, line] of shownText(write.text).split("\n").entries())
      if (line) runs.push({ row: write.row + down, col: write.col, text: line, style: write });
  return runs;
}

/** Pieces that a browser must lay out by itself get a box of their own cells. */
export function pieces(text: string): { text: string; wide: boolean }[] {
  if (!WIDE.test(text)) return [{ text, wide: false }];
  const found: { text: string; wide: boolean }[] = [];
  for (const { segment } of segments.segment(text)) {
    const wide = WIDE.test(segment);
    const last = found.at(-1);
    if (!wide && last && !last.wide) last.text += segment;
    else found.push({ text: segment, wide });
  }
  return found;
}

export function colour(value: Colour | null | undefined, theme: ITheme): string | undefined {
  if (value === null || value === undefined) return undefined;
  return typeof value === "string" ? named(value, theme) : `rgb(${value.r},${value.g},${value.b})`;
}

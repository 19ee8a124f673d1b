// What changed between two texts, line by line.
import css from "./Diff.late.module.css";
import { Words } from "./Words";

export interface DiffLine {
  is: "same" | "gone" | "new";
  text: string;
  /** Counted from 1, in the text that has the line. */
  number: number;
}

/** Beyond this many pairs of lines the middle is shown as removed and added altogether. */
const MOST_PAIRS = 4_000_000;

/** The fewest lines gone and new that lead from one text to the other. */
export function lineDiff(before: string, after: string): DiffLine[] {
  const was = linesOf(before);
  const now = linesOf(after);
  let head = 0;
  while (head < was.length && head < now.length && was[head] === now[head]) head++;
  let tail = 0;
  while (tail < was.length - head && tail < now.length - head && was.at(-1 - tail) === now.at(-1 - tail)) tail++;
  const made: DiffLine[] = now.slice(0, head).map((text, index) => ({ is: "same", text, number: index + 1 }));
  const rows = was.length - head - tail;
  const cols = now.length - head - tail;
  const wide = cols + 1;
  // common[row * wide + col]: how many lines the rests of both have in common.
  const common = rows * cols <= MOST_PAIRS ? new Uint32Array((rows + 1) * wide) : null;
  if (common)
    for (let row = rows - 1; row >= 0; row--)
      for (let col = cols - 1; col >= 0; col--) {
        const at = row * wide + col;
        common[at] = was[head + row] === now[head + col] ? (common[at + wide + 1] ?? 0) + 1 : Math.max(common[at + wide] ?? 0, common[at + 1] ?? 0);
      }
  let row = 0;
  let col = 0;
  while (row < rows || col < cols) {
    const text = was[head + row] ?? "";
    const other = now[head + col] ?? "";
    if (row < rows && col < cols && common && text === other) {
      made.push({ is: "same", text: other, number: head + ++col });
      row++;
    } else if (row < rows && (col === cols || !common || (common[(row + 1) * wide + col] ?? 0) >= (common[row * wide + col + 1] ?? 0))) made.push({ is: "gone", text, number: head + ++row });
    else made.push({ is: "new", text: other, number: head + ++col });
  }
  for (let index = now.length - tail; index < now.length; index++) made.push({ is: "same", text: now[index] ?? "", number: index + 1 });
  return made;
}

const linesOf = (text: string) => (text === "" ? [] : text.replace(/\n$/, "").split("\n"));

/** How many lines of what stayed are shown around a change. */
const AROUND = 2;
const SIGNS = { same: " ", gone: "−", new: "+" };
const WORDS = { same: "", gone: "removed: ", new: "added: " };

export function Diff({ before, after, label }: { before: string; after: string; label: string }) {
  const all = lineDiff(before, after);
  const near = all.map((_, index) => all.slice(Math.max(0, index - AROUND), index + AROUND + 1).some((each) => each.is !== "same"));
  let skipped = 0;
  const rows = [];
  for (const [index, line] of all.entries()) {
    if (!near[index]) {
      skipped++;
      continue;
    }
    if (skipped) rows.push(<li key={`s${index}`} data-is="skipped">{skipped === 1 ? "one line" : `${skipped} lines`} as before</li>);
    skipped = 0;
    rows.push(
      <li key={index} data-is={line.is}>
        <span aria-hidden="true">{line.number}</span>
        <b aria-hidden="true">{SIGNS[line.is]}</b>
        <code>
          {WORDS[line.is] && <span class="hidden">{WORDS[line.is]}</span>}
          <Words text={line.text} />
        </code>
      </li>,
    );
  }
  return (
    <ol class={css.diff} aria-label={label} tabIndex={0}>
      {rows.length ? rows : <li data-is="skipped">Nothing changed</li>}
    </ol>
  );
}

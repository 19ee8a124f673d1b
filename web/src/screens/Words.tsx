// Words of others of any length: line by line, never as HTML, with everything that hides, turns or imitates made visible.
import { seen } from "../asking/Shown";
import css from "../asking/card.late.module.css";

/** What the server made visible already: drawn here like everything else that hides. */
const MADE = /⟨U\+([0-9A-F]{4}|[1-9A-F][0-9A-F]{4}|10[0-9A-F]{4})⟩/g;
const MOST = 8_000;

export function Words({ text, most = MOST }: { text: string; most?: number }) {
  const short = text.length > most ? `${text.slice(0, most)}…` : text;
  const lines = short.replace(MADE, (_, hex: string) => String.fromCodePoint(Number.parseInt(hex, 16))).split("\n");
  return <bdi class={css.shown}>{lines.map((line, number) => [number > 0 && "\n", ...seen(line).nodes])}</bdi>;
}

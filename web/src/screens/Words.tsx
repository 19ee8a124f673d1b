// Words of others of any length: line by line, never as HTML, with everything that hides, turns or imitates made visible.
import { seen } from "../asking/Shown";
import css from "../asking/card.late.module.css";

/** What the server made visible already. */
const MADE = /(⟨U\+[0-9A-F]{4,6}⟩)/;
const MOST = 8_000;

export function Words({ text, most = MOST }: { text: string; most?: number }) {
  const lines = (text.length > most ? `${text.slice(0, most)}…` : text).split("\n");
  return (
    <bdi class={css.shown}>
      {lines.map((line, number) => [
        number > 0 && "\n",
        ...line.split(MADE).map((part, at) =>
          at % 2 === 0 ? (
            seen(part).nodes
          ) : (
            <mark key={`${number} ${at}`} class={css.chip} title="A character that cannot be seen, or turns what is read">
              {part.slice(1, -1)}
            </mark>
          ),
        ),
      ])}
    </bdi>
  );
}

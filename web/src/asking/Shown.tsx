// Text of an agent or a server, shown as it is: hidden, turning or imitating characters are made visible, and nothing in it moves.
import type { VNode } from "preact";
import css from "./card.late.module.css";

const HIDDEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}\p{Zl}\p{Zp}\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\ufe00-\ufe0f\uffa0\u{e0100}-\u{e01ef}]/u;
/** Blanks that are not the blank. */
const BLANK = /(?! )\p{Zs}/u;
/** Letters and signs that are drawn like those of ASCII. */
const ALIKE = /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}\u02d0-\u02df\u2010-\u2015\u2018-\u201f\u2024\u2044\u2212\u2215\u2223\u2236\u2758\u29f5\u29f8\ua789\uff01-\uff5e\u{1d400}-\u{1d7ff}]/u;
const TURNING = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;
/** More marks than this on one letter are drawn over what stands above it. */
const MOST_MARKS = 2;
const MOST_NAMED = 6;

const code = (char: string) => `U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;

function what(char: string): string {
  if (TURNING.test(char)) return "changes the order in which text is read";
  if (/\p{Cc}/u.test(char)) return "a control character";
  return BLANK.test(char) ? "a blank that is not the blank" : "cannot be seen";
}

export interface Seen {
  nodes: (string | VNode)[];
  hidden: number;
  alike: string[];
}

/** What to draw for a text, and what is odd about it. */
export function seen(text: string): Seen {
  const nodes: (string | VNode)[] = [];
  const alike = new Set<string>();
  const trailing = text.length - text.replace(/ +$/, "").length;
  let plain = "";
  let hidden = 0;
  let marks = 0;
  const put = (node: VNode) => {
    if (plain) nodes.push(plain);
    plain = "";
    nodes.push(node);
  };
  const chip = (shown: string, title: string, char: string) =>
    put(
      <mark class={css.chip} title={`${code(char)}: ${title}`}>
        {shown}
      </mark>,
    );
  let at = 0;
  for (const char of text) {
    at += char.length;
    marks = /\p{M}/u.test(char) ? marks + 1 : 0;
    if (char === "\n") {
      chip("⏎", "a new line: another command may follow", char);
      plain += "\n";
    } else if (char === "\t") chip("⇥", "a tab", char);
    else if (char === " " && at > text.length - trailing) chip("·", "a blank at the end", char);
    else if (HIDDEN.test(char) || BLANK.test(char) || marks > MOST_MARKS) {
      hidden += 1;
      chip(code(char), what(char), char);
    } else if (ALIKE.test(char)) {
      alike.add(char);
      put(
        <u class={css.alike} title={`${code(char)}: looks like another character`}>
          {char}
        </u>,
      );
    } else plain += char;
  }
  if (plain) nodes.push(plain);
  return { nodes, hidden, alike: [...alike].slice(0, MOST_NAMED).map((char) => `${char} is ${code(char)}`) };
}

/** In a line of ours: a name, a directory, a reason. */
export const Shown = ({ text, most = 400 }: { text: string; most?: number }) => (
  <bdi class={css.shown}>{seen(text.length > most ? `${text.slice(0, most)}…` : text).nodes}</bdi>
);

// Keys that touch keyboards lack, and a line to write in: what a phone's keyboard corrects and guesses goes wrong in a terminal.
import { useState } from "preact/hooks";
import { Button, Input } from "../ui/ui";
import css from "../screens/session.module.css";
import type { TerminalView } from "./view";

type Modifier = "Ctrl" | "Alt";

const KEYS: [string, string, string][] = [
  ["Esc", "\x1b", "Escape"],
  ["Tab", "\t", "Tab"],
  ["↑", "A", "Up"],
  ["↓", "B", "Down"],
  ["←", "D", "Left"],
  ["→", "C", "Right"],
  ["/", "/", "slash"],
  ["-", "-", "minus"],
  ["|", "|", "pipe"],
  ["⌃C", "\x03", "Control C"],
];

export function PhoneKeys({ view }: { view: TerminalView }) {
  const [held, setHeld] = useState<Modifier | null>(null);
  const [text, setText] = useState("");
  const press = (label: string, code: string) => {
    const arrow = "↑↓←→".includes(label);
    if (arrow) view.stream.type(held ? `\x1b[1;${held === "Ctrl" ? 5 : 3}${code}` : (view.term.modes.applicationCursorKeysMode ? "\x1bO" : "\x1b[") + code);
    else if (held === "Alt") view.stream.type(`\x1b${code}`);
    else view.stream.type(code);
    setHeld(null);
  };
  const send = () => {
    if (held === "Ctrl" && text) view.stream.type([...text.toUpperCase()].map((char) => String.fromCharCode(char.charCodeAt(0) & 31)).join(""));
    else if (held === "Alt" && text) view.stream.type(`\x1b${text}`);
    else view.stream.type(`${text}\r`);
    setText("");
    setHeld(null);
  };
  return (
    <>
      <div class={css.keys} role="toolbar" aria-label="Keys">
        {(["Ctrl", "Alt"] as const).map((name) => (
          <button key={name} type="button" aria-pressed={held === name} onClick={() => setHeld(held === name ? null : name)}>
            {name}
          </button>
        ))}
        {KEYS.map(([label, code, name]) => (
          <button key={label} type="button" aria-label={name} onClick={() => press(label, code)}>
            {label}
          </button>
        ))}
      </div>
      <form
        class={css.compose}
        onSubmit={(event) => {
          event.preventDefault();
          send();
        }}
      >
        <Input aria-label="Write here, then send" placeholder={held ? `${held} + …` : "Type a command…"} autocapitalize="off" enterkeyhint="send" value={text} onInput={(event) => setText(event.currentTarget.value)} />
        <Button type="submit" look="primary">
          Send
        </Button>
      </form>
    </>
  );
}

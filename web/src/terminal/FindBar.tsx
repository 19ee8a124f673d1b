// Find in what the terminal here keeps; the link beside it searches everything that was ever run.
import type { SearchAddon } from "@xterm/addon-search";
import { useEffect, useState } from "preact/hooks";
import { navigate } from "../state/route";
import { Button, Input, focusOnce, loading } from "../ui/ui";
import css from "../screens/session.module.css";
import type { TerminalView } from "./view";

const DECORATIONS = { matchBackground: "#5c4a12", matchOverviewRuler: "#e3b341", activeMatchBackground: "#b08800", activeMatchColorOverviewRuler: "#ffffff" };

export function FindBar({ view, close }: { view: TerminalView; close: () => void }) {
  const [addon, setAddon] = useState<SearchAddon | null>(null);
  const [text, setText] = useState(view.term.getSelection().split("\n")[0] ?? "");
  const [regex, setRegex] = useState(false);
  const [matchCase, setMatchCase] = useState(false);
  const [found, setFound] = useState("");
  const options = { regex, caseSensitive: matchCase, decorations: DECORATIONS };

  const find = (back: boolean, incremental = false) => {
    if (!text) return addon?.clearDecorations();
    try {
      if (back) addon?.findPrevious(text, options);
      else addon?.findNext(text, { ...options, incremental });
    } catch {
      setFound("not a pattern");
    }
  };

  useEffect(() => {
    let made: SearchAddon | undefined;
    const stop = loading(
      () => import("@xterm/addon-search"),
      ({ SearchAddon: Addon }) => {
        made = new Addon();
        view.term.loadAddon(made);
        made.onDidChangeResults(({ resultIndex, resultCount }) => setFound(resultCount ? `${resultIndex + 1} of ${resultCount}` : "nothing"));
        setAddon(made);
      },
    );
    return () => {
      stop();
      made?.dispose();
    };
  }, []);
  useEffect(() => {
    if (!text) setFound("");
    find(false, true);
  }, [text, regex, matchCase, addon]); // asked twice for one text, it goes on to the next match

  return (
    <search class={css.find}>
      <Input
        ref={focusOnce}
        aria-label="Find in this session"
        placeholder="Find…"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter") find(!event.shiftKey);
          if (event.key === "Escape") close();
        }}
      />
      <output aria-live="polite">{found}</output>
      <Button look="quiet" icon aria-label="Previous match" onClick={() => find(true)}>↑</Button>
      <Button look="quiet" icon aria-label="Next match" onClick={() => find(false)}>↓</Button>
      <Button look="quiet" icon aria-label="Match case" aria-pressed={matchCase} onClick={() => setMatchCase(!matchCase)}>Aa</Button>
      <Button look="quiet" icon aria-label="Regular expression" aria-pressed={regex} onClick={() => setRegex(!regex)}>.*</Button>
      <Button look="quiet" onClick={() => navigate(`history?q=${encodeURIComponent(text)}`)}>All history</Button>
      <Button look="quiet" icon aria-label="Close find" onClick={close}>✕</Button>
    </search>
  );
}

// Rows that are older than what the terminal here keeps: read from the server as one scrolls, and let go again.
import { useEffect, useRef, useState } from "preact/hooks";
import type { ScreenSpan } from "../protocol/operations";
import { socket } from "../protocol/socket";
import { shownTheme } from "../state/prefs";
import { Button, px } from "../ui/ui";
import css from "../screens/session.module.css";
import { spacing } from "./Drawing";
import { indexed, themes } from "./themes";
import type { TerminalView } from "./view";

const CHUNK = 200;
const KEPT_CHUNKS = 24;

type Line = string | ScreenSpan[];
type ScreenColour = NonNullable<ScreenSpan["fg"]>;

export function Pager({ view, close }: { view: TerminalView; close: () => void }) {
  const box = useRef<HTMLDivElement>(null);
  const chunks = useRef(new Map<number, Line[]>());
  const [total, setTotal] = useState<number | null>(null);
  const [top, setTop] = useState(0);
  const [, redraw] = useState(0);
  const { cellWidth, cellHeight, fontSize } = view.fitting.viewport.value;

  const fetchChunk = async (index: number) => {
    if (chunks.current.has(index)) return;
    chunks.current.set(index, []);
    try {
      const found = await socket.call("scrollback.get", { session: view.session, offset: index * CHUNK, limit: CHUNK });
      chunks.current.set(index, found.lines);
      while (chunks.current.size > KEPT_CHUNKS) chunks.current.delete(chunks.current.keys().next().value as number);
      redraw((n) => n + 1);
    } catch {
      chunks.current.delete(index);
    }
  };

  useEffect(() => {
    void socket.call("scrollback.get", { session: view.session, offset: 0, limit: 0, format: "plain" }).then((found) => {
      const rows = found.total_lines;
      setTotal(rows);
      // Begin where the terminal's own memory ends.
      const first = Math.max(0, rows - view.fitting.viewport.value.length);
      requestAnimationFrame(() => {
        box.current?.scrollTo({ top: Math.max(0, first * cellHeight - (box.current.clientHeight - cellHeight * 3)) });
        box.current?.focus();
      });
    }, close);
  }, []);

  const height = box.current?.clientHeight ?? 600;
  const from = Math.max(0, Math.floor(top / cellHeight) - 10);
  const to = Math.min(total ?? 0, Math.ceil((top + height) / cellHeight) + 10);
  useEffect(() => {
    for (let chunk = Math.floor(from / CHUNK); chunk <= Math.floor(to / CHUNK) && total; chunk++) void fetchChunk(chunk);
  }, [from, to, total]);

  const rows = [];
  for (let row = from; row < to; row++) {
    const line = chunks.current.get(Math.floor(row / CHUNK))?.[row % CHUNK];
    rows.push(
      <div key={row} style={{ top: px(row * cellHeight), height: px(cellHeight), lineHeight: px(cellHeight) }}>
        {line === undefined ? "" : <Row line={line} />}
      </div>,
    );
  }
  return (
    <div
      class={css.cover}
      role="region"
      aria-label="Scrollback"
      onKeyDown={(event) => {
        if (event.key === "Escape" || event.key === "q") close();
      }}
    >
      <div class={css.strip}>
        <span>
          {total === null ? "Reading…" : `Row ${Math.min(total, Math.floor(top / cellHeight) + 1).toLocaleString()} of ${total.toLocaleString()}`}
        </span>
        <Button onClick={() => box.current?.scrollTo({ top: 0 })}>Oldest</Button>
        <Button look="primary" onClick={close}>
          Back to live
        </Button>
      </div>
      <div
        ref={box}
        class={css.pager}
        tabIndex={0}
        id="scrollback"
        style={{ fontSize: px(fontSize), letterSpacing: spacing(fontSize, cellWidth) }}
        onScroll={(event) => {
          const at = event.currentTarget;
          setTop(at.scrollTop);
        }}
        onWheel={(event) => {
          const at = event.currentTarget;
          if (event.deltaY > 0 && at.scrollTop + at.clientHeight >= at.scrollHeight - 2) close();
        }}
      >
        <div style={{ height: px((total ?? 0) * cellHeight), position: "relative" }}>{rows}</div>
      </div>
    </div>
  );
}

function Row({ line }: { line: Line }) {
  if (typeof line === "string") return <>{line}</>;
  const theme = themes[shownTheme()];
  const css = (value: ScreenColour | null | undefined) => (!value ? undefined : "indexed" in value ? indexed(value.indexed, theme) : `rgb(${value.rgb.r},${value.rgb.g},${value.rgb.b})`);
  return (
    <>
      {line.map((span, index) => {
        const [fg, bg] = span.inverse ? [css(span.bg) ?? theme.background, css(span.fg) ?? theme.foreground] : [css(span.fg), css(span.bg)];
        return (
          <span
            key={index}
            style={{
              color: fg,
              background: bg,
              fontWeight: span.bold ? "bold" : undefined,
              opacity: span.faint ? 0.6 : undefined,
              fontStyle: span.italic ? "italic" : undefined,
              textDecoration: span.underline ? "underline" : span.strikethrough ? "line-through" : undefined,
            }}
          >
            {span.text}
          </span>
        );
      })}
    </>
  );
}

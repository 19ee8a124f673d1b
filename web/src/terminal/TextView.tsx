// A session as a document: each command a heading, its output text. Better to read aloud than any grid of cells.
import { useEffect, useState } from "preact/hooks";
import { socket } from "../protocol/socket";
import { type BlockInfo, endOf, endWords } from "../state/blocks";
import { ask } from "../state/dialogs";
import { Button, duration, focusOnce } from "../ui/ui";
import css from "../screens/session.module.css";
import type { TerminalView } from "./view";

const FIRST_BLOCKS = 20;
const SHOWN_LINES = 200;

export function TextView({ view, close }: { view: TerminalView; close: () => void }) {
  const [count, setCount] = useState(FIRST_BLOCKS);
  const blocks = view.blocks.list.value.slice(0, count).reverse();
  return (
    <div class={css.cover} onKeyDown={(event) => event.key === "Escape" && close()}>
      <div class={css.strip}>
        <span>Text view of {view.session}</span>
        <Button look="primary" onClick={close}>
          Terminal
        </Button>
      </div>
      <div ref={focusOnce} class={css.text} tabIndex={0} role="log" aria-label={`Commands of ${view.session}`} id="text-view">
        {view.blocks.list.value.length > count && <Button onClick={() => setCount(count + FIRST_BLOCKS)}>Older commands</Button>}
        {blocks.map((block) => (
          <Block key={block.id} block={block} />
        ))}
        <h3>Now on the screen</h3>
        <Screen view={view} />
      </div>
    </div>
  );
}

function Block({ block }: { block: BlockInfo }) {
  const [lines, setLines] = useState<string[] | null>(null);
  const [total, setTotal] = useState(0);
  useEffect(() => {
    void socket.call("block.output", { session: block.session, block: block.id, limit: SHOWN_LINES }).then(
      (found) => {
        setLines(found.lines);
        setTotal(found.total_lines);
      },
      (error: Error) => setLines([`(${error.message})`]),
    );
  }, [block.id, block.running]);
  return (
    <>
      <h3>
        <span>{block.command_line}</span>
        <b class={css.code} data-is={endOf(block)}>{endWords(block)}</b>
        <small>
          {duration(block.duration_ms)} · {block.cwd}
        </small>
      </h3>
      {lines && lines.length > 0 && <pre>{lines.join("\n")}</pre>}
      {total > SHOWN_LINES && (
        <Button onClick={() => ask({ is: "block", session: block.session, block: block.id })}>{(total - SHOWN_LINES).toLocaleString()} more lines</Button>
      )}
    </>
  );
}

function Screen({ view }: { view: TerminalView }) {
  void view.fitting.viewport.value;
  return <pre>{view.text().trimEnd()}</pre>;
}

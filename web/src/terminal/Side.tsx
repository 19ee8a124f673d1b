// Beside the terminal: its commands, what agents drew, and the facts.
import { cardsOf } from "../state/approvals";
import { copyCommand, copyLink, copyMarkdown, copyOutput, endOf, endWords, type BlockInfo } from "../state/blocks";
import { ask } from "../state/dialogs";
import { session as sessionOf } from "../state/sessions";
import { socket } from "../protocol/socket";
import { complain } from "../state/notices";
import { Button, Menu, Tag, duration, lazy, stateWords } from "../ui/ui";
import css from "../screens/session.module.css";
import type { TerminalView } from "./view";

const Cards = lazy(() => import("../asking/Cards").then((loaded) => loaded.Cards));

export function blockItems(block: BlockInfo) {
  return [
    { label: "Show output", run: () => ask({ is: "block", session: block.session, block: block.id }) },
    { label: "Copy command", run: () => void copyCommand(block) },
    { label: "Copy output", run: () => void copyOutput(block) },
    { label: "Copy as Markdown", run: () => void copyMarkdown(block) },
    { label: "Copy link", run: () => void copyLink(block) },
  ];
}

export function Side({ view }: { view: TerminalView }) {
  const info = sessionOf(view.session);
  // How a question ended is still to be seen when its session is gone.
  const asker = info ?? { id: view.stream.id ?? "" };
  const blocks = view.blocks.list.value;
  const rows = new Map(view.blocks.marks.value.map((each) => [each.block.number, each.row]));
  const elements = view.stream.elements.value;
  const drawn = elements ? [...elements.overlays.map((each) => ({ ...each, kind: "overlay" as const })), ...elements.panels.map((each) => ({ ...each, kind: "panel" as const }))] : [];
  return (
    <aside class={css.side} data-region aria-label="Commands and facts">
      {cardsOf(asker).length > 0 && <Cards session={asker} />}
      <section>
        <h2>Commands</h2>
        {blocks.length === 0 && <p class={css.none}>{info && info.integration === "none" ? "This program announces no commands." : "Nothing was run yet."}</p>}
        <ul class={css.blocks} id="blocks">
          {blocks.map((block) => (
            <li key={block.id} class={css.block} data-is={endOf(block)} data-here={view.blocks.here.value === block.number}>
              <button
                type="button"
                title={`${block.command_line ?? ""}\n${block.cwd ?? ""}\nby ${block.actor}`}
                onClick={() => {
                  const row = rows.get(block.number);
                  view.blocks.here.value = block.number;
                  if (row === undefined) ask({ is: "block", session: block.session, block: block.id });
                  else view.term.scrollToLine(row);
                }}
              >
                <code>{block.command_line}</code>
                <b class={css.code} data-is={endOf(block)}>{endWords(block)}</b>
                <small>{duration(block.duration_ms)}</small>
              </button>
              <Menu label={`Actions for ${block.command_line ?? "command"}`} items={blockItems(block)}>
                ⋯
              </Menu>
            </li>
          ))}
        </ul>
      </section>
      {drawn.length > 0 && (
        <section>
          <h2>Drawn by agents</h2>
          <ul class={css.drawn}>
            {drawn.map((each) => (
              <li key={each.id}>
                <span>
                  {each.kind} · {each.owner ?? "agent"}
                </span>
                <Button
                  look="quiet"
                  onClick={() =>
                    void socket.call(each.kind === "overlay" ? "overlay.delete" : "panel.delete", { session: view.session, id: each.id }).catch(complain)
                  }
                >
                  Dismiss
                </Button>
              </li>
            ))}
          </ul>
        </section>
      )}
      {info && (
        <section>
          <h2>Session</h2>
          <dl class={css.facts}>
            <dt>State</dt>
            <dd>
              {stateWords[info.state]} <span class={css.faint}>(known by {info.state_known_by})</span>
            </dd>
            <dt>Command</dt>
            <dd>{info.command}</dd>
            <dt>Directory</dt>
            <dd>{info.cwd}</dd>
            <dt>Shell marks</dt>
            <dd>{info.integration_reason ? `${info.integration}: ${info.integration_reason}` : info.integration}</dd>
            {info.pid !== null && (
              <>
                <dt>Process</dt>
                <dd>{info.pid}</dd>
              </>
            )}
            <dt>Opened</dt>
            <dd>{new Date(info.created_at).toLocaleString()}</dd>
            {info.tags.length > 0 && (
              <>
                <dt>Tags</dt>
                <dd>{info.tags.map((tag) => <Tag key={tag} name={tag} />)}</dd>
              </>
            )}
          </dl>
        </section>
      )}
    </aside>
  );
}

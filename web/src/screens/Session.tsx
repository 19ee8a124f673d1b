// Open sessions: tabs, panes side by side, and what belongs to the one with the attention.
import { useEffect, useRef } from "preact/hooks";
import { ask } from "../state/dialogs";
import { type Layout, closeTab, current, focusMode, layout, leaves, openSession, setRatio, tabs } from "../state/panes";
import { session, shownState } from "../state/sessions";
import { Button, Dot } from "../ui/ui";
import { Pane } from "../terminal/Pane";
import css from "./session.module.css";

export function Session() {
  const tree = layout.value;
  if (!tree) return null;
  return (
    <div class={`${css.session} ${leaves(tree).length > 1 ? css.many : ""}`}>
      {!focusMode.value && <Tabs />}
      <Tree tree={tree} />
    </div>
  );
}

function Tabs() {
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => list.current?.querySelector("[data-current=true]")?.scrollIntoView({ inline: "nearest", block: "nearest" }), [current.value]);
  return (
    <div class={css.tabs}>
      <div class={css.tablist} ref={list}>
        {tabs.value.map((name) => (
          <div key={name} class={css.tab} data-current={name === current.value}>
            <TabDot name={name} />
            <button type="button" aria-current={name === current.value ? "page" : undefined} onClick={() => openSession(name)}>
              {name}
            </button>
            <button type="button" class={css.x} aria-label={`Close tab ${name}; the session goes on`} onClick={() => closeTab(name)}>
              ✕
            </button>
          </div>
        ))}
      </div>
      <Button look="quiet" icon aria-label="New session" title="New session" onClick={() => ask({ is: "create" })}>
        +
      </Button>
    </div>
  );
}

function TabDot({ name }: { name: string }) {
  const info = session(name);
  return <Dot state={info ? shownState(info) : "unknown"} bad={(info?.exit_code ?? 0) !== 0} />;
}

function Tree({ tree }: { tree: Layout }) {
  if ("session" in tree) return <Pane key={tree.session} name={tree.session} />;
  return (
    <div class={css.split} data-direction={tree.direction}>
      <div class={css.split} style={{ flexGrow: tree.ratio }}>
        <Tree tree={tree.first} />
      </div>
      <Handle tree={tree} />
      <div class={css.split} style={{ flexGrow: 1 - tree.ratio }}>
        <Tree tree={tree.second} />
      </div>
    </div>
  );
}

function Handle({ tree }: { tree: Extract<Layout, { ratio: number }> }) {
  const handle = useRef<HTMLDivElement>(null);
  const latest = useRef(tree);
  latest.current = tree;
  return (
    <div
      ref={handle}
      class={css.handle}
      role="separator"
      tabIndex={0}
      aria-label="Size of the panes"
      aria-orientation={tree.direction === "row" ? "vertical" : "horizontal"}
      aria-valuenow={Math.round(tree.ratio * 100)}
      onPointerDown={(event) => handle.current?.setPointerCapture(event.pointerId)}
      onPointerMove={(event) => {
        if (!handle.current?.hasPointerCapture(event.pointerId)) return;
        const box = handle.current.parentElement?.getBoundingClientRect();
        if (!box) return;
        setRatio(latest.current, tree.direction === "row" ? (event.clientX - box.left) / box.width : (event.clientY - box.top) / box.height);
      }}
      onKeyDown={(event) => {
        const step = { ArrowLeft: -0.05, ArrowUp: -0.05, ArrowRight: 0.05, ArrowDown: 0.05 }[event.key];
        if (step) setRatio(tree, tree.ratio + step);
      }}
    />
  );
}

// The small parts that screens are made of. They know nothing of servers or terminals.
import type { ButtonHTMLAttributes, ComponentChildren, FunctionComponent, InputHTMLAttributes } from "preact";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import css from "./ui.module.css";

export { css as parts };

type ButtonProps = Omit<ButtonHTMLAttributes<HTMLButtonElement>, "icon"> & {
  look?: "plain" | "primary" | "danger" | "quiet";
  icon?: boolean;
};

export function Button({ look = "plain", icon, class: extra, ...rest }: ButtonProps) {
  const classes = [css.button, look !== "plain" && css[look], icon && css.icon, extra as string | undefined].filter(Boolean);
  return <button type="button" {...rest} class={classes.join(" ")} />;
}

export const Kbd = ({ children }: { children: ComponentChildren }) => <kbd class={css.kbd}>{children}</kbd>;
/** Words of the server's own in which `code` stands between backticks. */
export const Spoken = ({ text }: { text: string }) => <>{text.split("`").map((each, at) => (at % 2 ? <code key={at}>{each}</code> : each))}</>;
export const Tag = ({ name }: { name: string }) => <span class={css.tag}>#{name}</span>;

/** State by shape as well as by colour; the word stands beside it. */
export const Dot = ({ state, bad = false }: { state: string; bad?: boolean }) => (
  <span class={css.dot} data-state={state} data-bad={bad} aria-hidden="true" />
);

interface DialogProps {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  foot?: ComponentChildren;
  wide?: boolean;
  top?: boolean;
  bare?: boolean;
}

/** A modal dialog of the browser's own: it keeps the focus inside and gives it back. */
export function Dialog({ title, onClose, children, foot, wide, top, bare }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const label = useId();
  useLayoutEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    return () => before instanceof HTMLElement && before.isConnected && before.focus();
  }, []);
  return (
    <dialog
      ref={dialog}
      class={[css.dialog, wide && css.wide, top && css.top].filter(Boolean).join(" ")}
      aria-labelledby={label}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => event.target === dialog.current && onClose()}
    >
      <div class={bare ? "hidden" : css.head}>
        <h2 id={label}>{title}</h2>
        {!bare && (
          <Button look="quiet" icon aria-label="Close" onClick={onClose}>
            ✕
          </Button>
        )}
      </div>
      {bare ? children : <div class={css.body}>{children}</div>}
      {foot && <div class={css.foot}>{foot}</div>}
    </dialog>
  );
}

export function Field({ label, hint, children }: { label: string; hint?: string; children: ComponentChildren }) {
  return (
    <label class={css.field}>
      <span>{label}</span>
      {children}
      {hint && <span class={css.hint}>{hint}</span>}
    </label>
  );
}

export const Input = ({ class: extra, ...rest }: InputHTMLAttributes<HTMLInputElement>) => (
  <input autocomplete="off" spellcheck={false} {...rest} class={`${css.input} ${(extra as string | undefined) ?? ""}`} />
);

/** Text with a button that copies it. */
export function Copyable({ text, label }: { text: string; label: string }) {
  const [copied, setCopied] = useState(false);
  return (
    <div class={css.copyable}>
      <pre class={css.detail} tabIndex={0} aria-label={label}>{text}</pre>
      <Button
        onClick={() => {
          void navigator.clipboard.writeText(text).then(() => setCopied(true));
          setTimeout(() => setCopied(false), 1500);
        }}
      >
        {copied ? "Copied" : "Copy"}
      </Button>
    </div>
  );
}

export interface MenuItem {
  label: string;
  keys?: string | undefined;
  run: () => void;
}

/** A button with a list of things to do. The list is made when it is opened: a hundred cards have one each. */
export function Menu({ label, items, children }: { label: string; items: MenuItem[]; children: ComponentChildren }) {
  const [open, setOpen] = useState(false);
  const list = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => {
    const menu = list.current;
    if (!open || !menu || !button.current) return; // asking for places before would lay out the page for each menu
    const at = button.current.getBoundingClientRect();
    menu.showPopover();
    menu.style.top = px(Math.max(8, Math.min(at.bottom + 4, innerHeight - menu.offsetHeight - 8)));
    menu.style.left = px(Math.max(8, Math.min(at.left, innerWidth - menu.offsetWidth - 8)));
    menu.querySelector("button")?.focus();
  }, [open]);
  const step = (event: KeyboardEvent) => {
    const all = [...(list.current?.querySelectorAll("button") ?? [])];
    const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (!by) return;
    event.preventDefault();
    all[(all.indexOf(document.activeElement as HTMLButtonElement) + by + all.length) % all.length]?.focus();
  };
  return (
    <>
      <button ref={button} type="button" class={`${css.button} ${css.quiet} ${css.icon}`} aria-label={label} aria-haspopup="menu" aria-expanded={open} onClick={() => setOpen(true)}>
        {children}
      </button>
      {open && (
        <div
          ref={list}
          popover="auto"
          role="menu"
          aria-label={label}
          class={css.menu}
          onToggle={(event) => {
            if (event.newState !== "closed") return;
            setOpen(false);
            if (!document.activeElement || document.activeElement === document.body) button.current?.focus();
          }}
          onKeyDown={step}
        >
          {items.map((item) => (
            <button
              key={item.label}
              type="button"
              role="menuitem"
              onClick={() => {
                list.current?.hidePopover();
                item.run();
              }}
            >
              {item.label}
              {item.keys && <Kbd>{item.keys}</Kbd>}
            </button>
          ))}
        </div>
      )}
    </>
  );
}

/** As a `ref`: takes the focus when it appears, and not again. */
export function focusOnce(element: HTMLElement | null): void {
  if (!element || element.dataset["met"]) return;
  element.dataset["met"] = "yes";
  element.focus();
  if (element instanceof HTMLInputElement) element.select();
}

const RELOAD_MS = 2000;

/** Gives `done` what was loaded; while the server is out of reach, tries again until the answer is not wanted any more. */
export function loading<Part>(load: () => Promise<Part>, done: (part: Part) => void): () => void {
  let gone = false;
  const go = () =>
    void load().then(
      (part) => gone || done(part),
      () => gone || setTimeout(go, RELOAD_MS),
    );
  go();
  return () => {
    gone = true;
  };
}

/** Loads parts before they are shown; what cannot be had now is asked for again then. */
export function loadAhead(ms: number, ...loads: (() => Promise<unknown>)[]): void {
  setTimeout(() => loads.forEach((load) => void load().catch(() => {})), ms);
}

/** A part that is loaded when it is first shown. */
export function lazy<Props extends object = object>(load: () => Promise<FunctionComponent<Props>>) {
  let part: FunctionComponent<Props> | null = null;
  return function Lazy(props: Props) {
    const [, redraw] = useState(0);
    const Part = part;
    useEffect(() => {
      // Another of its kind may have loaded it between this one's drawing and its effect.
      if (part) return Part ? undefined : redraw(1);
      return loading(load, (loaded) => {
        part = loaded;
        redraw(1);
      });
    }, []);
    return Part ? <Part {...props} /> : null;
  };
}

/** Lengths in styles carry their unit. */
export const px = (length: number) => `${length}px`;

export function duration(ms: number | null): string {
  if (ms === null) return "";
  if (ms < 1000) return `${(ms / 1000).toFixed(ms < 100 ? 2 : 1)} s`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const minutes = Math.floor(ms / 60_000);
  return minutes < 60 ? `${minutes} m ${Math.floor((ms % 60_000) / 1000)} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} m`;
}

export function ago(ms: number): string {
  const s = ms / 1000;
  if (s < 2) return "now";
  if (s < 60) return `${Math.floor(s)} s`;
  if (s < 3600) return `${Math.floor(s / 60)} m`;
  return s < 86_400 ? `${Math.floor(s / 3600)} h` : `${Math.floor(s / 86_400)} d`;
}

/** How long it is since then, as a sentence says it. */
export function since(time: string): string {
  const words = ago(Date.now() - Date.parse(time));
  return words === "now" ? "just now" : `${words} ago`;
}

/** The time of day, here. */
export const clockTime = (time: string) => new Date(time).toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" });

export function bytes(count: number): string {
  if (count < 1000) return `${count} B`;
  if (count < 1e6) return `${(count / 1e3).toFixed(0)} KB`;
  return count < 1e9 ? `${(count / 1e6).toFixed(1)} MB` : `${(count / 1e9).toFixed(2)} GB`;
}

/** Words for what a session is doing. */
export const stateWords: Record<string, string> = {
  asks: "needs your approval",
  prompt: "at the prompt",
  running: "running",
  awaiting_input: "waits for input",
  awaiting_password: "waits for a password",
  fullscreen: "full screen",
  exited: "exited",
  unknown: "unknown",
};

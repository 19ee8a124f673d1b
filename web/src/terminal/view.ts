// One open session: xterm on one side, its stream on the other.
import { UnicodeGraphemesAddon } from "@xterm/addon-unicode-graphemes";
import { Terminal } from "@xterm/xterm";
import { effect, signal } from "@preact/signals";
import type { Elements, SizeMessage, StreamEvent } from "../protocol/messages";
import type { SessionInfo } from "../protocol/operations";
import { type Stream, socket } from "../protocol/socket";
import { ask } from "../state/dialogs";
import { isOurKey } from "../state/keys";
import { notify, say } from "../state/notices";
import { prefs, setPref, shownTheme } from "../state/prefs";
import { heard } from "../state/sessions";
import { loading } from "../ui/ui";
import { blink } from "./blink";
import { BlockMarks } from "./blocks";
import { followAfterClear, muteReplies } from "./mute";
import { leaseWebgl } from "./renderer";
import { themes } from "./themes";

const ACK_BYTES = 32 * 1024;
const SMALLEST_FONT = 5;
/** A session smaller than the window is shown larger, up to this. */
const LARGEST_ZOOM = 1.25;
const MAX_CLIPBOARD_CHARS = 1_000_000;
const encoder = new TextEncoder();

export interface Viewport {
  /** First row shown, counted from the oldest row kept here. */
  top: number;
  rows: number;
  cols: number;
  length: number;
  cellWidth: number;
  cellHeight: number;
  fontSize: number;
  atBottom: boolean;
  alternate: boolean;
}

/** The page's opinion of how the session ended or could not be opened. */
export interface Ending {
  reason: string;
  hint?: string | undefined;
}

export class TerminalView {
  readonly term: Terminal;
  readonly blocks: BlockMarks;
  readonly size = signal<SizeMessage | null>(null);
  readonly elements = signal<Elements | null>(null);
  /** Who the keys go to while they are captured. */
  readonly capturedBy = signal<string | null>(null);
  readonly ended = signal<Ending | null>(null);
  readonly ready = signal(false);
  /** Bytes that were left out because the program printed more than anybody can read. */
  readonly skipped = signal(0);
  readonly viewport = signal<Viewport>({ top: 0, rows: 24, cols: 80, length: 24, cellWidth: 8, cellHeight: 16, fontSize: 14, atBottom: true, alternate: false });
  readonly holds = signal(false);
  /** How much larger than fits two fingers made it. */
  readonly magnified = signal(1);
  /** Set when somebody scrolls above the oldest row kept here. */
  readonly wantsOlder = signal(false);
  session: string;
  /** Which session of that name it is; null before it is opened. */
  id: string | null = null;

  private readonly stream: Stream;
  private readonly undo: (() => void)[] = [];
  private queued = 0;
  private acked = 0;
  private fresh = true;
  private escapeAt = 0;
  private skippedTimer = 0;
  private gone = false;

  constructor(
    readonly host: HTMLElement,
    /** What the whole grid, panels included, may fill. */
    private readonly stage: HTMLElement,
    session: string,
    hold: boolean,
  ) {
    this.session = session;
    const { value: likes } = prefs;
    this.term = new Terminal({
      allowProposedApi: true,
      logLevel: "off", // what a program prints is no matter for the console
      cols: 80,
      rows: 24,
      fontFamily: likes.fontFamily,
      fontSize: likes.fontSize,
      lineHeight: likes.lineHeight,
      scrollback: likes.scrollback,
      cursorBlink: likes.cursorBlink,
      screenReaderMode: likes.screenReader,
      theme: themes[shownTheme()],
      minimumContrastRatio: shownTheme() === "dark" ? 1 : 4.5,
      macOptionIsMeta: true,
      rightClickSelectsWord: true,
      linkHandler: { activate: (_event, url) => openLink(url, true), allowNonHttpProtocols: false },
    });
    this.term.loadAddon(new UnicodeGraphemesAddon());
    loading(
      () => import("@xterm/addon-web-links"),
      ({ WebLinksAddon }) => this.gone || this.term.loadAddon(new WebLinksAddon((_event, url) => openLink(url, false))),
    );
    muteReplies(this.term);
    followAfterClear(this.term);
    this.offerClipboard();
    this.term.open(host);
    this.blocks = new BlockMarks(this.term, session);
    this.listen();
    this.holds.value = hold;
    this.stream = socket.open(
      session,
      {
        opened: (info, resumed) => this.opened(info, resumed),
        output: (offset, bytes) => this.wrote(bytes, offset + bytes.length),
        snapshot: (offset, bytes) => this.restored(bytes, offset),
        size: (size) => this.sized(size),
        elements: (elements) => this.drew(elements),
        event: (event) => this.happened(event),
        gap: (skipped) => this.missed(skipped),
        ended: (reason) => (this.ended.value = { reason }),
        failed: (error) => {
          if (this.ready.value) notify(error.message, { kind: "bad", hint: error.hint });
          else this.ended.value = { reason: error.message, hint: error.hint };
        },
      },
      { hold, ...(hold ? { size: this.capacity() } : {}) },
    );
  }

  dispose(): void {
    this.gone = true;
    socket.close(this.stream);
    for (const each of this.undo) each();
    this.blocks.dispose();
    this.term.dispose();
  }

  /** What this viewer could show at the font size its person likes. */
  capacity(): { cols: number; rows: number } {
    const { cellHeight } = this.cell();
    const cellWidth = this.exactWidth();
    const scale = prefs.value.fontSize / (this.term.options.fontSize ?? prefs.value.fontSize);
    const { clientWidth, clientHeight } = this.stage;
    return {
      cols: Math.max(20, Math.floor(clientWidth / (cellWidth * scale))),
      rows: Math.max(5, Math.floor(clientHeight / (cellHeight * scale))),
    };
  }

  hold(on: boolean): void {
    this.holds.value = on;
    if (on) socket.setSize(this.stream, this.capacity());
    socket.setHold(this.stream, on);
  }

  type(data: string): void {
    if (!socket.may("input")) return say("view only: nothing was typed");
    if (!socket.type(this.stream, encoder.encode(data))) say("not connected: nothing was typed");
  }

  /** Text as if it was pasted here, after a question when it holds several lines. */
  paste(text: string): void {
    if (!text) return;
    const lines = text.replace(/\r?\n$/, "").split(/\r?\n/);
    if (lines.length < 2 || !prefs.value.warnPaste) return this.term.paste(text);
    ask({
      is: "confirm",
      title: `Paste ${lines.length} lines?`,
      text: this.term.modes.bracketedPasteMode
        ? "The program gets them as one paste."
        : "The program does not know pastes: each line may run as soon as it arrives.",
      detail: text,
      yes: "Paste",
      run: () => this.term.paste(text),
    });
  }

  async pasteClipboard(): Promise<void> {
    try {
      this.paste(await navigator.clipboard.readText());
    } catch {
      notify("The browser does not let the page read the clipboard", { hint: "Paste with the browser's own key or menu" });
    }
  }

  async copySelection(): Promise<void> {
    const text = this.term.getSelection();
    if (text) await navigator.clipboard.writeText(text);
  }

  /** Everything on screen with its colours, as HTML and as text. */
  async copyWithColours(): Promise<void> {
    const { SerializeAddon } = await import("@xterm/addon-serialize");
    const addon = new SerializeAddon();
    this.term.loadAddon(addon);
    const html = addon.serializeAsHTML({ onlySelection: this.term.hasSelection(), includeGlobalBackground: true });
    addon.dispose();
    const text = this.term.hasSelection() ? this.term.getSelection() : this.text();
    await navigator.clipboard.write([
      new ClipboardItem({ "text/html": new Blob([html], { type: "text/html" }), "text/plain": new Blob([text], { type: "text/plain" }) }),
    ]);
    notify("Copied with colours", { kind: "good" });
  }

  text(): string {
    const { active } = this.term.buffer;
    return Array.from({ length: this.term.rows }, (_, row) => active.getLine(active.baseY + row)?.translateToString(true) ?? "").join("\n");
  }

  zoom(step: number): void {
    setPref("fontSize", Math.min(32, Math.max(8, prefs.value.fontSize + step)));
  }

  cell(): { cellWidth: number; cellHeight: number } {
    const screen = this.host.querySelector<HTMLElement>(".xterm-screen");
    if (!screen || !screen.offsetWidth) return { cellWidth: 8, cellHeight: 17 };
    return { cellWidth: screen.offsetWidth / this.term.cols, cellHeight: screen.offsetHeight / this.term.rows };
  }

  /** A cell's width before the whole grid is rounded to pixels, which makes it depend on how many cells there are:
   * what fits would then depend on what was shown before. xterm tells it to nobody but its own addons. */
  private exactWidth(): number {
    const { _core: core } = this.term as unknown as { _core?: { _renderService?: { dimensions?: { device?: { cell?: { width?: number } } } } } };
    const width = core?._renderService?.dimensions?.device?.cell?.width;
    return width ? width / devicePixelRatio : this.cell().cellWidth;
  }

  private opened(info: SessionInfo, resumed: boolean): void {
    this.session = info.name;
    this.id = info.id;
    this.blocks.session = info.name;
    this.ended.value = null;
    heard(info.name, info);
    if (!resumed) this.acked = 0;
    void this.blocks.load();
    this.term.write("", () => {
      this.ready.value = true;
    });
  }

  private wrote(bytes: Uint8Array, end: number): void {
    this.fresh = false;
    this.write(bytes, end);
  }

  private restored(bytes: Uint8Array, offset: number): void {
    if (!this.fresh) this.term.write("\x1bc");
    this.fresh = false;
    this.blocks.forget();
    this.write(bytes, offset);
    this.term.write("", () => this.blocks.findSoon());
  }

  private write(bytes: Uint8Array, end: number): void {
    this.queued += 1;
    this.term.write(bytes, () => {
      this.queued -= 1;
      if (this.queued === 0 || end - this.acked >= ACK_BYTES) {
        this.acked = end;
        socket.ack(this.stream, end);
      } else {
        this.stream.offset = end;
      }
    });
  }

  private sized(size: SizeMessage): void {
    // After what was printed at the old size, before what comes at the new one.
    this.term.write("", () => {
      const isFirst = this.size.value === null;
      this.size.value = size;
      this.holds.value = size.holder === "you";
      if (this.term.cols !== size.cols || this.term.rows !== size.program_rows)
        this.term.resize(size.cols, Math.max(1, size.program_rows));
      // The room may have changed while the first size was on its way.
      if (isFirst) this.refit();
      else this.letterbox();
    });
  }

  private drew(elements: Elements): void {
    const before = this.elements.value?.input_mode;
    this.elements.value = elements;
    if (elements.input_mode !== "capture") this.capturedBy.value = null;
    else if (before !== "capture")
      void socket.call("input.mode", { session: this.session }).then(({ owners }) => (this.capturedBy.value = owners.map(nameOf).join(", ") || null), () => {});
  }

  private missed(skipped: number): void {
    this.skipped.value += skipped;
    clearTimeout(this.skippedTimer);
    this.skippedTimer = setTimeout(() => (this.skipped.value = 0), 10_000);
  }

  private happened(event: StreamEvent): void {
    switch (event.event) {
      case "state":
        heard(this.session, { state: event["state"] as SessionInfo["state"] });
        break;
      case "title":
        heard(this.session, { title: String(event["title"]) });
        break;
      case "exit":
        heard(this.session, { state: "exited", exit_code: event["exit_code"] as number | null });
        break;
      case "degraded":
        heard(this.session, { degraded: event["reason"] as string | null });
        break;
      case "block":
        this.blocks.happened(event);
    }
  }

  /** The font at which the whole grid fits: others may set the size, and we show all of it. */
  private letterbox(): void {
    const size = this.size.value;
    const liked = prefs.value.fontSize;
    if (!size || !this.stage.clientWidth) return;
    const room = { width: this.stage.clientWidth, height: this.stage.clientHeight };
    const largest = size.holder === "you" ? liked : liked * LARGEST_ZOOM;
    const { cellHeight } = this.cell();
    const now = this.term.options.fontSize ?? liked;
    const fits = Math.min(room.width / ((this.exactWidth() / now) * size.cols), room.height / ((cellHeight / now) * size.rows));
    let font = Math.max(SMALLEST_FONT, Math.min(largest, Math.floor(fits * 4 + 0.01) / 4));
    if (this.magnified.value > 1) {
      this.term.options.fontSize = Math.min(32, font * this.magnified.value);
      return this.measure();
    }
    // Cells are whole pixels high, so what fits by arithmetic may not fit.
    for (let tries = 0; tries < 6; tries++) {
      if (this.term.options.fontSize !== font) this.term.options.fontSize = font;
      const cell = this.cell();
      if (font <= SMALLEST_FONT || (cell.cellWidth * size.cols <= room.width + 1 && cell.cellHeight * size.rows <= room.height + 1)) break;
      font -= 0.25;
    }
    this.measure();
  }

  private measure(): void {
    const { active } = this.term.buffer;
    const next: Viewport = {
      top: active.viewportY,
      rows: this.term.rows,
      cols: this.term.cols,
      length: active.length,
      ...this.cell(),
      fontSize: this.term.options.fontSize ?? prefs.value.fontSize,
      atBottom: active.viewportY >= active.baseY,
      alternate: active.type === "alternate",
    };
    const before = this.viewport.peek();
    if ((Object.keys(next) as (keyof Viewport)[]).some((key) => next[key] !== before[key])) this.viewport.value = next;
  }

  private listen(): void {
    const { term, undo } = this;
    term.onData((data) => this.type(data));
    term.onBinary((data) => socket.may("input") && socket.type(this.stream, Uint8Array.from(data, (char) => char.charCodeAt(0))));
    term.attachCustomKeyEventHandler((event) => this.takesKey(event));
    term.onScroll(() => this.measure());
    term.onRender(() => this.measure());
    term.onSelectionChange(() => prefs.value.copyOnSelect && void this.copySelection());
    undo.push(
      blink(term, this.host),
      effect(() => {
        const likes = prefs.value;
        term.options.theme = themes[shownTheme()];
        term.options.minimumContrastRatio = shownTheme() === "dark" ? 1 : 4.5;
        term.options.fontFamily = likes.fontFamily;
        term.options.lineHeight = likes.lineHeight;
        term.options.scrollback = likes.scrollback;
        term.options.cursorBlink = likes.cursorBlink;
        term.options.screenReaderMode = likes.screenReader;
        if (this.size.peek()?.holder !== "you") this.letterbox();
        else {
          term.options.fontSize = likes.fontSize;
          this.refit();
        }
      }),
    );
    const observer = new ResizeObserver(() => this.refit());
    observer.observe(this.stage);
    undo.push(() => observer.disconnect());

    const paste = (event: ClipboardEvent) => {
      event.preventDefault();
      event.stopPropagation();
      this.paste(event.clipboardData?.getData("text/plain") ?? "");
    };
    this.host.addEventListener("paste", paste, { capture: true });

    const wheel = (event: WheelEvent) => {
      if (event.ctrlKey) {
        event.preventDefault();
        event.stopPropagation();
        this.zoom(event.deltaY < 0 ? 1 : -1);
      } else if (event.deltaY < 0 && this.isAtTop()) this.wantsOlder.value = true;
    };
    this.host.addEventListener("wheel", wheel, { capture: true, passive: false });

    this.listenForFingers();

    let release: Promise<() => void> | null = null;
    const focused = () => (release ??= leaseWebgl(term));
    const blurred = () => {
      void release?.then((end) => end());
      release = null;
    };
    term.textarea?.addEventListener("focus", focused);
    term.textarea?.addEventListener("blur", blurred);
    undo.push(blurred);
  }

  /** One finger scrolls, two change the size: xterm knows neither. */
  private listenForFingers(): void {
    let last: { y: number; spread: number } | null = null;
    const spreadOf = (touches: TouchList) => {
      const [a, b] = [touches[0], touches[1]];
      return a && b ? Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY) : 0;
    };
    const began = (event: TouchEvent) => {
      last = { y: event.touches[0]?.clientY ?? 0, spread: spreadOf(event.touches) };
    };
    const moved = (event: TouchEvent) => {
      const finger = event.touches[0];
      if (!last || !finger) return;
      const spread = spreadOf(event.touches);
      if (spread && last.spread) {
        event.preventDefault();
        this.magnified.value = Math.min(4, Math.max(1, this.magnified.value * (spread / last.spread)));
        this.letterbox();
      } else if (this.magnified.value === 1) {
        event.preventDefault();
        // As a wheel, so that programs, scrollback and the rows of the server are all reached as with a mouse.
        const wheel = { deltaY: last.y - finger.clientY, clientX: finger.clientX, clientY: finger.clientY, bubbles: true, cancelable: true };
        event.target?.dispatchEvent(new WheelEvent("wheel", wheel));
      }
      last = { y: finger.clientY, spread };
    };
    this.host.addEventListener("touchstart", began, { passive: true });
    this.host.addEventListener("touchmove", moved, { passive: false });
  }

  private isAtTop(): boolean {
    const { active } = this.term.buffer;
    return active.type === "normal" && active.viewportY === 0 && this.term.modes.mouseTrackingMode === "none" && active.baseY > 0;
  }

  private refit(): void {
    if (!this.stage.clientWidth) return;
    if (this.holds.value) {
      if (this.size.value) this.term.options.fontSize = prefs.value.fontSize;
      const capacity = this.capacity();
      const known = this.size.value;
      if (known && (known.cols !== capacity.cols || known.rows !== capacity.rows)) socket.setSize(this.stream, capacity);
    }
    this.letterbox();
  }

  /** False for keys that belong to the page; everything else is the program's. */
  private takesKey(event: KeyboardEvent): boolean {
    if (event.type === "keydown" && this.elements.value?.input_mode === "capture" && event.key === "Escape") {
      // The way back that no program and no agent can take.
      const now = performance.now();
      if (now - this.escapeAt < 600) {
        this.escapeAt = 0;
        void socket.call("input.release", { session: this.session }).catch(() => {});
        return false;
      }
      this.escapeAt = now;
    }
    return !isOurKey(event);
  }

  /** OSC 52: a program may offer text for the clipboard; a person takes it or not. Reading is never answered. */
  private offerClipboard(): void {
    this.term.parser.registerOscHandler(52, (data) => {
      const content = data.slice(data.indexOf(";") + 1);
      if (content === "?" || !content || content.length > MAX_CLIPBOARD_CHARS) return true;
      let text: string;
      try {
        text = new TextDecoder().decode(Uint8Array.from(atob(content), (char) => char.charCodeAt(0)));
      } catch {
        return true;
      }
      notify(`A program in ${this.session} offers ${text.length} characters for the clipboard`, {
        action: { label: "Copy", run: () => void navigator.clipboard.writeText(text) },
      });
      return true;
    });
  }
}

/** `agent:claude` is called claude. */
const nameOf = (owner: string) => owner.slice(owner.indexOf(":") + 1);

/** Links open beside the page and learn nothing of it; one whose text may lie is shown first. */
function openLink(url: string, mayLie: boolean): void {
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch {
    return;
  }
  if (parsed.protocol !== "https:" && parsed.protocol !== "http:") return;
  const open = () => window.open(parsed.href, "_blank", "noopener,noreferrer");
  if (!mayLie) open();
  else ask({ is: "confirm", title: "Open this link?", text: "A program printed it; its text may say something else.", detail: parsed.href, yes: "Open", run: open });
}

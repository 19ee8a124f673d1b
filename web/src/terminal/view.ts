// One open session on the page: xterm, its stream, its size, its keys and its clipboard, put together.
import { UnicodeGraphemesAddon } from "@xterm/addon-unicode-graphemes";
import { Terminal } from "@xterm/xterm";
import { effect, signal } from "@preact/signals";
import { prefs, shownTheme } from "../state/prefs";
import { loading } from "../ui/ui";
import { blink } from "./blink";
import { BlockMarks } from "./blocks";
import { copySelection, listenForPastes, offerClipboard, paste, shownRows } from "./clipboard";
import { Fitting } from "./fitting";
import { listenForFingers, listenForKeys, listenForWheel } from "./keys";
import { openLink } from "./links";
import { followAfterClear, muteReplies } from "./mute";
import { leaseWebgl } from "./renderer";
import { SessionStream } from "./stream";
import { themes } from "./themes";

export class TerminalView {
  readonly term: Terminal;
  readonly blocks: BlockMarks;
  readonly stream: SessionStream;
  readonly fitting: Fitting;
  /** Set when a person scrolls above the oldest row kept here. */
  readonly wantsOlder = signal(false);

  private readonly undo: (() => void)[] = [];
  private gone = false;

  constructor(
    readonly host: HTMLElement,
    /** What the whole grid, panels included, may fill. */
    stage: HTMLElement,
    session: string,
    hold: boolean,
  ) {
    this.term = new Terminal({
      allowProposedApi: true,
      logLevel: "off", // what a program prints is no matter for the console
      cols: 80,
      rows: 24,
      fontSize: prefs.value.fontSize,
      macOptionIsMeta: true,
      rightClickSelectsWord: true,
      linkHandler: { activate: (_event, url) => openLink(url, true), allowNonHttpProtocols: false },
      ...liked(),
    });
    this.term.loadAddon(new UnicodeGraphemesAddon());
    loading(
      () => import("@xterm/addon-web-links"),
      ({ WebLinksAddon }) => this.gone || this.term.loadAddon(new WebLinksAddon((_event, url) => openLink(url, false))),
    );
    muteReplies(this.term);
    followAfterClear(this.term);
    offerClipboard(this.term, () => this.session);
    this.term.open(host);
    this.blocks = new BlockMarks(this.term, session);
    this.stream = new SessionStream(this.term, this.blocks, session);
    this.fitting = new Fitting(this.term, host, stage, this.stream);
    this.listen();
    // The room may have changed while the first size was on its way.
    this.stream.open(hold ? this.fitting.capacity() : null, (isFirst) => (isFirst ? this.fitting.refit() : this.fitting.letterbox()));
  }

  get session(): string {
    return this.stream.session;
  }

  dispose(): void {
    this.gone = true;
    this.stream.close();
    for (const each of this.undo) each();
    this.blocks.dispose();
    this.term.dispose();
  }

  hold(on: boolean): void {
    this.stream.hold(on ? this.fitting.capacity() : null);
  }

  paste(text: string): void {
    paste(this.term, text);
  }

  /** The screen's rows as text. */
  text(): string {
    return shownRows(this.term);
  }

  private listen(): void {
    const { term, undo } = this;
    listenForKeys(term, this.stream);
    listenForPastes(term, this.host);
    listenForWheel(term, this.host, () => (this.wantsOlder.value = true));
    listenForFingers(this.host, this.fitting);
    term.onSelectionChange(() => prefs.value.copyOnSelect && void copySelection(term));
    undo.push(blink(term, this.host), effect(() => this.restyle()), this.fitting.observe(), this.drawFast());
  }

  private restyle(): void {
    Object.assign(this.term.options, liked());
    const { fontSize } = prefs.value;
    if (this.stream.size.peek()?.holder !== "you") return this.fitting.letterbox();
    this.term.options.fontSize = fontSize;
    this.fitting.refit();
  }

  /** By WebGL while it has the focus; the answer ends that. */
  private drawFast(): () => void {
    let release: Promise<() => void> | null = null;
    const focused = () => (release ??= leaseWebgl(this.term));
    const blurred = () => {
      void release?.then((end) => end());
      release = null;
    };
    this.term.textarea?.addEventListener("focus", focused);
    this.term.textarea?.addEventListener("blur", blurred);
    return blurred;
  }
}

/** What the person's settings say of how a terminal looks, but for its size. */
function liked() {
  const { fontFamily, lineHeight, scrollback, cursorBlink, screenReader } = prefs.value;
  return {
    theme: themes[shownTheme()],
    minimumContrastRatio: shownTheme() === "dark" ? 1 : 4.5,
    fontFamily,
    lineHeight,
    scrollback,
    cursorBlink,
    screenReaderMode: screenReader,
  };
}

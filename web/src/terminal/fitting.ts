// How large a terminal is drawn: what fits into its place, and the font at which a size that others set fits.
import type { Terminal } from "@xterm/xterm";
import { signal } from "@preact/signals";
import { prefs } from "../state/prefs";
import type { SessionStream } from "./stream";
import { exactCellWidth } from "./xterm_cells";

const SMALLEST_FONT = 5;
/** A session smaller than the window is shown larger, up to this. */
const LARGEST_ZOOM = 1.25;

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

export class Fitting {
  readonly viewport = signal<Viewport>({ top: 0, rows: 24, cols: 80, length: 24, cellWidth: 8, cellHeight: 16, fontSize: 14, atBottom: true, alternate: false });
  /** How much larger than fits two fingers made it. */
  readonly magnified = signal(1);

  constructor(
    private readonly term: Terminal,
    private readonly host: HTMLElement,
    /** What the whole grid, panels included, may fill. */
    private readonly stage: HTMLElement,
    private readonly stream: SessionStream,
  ) {
    term.onScroll(() => this.measure());
    term.onRender(() => this.measure());
  }

  /** Follows the size of its place; the answer ends that. */
  observe(): () => void {
    const observer = new ResizeObserver(() => this.refit());
    observer.observe(this.stage);
    return () => observer.disconnect();
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

  magnify(by: number): void {
    this.magnified.value = Math.min(4, Math.max(1, this.magnified.value * by));
    this.letterbox();
  }

  refit(): void {
    if (!this.stage.clientWidth) return;
    if (this.stream.holds.value) {
      const known = this.stream.size.value;
      if (known) this.term.options.fontSize = prefs.value.fontSize;
      const capacity = this.capacity();
      if (known && (known.cols !== capacity.cols || known.rows !== capacity.rows)) this.stream.setSize(capacity);
    }
    this.letterbox();
  }

  /** The font at which the whole grid fits: others may set the size, and we show all of it. */
  letterbox(): void {
    const size = this.stream.size.value;
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

  private cell(): { cellWidth: number; cellHeight: number } {
    const screen = this.host.querySelector<HTMLElement>(".xterm-screen");
    if (!screen || !screen.offsetWidth) return { cellWidth: 8, cellHeight: 17 };
    return { cellWidth: screen.offsetWidth / this.term.cols, cellHeight: screen.offsetHeight / this.term.rows };
  }

  private exactWidth(): number {
    return exactCellWidth(this.term) ?? this.cell().cellWidth;
  }
}

// Where the session's commands are in the buffer. What they are, and how they ended, the server says; a program can
// at most move a mark, never make one.
import type { IMarker, Terminal } from "@xterm/xterm";
import { computed, signal } from "@preact/signals";
import type { StreamEvent } from "../protocol/messages";
import type { BlockInfo } from "../protocol/operations";
import { socket } from "../protocol/socket";

const KEPT = 200;
const SEARCHED_ROWS = 5000;
const FIND_MS = 60;

export interface Mark {
  block: BlockInfo;
  /** Row in the buffer; -1 when the row is gone. */
  row: number;
}

export class BlockMarks {
  /** Newest first. */
  readonly list = signal<BlockInfo[]>([]);
  readonly version = signal(0);
  /** Whether every command was looked for in the rows that were there at the beginning. */
  readonly settled = signal(false);
  /** Number of the command that was last jumped to. */
  readonly here = signal(0);
  readonly marks = computed<Mark[]>(() => {
    void this.version.value;
    return this.list.value
      .map((block) => ({ block, row: this.markers.get(block.number)?.line ?? -1 }))
      .filter((each) => each.row >= 0)
      .reverse();
  });

  private readonly markers = new Map<number, IMarker>();
  /** Rows where a shell marked the beginning of output, not yet given to a block. */
  private candidates: IMarker[] = [];
  private unplaced: number[] = [];
  private isLoaded = false;
  private hasRows = false;
  private timer = 0;
  private findTimer = 0;

  constructor(
    private readonly term: Terminal,
    public session: string,
  ) {
    for (const number of [133, 633])
      term.parser.registerOscHandler(number, (data) => {
        if (data === "C" || data.startsWith("C;")) this.sawOutput();
        return false;
      });
    term.onResize(() => this.changed());
  }

  dispose(): void {
    clearTimeout(this.timer);
    clearTimeout(this.findTimer);
  }

  async load(): Promise<void> {
    try {
      this.list.value = await socket.call("block.list", { session: this.session, limit: KEPT });
      this.isLoaded = true;
      this.findInText();
    } catch {
      // exited and removed sessions have none to give; the list stays as it was
    }
  }

  happened(event: StreamEvent): void {
    const id = String(event["block"]);
    const number = Number(id.slice(id.lastIndexOf("-") + 1));
    if (event["change"] === "started") {
      const candidate = this.candidates.pop();
      this.candidates = [];
      if (candidate) this.place(number, candidate);
      else this.unplaced.push(number);
    }
    // Directory, times and actor come from the server; one question for a burst of commands.
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.load(), this.list.value.length ? 60 : 0);
  }

  /** The screen was rebuilt: rows have no marks any more. */
  forget(): void {
    for (const marker of this.markers.values()) marker.dispose();
    this.markers.clear();
    this.candidates = [];
    this.unplaced = [];
    this.changed();
  }

  /** In a flood the screen is rebuilt thirty times a second: look when it is over. */
  findSoon(): void {
    clearTimeout(this.findTimer);
    this.findTimer = setTimeout(() => {
      this.hasRows = true;
      this.findInText();
    }, FIND_MS);
  }

  /** Rows that came by a snapshot carry no marks: find the command lines by their text, newest first. */
  findInText(): void {
    const { active } = this.term.buffer;
    if (this.isLoaded && this.hasRows) queueMicrotask(() => (this.settled.value = true));
    if (active.type !== "normal") return;
    const cursor = active.baseY + active.cursorY;
    let row = cursor;
    const oldest = Math.max(0, cursor - SEARCHED_ROWS);
    for (const block of this.list.value) {
      const known = this.markers.get(block.number);
      if (known && known.line >= 0) {
        row = known.line - 1;
        continue;
      }
      const wanted = block.command_line?.split("\n")[0]?.trim();
      if (!wanted) continue;
      const found = this.rowEndingWith(wanted, row, oldest);
      if (found < 0) break;
      const marker = this.term.registerMarker(found - cursor);
      if (marker) this.markers.set(block.number, marker);
      row = found - 1;
    }
    this.changed();
  }

  private rowEndingWith(wanted: string, from: number, oldest: number): number {
    const { active } = this.term.buffer;
    let text = "";
    for (let row = from; row >= oldest; row--) {
      const line = active.getLine(row);
      text = (line?.translateToString(true) ?? "") + text;
      if (line?.isWrapped) continue;
      if (text.trimEnd().endsWith(wanted) && text.trim() !== wanted) return row;
      text = "";
    }
    return -1;
  }

  private sawOutput(): void {
    // The command line was echoed on the row above (or begins further up when it wrapped).
    const { active } = this.term.buffer;
    if (active.type !== "normal") return;
    let back = active.cursorX === 0 ? -1 : 0;
    while (active.getLine(active.baseY + active.cursorY + back)?.isWrapped) back -= 1;
    const marker = this.term.registerMarker(back);
    if (!marker) return;
    const number = this.unplaced.shift();
    if (number !== undefined) this.place(number, marker);
    else this.candidates = [...this.candidates.slice(-8), marker];
  }

  private place(number: number, marker: IMarker): void {
    this.markers.set(number, marker);
    if (this.markers.size > KEPT) {
      const oldest = this.markers.keys().next().value as number;
      this.markers.get(oldest)?.dispose();
      this.markers.delete(oldest);
    }
    this.changed();
  }

  private changed(): void {
    this.version.value += 1;
  }
}

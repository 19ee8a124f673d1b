// One session's stream: its bytes, sizes and events into a terminal, in their order, and what is typed to the session.
import type { Terminal } from "@xterm/xterm";
import { signal } from "@preact/signals";
import type { Elements, SizeMessage, StreamEvent } from "../protocol/messages";
import type { SessionInfo } from "../protocol/operations";
import { type Stream, socket } from "../protocol/socket";
import { notify, say } from "../state/notices";
import { heard } from "../state/sessions";
import type { BlockMarks } from "./blocks";

const ACK_BYTES = 32 * 1024;
const SKIPPED_SHOWN_MS = 10_000;
const encoder = new TextEncoder();

/** The page's opinion of how the session ended or could not be opened. */
export interface Ending {
  reason: string;
  hint?: string | undefined;
}

interface Grid {
  cols: number;
  rows: number;
}

export class SessionStream {
  readonly size = signal<SizeMessage | null>(null);
  readonly holds = signal(false);
  readonly elements = signal<Elements | null>(null);
  /** Who the keys go to while they are captured. */
  readonly capturedBy = signal<string | null>(null);
  readonly ended = signal<Ending | null>(null);
  readonly ready = signal(false);
  /** Bytes that were left out because the program printed more than a person can read. */
  readonly skipped = signal(0);
  /** Which session of that name it is; null before it is opened. */
  id: string | null = null;

  private stream: Stream | null = null;
  private queued = 0;
  private acked = 0;
  private fresh = true;
  private skippedTimer = 0;

  constructor(
    private readonly term: Terminal,
    private readonly blocks: BlockMarks,
    public session: string,
  ) {}

  /** `sized` is called after each change of size, when the terminal has it. */
  open(size: Grid | null, sized: (isFirst: boolean) => void): void {
    this.holds.value = size !== null;
    this.stream = socket.open(
      this.session,
      {
        opened: (info, resumed) => this.opened(info, resumed),
        output: (offset, bytes) => this.wrote(bytes, offset + bytes.length),
        snapshot: (offset, bytes) => this.restored(bytes, offset),
        size: (size) => this.sized(size, sized),
        elements: (elements) => this.drew(elements),
        event: (event) => this.happened(event),
        gap: (skipped) => this.missed(skipped),
        ended: (reason) => (this.ended.value = { reason }),
        failed: (error) => {
          if (this.ready.value) notify(error.message, { kind: "bad", hint: error.hint });
          else this.ended.value = { reason: error.message, hint: error.hint };
        },
      },
      { hold: size !== null, ...(size ? { size } : {}) },
    );
  }

  close(): void {
    if (this.stream) socket.close(this.stream);
    clearTimeout(this.skippedTimer);
  }

  setSize(size: Grid): void {
    if (this.stream) socket.setSize(this.stream, size);
  }

  /** With a size this viewer sets the session's from here on; with null it gives that up. */
  hold(size: Grid | null): void {
    this.holds.value = size !== null;
    if (size) this.setSize(size);
    if (this.stream) socket.setHold(this.stream, size !== null);
  }

  type(data: string): void {
    if (!socket.may("input")) return say("view only: nothing was typed");
    if (!this.typeBytes(encoder.encode(data))) say("not connected: nothing was typed");
  }

  /** False if they were not typed. */
  typeBytes(bytes: Uint8Array): boolean {
    return this.stream !== null && socket.may("input") && socket.type(this.stream, bytes);
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
      if (!this.stream) return;
      if (this.queued === 0 || end - this.acked >= ACK_BYTES) {
        this.acked = end;
        socket.ack(this.stream, end);
      } else {
        this.stream.offset = end;
      }
    });
  }

  private sized(size: SizeMessage, done: (isFirst: boolean) => void): void {
    // After what was printed at the old size, before what comes at the new one.
    this.term.write("", () => {
      const isFirst = this.size.value === null;
      this.size.value = size;
      this.holds.value = size.holder === "you";
      if (this.term.cols !== size.cols || this.term.rows !== size.program_rows)
        this.term.resize(size.cols, Math.max(1, size.program_rows));
      done(isFirst);
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
    this.skippedTimer = setTimeout(() => (this.skipped.value = 0), SKIPPED_SHOWN_MS);
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
}

/** `agent:claude` is called claude. */
const nameOf = (owner: string) => owner.slice(owner.indexOf(":") + 1);

// Plays a recording (asciicast 2 or 3) into a terminal: the same one that shows live sessions, so what is drawn is the same.
import { UnicodeGraphemesAddon } from "@xterm/addon-unicode-graphemes";
import { Terminal } from "@xterm/xterm";
import { effect, signal } from "@preact/signals";
import { prefs, shownTheme } from "../state/prefs";
import { followAfterClear, muteReplies } from "./mute";
import { themes } from "./themes";

export interface Cast {
  cols: number;
  rows: number;
  /** Wall clock of the beginning, in seconds. */
  began: number;
  events: { at: number; code: string; data: string }[];
}

/** Lines that are not as they should be are left out: a recording may end early. */
export function parseCast(text: string): Cast {
  const lines = text.split("\n");
  const header = JSON.parse(lines[0] ?? "{}") as Record<string, unknown>;
  const term = (header["term"] ?? {}) as { cols?: number; rows?: number };
  const relative = header["version"] === 3;
  let now = 0;
  const events: Cast["events"] = [];
  for (const line of lines.slice(1)) {
    if (!line.startsWith("[")) continue;
    try {
      const [time, code, data] = JSON.parse(line) as [number, string, string];
      now = relative ? now + time : time;
      events.push({ at: now, code, data });
    } catch {
      break;
    }
  }
  return {
    cols: Number(term.cols ?? header["width"] ?? 80),
    rows: Number(term.rows ?? header["height"] ?? 24),
    began: Number(header["timestamp"] ?? 0),
    events,
  };
}

/** Real time against shown time: pauses longer than `cap` seconds are shown as `cap`. */
export function capped(cast: Cast, cap: number): number[] {
  let shown = 0;
  let before = 0;
  return cast.events.map((event) => {
    shown += Math.min(cap, Math.max(0, event.at - before));
    before = event.at;
    return shown;
  });
}

/**
 * When each command's output began, as the shell marked it in the recording itself: exact, where the recording's own
 * beginning is in whole seconds only. Empty when the marks are not those of the commands.
 */
export function markedTimes(cast: Cast, commands: number): number[] {
  const times: number[] = [];
  for (const event of cast.events)
    if (event.code === "o") for (const _ of event.data.matchAll(/\x1b\](?:133|633);C[;\x07\x1b]/g)) times.push(event.at);
  return times.length === commands ? times : [];
}

const WRITE_CHARS = 512 * 1024;

export class Player {
  readonly term: Terminal;
  readonly now = signal(0);
  readonly playing = signal(false);
  readonly speed = signal(1);
  readonly cap = signal(2);
  readonly length = signal(0);
  private times: number[] = [];
  private next = 0;
  private frame = 0;
  private last = 0;
  private readonly undo: (() => void)[] = [];

  constructor(
    private readonly host: HTMLElement,
    private readonly stage: HTMLElement,
    readonly cast: Cast,
  ) {
    this.term = new Terminal({
      allowProposedApi: true,
      logLevel: "off",
      cols: cast.cols,
      rows: cast.rows,
      disableStdin: true,
      fontFamily: prefs.value.fontFamily,
      fontSize: prefs.value.fontSize,
      lineHeight: prefs.value.lineHeight,
      scrollback: 2000,
      theme: themes[shownTheme()],
      screenReaderMode: prefs.value.screenReader,
      linkHandler: { activate: () => {} },
    });
    this.term.loadAddon(new UnicodeGraphemesAddon());
    muteReplies(this.term);
    followAfterClear(this.term);
    this.term.open(host);
    const observer = new ResizeObserver(() => this.fit());
    observer.observe(stage);
    this.undo.push(
      () => observer.disconnect(),
      effect(() => {
        this.term.options.theme = themes[shownTheme()];
      }),
      effect(() => {
        const at = this.toReal(this.now.peek());
        this.times = capped(cast, this.cap.value);
        this.length.value = this.times.at(-1) ?? 0;
        this.now.value = this.toShown(at);
      }),
    );
    this.fit();
    this.seek(0);
  }

  dispose(): void {
    cancelAnimationFrame(this.frame);
    for (const each of this.undo) each();
    this.term.dispose();
  }

  /** Where a moment of the wall clock (in seconds from the beginning) is shown. */
  toShown(real: number): number {
    const { events } = this.cast;
    let low = 0;
    let high = events.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((events[middle]?.at ?? 0) < real) low = middle + 1;
      else high = middle;
    }
    return this.times[Math.min(low, this.times.length - 1)] ?? 0;
  }

  private toReal(shown: number): number {
    const index = this.times.findIndex((each) => each >= shown);
    return this.cast.events[index < 0 ? this.cast.events.length - 1 : index]?.at ?? 0;
  }

  play(): void {
    if (this.playing.value) return;
    if (this.now.value >= this.length.value) this.seek(0);
    this.playing.value = true;
    this.last = performance.now();
    this.frame = requestAnimationFrame(this.tick);
  }

  pause(): void {
    this.playing.value = false;
    cancelAnimationFrame(this.frame);
  }

  seek(to: number): void {
    const target = Math.min(this.length.value, Math.max(0, to));
    if (target < this.now.value || this.next === 0) {
      this.term.reset();
      this.term.resize(this.cast.cols, this.cast.rows);
      this.next = 0;
    }
    this.now.value = target;
    this.show();
  }

  private readonly tick = (at: number): void => {
    if (!this.playing.value) return;
    this.now.value = Math.min(this.length.value, this.now.value + ((at - this.last) / 1000) * this.speed.value);
    this.last = at;
    this.show();
    if (this.now.value >= this.length.value) this.pause();
    else this.frame = requestAnimationFrame(this.tick);
  };

  /** Write everything up to now, in as few pieces as sizes allow. */
  private show(): void {
    let text = "";
    while (this.next < this.cast.events.length && (this.times[this.next] ?? 0) <= this.now.value) {
      const event = this.cast.events[this.next++];
      if (event?.code === "o") text += event.data;
      const size = event?.code === "r" ? /^(\d+)x(\d+)$/.exec(event.data) : null;
      if (text.length > WRITE_CHARS || size) {
        this.term.write(text);
        text = "";
      }
      if (size)
        this.term.write("", () => {
          this.term.resize(Math.min(1000, Number(size[1])), Math.min(1000, Number(size[2])));
          this.fit();
        });
    }
    if (text) this.term.write(text);
  }

  private fit(): void {
    const screen = this.host.querySelector<HTMLElement>(".xterm-screen");
    if (!screen?.offsetWidth || !this.stage.clientWidth) return;
    const font = this.term.options.fontSize ?? 14;
    const fits = Math.min(this.stage.clientWidth / (screen.offsetWidth / font), this.stage.clientHeight / (screen.offsetHeight / font));
    const wanted = Math.max(5, Math.min(prefs.value.fontSize * 1.25, Math.floor(fits * 2) / 2));
    if (wanted !== font) this.term.options.fontSize = wanted;
  }
}

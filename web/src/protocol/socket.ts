// One WebSocket for the whole page: streams of sessions, the list, calls. It comes back by itself, and every stream
// goes on from the byte it had parsed.
import { signal } from "@preact/signals";
import { ask, forgetToken, hasToken } from "./credential";
import { proofOf } from "./key";
import { inputFrame, parseFrame } from "./frames";
import { OUTPUT, SNAPSHOT } from "./messages";
import type {
  ChangeMode,
  Elements,
  ErrorShape,
  ServerMessage,
  SizeMessage,
  StreamEvent,
  ViewerMessage,
} from "./messages";
import type { Operations, SessionInfo, StandingInfo, Ticket, WhoAmI } from "./operations";

/** The address of the server this page came from: scripts lie in `<server>/ui/assets/`. */
export const server = new URL("../../", import.meta.url);

export type Connection =
  | { is: "connecting" }
  | { is: "live" }
  | { is: "retrying"; at: number; tries: number }
  | { is: "signed_out" };

const FIRST_RETRY_MS = 300;
const LAST_RETRY_MS = 10_000;
/** A call that is not answered for so long means a dead connection that the browser has not noticed. */
const ANSWER_MS = 20_000;
const PULSE_MS = 5_000;
/** What a hub answers itself. */
const OF_HUB = /^(auth|token|user|share|room)\.|^server\.(health|list|get)$|^session\.list$/;
/** While a page is being made its own work would be taken for the way to the server. */
const FIRST_PULSE_MS = 1_000;
/** More than this waiting in the browser means the network is gone; typing into it would be typing blind. */
const MAX_BUFFERED_BYTES = 1_000_000;

export class CallError extends Error {
  readonly code: string;
  readonly hint: string | undefined;
  readonly details: Record<string, unknown>;
  constructor(error: ErrorShape) {
    super(error.message);
    this.code = error.code;
    this.hint = error.hint;
    this.details = error.details ?? {};
  }
}

export interface StreamListener {
  opened?(session: SessionInfo, resumed: boolean): void;
  output?(offset: number, bytes: Uint8Array): void;
  snapshot?(offset: number, bytes: Uint8Array): void;
  size?(size: SizeMessage): void;
  elements?(elements: Elements): void;
  event?(event: StreamEvent): void;
  gap?(skipped: number): void;
  thumb?(lines: string[], state: SessionInfo["state"]): void;
  ended?(reason: string): void;
  failed?(error: ErrorShape): void;
}

export interface Stream {
  readonly number: number;
  session: string;
  mode: ChangeMode["mode"];
  /** Where to go on after a break; null before the first byte. */
  offset: number | null;
  size: { cols: number; rows: number } | null;
  hold: boolean;
  scrollbackRows: number;
  listener: StreamListener;
}

interface Waiting {
  resolve(result: unknown): void;
  reject(error: Error): void;
  timer: number;
}

export class Socket {
  readonly connection = signal<Connection>({ is: "connecting" });
  readonly latencyMs = signal<number | null>(null);
  readonly version = signal("");
  /** Who this page is to the server, and what that allows. */
  readonly me = signal<WhoAmI | null>(null);
  onSessions: (message: Extract<ServerMessage, { type: "sessions" | "session" }>) => void = () => {};

  /** Questions to a person: all that wait, then each as it is asked or settled. */
  onApprovals: (message: Extract<ServerMessage, { type: "approvals" | "approval" }>) => void = () => {};
  /** The machine that is asked where a call names no session. */
  placeOfCalls: () => Promise<string | null> = () => Promise.resolve(null);
  /** Answers that cover later calls, all of them, after each change. */
  readonly standing = signal<StandingInfo[]>([]);

  private socket: WebSocket | null = null;
  private readonly streams = new Map<number, Stream>();
  private readonly waiting = new Map<number, Waiting>();
  private nextStream = 1;
  private nextCall = 1;
  private tries = 0;
  private retryTimer = 0;
  private wantsSessions = false;
  private isAsking = false;
  /** Whether the server has this page's proof, and takes its messages. */
  private isProven = false;

  start(): void {
    addEventListener("online", () => this.retryNow());
    document.addEventListener("visibilitychange", () => !document.hidden && this.retryNow());
    setInterval(() => void this.pulse(), PULSE_MS);
    // The page itself says so; not when another site's link led here, since the cookie stays at home then.
    void this.connect(!hasToken() && document.documentElement.dataset.signed === "in");
  }

  retryNow(): void {
    if (this.connection.value.is !== "retrying") return;
    clearTimeout(this.retryTimer);
    void this.connect();
  }

  /** How many of a session's viewers are this page itself. */
  streamsOf(session: string): number {
    return [...this.streams.values()].filter((each) => each.session === session).length;
  }

  watchSessions(): void {
    this.wantsSessions = true;
    this.send({ type: "watch", on: true });
  }

  open(session: string, listener: StreamListener, options: Partial<Pick<Stream, "mode" | "size" | "hold" | "scrollbackRows">> = {}): Stream {
    const stream: Stream = {
      number: this.nextStream++,
      session,
      mode: options.mode ?? "stream",
      offset: null,
      size: options.size ?? null,
      hold: options.hold ?? false,
      scrollbackRows: options.scrollbackRows ?? 1000,
      listener,
    };
    this.streams.set(stream.number, stream);
    this.sendOpen(stream);
    return stream;
  }

  close(stream: Stream): void {
    if (this.streams.delete(stream.number)) this.send({ type: "close", stream: stream.number });
  }

  setMode(stream: Stream, mode: ChangeMode["mode"]): void {
    if (stream.mode === mode) return;
    stream.mode = mode;
    this.send({ type: "mode", stream: stream.number, mode });
  }

  setSize(stream: Stream, size: { cols: number; rows: number }): void {
    stream.size = size;
    this.send({ type: "size", stream: stream.number, ...size });
  }

  setHold(stream: Stream, on: boolean): void {
    stream.hold = on;
    this.send({ type: "hold", stream: stream.number, on });
  }

  ack(stream: Stream, offset: number): void {
    stream.offset = offset;
    this.send({ type: "ack", stream: stream.number, offset });
  }

  /** Whether what was typed is on its way; false when there is no connection. */
  type(stream: Stream, bytes: Uint8Array): boolean {
    const socket = this.socket;
    if (socket?.readyState !== WebSocket.OPEN || socket.bufferedAmount > MAX_BUFFERED_BYTES) return false;
    socket.send(inputFrame(stream.number, bytes));
    return true;
  }

  /** `machine`: which one of a hub is asked, where neither a session nor a question says so. */
  async call<Name extends keyof Operations>(operation: Name, params: Operations[Name]["params"], machine?: string | null): Promise<Operations[Name]["result"]> {
    const id = this.nextCall++;
    const named = "session" in params || "approval" in params || "standing" in params || OF_HUB.test(operation);
    const server = machine ?? (named || !this.isProven ? null : await this.placeOfCalls());
    return new Promise((resolve, reject) => {
      if (!this.send({ type: "call", id, operation, arguments: { ...params, ...(server ? { server } : {}) } })) {
        reject(new CallError({ code: "not_connected", message: "the server cannot be reached just now" }));
        return;
      }
      const timer = setTimeout(() => {
        this.waiting.delete(id);
        reject(new CallError({ code: "no_answer", message: `no answer to ${operation} for ${ANSWER_MS / 1000} s` }));
      }, ANSWER_MS);
      this.waiting.set(id, { resolve: resolve as (result: unknown) => void, reject, timer });
    });
  }

  /** What the server would refuse anyway need not be offered. */
  may(scope: WhoAmI["scopes"][number]): boolean {
    return this.me.value?.scopes.includes(scope) ?? true;
  }

  private send(message: ViewerMessage): boolean {
    if (this.socket?.readyState !== WebSocket.OPEN || !this.isProven) return false;
    this.socket.send(JSON.stringify(message));
    return true;
  }

  private sendOpen(stream: Stream): void {
    this.send({
      type: "open",
      stream: stream.number,
      session: stream.session,
      mode: stream.mode,
      role: "page",
      scrollback_rows: stream.scrollbackRows,
      ...(stream.offset !== null ? { offset: stream.offset } : {}),
      ...(stream.size ? { size: stream.size } : {}),
    });
  }

  /** `isLetIn`: whether the server has just let us in. An upgrade that it would refuse is not tried: the browser would complain. */
  private async connect(isLetIn = false): Promise<void> {
    if (this.isAsking) return;
    if (this.tries === 0) this.connection.value = { is: "connecting" };
    const answer = isLetIn || (await this.isLetIn());
    if (!answer) return this.later(answer);
    const url = new URL("ws/view", server);
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    if (hasToken()) await this.connectByTicket(url);
    else this.connectTo(url);
  }

  /** A browser cannot put a token into the head of a WebSocket; a ticket for one connection takes its place. */
  private async connectByTicket(url: URL): Promise<void> {
    try {
      const answer = await ask(new URL("auth/ws-ticket", server), { method: "POST", signal: AbortSignal.timeout(5000) });
      if (!answer.ok) throw new Error(answer.statusText);
      url.searchParams.set("ticket", ((await answer.json()) as Ticket).ticket);
      this.connectTo(url);
    } catch {
      void this.lost();
    }
  }

  private connectTo(url: URL): void {
    const socket = new WebSocket(url);
    this.isProven = false;
    socket.binaryType = "arraybuffer";
    socket.onmessage = (event: MessageEvent<string | ArrayBuffer>) =>
      typeof event.data === "string" ? this.took(JSON.parse(event.data) as ServerMessage) : this.tookFrame(event.data);
    socket.onclose = () => {
      if (this.socket === socket) void this.lost();
    };
    this.socket = socket;
  }

  private async lost(): Promise<void> {
    this.socket = null;
    this.latencyMs.value = null;
    for (const each of this.waiting.values()) {
      clearTimeout(each.timer);
      each.reject(new CallError({ code: "not_connected", message: "the connection was lost" }));
    }
    this.waiting.clear();
    this.later(await this.isLetIn());
  }

  private later(isLetIn: boolean | null): void {
    if (isLetIn === false) {
      forgetToken();
      this.connection.value = { is: "signed_out" };
      return;
    }
    const wait = Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** this.tries) * (0.75 + Math.random() / 2);
    this.tries += 1;
    this.connection.value = { is: "retrying", at: Date.now() + wait, tries: this.tries };
    this.retryTimer = setTimeout(() => void this.connect(isLetIn === true), wait);
  }

  /** Null when the server cannot be asked. It says no with 200: a refusal would be a complaint in the console. */
  private async isLetIn(): Promise<boolean | null> {
    this.isAsking = true;
    try {
      const answer = await ask(new URL("ui/signed-in", server), { signal: AbortSignal.timeout(5000) });
      return answer.ok ? ((await answer.json()) as boolean) : null;
    } catch {
      return null;
    } finally {
      this.isAsking = false;
    }
  }

  private async pulse(): Promise<void> {
    if (this.connection.value.is !== "live") return;
    const began = performance.now();
    const socket = this.socket;
    try {
      await this.call("server.health", {});
      this.latencyMs.value = performance.now() - began;
    } catch (error) {
      if (error instanceof CallError && error.code === "no_answer") socket?.close();
    }
  }

  /** The server knows whose page this is: everything that was wanted meanwhile is asked for. */
  private begin(): void {
    this.tries = 0;
    this.isProven = true;
    this.connection.value = { is: "live" };
    if (this.wantsSessions) this.send({ type: "watch", on: true });
    for (const stream of this.streams.values()) this.sendOpen(stream);
    setTimeout(() => void this.pulse(), FIRST_PULSE_MS);
    void this.call("auth.whoami", {}).then((me) => (this.me.value = me), () => {});
  }

  private async prove(challenge: string): Promise<void> {
    const socket = this.socket;
    try {
      const proof = await proofOf(challenge);
      if (this.socket === socket) this.socket?.send(JSON.stringify({ type: "prove", ...proof } satisfies ViewerMessage));
    } catch {
      if (this.socket === socket) this.signOut(); // no storage: this browser cannot keep a key
    }
  }

  private signOut(): void {
    const socket = this.socket;
    this.socket = null;
    this.connection.value = { is: "signed_out" };
    socket?.close();
  }

  private took(message: ServerMessage): void {
    switch (message.type) {
      case "hello":
        this.version.value = message.version;
        if (message.challenge === undefined) this.begin();
        else void this.prove(message.challenge);
        return;
      case "proved":
        this.begin();
        return;
      case "sessions":
      case "session":
        this.onSessions(message);
        return;
      case "approvals":
      case "approval":
        this.onApprovals(message);
        return;
      case "standing":
        this.standing.value = message.standing;
        return;
      case "result":
      case "error": {
        const waiting = this.waiting.get(message.id as number);
        if (waiting) {
          this.waiting.delete(message.id as number);
          clearTimeout(waiting.timer);
          if (message.type === "result") waiting.resolve(message.result);
          else waiting.reject(new CallError(message.error));
        } else if (message.type === "error" && message.error.code === "sign_in_again") {
          this.signOut();
        } else if (message.type === "error" && message.stream !== undefined) {
          this.streams.get(message.stream as number)?.listener.failed?.(message.error);
        }
        return;
      }
      default:
        this.tookOfStream(message);
    }
  }

  private tookOfStream(message: Exclude<ServerMessage, { type: "hello" | "proved" | "sessions" | "session" | "approvals" | "approval" | "standing" | "result" | "error" }>): void {
    const stream = this.streams.get(message.stream);
    if (!stream) return;
    const listener = stream.listener;
    switch (message.type) {
      case "opened":
        stream.session = message.session.name;
        if (stream.hold) this.setHold(stream, true);
        listener.opened?.(message.session, message.resumed);
        return;
      case "size":
        listener.size?.(message);
        return;
      case "elements":
        listener.elements?.(message);
        return;
      case "event":
        listener.event?.(message);
        return;
      case "gap":
        listener.gap?.(message.skipped);
        return;
      case "thumb":
        listener.thumb?.(message.lines, message.state);
        return;
      case "ended":
        this.streams.delete(stream.number);
        listener.ended?.(message.reason);
    }
  }

  private tookFrame(buffer: ArrayBuffer): void {
    const frame = parseFrame(buffer);
    const stream = frame && this.streams.get(frame.stream);
    if (!frame || !stream) return;
    if (frame.kind === OUTPUT) stream.listener.output?.(frame.offset, frame.bytes);
    else if (frame.kind === SNAPSHOT) stream.listener.snapshot?.(frame.offset, frame.bytes);
  }
}

export const socket = new Socket();

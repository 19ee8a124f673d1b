// Made by tools/generate_page_types.py; do not edit.
// What goes over /ws/view: docs/viewing.md says what it means.
import type { ApprovalInfo, OverlayInfo, PanelInfo, SessionInfo, StandingInfo } from "./operations";

// Kinds of binary frames, and the length of a frame's head.
export const OUTPUT = 1;
export const SNAPSHOT = 2;
export const INPUT = 3;
export const HEAD_BYTES = 13;

export interface Elements {
  overlays: OverlayInfo[];
  panels: PanelInfo[];
  screen_mode: "normal" | "alt";
  input_mode: "passthrough" | "capture";
  focused: string | null;
}

export interface SizeMessage {
  cols: number;
  rows: number;
  /** rows that panels leave to the program */
  program_rows: number;
  /** where those rows begin */
  top: number;
  /** who sets the size */
  holder: "you" | "other" | "nobody";
}

export interface StreamEvent {
  seq: number;
  at_ms: number;
  event: string;
  [field: string]: unknown;
}

export interface Hello {
  server_id: string;
  version: string;
  window_bytes: number;
  /** for a browser that came by its cookie, to `prove` */
  challenge?: string;
}

export interface Proved {
}

export interface Opened {
  /** the viewer's number for one opened session */
  stream: number;
  session: SessionInfo;
  offset: number;
  resumed: boolean;
}

export interface SizeOfStream {
  cols: number;
  rows: number;
  /** rows that panels leave to the program */
  program_rows: number;
  /** where those rows begin */
  top: number;
  /** who sets the size */
  holder: "you" | "other" | "nobody";
  /** the viewer's number for one opened session */
  stream: number;
}

export interface ElementsOfStream {
  overlays: OverlayInfo[];
  panels: PanelInfo[];
  screen_mode: "normal" | "alt";
  input_mode: "passthrough" | "capture";
  focused: string | null;
  /** the viewer's number for one opened session */
  stream: number;
}

export interface EventOfStream {
  seq: number;
  at_ms: number;
  event: string;
  /** the viewer's number for one opened session */
  stream: number;
  [field: string]: unknown;
}

export interface Gap {
  /** the viewer's number for one opened session */
  stream: number;
  skipped: number;
  start: number;
  end: number;
}

export interface Thumb {
  /** the viewer's number for one opened session */
  stream: number;
  lines: string[];
  state: "prompt" | "running" | "awaiting_input" | "awaiting_password" | "fullscreen" | "exited" | "unknown";
}

export interface StreamEnded {
  /** the viewer's number for one opened session */
  stream: number;
  reason: string;
  exit_code?: number | null;
}

export interface Sessions {
  sessions: SessionInfo[];
}

export interface SessionChange {
  change: "created" | "renamed" | "updated" | "exited" | "removed";
  name: string;
  old_name?: string;
  session?: SessionInfo | null;
}

export interface Approvals {
  approvals: ApprovalInfo[];
}

export interface ApprovalChange {
  approval: ApprovalInfo;
}

export interface Standing {
  standing: StandingInfo[];
}

export interface CallResult {
  id: unknown;
  result: unknown;
}

export interface ErrorShape {
  code: string;
  message: string;
  hint?: string;
  details?: Record<string, unknown>;
}

export interface Failure {
  /** of the call that failed */
  id?: unknown;
  /** whose `open` or message failed, as the viewer named it */
  stream?: unknown;
  error: ErrorShape;
}

export interface Size {
  cols: number;
  rows: number;
}

export interface Open {
  stream: number;
  session: string;
  offset?: number | null;
  mode?: "stream" | "thumb" | "none";
  size?: Size | null;
  scrollback_rows?: number;
  role?: "page" | "attach";
}

export interface Ack {
  stream: number;
  offset: number;
}

export interface StreamSize {
  cols: number;
  rows: number;
  stream: number;
}

export interface Hold {
  stream: number;
  on?: boolean;
}

export interface ChangeMode {
  stream: number;
  mode: "stream" | "thumb" | "none";
}

export interface OfStream {
  stream: number;
}

export interface Watch {
  on?: boolean;
}

export interface Call {
  id?: unknown;
  operation: string;
  arguments?: Record<string, unknown>;
}

export interface Prove {
  key?: string;
  proof: string;
}

export type ServerMessage =
  | ({ type: "hello" } & Hello)
  | ({ type: "proved" } & Proved)
  | ({ type: "opened" } & Opened)
  | ({ type: "size" } & SizeOfStream)
  | ({ type: "elements" } & ElementsOfStream)
  | ({ type: "event" } & EventOfStream)
  | ({ type: "gap" } & Gap)
  | ({ type: "thumb" } & Thumb)
  | ({ type: "ended" } & StreamEnded)
  | ({ type: "sessions" } & Sessions)
  | ({ type: "session" } & SessionChange)
  | ({ type: "approvals" } & Approvals)
  | ({ type: "approval" } & ApprovalChange)
  | ({ type: "standing" } & Standing)
  | ({ type: "result" } & CallResult)
  | ({ type: "error" } & Failure);

export type ViewerMessage =
  | ({ type: "open" } & Open)
  | ({ type: "ack" } & Ack)
  | ({ type: "size" } & StreamSize)
  | ({ type: "hold" } & Hold)
  | ({ type: "mode" } & ChangeMode)
  | ({ type: "close" } & OfStream)
  | ({ type: "watch" } & Watch)
  | ({ type: "approvals" } & Watch)
  | ({ type: "call" } & Call)
  | ({ type: "prove" } & Prove);

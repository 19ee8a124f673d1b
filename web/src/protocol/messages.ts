// What goes over /ws/view, as docs/viewing.md says it.
import type { ApprovalInfo, SessionInfo, StandingInfo } from "./operations";

export type StreamMode = "stream" | "thumb" | "none";
export type SizeHolder = "you" | "other" | "nobody";

export type Colour = string | { r: number; g: number; b: number };

export interface Style {
  fg?: Colour | null;
  bg?: Colour | null;
  bold?: boolean | null;
  italic?: boolean | null;
  underline?: boolean | null;
}

export interface DrawnSpan extends Style {
  id?: string | null;
  text: string;
}

export interface RegionWrite extends Style {
  row: number;
  col: number;
  text: string;
}

interface Element {
  id: string;
  z: number;
  background?: { bg: Colour } | null;
  spans: DrawnSpan[];
  region_writes?: RegionWrite[];
  focusable?: boolean;
  screen_mode?: string;
  /** Who drew it. */
  owner?: string | null;
}

export interface Overlay extends Element {
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface Panel extends Element {
  position: "top" | "bottom";
  height: number;
  visible: boolean;
}

export interface Elements {
  overlays: Overlay[];
  panels: Panel[];
  screen_mode: string;
  input_mode: "passthrough" | "capture";
  focused: string | null;
}

export interface SizeMessage {
  cols: number;
  rows: number;
  program_rows: number;
  top: number;
  holder: SizeHolder;
}

export interface StreamEvent {
  seq: number;
  at_ms: number;
  event: string;
  [field: string]: unknown;
}

export interface ErrorShape {
  code: string;
  message: string;
  hint?: string;
  details?: Record<string, unknown>;
}

export type ServerMessage =
  | { type: "hello"; server_id: string; version: string; window_bytes: number; challenge?: string }
  | { type: "proved" }
  | { type: "opened"; stream: number; session: SessionInfo; offset: number; resumed: boolean }
  | ({ type: "size"; stream: number } & SizeMessage)
  | ({ type: "elements"; stream: number } & Elements)
  | ({ type: "event"; stream: number } & StreamEvent)
  | { type: "gap"; stream: number; skipped: number }
  | { type: "thumb"; stream: number; lines: string[]; state: SessionInfo["state"] }
  | { type: "ended"; stream: number; reason: string; exit_code?: number | null }
  | { type: "sessions"; sessions: SessionInfo[] }
  | { type: "session"; change: string; name: string; old_name?: string; session?: SessionInfo }
  | { type: "approvals"; approvals: ApprovalInfo[] }
  | { type: "approval"; approval: ApprovalInfo }
  | { type: "standing"; standing: StandingInfo[] }
  | { type: "result"; id: number; result: unknown }
  | { type: "error"; id?: number; stream?: number; error: ErrorShape };

export type ViewerMessage =
  | {
      type: "open";
      stream: number;
      session: string;
      offset?: number;
      mode?: StreamMode;
      size?: { cols: number; rows: number };
      scrollback_rows?: number;
      role: "page";
    }
  | { type: "ack"; stream: number; offset: number }
  | { type: "size"; stream: number; cols: number; rows: number }
  | { type: "hold"; stream: number; on: boolean }
  | { type: "mode"; stream: number; mode: StreamMode }
  | { type: "close"; stream: number }
  | { type: "watch"; on: boolean }
  | { type: "prove"; key: string; proof: string }
  | { type: "call"; id: number; operation: string; arguments: unknown };

export const OUTPUT = 1;
export const SNAPSHOT = 2;
export const INPUT = 3;
export const HEAD_BYTES = 13;

export interface Frame {
  kind: number;
  stream: number;
  offset: number;
  bytes: Uint8Array;
}

export function parseFrame(buffer: ArrayBuffer): Frame | null {
  if (buffer.byteLength < HEAD_BYTES) return null;
  const view = new DataView(buffer);
  return {
    kind: view.getUint8(0),
    stream: view.getUint32(1),
    offset: Number(view.getBigUint64(5)),
    bytes: new Uint8Array(buffer, HEAD_BYTES),
  };
}

export function inputFrame(stream: number, bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const frame = new Uint8Array(HEAD_BYTES + bytes.length);
  const view = new DataView(frame.buffer);
  view.setUint8(0, INPUT);
  view.setUint32(1, stream);
  frame.set(bytes, HEAD_BYTES);
  return frame;
}

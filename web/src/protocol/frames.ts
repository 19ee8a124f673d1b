// Binary frames of /ws/view: kind, stream, offset, bytes. See docs/viewing.md.
import { HEAD_BYTES, INPUT } from "./messages";

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

// What can be done with one command: copy it, its output, both; link to it; read it.
import type { BlockInfo } from "../protocol/operations";
import { socket } from "../protocol/socket";
import { complain, notify } from "./notices";
import { base, sessionPath } from "./route";

export type { BlockInfo } from "../protocol/operations";

const COPIED_LINES = 100_000;

export type BlockEnd = "good" | "bad" | "running" | "unknown";

export function endOf(block: BlockInfo): BlockEnd {
  if (block.running) return "running";
  if (block.exit_code === null) return "unknown";
  return block.exit_code === 0 ? "good" : "bad";
}

/** A sign and a number: never by colour alone. */
export function endWords(block: BlockInfo): string {
  const end = endOf(block);
  return end === "running" ? "▸ running" : end === "unknown" ? "– ?" : `${end === "good" ? "✓" : "✗"} ${block.exit_code}`;
}

export const blockLink = (block: BlockInfo) => new URL(`${base}${sessionPath(block.session)}?block=${block.number}`, location.href).href;

async function output(block: BlockInfo): Promise<string> {
  const found = await socket.call("block.output", { session: block.session, block: block.id, limit: COPIED_LINES });
  return found.lines.join("\n");
}

async function copied(text: Promise<string> | string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(await text);
    notify(`Copied ${what}`, { kind: "good" });
  } catch (error) {
    complain(error);
  }
}

async function markdown(block: BlockInfo): Promise<string> {
  const text = await output(block);
  // A fence longer than any in the text, so that the output cannot end it.
  const longest = Math.max(2, ...(text.match(/`{3,}/g) ?? []).map((each) => each.length));
  const fence = "`".repeat(longest + 1);
  const end = block.running ? "still running" : `exit code ${block.exit_code ?? "unknown"}`;
  return `${fence}console\n${block.cwd ?? ""}$ ${block.command_line ?? ""}\n${text}\n${fence}\n\n${end}${block.duration_ms === null ? "" : `, ${(block.duration_ms / 1000).toFixed(2)} s`}\n`;
}

export const copyCommand = (block: BlockInfo) => copied(block.command_line ?? "", "the command line");
export const copyOutput = (block: BlockInfo) => copied(output(block), "the output");
export const copyMarkdown = (block: BlockInfo) => copied(markdown(block), "command and output as Markdown");
export const copyLink = (block: BlockInfo) => copied(blockLink(block), "a link to this command");

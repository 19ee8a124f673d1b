// Conversations with the agent: the one that is shown is followed word by word.
import { signal } from "@preact/signals";
import type { ConversationEntryInfo, ConversationInfo } from "../protocol/operations";
import { CallError, socket } from "../protocol/socket";
import { complain } from "./notices";
import { navigate } from "./route";

export type { ConversationEntryInfo, ConversationInfo } from "../protocol/operations";

/** Well within the time after which a call without an answer means a dead connection. */
const WAIT_MS = 10_000;
const PAUSE_MS = 500;

export const conversations = signal<ConversationInfo[] | null>(null);
export const info = signal<ConversationInfo | null>(null);
export const entries = signal<ConversationEntryInfo[]>([]);
/** What the agent says just now, as far as it came. */
export const partial = signal("");
export const problem = signal("");
/** What keeps the agent from a model, if anything does. */
export const missing = signal("");

export const agentPath = (id: string) => `agent/${encodeURIComponent(id)}`;

export async function loadConversations(): Promise<void> {
  const [list, status] = await Promise.all([socket.call("agent.list", {}), socket.call("agent.status", {})]);
  conversations.value = list;
  missing.value = status.state === "not_configured" ? status.message : "";
}

/** Follows one conversation until the function that is returned is called. */
export function follow(id: string): () => void {
  let gone = false;
  info.value = null;
  entries.value = [];
  partial.value = "";
  const run = async () => {
    let key = "none";
    /** Characters of the answer that are shown, as the server counts them. */
    let chars = 0;
    while (!gone) {
      try {
        const news = await socket.call("agent.events", { conversation: id, after: entries.value.at(-1)?.seq ?? 0, text_after: chars, wait_ms: WAIT_MS, known_state: key });
        if (gone) return;
        key = news.info.state_key;
        if (news.entries.length) entries.value = [...entries.value, ...news.entries];
        const isOver = news.partial_chars < chars || news.entries.some((each) => each.kind === "answer" || each.kind === "fault");
        // The next answer is read from its beginning.
        partial.value = isOver ? "" : partial.value + news.partial;
        chars = isOver ? 0 : news.partial_chars;
        info.value = news.info;
        problem.value = "";
      } catch (error) {
        if (gone) return;
        problem.value = error instanceof Error ? error.message : String(error);
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      }
    }
  };
  void run();
  return () => {
    gone = true;
  };
}

export async function send(text: string, conversation: string | null, session: string | null): Promise<boolean> {
  try {
    const sent = await socket.call("agent.send", { text, ...(conversation ? { conversation } : session ? { session } : {}) });
    problem.value = "";
    if (!conversation) navigate(agentPath(sent.info.id));
    return true;
  } catch (error) {
    problem.value = error instanceof CallError && error.hint ? `${error.message}: ${error.hint}` : error instanceof Error ? error.message : String(error);
    return false;
  }
}

export const stop = (id: string, interrupt: boolean) => socket.call("agent.stop", { conversation: id, interrupt }).catch(complain);
export const resume = (id: string) => socket.call("agent.resume", { conversation: id }).catch(complain);

export const completions = (text: string, session: string | null) =>
  socket.call("agent.complete", { text, ...(session ? { session } : {}) }).then((found) => found.values, () => []);

/** What the actions of the palette ask for, by their ids. */
export const WISHES: Record<string, string> = {
  "fix-error": "Find out why the last failed command of this terminal failed, and propose the smallest change that mends it.",
  "explain-output": "Explain what the last command of this terminal did and what its output means, shortly.",
  "review-changes": "Review what is changed in this terminal's repository and not committed: mistakes first, then a commit message.",
  "sum-up-session": "Sum up what was done in this terminal, what came of it, and what is left to do.",
};

// Questions that agents' calls put to a person: those that wait, and how the ones seen here ended.
import { batch, computed, signal } from "@preact/signals";
import type { ApprovalInfo, ApproveParams } from "../protocol/operations";
import { socket } from "../protocol/socket";
import { happenedNow, untilMs } from "./clock";
import { inPath } from "./route";

export type { ApprovalInfo } from "../protocol/operations";

/** No click and no key answers a question that has just appeared, moved or come into sight. */
export const SETTLE_MS = 400;
const KEPT = 50;

const byId = signal<ReadonlyMap<string, ApprovalInfo>>(new Map());
/** Whether those that wait are known. */
export const isKnown = signal(false);
/** Answered by this page. */
const mine = new Set<string>();
/** Whether everything has stood still in sight long enough for an answer to be meant. */
export const calm = signal(false);
let calmFrom = 0;
let frame = 0;
let settling = 0;

const byTime = (a: ApprovalInfo, b: ApprovalInfo) => a.asked_at.localeCompare(b.asked_at);

/** Oldest first: it ends first. */
export const asked = computed(() => [...byId.value.values()].filter((each) => each.state === "pending").sort(byTime));
/** By id: a session may be renamed while it asks. */
export const asksIn = (session: { id: string }) => asked.value.some((each) => each.session_id === session.id);
export const approval = (id: string) => byId.value.get(id);
export const isMine = (id: string) => mine.has(id);

/** What a person should see beside a session: what waits, and how what they saw wait has ended. */
export const cardsOf = (session: { id: string }) => [...byId.value.values()].filter((each) => each.session_id === session.id).sort(byTime);

export const leftMs = (each: ApprovalInfo) => Math.max(0, untilMs(each.expires_at));

/** By when a person did it: what they pressed while the page was busy is heard only later. */
export const isMeant = (event: Event) => calm.value && event.timeStamp >= calmFrom;

export function stir(): void {
  calm.value = false;
  cancelAnimationFrame(frame);
  clearTimeout(settling);
  const settle = () => {
    calmFrom = performance.now();
    calm.value = true;
  };
  // Counted from when it is painted, which a busy machine does late.
  const painted = () => {
    settling = setTimeout(settle, SETTLE_MS);
  };
  frame = requestAnimationFrame(() => {
    frame = requestAnimationFrame(painted);
  });
}
document.addEventListener("visibilitychange", stir);

socket.onApprovals = (message) => {
  const next = new Map(byId.value);
  if (message.type === "approval") {
    const { approval: changed } = message;
    // Settled ones are news only to a page that showed them waiting.
    if (changed.state === "pending") {
      if (!next.has(changed.id)) happenedNow(changed.asked_at);
      next.set(changed.id, changed);
    } else if (next.has(changed.id)) next.set(changed.id, changed);
  } else {
    const waits = new Set(message.approvals.map((each) => each.id));
    // After a break: what no longer waits was settled meanwhile, by whom the server remembers.
    for (const [id, each] of next) if (each.state === "pending" && !waits.has(id)) void lookAgain(id);
    for (const each of message.approvals) next.set(each.id, each);
  }
  const over = [...next.values()].filter((each) => each.state !== "pending");
  for (const each of over.slice(0, -KEPT)) next.delete(each.id);
  stir();
  batch(() => {
    byId.value = next;
    isKnown.value = true;
  });
};

async function lookAgain(id: string): Promise<void> {
  const found = await findApproval(id).catch(() => null);
  if (found) socket.onApprovals({ type: "approval", approval: found });
  else dismissCard(id);
}

export function dismissCard(id: string): void {
  const next = new Map(byId.value);
  next.delete(id);
  stir();
  byId.value = next;
}

/** A question that this page did not see wait, from the server's memory. */
export async function findApproval(id: string): Promise<ApprovalInfo | null> {
  const slash = id.indexOf("/");
  const machine = slash < 0 ? null : id.slice(0, slash);
  const { approvals } = await socket.call("approval.list", { settled: true }, machine);
  const found = approvals.find((each) => each.id === id.slice(slash + 1));
  return found ? { ...found, id } : null;
}

export async function approve(id: string, answer: Omit<ApproveParams, "approval" | "via">): Promise<void> {
  mine.add(id);
  try {
    took({ ...(await socket.call("approval.approve", { approval: id, via: "page", ...answer })), id });
  } catch (error) {
    mine.delete(id);
    throw error;
  }
}

export async function decline(id: string, note: string): Promise<void> {
  mine.add(id);
  try {
    took({ ...(await socket.call("approval.decline", { approval: id, via: "page", ...(note ? { note } : {}) })), id });
  } catch (error) {
    mine.delete(id);
    throw error;
  }
}

function took(settled: ApprovalInfo): void {
  if (byId.value.has(settled.id)) socket.onApprovals({ type: "approval", approval: settled });
}

/** What this person's credential lets them answer: yes or no, with another line, for later calls too. */
export const mayAnswer = () => {
  const me = socket.me.value;
  return me === null || (me.kind === "person" && (socket.may("admin") || socket.may("approve")));
};
export const mayEdit = () => socket.may("admin") || socket.may("input");
export const mayStand = () => socket.may("admin") && !socket.me.value?.session;

/** Answers that let more than one line through, for a time: always in sight. */
export const bypasses = computed(() => socket.standing.value.filter((each) => each.expires_at !== null));

export const approvalPath = (id: string) => `approvals/${inPath(id)}`;

// Standing approvals, taken back.
import type { StandingInfo } from "../protocol/operations";
import { socket } from "../protocol/socket";
import { ask } from "./dialogs";
import { complain, notify } from "./notices";

/** Asks first: a slip of a finger must not bring questions back either. */
export function takeBack(each: StandingInfo): void {
  const run = () => void socket.call("approval.revoke", { standing: each.id }).then(() => notify("You are asked again from now on", { kind: "good" }), complain);
  ask({ is: "confirm", title: "Take this approval back?", text: "From now on you are asked again.", detail: each.rule, yes: "Take back", danger: true, run });
}

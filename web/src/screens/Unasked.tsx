// Above every screen, for as long as something runs unasked.
import { bypasses } from "../state/approvals";
import { takeBack } from "../state/standing";
import { navigate } from "../state/route";
import { Button, clockTime } from "../ui/ui";
import css from "./shell.module.css";

/** What runs unasked for a time is in sight for as long as it does. */
export function Unasked() {
  const [first, ...more] = bypasses.value;
  if (!first?.expires_at) return null;
  return (
    <div class={css.unasked} role="status" id="unasked">
      <b>Unasked until {clockTime(first.expires_at)}</b>
      <span title={first.rule}>{first.classes.length ? `${first.classes.join(", ")} in ${first.project ?? first.session}` : first.rule.replace(/^allow /, "")}</span>
      {more.length > 0 && <Button onClick={() => navigate("approvals")}>and {more.length} more</Button>}
      <Button onClick={() => takeBack(first)}>Take back</Button>
    </div>
  );
}

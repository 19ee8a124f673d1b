// The questions of one session, beside its terminal; or one line above it that leads to them, where there is no room.
import { asked, approvalPath, cardsOf } from "../state/approvals";
import { navigate } from "../state/route";
import { Button } from "../ui/ui";
import { Card } from "./Card";
import css from "./card.late.module.css";

export function Cards({ session }: { session: { id: string } }) {
  const cards = cardsOf(session);
  if (!cards.length) return null;
  return (
    <section class={css.cards} aria-label="Approvals">
      {cards.map((each) => (
        <Card key={each.id} info={each} beside />
      ))}
    </section>
  );
}

export function Asks({ session }: { session: { id: string } }) {
  const mine = asked.value.filter((each) => each.session_id === session.id);
  const [first] = mine;
  if (!first) return null;
  return (
    <div class={css.asks} role="group" aria-label="Approval">
      <span>{mine.length > 1 ? `${mine.length} questions wait` : "An agent asks"} for your approval</span>
      <Button onClick={() => navigate(approvalPath(first.id))}>Review</Button>
    </div>
  );
}

// The inbox: what waits for an answer, how the last ones ended, and which answers still stand. One question at its own address.
import { useEffect, useState } from "preact/hooks";
import { Card, outcomeWords } from "../asking/Card";
import { Shown } from "../asking/Shown";
import asking from "../asking/card.late.module.css";
import type { ApprovalInfo, StandingInfo } from "../protocol/operations";
import { socket } from "../protocol/socket";
import { approval, approvalPath, asked, findApproval, isKnown } from "../state/approvals";
import { takeBack } from "../state/standing";
import { complain } from "../state/notices";
import { base, navigate, route } from "../state/route";
import { Button, clockTime, since, parts } from "../ui/ui";
import css from "./pages.module.css";

export function Approvals() {
  const id = route.value.approval;
  return id ? <One key={id} id={id} /> : <Inbox />;
}

function One({ id }: { id: string }) {
  const [found, setFound] = useState<ApprovalInfo | null>(null);
  const [missing, setMissing] = useState(false);
  const live = approval(id);
  const known = isKnown.value && socket.connection.value.is === "live";
  useEffect(() => {
    if (known && !live) void findApproval(id).then((one) => (one ? setFound(one) : setMissing(true)), complain);
  }, [known, !live]);
  const info = live ?? found;
  const next = asked.value.find((each) => each.id !== id);
  return (
    <section class={css.sheet} data-region aria-label="Approval">
      <h1>Approval</h1>
      {info && <Card info={info} focus />}
      {missing && !info && <p role="alert">No such question is known. It may have been answered long ago: the audit has them all.</p>}
      <p>
        <Button onClick={() => navigate("approvals")}>All approvals</Button>{" "}
        {next && info?.state !== "pending" && (
          <Button look="primary" onClick={() => navigate(approvalPath(next.id))}>
            Next question
          </Button>
        )}
      </p>
    </section>
  );
}

const STANDS: Record<string, string> = { session: "This session", project: "This project", hours: "For a time", always: "Always" };

const stands = (each: StandingInfo) => `${STANDS[each.covers] ?? each.covers}${each.expires_at === null ? "" : `, until ${clockTime(each.expires_at)}`}`;
const used = (each: StandingInfo) => (each.used_at === null ? "not used yet" : `used ${each.uses === 1 ? "once" : `${each.uses} times`}, last ${since(each.used_at)}`);

function Inbox() {
  const [settled, setSettled] = useState<ApprovalInfo[]>([]);
  // Those that were seen to wait here stay where they are until they are dismissed: nothing moves under a finger.
  const [seen, setSeen] = useState<string[]>([]);
  const waiting = asked.value;
  const live = socket.connection.value.is === "live";
  const load = () => {
    void socket.call("approval.list", { settled: true }).then(({ approvals }) => setSettled(approvals.filter((each) => each.state !== "pending")), complain);
  };
  const ids = waiting.map((each) => each.id).join();
  useEffect(() => {
    if (!live) return;
    load();
    setSeen((before) => [...new Set([...before, ...waiting.map((each) => each.id)])]);
  }, [live, ids]);
  const order = [...new Set([...seen, ...waiting.map((each) => each.id)])];
  const cards = order.map(approval).filter((each) => each !== undefined);
  const before = settled.filter((each) => !cards.some((card) => card.id === each.id));

  const standing = socket.standing.value;
  return (
    <section class={css.sheet} data-region aria-label="Approvals">
      <h1>Approvals</h1>
      {!cards.length && isKnown.value && (
        <div class={css.box}>
          <h2>Nothing waits for you</h2>
          <p class={parts.hint}>
            When an agent wants to do something that policy does not let pass, it asks here and waits. Try it: let an agent run <code>git push --force</code>, or tighten the profile to{" "}
            <code>strict</code> in <code>config.toml</code>. With notifications on (Settings) you get them wherever you look.
          </p>
        </div>
      )}
      <div class={asking.cards} id="asked">
        {cards.map((each) => (
          <Card key={each.id} info={each} focus={each.id === cards[0]?.id} />
        ))}
      </div>
      {standing.length > 0 && (
        <div class={css.box}>
          <h2>Answers that still stand</h2>
          <ul class={css.rows} id="standing">
            {standing.map((each) => (
              <li key={each.id}>
                <div>
                  <b>{stands(each)}</b>
                  <br />
                  <code>
                    <Shown text={each.rule} most={2000} />
                  </code>
                  <br />
                  <small>
                    by {each.created_by}, {since(each.created_at)} · {used(each)}
                  </small>
                </div>
                <Button look="danger" onClick={() => takeBack(each)}>
                  Take back
                </Button>
              </li>
            ))}
          </ul>
        </div>
      )}
      {before.length > 0 && (
        <div class={css.box}>
          <h2>Answered</h2>
          <ul class={css.rows} id="answered">
            {before.map((each) => (
              <li key={each.id}>
                <a
                  href={base + approvalPath(each.id)}
                  onClick={(event) => {
                    event.preventDefault();
                    navigate(approvalPath(each.id));
                  }}
                >
                  <code>
                    <Shown text={each.command_line ?? each.operation} most={160} />
                  </code>
                  <small>
                    {each.actor.slice(each.actor.indexOf(":") + 1)}
                    {each.session !== null && ` in ${each.session}`} · {since(each.settled_at ?? each.asked_at)}
                  </small>
                </a>
                <b class={css.code} data-is={each.state === "granted" ? "good" : "bad"}>
                  {each.state === "granted" ? "✓" : "✗"} {outcomeWords(each)}
                </b>
              </li>
            ))}
          </ul>
        </div>
      )}
    </section>
  );
}

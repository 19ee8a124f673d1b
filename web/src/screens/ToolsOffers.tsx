// Servers that files of projects name: nothing of them starts before a person has accepted the file.
import { ask } from "../state/dialogs";
import { type UpstreamOffer, acceptOffer, mayChange, offers, plainName, withdrawOffer } from "../state/tools";
import { Button } from "../ui/ui";
import { Words } from "./Words";
import css from "./Tools.late.module.css";

export function Offers() {
  return (
    <>
      {offers.value.map((each) => (
        <Offer key={each.file} offer={each} />
      ))}
    </>
  );
}

const STATES: Record<UpstreamOffer["state"], string> = {
  offered: "A project offers servers. Nothing of them runs before you accept the file.",
  changed: "This file is not what you accepted. It starts nothing more before you accept it again.",
  accepted: "You accepted this file as it is.",
};

function Offer({ offer }: { offer: UpstreamOffer }) {
  const shown = offer.servers.map((each) => `${each.name}: ${plainName(each.target)}${each.variables.length ? ` (given ${each.variables.join(", ")})` : ""}`);
  const look = () =>
    ask({
      is: "confirm",
      title: "Start the servers of this file?",
      text: "They run as you do, confined as your settings say. Each call of an agent asks you, unless a rule allows it. When the file changes, it waits for you again.",
      detail: [plainName(offer.file), "", ...shown].join("\n"),
      yes: "Accept and start",
      run: () => void acceptOffer(offer),
    });
  return (
    <article class={css.upstream} data-offer={offer.state} aria-label={`Offer of ${offer.file}`}>
      <div class={css.head}>
        <h2>{plainName(offer.file)}</h2>
        {mayChange() && offer.state !== "accepted" && offer.servers.length > 0 && <Button onClick={look}>Accept…</Button>}
        {mayChange() && offer.state !== "offered" && (
          <Button look="quiet" onClick={() => void withdrawOffer(offer)}>
            Withdraw
          </Button>
        )}
      </div>
      <p class={css.words}>{STATES[offer.state]}</p>
      <ul class={css.offered}>
        {shown.map((each) => (
          <li key={each}>
            <code>
              <Words text={each} most={500} />
            </code>
          </li>
        ))}
      </ul>
      {offer.problems.length > 0 && (
        <ul class={css.warnings}>
          {offer.problems.map((each) => (
            <li key={each}>
              <Words text={each} most={500} />
            </li>
          ))}
        </ul>
      )}
    </article>
  );
}

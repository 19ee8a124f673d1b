"""Yeses that stand: for a session, a project, a time, or always; seen, counted, and taken back."""

import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import anyio

from duetty.approvals.authority import check_may_answer, too_little
from duetty.approvals.question import Answer, Question, Recorder
from duetty.approvals.scopes import HOURS, Choice, bounds, choices, is_covered
from duetty.calls import Actor
from duetty.clock import Clock
from duetty.errors import AnswerNotOffered, ApprovalNotFound, BadArguments, Exhausted
from duetty.store import ApprovalRecord, StandingRecord, Store
from duetty.wire.approval_shapes import MAX_HOURS

MAX_STANDING = 1_000


@dataclass(slots=True)
class _Entry:
    record: StandingRecord
    until_s: float | None
    """On the monotonic clock, which never goes back; the time of day bounds it too."""


class Standing:
    def __init__(self, store: Store, trail: Recorder, clock: Clock) -> None:
        self._store = store
        self._trail = trail
        self._clock = clock
        self._kept: dict[str, _Entry] = {}
        self.changed = anyio.Event()
        """Set, and replaced, with each change: given, used, ended."""

    def restore(self, found: Iterable[StandingRecord]) -> None:
        now_ns = self._clock.wall_ns()
        for record in found:
            if record.expires_at_ns is None:
                self._kept[record.id] = _Entry(record, None)
                continue
            # A clock that went back does not make an hour longer: time that is not surely left counts as over.
            began_ns = max(record.created_at_ns, record.used_at_ns or 0)
            left_s = (record.expires_at_ns - now_ns) / 1e9 if began_ns <= now_ns else 0.0
            self._kept[record.id] = _Entry(record, self._clock.monotonic_s() + left_s)
        self.expire()

    def covering(self, question: Question) -> StandingRecord | None:
        """A yes that was given before and covers this, if there is one."""
        if not question.can_stand:
            return None  # there is more to it than the line that was agreed to
        return next((each for each in self.in_force() if is_covered(question, each)), None)

    def use(self, record: StandingRecord) -> None:
        kept = self._kept[record.id]
        now_ns = self._clock.wall_ns()
        kept.record = replace(kept.record, uses=kept.record.uses + 1, used_at_ns=now_ns)
        self._store.save_standing_approval(kept.record)
        self._tell()

    def check(
        self, asked: ApprovalRecord, answer: Answer, by: Actor, via: str
    ) -> StandingRecord | None:
        """What this answer would leave standing; None if it is for once.

        Raises:
            BadArguments: if the time is none that can be given, or something else was shown.
            AnswerNotOffered: if a yes to this question cannot go so far.
            Exhausted: if there are too many.
        """
        if answer.hours is not None and answer.covers != "hours":
            raise BadArguments("`hours` goes with `covers`: hours", hint="leave one of them out")
        if answer.covers == "once":
            return None
        choice = _chosen(asked, answer)
        now_ns = self._clock.wall_ns()
        expires_at_ns = None
        if answer.covers == "hours":
            hours = HOURS if answer.hours is None else answer.hours
            if not 0 < hours <= MAX_HOURS:
                raise BadArguments(
                    f"an approval for a time ends after at most {MAX_HOURS} hours",
                    hint="give more than 0 and no more than that; a rule of yours stays",
                )
            expires_at_ns = now_ns + int(hours * 3600e9)
        if len(self._kept) >= MAX_STANDING:
            raise Exhausted(f"there are {MAX_STANDING} standing approvals", hint="revoke some")
        assert choice.rule is not None
        return StandingRecord(
            id=secrets.token_hex(5),
            covers=answer.covers,
            rule=choice.rule,
            actor_kind=asked.actor_kind,
            actor_name=asked.actor_name,
            approval=asked.id,
            created_at_ns=now_ns,
            created_by=by.name,
            via=via,
            expires_at_ns=expires_at_ns,
            **bounds(asked, answer.covers),
        )

    def in_force(self) -> list[StandingRecord]:
        """Those in force, oldest first."""
        self.expire()
        return [each.record for each in self._kept.values()]

    def save(self, record: StandingRecord) -> None:
        until_s = None
        if record.expires_at_ns is not None:
            for_s = (record.expires_at_ns - record.created_at_ns) / 1e9
            until_s = self._clock.monotonic_s() + for_s
        self._kept[record.id] = _Entry(record, until_s)
        self._trail.record(
            "standing",
            event="saved",
            standing=record.id,
            approval=record.approval,
            covers=record.covers,
            rule=record.rule,
            by=record.created_by,
            via=record.via,
            expires_at_ns=record.expires_at_ns,
        )
        self._store.save_standing_approval(record)
        self._tell()

    def revoke(self, id_: str, *, by: Actor) -> StandingRecord:
        """From now on it covers nothing.

        Raises:
            NotAPerson, ScopeMissing: if this actor may not.
            ApprovalNotFound: if there is none.
        """
        check_may_answer(by)
        if by.session is not None:
            raise too_little("a standing approval is taken back with a credential for all sessions")
        kept = self._kept.get(id_)
        if kept is None:
            raise ApprovalNotFound(id_)
        self._end(kept.record, "revoked", by=by.name)
        return kept.record

    def expire(self) -> None:
        """End those whose time is up."""
        now_s, now_ns = self._clock.monotonic_s(), self._clock.wall_ns()
        for each in list(self._kept.values()):
            if each.until_s is None or each.record.expires_at_ns is None:
                continue
            if each.until_s <= now_s or each.record.expires_at_ns <= now_ns:
                self._end(each.record, "expired", by="time")

    def end_sessions(self, has_ended: Callable[[str], bool]) -> None:
        """With a session goes what was approved for it."""
        for each in list(self._kept.values()):
            session_id = each.record.session_id
            if session_id is not None and has_ended(session_id):
                self._end(each.record, "ended", by="session")

    def _end(self, record: StandingRecord, event: str, *, by: str) -> None:
        del self._kept[record.id]
        self._trail.record(
            "standing", event=event, standing=record.id, rule=record.rule, by=by, uses=record.uses
        )
        self._store.drop_standing_approval(record.id)
        self._tell()

    def _tell(self) -> None:
        self.changed.set()
        self.changed = anyio.Event()


def _chosen(asked: ApprovalRecord, answer: Answer) -> Choice:
    offered = choices(asked)
    choice = next((each for each in offered if each.covers == answer.covers), None)
    if choice is None:
        only = ", ".join(each.covers for each in offered)
        raise AnswerNotOffered(
            f"a yes to this cannot hold {_WORDS[answer.covers]}",
            hint=f"how far it can go: {only}",
            details={"covers": answer.covers, "offered": [each.covers for each in offered]},
        )
    is_shown = answer.rule == choice.rule
    if not is_shown and (answer.covers == "always" or answer.rule is not None):
        raise BadArguments(
            "`rule` is not the rule that would be saved",
            hint="show the `rule` of the choice, and send back what was shown",
        )
    return choice


_WORDS = {
    "conversation": "for a conversation",
    "session": "for a session",
    "project": "for a project",
    "hours": "for a time",
    "always": "always",
}

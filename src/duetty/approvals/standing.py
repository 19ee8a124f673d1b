"""Yeses that stay: for a session, or by a narrow rule that was shown before it was saved."""

import secrets
from collections.abc import Collection, Iterable
from dataclasses import replace

from duetty.approvals.answering import check_may_answer, too_little
from duetty.approvals.question import Answer, Question, Recorder, is_covered
from duetty.calls import Actor
from duetty.clock import Clock
from duetty.errors import ApprovalNotFound, BadArguments, Exhausted
from duetty.store import ApprovalRecord, StandingRecord, Store

MAX_STANDING = 1_000


class Standing:
    def __init__(self, store: Store, trail: Recorder, clock: Clock) -> None:
        self._store = store
        self._trail = trail
        self._clock = clock
        self._records: dict[str, StandingRecord] = {}

    def restore(self, found: Iterable[StandingRecord]) -> None:
        self._records = {each.id: each for each in found}

    def covering(self, question: Question) -> StandingRecord | None:
        """A yes that was given before and covers this, if there is one."""
        if not question.can_stand:
            return None  # there is more to it than the line that was agreed to
        return next((each for each in self._records.values() if is_covered(question, each)), None)

    def check(self, record: ApprovalRecord, answer: Answer, by: Actor) -> StandingRecord | None:
        """What this answer would leave standing; None if it is for once.

        Raises:
            BadArguments: if it may not stand, or another rule was shown.
            Exhausted: if there are too many.
        """
        if answer.covers == "once":
            return None
        if record.command_line is None:
            raise BadArguments(f"{record.operation} can only be approved once")
        if record.standing_rule is None:
            raise BadArguments(
                "this line can only be approved once: it is grave, or its text does not tell what it does",
                hint="approve it once",
            )
        if answer.covers == "session" and record.session_id is None:
            raise BadArguments("this was not asked for a session")
        if answer.covers == "standing" and answer.rule != record.standing_rule:
            raise BadArguments(
                "`rule` is not the rule that would be saved",
                hint="show `standing_rule` of the approval, and send back what was shown",
            )
        if len(self._records) >= MAX_STANDING:
            raise Exhausted(f"there are {MAX_STANDING} standing approvals", hint="revoke some")
        return StandingRecord(
            id=secrets.token_hex(5),
            rule=record.standing_rule
            + (f", in session {record.session!a} only" if answer.covers == "session" else ""),
            operation=record.operation,
            session_id=record.session_id if answer.covers == "session" else None,
            session=record.session if answer.covers == "session" else None,
            actor_kind=record.actor_kind,
            actor_name=record.actor_name,
            command_line=record.command_line,
            cwd=record.cwd,
            created_at_ns=self._clock.wall_ns(),
            created_by=by.name,
        )

    def in_force(self) -> list[StandingRecord]:
        """Those in force, oldest first."""
        return list(self._records.values())

    def save(self, record: StandingRecord) -> None:
        self._records[record.id] = record
        self._trail.record("standing", event="saved", standing=record.id, rule=record.rule)
        self._store.save_standing_approval(record)

    def revoke(self, id_: str, *, by: Actor) -> StandingRecord:
        """From now on it covers nothing.

        Raises:
            NotAPerson, ScopeMissing: if this actor may not.
            ApprovalNotFound: if there is none.
        """
        check_may_answer(by)
        if by.session is not None:
            raise too_little("a standing approval is taken back with a credential for all sessions")
        record = self._records.pop(id_, None)
        if record is None:
            raise ApprovalNotFound(id_)
        record = replace(record, revoked_at_ns=self._clock.wall_ns())
        self._trail.record("standing", event="revoked", standing=id_, rule=record.rule, by=by.name)
        self._store.save_standing_approval(record)
        return record

    def keep_sessions(self, session_ids: Collection[str]) -> None:
        """All other sessions are gone, and with them what was approved for them."""
        for record in [
            each
            for each in self._records.values()
            if each.session_id is not None and each.session_id not in session_ids
        ]:
            del self._records[record.id]
            gone = replace(record, revoked_at_ns=self._clock.wall_ns())
            self._store.save_standing_approval(gone)

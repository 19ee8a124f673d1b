"""Where questions wait for a person: asked, answered once, seen by all."""

import logging
import secrets
from collections import OrderedDict
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Protocol

import anyio
import anyio.to_thread

from duetty.approvals.attendance import Attendance
from duetty.approvals.authority import check_may_answer, check_reaches
from duetty.approvals.question import (
    UNUSABLE,
    Answer,
    Edited,
    HostAsk,
    Question,
    Recorder,
    may_see,
)
from duetty.approvals.standing_approvals import Standing
from duetty.calls import Actor
from duetty.clock import Clock
from duetty.errors import (
    ApprovalExpired,
    ApprovalNotFound,
    ApprovalRejected,
    ApprovalSettled,
    ApprovalUnanswered,
    BadArguments,
    DuettyError,
    EditUnconfirmed,
    Exhausted,
    PolicyDenied,
    SessionExited,
)
from duetty.events import Subscription
from duetty.ids import Seq
from duetty.store import ApprovalRecord, StandingRecord, Store

MAX_PENDING = 100
"""Questions at once. A person who has a hundred to answer answers none of them well."""

MAX_LOOKED_THROUGH = 1_000
"""Settled questions, to tell who answered one that is no longer remembered here."""

MAX_SHOWN_EDITS = 100
"""Changed lines of one question that can be confirmed."""

EXPIRY_LOOK_S = 1.0
MAX_NOTE = 500

SESSION_ENDED = "session_end"
ASKER_BOUND = "timeout"
AT_HOST = "elicitation"
"""Answered, or put away, at the asking agent's own host."""

TAKEN_BACK = "taken back: session ended"
BY_STANDING = "standing"
"""Answered by a yes that was given to another question meanwhile."""

BY_POLICY = "policy"
"""Taken back because the rules refuse it now."""

log = logging.getLogger("duetty.approvals")


@dataclass(frozen=True, slots=True, kw_only=True)
class Granted:
    """A yes."""

    approval: str
    """Id of the question, or of the standing approval that made it unnecessary."""

    by: str
    command_line: str | None = None
    """To be run instead, if the person changed it."""

    note: str | None = None
    is_standing: bool = False
    """Given before, and not to this call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalEntry:
    """A question was asked or settled."""

    seq: Seq
    record: ApprovalRecord


@dataclass(slots=True)
class _Waiting:
    record: ApprovalRecord
    until_s: float
    settled: anyio.Event
    asked: bool = True
    """A call waits for it; False for one that came over from an earlier server."""

    is_announced: bool = True
    """People can see it: it is kept, and outlives the server."""

    call: str | None = None
    question: Question | None = None
    """As the waiting call asked it; None while no call waits."""

    shown_edits: set[tuple[str, Edited]] = field(default_factory=set[tuple[str, Edited]])
    """Changed lines with the warning shown for each: only a line that was shown can be confirmed."""


class QuestionContext(Protocol):
    """What questions are about: sessions as they are now, and command lines as they are judged now."""

    def name_of(self, session_id: str) -> str | None:
        """The name that a session has now."""
        ...

    def has_ended(self, session_id: str) -> bool:
        """Whether a session of an earlier server is over, or gone."""
        ...

    def judge_edited(self, record: ApprovalRecord, line: str) -> Edited:
        """A changed command line, when the asking call itself cannot be judged anew."""
        ...


class NoContext:
    """For questions about nothing that this process knows."""

    def name_of(self, session_id: str) -> str | None:
        return None

    def has_ended(self, session_id: str) -> bool:
        return False

    def judge_edited(self, record: ApprovalRecord, line: str) -> Edited:
        return Edited()


class Approvals:
    def __init__(
        self,
        store: Store,
        trail: Recorder,
        clock: Clock,
        *,
        wait_s: float,
        ask: str = "present",
        context: QuestionContext | None = None,
    ) -> None:
        self._store = store
        self._trail = trail
        self._clock = clock
        self._wait_s = wait_s
        self._waiting: dict[str, _Waiting] = {}
        self._kept: dict[str, ApprovalRecord] = {}
        """Granted to calls that ended with an earlier server: taken once, by the same call."""

        self._settled: OrderedDict[str, ApprovalRecord] = OrderedDict()
        """The last ones, to tell a second answerer who was first."""

        self.standing = Standing(store, trail, clock)
        self.attendance = Attendance(clock, ask=ask)
        self._seq = Seq(0)
        self._subscriptions: set[Subscription[ApprovalEntry]] = set()
        self._stopping = False
        self._context = NoContext() if context is None else context

    # --- an earlier server's ------------------------------------------------------

    def restore(
        self,
        found: Iterable[ApprovalRecord],
        standing: Iterable[StandingRecord],
        *,
        settled: Mapping[str, str],
    ) -> None:
        """Take up what an earlier server left. `settled`: what the trail knows was ended already."""
        self.standing.restore(standing)
        now_ns = self._clock.wall_ns()
        for record in found:
            if (state := settled.get(record.id)) is not None and record.state == "pending":
                # Killed between the answer and its place in the store. The call died with it.
                self._store.save_approval(replace(record, state=state, used=True))
                continue
            left_s = (record.expires_at_ns - now_ns) / 1e9
            record = replace(record, asker_gone=True)
            if record.state == "granted":
                if left_s > 0:
                    self._kept[record.digest] = record
                continue
            left_s = min(
                left_s, self._wait_s
            )  # a clock that jumped must not make it wait for years
            until_s = self._clock.monotonic_s() + left_s
            self._waiting[record.id] = _Waiting(record, until_s, anyio.Event(), asked=False)
            if left_s <= 0:
                self._end(record.id, "expired", by="time", via="expiry")
            else:
                self._store.save_approval(record)

    async def expire(self) -> None:
        """End what is over with its time, its session or the rules: questions, and yeses that stand. Runs forever."""
        while True:
            await anyio.sleep(EXPIRY_LOOK_S)
            now_s = self._clock.monotonic_s()
            for id_, waiting in list(self._waiting.items()):
                session_id = waiting.record.session_id
                if waiting.asked:
                    self._look_again(waiting)
                elif waiting.until_s <= now_s:
                    self._end(id_, "expired", by="time", via="expiry")
                elif session_id is not None and self._context.has_ended(session_id):
                    self.withdraw(session_id)
            self.standing.expire()
            self.standing.end_sessions(self._context.has_ended)

    def _look_again(self, waiting: _Waiting) -> None:
        """Ends a question whose call would be refused now: rules may have changed since."""
        question = waiting.question
        if question is None or question.judge is None or question.command_line is None:
            return
        try:
            denied = question.judge(question.command_line).denied
        except DuettyError:
            return  # its call gets the refusal with the answer
        if denied is not None:
            self._end(waiting.record.id, "withdrawn", by="rules", via=BY_POLICY, note=denied)

    def withdraw(self, session_id: str) -> None:
        """A session has ended: whatever was asked about it cannot be done any more."""
        self.standing.end_sessions(lambda each: each == session_id)
        for id_, waiting in list(self._waiting.items()):
            if waiting.record.session_id == session_id:
                self._end(id_, "withdrawn", by="session", via=SESSION_ENDED, note=TAKEN_BACK)

    def stop(self) -> None:
        """The server ends: calls that are cancelled from now on leave their questions standing."""
        self._stopping = True
        for subscription in self._subscriptions:
            subscription.close()

    # --- asking ---------------------------------------------------------------------

    def covered(self, question: Question) -> Granted | None:
        """A yes that was given before and covers this, if there is one; it is used then."""
        standing = self.standing.covering(question)
        if standing is None:
            return None
        self.standing.use(standing)
        return Granted(approval=standing.id, by=standing.created_by, is_standing=True)

    def remembers(self, question: Question) -> bool:
        """Whether it was asked through an earlier server, and is open or was granted since."""
        return question.digest in self._kept or any(
            not waiting.asked and waiting.record.digest == question.digest
            for waiting in self._waiting.values()
        )

    async def obtain(
        self,
        question: Question,
        *,
        call: str | None = None,
        host: HostAsk | None = None,
        patience_s: float | None = None,
    ) -> Granted:
        """Ask, and wait for the answer; no longer than `patience_s`, if the caller has a bound.

        Raises:
            ApprovalRejected: a person declined.
            ApprovalExpired: no answer came in time.
            ApprovalUnanswered: the caller's bound came first; an answer is too late then.
            SessionExited: its session ended.
            PolicyDenied: the rules changed meanwhile, and refuse it.
            Exhausted: too many questions wait already.
        """
        if (kept := self._kept.pop(question.digest, None)) is not None:
            return self._spend(kept, call)
        waiting = self._left_behind(question) or self._put(question, call)
        waiting.call = call
        id_ = waiting.record.id
        try:
            if not waiting.is_announced:
                await self._tell_kept(waiting)
            left_s = waiting.until_s - self._clock.monotonic_s()
            is_callers = patience_s is not None and patience_s < left_s
            await self._wait(waiting, host, patience_s if is_callers else left_s)
        except BaseException:
            if self._stopping:
                waiting.asked = False
            elif id_ in self._waiting:
                self._end(id_, "withdrawn", by=question.actor.name, via="disconnect")
            raise
        if id_ in self._waiting:
            if is_callers:
                self._end(id_, "withdrawn", by=question.actor.name, via=ASKER_BOUND)
                raise _unanswered(waiting.record)
            self._end(id_, "expired", by="time", via="expiry")
        return _granted(waiting.record)

    async def _wait(self, waiting: _Waiting, host: HostAsk | None, within_s: float | None) -> None:
        with anyio.move_on_after(within_s):
            if host is None:
                await waiting.settled.wait()
                return
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._ask_host, waiting.record, host)
                await waiting.settled.wait()
                tasks.cancel_scope.cancel()

    async def _ask_host(self, record: ApprovalRecord, host: HostAsk) -> None:
        try:
            answer = await host(record)
        except Exception:
            # The host may have gone, or know no such question: others may still answer.
            log.warning("host_did_not_answer", exc_info=True)
            return
        if record.id not in self._waiting:
            return
        by = Actor(kind="person", name=f"host of {record.actor_name}")
        if answer is None:
            # The person there dismissed it. If no other person is present, the call is refused as unattended.
            if not self.attendance.can_ask(session=record.session, session_id=record.session_id):
                self._end(record.id, "expired", by=by.name, via=AT_HOST)
            return
        try:
            self.settle(record.id, answer, by=by, via=AT_HOST)
        except (BadArguments, EditUnconfirmed, PolicyDenied) as error:
            log.warning("host_answer_refused", extra={"code": error.code})

    def _left_behind(self, question: Question) -> _Waiting | None:
        """The same question, asked through an earlier server: it goes on, it is not asked twice."""
        for waiting in self._waiting.values():
            if not waiting.asked and waiting.record.digest == question.digest:
                waiting.asked, waiting.question = True, question
                self._change(waiting, replace(waiting.record, asker_gone=False))
                return waiting
        return None

    def _put(self, question: Question, call: str | None) -> _Waiting:
        if len(self._waiting) >= MAX_PENDING:
            raise Exhausted(
                f"{MAX_PENDING} questions wait for a person",
                hint="ask a person to answer them first",
            )
        now_ns = self._clock.wall_ns()
        record = ApprovalRecord(
            id=secrets.token_hex(5),
            digest=question.digest,
            operation=question.operation,
            session=question.session,
            session_id=question.session_id,
            actor_kind=question.actor.kind,
            actor_name=question.actor.name,
            conversation=question.actor.conversation,
            command_line=question.command_line,
            cwd=question.cwd,
            reason=question.reason,
            rule=question.rule,
            classes=question.classes,
            suggestion=question.suggestion,
            project=question.project,
            can_stand=question.can_stand,
            said=question.purpose,
            context=question.context,
            asked_at_ns=now_ns,
            expires_at_ns=now_ns + int(self._wait_s * 1e9),
        )
        until_s = self._clock.monotonic_s() + self._wait_s
        waiting = _Waiting(record, until_s, anyio.Event(), is_announced=False, question=question)
        self._waiting[record.id] = waiting
        self._trail.record(
            "approval",
            event="asked",
            approval=record.id,
            call=call,
            operation=record.operation,
            session=record.session,
            actor={"kind": record.actor_kind, "name": record.actor_name},
            command_line=record.command_line,
            reason=record.reason,
            expires_at_ns=record.expires_at_ns,
        )
        self._store.save_approval(record)
        return waiting

    async def _tell_kept(self, waiting: _Waiting) -> None:
        """Announces a question only when it is on disk: a killed server cannot take it back."""
        await anyio.to_thread.run_sync(self._store.flush, abandon_on_cancel=True)
        waiting.is_announced = True
        if waiting.record.id in self._waiting:
            self._tell(waiting.record)

    def _spend(self, kept: ApprovalRecord, call: str | None) -> Granted:
        used = replace(kept, used=True)
        self._store.save_approval(used)
        self._trail.record("approval", event="used", approval=kept.id, call=call)
        self._tell(used)
        return _granted(kept)

    # --- answering ------------------------------------------------------------------

    def settle(self, id_: str, answer: Answer, *, by: Actor, via: str) -> ApprovalRecord:
        """Answer; the first answer counts.

        Raises:
            NotAPerson, ScopeMissing: if this actor may not answer.
            ApprovalNotFound: if there is no such question.
            ApprovalSettled: if it is settled already.
            PolicyDenied: if the changed command line may not run at all; the question stays.
            EditUnconfirmed: if the changed line does more than the question named; the question stays.
            BadArguments, AnswerNotOffered: if the answer does not fit the question; it stays.
        """
        check_may_answer(by)
        waiting = self._waiting.get(id_)
        if waiting is None:
            raise self._not_waiting(id_, by)
        check_reaches(by, self.current(waiting.record), answer)
        if waiting.until_s <= self._clock.monotonic_s():
            self._end(id_, "expired", by="time", via="expiry")
            raise self._not_waiting(id_, by)
        record = waiting.record
        if not answer.granted:
            return self._end(id_, "rejected", by=by.name, via=via, answer=answer)
        self._check_edit(waiting, answer)
        standing = self.standing.check(record, answer, by, via)
        left = None if standing is None else standing.id
        settled = self._end(id_, "granted", by=by.name, via=via, answer=answer, standing=left)
        if standing is not None:
            self.standing.save(standing)
            self._settle_covered(by)
        return settled

    def _settle_covered(self, by: Actor) -> None:
        """Settles the other questions that this answer covers: a person answers once."""
        for id_, waiting in list(self._waiting.items()):
            question = waiting.question
            if question is None or (standing := self.standing.covering(question)) is None:
                continue
            self.standing.use(standing)
            self._end(
                id_,
                "granted",
                by=by.name,
                via=BY_STANDING,
                answer=Answer(granted=True),
                standing=standing.id,
            )

    def _check_edit(self, waiting: _Waiting, answer: Answer) -> None:
        """What a person approves is what they saw: the question's words, or ours on their line."""
        record, line = waiting.record, answer.command_line
        if line is None:
            return
        if record.command_line is None:
            raise BadArguments(f"{record.operation} has no command line to change")
        if not line.strip():
            raise BadArguments("the changed command line is empty", hint="decline instead")
        if answer.covers != "once":
            raise BadArguments("a changed command line is approved once", hint="leave `covers` out")
        judge = None if waiting.question is None else waiting.question.judge
        edited = self._context.judge_edited(record, line) if judge is None else judge(line)
        if edited.denied is not None:
            raise PolicyDenied(
                f"the changed command line may not run: {edited.denied}",
                hint="change it again, or decline",
            )
        if edited.reason is None or (answer.confirm and (line, edited) in waiting.shown_edits):
            return
        if len(waiting.shown_edits) >= MAX_SHOWN_EDITS:
            waiting.shown_edits.clear()  # confirming one of those shows its warning again
        waiting.shown_edits.add((line, edited))
        raise EditUnconfirmed(
            f"the changed command line does what the question did not say: {edited.reason}",
            hint="change it again, decline, or answer the same once more with confirm",
            details={
                "approval": record.id,
                "command_line": line,
                "reason": edited.reason,
                "rule": edited.rule,
                "classes": list(edited.classes),
                "suggestion": edited.suggestion,
            },
        )

    def _end(
        self,
        id_: str,
        state: str,
        *,
        by: str,
        via: str,
        answer: Answer | None = None,
        note: str | None = None,
        standing: str | None = None,
    ) -> ApprovalRecord:
        """The one place where a question ends."""
        waiting = self._waiting.pop(id_)
        if answer is not None and answer.note is not None:
            note = answer.note[:MAX_NOTE]
        granted = answer is not None and answer.granted
        record = replace(
            waiting.record,
            state=state,
            settled_at_ns=self._clock.wall_ns(),
            settled_by=by,
            via=via,
            covers=answer.covers if granted and answer is not None else None,
            standing=standing,
            edited=answer.command_line if granted and answer is not None else None,
            note=note,
            asker_gone=not waiting.asked,
            used=waiting.asked,
        )
        # The trail comes first: what it does not have did not happen.
        self._trail.record(
            "approval",
            event=state,
            approval=id_,
            call=waiting.call,
            operation=record.operation,
            session=record.session,
            by=by,
            via=via,
            covers=record.covers,
            standing=standing,
            edited=record.edited,
            note=note,
        )
        self._settled[id_] = record
        while len(self._settled) > MAX_PENDING:
            self._settled.popitem(last=False)
        if granted and not waiting.asked:
            self._kept[record.digest] = record
        self._change(waiting, record)
        waiting.settled.set()
        return record

    def _not_waiting(self, id_: str, by: Actor) -> ApprovalNotFound | ApprovalSettled:
        record = self._settled.get(id_) or self._stored(id_)
        if record is None or not may_see(
            by, session=self.current(record).session, session_id=record.session_id
        ):
            return ApprovalNotFound(id_)
        changed = "" if record.edited is None else ", with another command line"
        return ApprovalSettled(
            f"it is {record.state} already, by {record.settled_by} ({record.via}){changed}",
            hint="the first answer counts; list the approvals with the settled ones to see it",
            details={
                "state": record.state,
                "settled_by": record.settled_by,
                "via": record.via,
                "settled_at_ns": record.settled_at_ns,
                "covers": record.covers,
                "edited": record.edited,
                "note": record.note,
            },
        )

    def _stored(self, id_: str) -> ApprovalRecord | None:
        """One that ended long ago, or under an earlier server."""
        kept = self._store.approvals(limit=MAX_LOOKED_THROUGH)
        return next((each for each in kept if each.id == id_ and each.state != "pending"), None)

    # --- looking --------------------------------------------------------------------

    @property
    def seq(self) -> Seq:
        """Counts what was asked and settled."""
        return self._seq

    def pending(self) -> list[ApprovalRecord]:
        """Oldest first."""
        return [
            self.current(waiting.record)
            for waiting in self._waiting.values()
            if waiting.is_announced
        ]

    def settled(self) -> list[ApprovalRecord]:
        """The last ones, newest first; the store may not have them yet."""
        return list(reversed(self._settled.values()))

    def current(self, record: ApprovalRecord) -> ApprovalRecord:
        """With the name that its session has now."""
        name = None if record.session_id is None else self._context.name_of(record.session_id)
        return record if name in (None, record.session) else replace(record, session=name)

    @contextmanager
    def subscribe(self) -> Generator[Subscription[ApprovalEntry]]:
        subscription = Subscription[ApprovalEntry]()
        self._subscriptions.add(subscription)
        try:
            yield subscription
        finally:
            self._subscriptions.discard(subscription)

    def _change(self, waiting: _Waiting, record: ApprovalRecord) -> None:
        waiting.record = record
        self._store.save_approval(record)
        self._tell(record)

    def _tell(self, record: ApprovalRecord) -> None:
        self._seq = Seq(self._seq + 1)
        for subscription in self._subscriptions:
            subscription.offer(ApprovalEntry(seq=self._seq, record=self.current(record)))


def _unanswered(record: ApprovalRecord) -> ApprovalUnanswered:
    return ApprovalUnanswered(
        "a person was asked and had not answered when the caller's time was up, so it was not run",
        hint="wait longer for the answer; a person needs time to read",
        details={"approval": record.id, "reason": record.reason, "classes": list(record.classes)},
    )


def _granted(record: ApprovalRecord) -> Granted:
    """The answer as the caller sees it.

    Raises:
        ApprovalRejected, ApprovalExpired: if it is not a yes.
        SessionExited, PolicyDenied: if it was taken back.
    """
    details = {"approval": record.id, "reason": record.reason, "classes": list(record.classes)}
    if record.state == "granted":
        return Granted(
            approval=record.id,
            by=record.settled_by or "a person",
            command_line=record.edited,
            note=record.note,
        )
    if record.state == "expired":
        raise ApprovalExpired(
            "the person who was asked put the question away without an answer, so it was not run"
            if record.via == AT_HOST
            else "no person answered in time, so it was not run",
            hint="do not ask for the same again by yourself; tell the person that you wait",
            details=details,
        )
    if record.state == "withdrawn" and record.via == BY_POLICY:
        raise PolicyDenied(f"not run: {record.note}", details=details | {"rule": record.rule})
    if record.state == "withdrawn":
        raise SessionExited(record.session or "", None)
    raise ApprovalRejected(
        "the answer that came from the agent's host could not be used, so it was not run"
        if record.note == UNUSABLE
        else "a person declined it" + (f": {record.note}" if record.note else ""),
        hint=record.suggestion
        or "do not try the same again; ask the person what they want instead",
        details=details | {"by": record.settled_by, "note": record.note},
    )

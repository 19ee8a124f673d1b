"""Questions to a person: each ends exactly once, in the trail too."""

from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, nullcontext
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from duetty.approvals import (
    MAX_PENDING,
    Answer,
    Approvals,
    Edited,
    Granted,
    HostAsk,
    Question,
    choices,
)
from duetty.approvals.desk import NoContext
from duetty.calls import Actor, Scope
from duetty.clock import SystemClock
from duetty.errors import (
    AnswerNotOffered,
    ApprovalExpired,
    ApprovalNotFound,
    ApprovalRejected,
    ApprovalSettled,
    BadArguments,
    Exhausted,
    NotAPerson,
    PolicyDenied,
    ScopeMissing,
)
from duetty.store import ApprovalRecord, Store

pytestmark = pytest.mark.anyio

ANNA = Actor(kind="person", name="anna")
BEN = Actor(kind="person", name="ben")
BOT = Actor(kind="agent", name="bot")
QUESTION = Question(
    operation="command.run",
    actor=BOT,
    session="s",
    session_id="id-of-s",
    command_line="rm -rf build",
    cwd="/work",
    reason="deletes files",
    rule="destructive",
    classes=("delete",),
    can_stand=True,
)
YES, NO = Answer(granted=True), Answer(granted=False)


class Trail:
    """The protocol, kept in a list."""

    def __init__(self) -> None:
        self.records: list[dict[str, object]] = []

    def record(self, kind: str, **fields: object) -> int:
        self.records.append({"kind": kind, **fields})
        return len(self.records)

    def outcomes(self, approval: str) -> list[object]:
        return [
            each["event"]
            for each in self.records
            if each.get("approval") == approval and each["event"] not in ("asked", "used")
        ]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "db") as opened:
        yield opened


@pytest.fixture
def trail() -> Trail:
    return Trail()


@pytest.fixture
def desk(store: Store, trail: Trail) -> Approvals:
    return Approvals(store, trail, SystemClock(), wait_s=30)


class Asked:
    def __init__(self, record: ApprovalRecord) -> None:
        self.record = record
        self.granted: Granted | None = None
        self.error: Exception | None = None
        self.over = anyio.Event()
        self.scope = anyio.CancelScope()

    @property
    def id(self) -> str:
        return self.record.id


@asynccontextmanager
async def asked(desk: Approvals, question: Question = QUESTION) -> AsyncGenerator[Asked]:
    """A call that waits for its answer."""
    async with anyio.create_task_group() as tasks:
        with desk.subscribe() as entries:
            holder: list[Asked] = []
            scope = anyio.CancelScope()

            async def call() -> None:
                granted: Granted | None = None
                error: Exception | None = None
                with scope:
                    try:
                        granted = await desk.obtain(question)
                    except (ApprovalRejected, ApprovalExpired) as told:
                        error = told
                holder[0].granted, holder[0].error = granted, error
                holder[0].over.set()

            tasks.start_soon(call)
            with anyio.fail_after(60):
                entry = await entries.receive()
        holder.append(Asked(entry.record))  # type: ignore[union-attr]
        holder[0].scope = scope
        try:
            yield holder[0]
        finally:
            tasks.cancel_scope.cancel()


async def over(call: Asked) -> None:
    with anyio.fail_after(60):
        await call.over.wait()


async def test_a_yes_lets_the_call_go_on(desk: Approvals, trail: Trail) -> None:
    async with asked(desk) as call:
        desk.settle(call.id, YES, by=ANNA, via="page")
        await over(call)

    assert call.granted == Granted(approval=call.id, by="anna")
    assert trail.outcomes(call.id) == ["granted"]
    assert desk.pending() == []
    assert desk.covered(QUESTION) is None  # once


async def test_a_decline_ends_it_once(desk: Approvals, trail: Trail) -> None:
    async with asked(desk) as call:
        desk.settle(call.id, replace(NO, note="not now"), by=ANNA, via="cli")
        await over(call)

    assert isinstance(call.error, ApprovalRejected)
    assert "not now" in call.error.message
    assert trail.outcomes(call.id) == ["rejected"]


async def test_an_expiry_declines_and_ends_it_once(store: Store, trail: Trail) -> None:
    desk = Approvals(store, trail, SystemClock(), wait_s=0.05)

    async with asked(desk) as call:
        await over(call)
        with pytest.raises(ApprovalSettled):
            desk.settle(call.id, YES, by=ANNA, via="page")

    assert isinstance(call.error, ApprovalExpired)
    assert trail.outcomes(call.id) == ["expired"]


async def test_a_disconnect_of_the_asking_client_withdraws_it_once(
    desk: Approvals, trail: Trail
) -> None:
    async with asked(desk) as call:
        call.scope.cancel()
        await over(call)
        with pytest.raises(ApprovalSettled):
            desk.settle(call.id, YES, by=ANNA, via="page")

    assert trail.outcomes(call.id) == ["withdrawn"]
    assert desk.pending() == []


async def test_of_two_people_at_once_the_first_counts_and_the_other_is_told(
    desk: Approvals, trail: Trail
) -> None:
    refused: list[ApprovalSettled] = []

    async def answer(actor: Actor, what: Answer) -> None:
        try:
            desk.settle(call.id, what, by=actor, via="page")
        except ApprovalSettled as error:
            refused.append(error)

    async with asked(desk) as call:
        async with anyio.create_task_group() as people:
            people.start_soon(answer, ANNA, NO)
            people.start_soon(answer, BEN, YES)
        await over(call)

    [outcome] = trail.outcomes(call.id)
    [told] = refused
    assert told.details["state"] == outcome
    assert (call.granted is not None) == (outcome == "granted")


async def test_a_question_survives_a_restart_and_its_answer_is_taken_by_the_same_call(
    desk: Approvals, store: Store, trail: Trail
) -> None:
    async with asked(desk) as call:
        desk.stop()
    store.flush()

    later = Approvals(store, trail, SystemClock(), wait_s=30)
    later.restore(store.open_approvals(), store.standing_approvals(), settled={})
    [waiting] = later.pending()
    assert (waiting.id, waiting.asker_gone) == (call.id, True)
    later.settle(call.id, YES, by=ANNA, via="page")
    with anyio.fail_after(60):
        granted = await later.obtain(QUESTION)

    assert granted == Granted(approval=call.id, by="anna")
    assert trail.outcomes(call.id) == ["granted"]
    async with asked(later) as again:  # once is once
        assert again.id != call.id


async def test_a_call_repeated_after_a_restart_is_the_same_question(
    desk: Approvals, store: Store, trail: Trail
) -> None:
    async with asked(desk) as first:
        desk.stop()
    store.flush()

    later = Approvals(store, trail, SystemClock(), wait_s=30)
    later.restore(store.open_approvals(), [], settled={})
    async with asked(later) as second:
        later.settle(second.id, NO, by=ANNA, via="page")
        await over(second)

    assert second.id == first.id
    assert trail.outcomes(first.id) == ["rejected"]


async def test_a_question_that_expired_while_no_server_ran_ends_once(
    store: Store, trail: Trail
) -> None:
    desk = Approvals(store, trail, SystemClock(), wait_s=0.2)
    async with asked(desk) as call:
        desk.stop()
    store.flush()
    await anyio.sleep(0.2)

    later = Approvals(store, trail, SystemClock(), wait_s=30)
    later.restore(store.open_approvals(), [], settled={})

    assert later.pending() == []
    assert trail.outcomes(call.id) == ["expired"]


async def test_a_question_left_behind_expires_by_itself(store: Store, trail: Trail) -> None:
    desk = Approvals(store, trail, SystemClock(), wait_s=0.3)
    async with asked(desk) as call:
        desk.stop()
    store.flush()

    later = Approvals(store, trail, SystemClock(), wait_s=0.3)
    later.restore(store.open_approvals(), [], settled={})
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(later.expire)
        with later.subscribe() as entries, anyio.fail_after(60):
            await entries.receive()
        tasks.cancel_scope.cancel()

    assert trail.outcomes(call.id) == ["expired"]


async def test_an_answer_that_only_the_trail_knows_of_is_not_asked_again(
    desk: Approvals, store: Store, trail: Trail
) -> None:
    async with asked(desk) as call:
        desk.stop()
    store.flush()

    later = Approvals(store, trail, SystemClock(), wait_s=30)
    later.restore(store.open_approvals(), [], settled={call.id: "granted"})

    assert later.pending() == []
    async with asked(later) as again:  # killed between the yes and the run: it is void
        assert again.id != call.id


@pytest.mark.parametrize(
    ("actor", "error"),
    [
        (BOT, NotAPerson),
        (Actor(kind="node", name="n"), NotAPerson),
        (Actor(kind="person", name="guest", scopes=frozenset({Scope.READ})), ScopeMissing),
        (Actor(kind="person", name="guest", session="other"), ApprovalNotFound),
    ],
)
async def test_only_a_person_whose_credential_allows_it_answers(
    desk: Approvals, actor: Actor, error: type[Exception]
) -> None:
    async with asked(desk) as call:
        with pytest.raises(error):
            desk.settle(call.id, YES, by=actor, via="http")

        assert [each.id for each in desk.pending()] == [call.id]


async def test_an_unknown_question_is_not_found(desk: Approvals) -> None:
    with pytest.raises(ApprovalNotFound):
        desk.settle("nothing", YES, by=ANNA, via="http")


async def test_a_changed_command_line_is_judged_again(store: Store, trail: Trail) -> None:
    class Judged(NoContext):
        def judge_edited(self, record: ApprovalRecord, line: str) -> Edited:
            return Edited(denied="it is worse" if "/" in line else None)

    desk = Approvals(store, trail, SystemClock(), wait_s=30, context=Judged())

    async with asked(desk) as call:
        with pytest.raises(PolicyDenied):
            desk.settle(call.id, replace(YES, command_line="rm -rf /nowhere"), by=ANNA, via="page")
        desk.settle(call.id, replace(YES, command_line="ls build"), by=ANNA, via="page")
        await over(call)

    assert call.granted == Granted(approval=call.id, by="anna", command_line="ls build")
    assert trail.outcomes(call.id) == ["granted"]


async def test_an_answer_for_the_session_covers_the_same_line_there_and_nowhere_else(
    desk: Approvals,
) -> None:
    async with asked(desk) as call:
        desk.settle(call.id, replace(YES, covers="session"), by=ANNA, via="page")

    assert desk.covered(QUESTION) is not None
    assert desk.covered(replace(QUESTION, session_id="other")) is None
    assert desk.covered(replace(QUESTION, command_line="rm -rf src")) is None
    assert desk.covered(replace(QUESTION, cwd="/")) is None
    assert desk.covered(replace(QUESTION, actor=Actor(kind="agent", name="other"))) is None
    desk.withdraw("id-of-other")
    assert desk.covered(QUESTION) is not None
    desk.withdraw("id-of-s")
    assert desk.covered(QUESTION) is None


async def test_a_standing_approval_must_be_shown_first_and_can_be_revoked(
    desk: Approvals, store: Store, trail: Trail
) -> None:
    async with asked(desk) as call:
        blind = replace(YES, covers="always")
        with pytest.raises(BadArguments):
            desk.settle(call.id, blind, by=ANNA, via="page")
        [shown] = [each.rule for each in choices(call.record) if each.covers == "always"]
        assert shown is not None
        assert "'rm -rf build' in /work" in shown
        desk.settle(call.id, replace(blind, rule=shown), by=ANNA, via="page")

    assert desk.covered(replace(QUESTION, session_id="other")) is not None
    store.flush()
    [saved] = store.standing_approvals()
    assert saved.rule == shown
    with pytest.raises(NotAPerson):
        desk.standing.revoke(saved.id, by=BOT)
    desk.standing.revoke(saved.id, by=ANNA)
    assert desk.covered(QUESTION) is None
    store.flush()
    assert store.standing_approvals() == []
    assert [each["event"] for each in trail.records if each["kind"] == "standing"] == [
        "saved",
        "revoked",
    ]


async def test_a_line_whose_effect_its_text_does_not_tell_gets_no_standing_approval(
    desk: Approvals,
) -> None:
    async with asked(desk, replace(QUESTION, can_stand=False)) as call:
        with pytest.raises(AnswerNotOffered):
            desk.settle(call.id, replace(YES, covers="always"), by=ANNA, via="page")


async def test_the_agents_own_host_can_answer(desk: Approvals, trail: Trail) -> None:
    async def host(record: ApprovalRecord) -> Answer | None:
        return YES

    with anyio.fail_after(60):
        granted = await desk.obtain(QUESTION, host=host)

    assert granted.by == "host of bot"
    assert trail.outcomes(granted.approval) == ["granted"]


async def _broken(record: ApprovalRecord) -> Answer | None:
    raise OSError("the host is gone")


async def _put_away(record: ApprovalRecord) -> Answer | None:
    return None


async def test_a_question_that_the_host_puts_away_ends_where_nobody_else_is_there(
    desk: Approvals, trail: Trail
) -> None:
    with anyio.fail_after(20), pytest.raises(ApprovalExpired) as refused:
        await desk.obtain(QUESTION, host=_put_away)

    assert trail.outcomes(str(refused.value.details["approval"])) == ["expired"]


@pytest.mark.parametrize(
    ("host", "attended"), [(_broken, False), (_broken, True), (_put_away, True)]
)
async def test_a_host_that_fails_leaves_the_question_to_others(
    desk: Approvals, host: HostAsk, attended: bool
) -> None:
    async def anna() -> None:
        with desk.subscribe() as entries:
            entry = await entries.receive()
        desk.settle(entry.record.id, YES, by=ANNA, via="page")  # type: ignore[union-attr]

    there = desk.attendance.attending(ANNA) if attended else nullcontext()
    with anyio.fail_after(60), there:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(anna)
            await anyio.wait_all_tasks_blocked()
            granted = await desk.obtain(QUESTION, host=host)
            assert granted.by == "anna"


async def test_who_can_be_asked_depends_on_who_is_there(store: Store, trail: Trail) -> None:
    async def host(record: ApprovalRecord) -> Answer | None:
        return None

    desk = Approvals(store, trail, SystemClock(), wait_s=30)
    assert not desk.attendance.can_ask()
    assert desk.attendance.can_ask(host)
    with desk.attendance.attending(BOT):
        assert not desk.attendance.can_ask()
    with desk.attendance.attending(ANNA):
        assert desk.attendance.can_ask()
    assert not desk.attendance.can_ask()
    assert Approvals(store, trail, SystemClock(), wait_s=30, ask="always").attendance.can_ask()
    assert not Approvals(store, trail, SystemClock(), wait_s=30, ask="never").attendance.can_ask(
        host
    )


async def test_there_are_only_so_many_questions_at_once(desk: Approvals) -> None:
    async with anyio.create_task_group() as tasks:
        for number in range(MAX_PENDING):
            tasks.start_soon(desk.obtain, replace(QUESTION, command_line=f"rm {number}"))
        await anyio.wait_all_tasks_blocked()

        with pytest.raises(Exhausted):
            await desk.obtain(QUESTION)
        tasks.cancel_scope.cancel()

"""How far a yes goes: each choice covers what it says, and nothing else."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from duetty.approvals import Answer, Approvals, Edited, Question, choices
from duetty.approvals.desk import NoContext
from duetty.calls import Actor
from duetty.errors import AnswerNotOffered, BadArguments, PolicyDenied
from duetty.store import ApprovalRecord, Store
from tests.approvals.test_desk import ANNA, BOT, QUESTION, YES, Trail, asked, over

pytestmark = pytest.mark.anyio

HOUR_NS = 3_600_000_000_000
INSIDE = replace(
    QUESTION,
    cwd="/work/app/sub",
    project="/work/app",
    rule="catalogue:recursive_delete",
    classes=("recursive_delete",),
)
OTHERS: dict[str, dict[str, object]] = {
    "line": {"command_line": "rm -rf src"},
    "session": {"session_id": "id-of-other", "session": "other"},
    "directory": {"cwd": "/work/app"},
    "outside": {"cwd": "/work/app/../other"},
    "project": {"project": "/work/other", "cwd": "/work/other"},
    "agent": {"actor": Actor(kind="agent", name="other")},
    "operation": {"operation": "process.run"},
    "class": {"rule": "catalogue:force_push", "classes": ("force_push",)},
    "more classes": {"classes": ("recursive_delete", "force_push")},
    "named rule": {"rule": "rule:careful"},
    "besides": {"can_stand": False},
}
"""The same question, but for one thing."""

COVERED = {
    "session": {"class", "more classes", "named rule"},
    "project": {"session", "directory"},
    "hours": {"line", "session", "directory", "operation"},
    "always": {"session", "class", "more classes", "named rule"},
}
"""What each choice covers besides the very same. What asks does not matter to a yes that names the
line and its directory; to one that reaches further, it does."""


class HandClock:
    def __init__(self) -> None:
        self.now_ns = 1_750_000_000_000_000_000
        self.now_s = 1_000.0

    def monotonic_s(self) -> float:
        return self.now_s

    def wall_ns(self) -> int:
        return self.now_ns

    def pass_h(self, hours: float) -> None:
        self.now_s += hours * 3600
        self.now_ns += int(hours * HOUR_NS)


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "db") as opened:
        yield opened


@pytest.fixture
def trail() -> Trail:
    return Trail()


@pytest.fixture
def desk(store: Store, trail: Trail, clock: HandClock) -> Approvals:
    return Approvals(store, trail, clock, wait_s=300)


def restarted(
    store: Store, trail: Trail, clock: HandClock, context: NoContext | None = None
) -> Approvals:
    store.flush()
    later = Approvals(store, trail, clock, wait_s=300, context=context)
    later.restore(store.open_approvals(), store.standing_approvals(), settled={})
    return later


def shown(record: ApprovalRecord, covers: str) -> str | None:
    return next(each.rule for each in choices(record) if each.covers == covers)


async def granted(
    desk: Approvals, covers: str, question: Question = INSIDE, **answer: object
) -> None:
    """A person says yes to a question, so far."""
    async with asked(desk, question) as call:
        rule = shown(call.record, covers)
        yes = Answer(granted=True, covers=covers, rule=rule, **answer)  # type: ignore[arg-type]
        desk.settle(call.id, yes, by=ANNA, via="page")
        await over(call)


def standing_events(trail: Trail) -> list[object]:
    return [each["event"] for each in trail.records if each["kind"] == "standing"]


async def test_once_covers_nothing_later(desk: Approvals) -> None:
    await granted(desk, "once")

    assert desk.covered(INSIDE) is None
    assert desk.standing.in_force() == []


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("covers", COVERED)
async def test_each_choice_covers_what_it_says_and_nothing_else(
    desk: Approvals, covers: str, other: str
) -> None:
    await granted(desk, covers)

    assert desk.covered(INSIDE) is not None
    is_covered = desk.covered(replace(INSIDE, **OTHERS[other])) is not None
    assert is_covered == (other in COVERED[covers])


async def test_for_a_time_without_a_class_covers_the_line_itself(desk: Approvals) -> None:
    line = replace(INSIDE, rule="profile:strict", classes=())
    await granted(desk, "hours", line)

    assert desk.covered(line) is not None
    assert desk.covered(replace(line, session_id="id-of-other")) is not None
    for other in ("line", "directory", "agent", "operation", "project"):
        assert desk.covered(replace(line, **OTHERS[other])) is None, other


async def test_for_a_time_by_a_named_rule_covers_the_line_itself(desk: Approvals) -> None:
    named = replace(INSIDE, rule="rule:careful")
    await granted(desk, "hours", named)

    assert desk.covered(named) is not None
    assert desk.covered(replace(named, command_line="rm -rf src")) is None


async def test_for_a_time_without_a_project_stays_in_its_session(desk: Approvals) -> None:
    bare = replace(INSIDE, project="")
    await granted(desk, "hours", bare)

    assert desk.covered(replace(bare, command_line="rm -rf src")) is not None
    assert desk.covered(replace(bare, session_id="id-of-other")) is None


async def test_a_link_out_of_the_project_is_not_inside_it(desk: Approvals, tmp_path: Path) -> None:
    project, elsewhere = tmp_path / "app", tmp_path / "elsewhere"
    project.mkdir()
    elsewhere.mkdir()
    (project / "way-out").symlink_to(elsewhere)
    here = replace(INSIDE, project=str(project), cwd=str(project))
    await granted(desk, "hours", here)

    assert desk.covered(replace(here, command_line="rm -rf src")) is not None
    assert desk.covered(replace(here, cwd=str(project / "way-out"))) is None


@pytest.mark.parametrize(
    ("question", "offered"),
    [
        (INSIDE, ["once", "session", "project", "hours", "always"]),
        (replace(INSIDE, project=""), ["once", "session", "hours", "always"]),
        (replace(INSIDE, cwd="/elsewhere"), ["once", "session", "hours", "always"]),
        (
            replace(INSIDE, session=None, session_id=None),
            ["once", "project", "hours", "always"],
        ),
        (replace(INSIDE, can_stand=False), ["once"]),
        (replace(INSIDE, command_line=None), ["once"]),
    ],
    ids=["all", "no project", "outside", "no session", "grave", "no line"],
)
async def test_what_is_offered_is_what_can_be_answered(
    desk: Approvals, question: Question, offered: list[str]
) -> None:
    async with asked(desk, question) as call:
        assert [each.covers for each in choices(call.record)] == offered
        for covers in {"session", "project", "hours", "always"} - set(offered):
            with pytest.raises(AnswerNotOffered) as refused:
                desk.settle(call.id, replace(YES, covers=covers), by=ANNA, via="page")
            assert refused.value.details["offered"] == offered

        assert [each.id for each in desk.pending()] == [call.id]


@pytest.mark.parametrize("hours", [0, -1, 8.01, float("nan")])
async def test_a_time_is_at_most_eight_hours(desk: Approvals, hours: float) -> None:
    async with asked(desk, INSIDE) as call:
        with pytest.raises(BadArguments):
            desk.settle(call.id, replace(YES, covers="hours", hours=hours), by=ANNA, via="page")

        assert [each.id for each in desk.pending()] == [call.id]


async def test_hours_of_something_else_are_refused(desk: Approvals) -> None:
    async with asked(desk, INSIDE) as call:
        with pytest.raises(BadArguments):
            desk.settle(call.id, replace(YES, covers="session", hours=2), by=ANNA, via="page")


async def test_what_was_shown_must_be_what_is_kept(desk: Approvals) -> None:
    async with asked(desk, INSIDE) as call:
        for covers in ("session", "project", "hours", "always"):
            other = replace(YES, covers=covers, rule="allow everything")
            with pytest.raises(BadArguments):
                desk.settle(call.id, other, by=ANNA, via="page")


@pytest.mark.parametrize(("hours", "lasts_h"), [(None, 1), (2.5, 2.5), (8, 8)])
async def test_a_time_ends(
    desk: Approvals, trail: Trail, clock: HandClock, hours: float | None, lasts_h: float
) -> None:
    await granted(desk, "hours", hours=hours)

    clock.pass_h(lasts_h - 0.01)
    assert desk.covered(INSIDE) is not None
    clock.pass_h(0.02)
    assert desk.covered(INSIDE) is None
    assert standing_events(trail) == ["saved", "expired"]


async def test_a_clock_that_is_set_back_makes_no_time_longer(
    desk: Approvals, clock: HandClock
) -> None:
    await granted(desk, "hours")

    clock.pass_h(0.5)
    clock.now_ns -= 3 * HOUR_NS
    assert desk.covered(INSIDE) is not None
    clock.pass_h(0.51)
    assert desk.covered(INSIDE) is None


async def test_a_machine_that_slept_has_used_its_time(desk: Approvals, clock: HandClock) -> None:
    await granted(desk, "hours")

    clock.now_ns += 2 * HOUR_NS  # the monotonic clock stands while it sleeps

    assert desk.covered(INSIDE) is None


async def test_a_time_goes_on_over_a_restart_and_ends_in_it(
    desk: Approvals, store: Store, trail: Trail, clock: HandClock
) -> None:
    await granted(desk, "hours")

    clock.now_s = 5.0  # another boot
    clock.now_ns += HOUR_NS // 2
    later = restarted(store, trail, clock)
    assert later.covered(INSIDE) is not None
    clock.pass_h(0.51)
    assert later.covered(INSIDE) is None
    assert restarted(store, trail, clock).standing.in_force() == []


@pytest.mark.parametrize("by_h", [2, -1], ids=["while no server ran", "the clock went back"])
async def test_what_is_not_surely_left_of_a_time_is_over_after_a_restart(
    desk: Approvals, store: Store, trail: Trail, clock: HandClock, by_h: int
) -> None:
    await granted(desk, "hours")

    clock.now_ns += by_h * HOUR_NS

    assert restarted(store, trail, clock).covered(INSIDE) is None
    assert standing_events(trail) == ["saved", "expired"]


@pytest.mark.parametrize("covers", COVERED)
async def test_each_is_kept_over_a_restart_counted_and_taken_back(
    desk: Approvals, store: Store, trail: Trail, clock: HandClock, covers: str
) -> None:
    await granted(desk, covers)
    desk.covered(INSIDE)

    later = restarted(store, trail, clock)
    used = later.covered(INSIDE)
    [kept] = later.standing.in_force()
    later.standing.revoke(kept.id, by=ANNA)

    assert used is not None
    assert (used.approval, used.by, used.is_standing) == (kept.id, "anna", True)
    assert (kept.covers, kept.created_by, kept.via, kept.uses) == (covers, "anna", "page", 2)
    assert kept.used_at_ns == clock.now_ns
    assert later.covered(INSIDE) is None
    assert restarted(store, trail, clock).covered(INSIDE) is None
    saved, revoked = [each for each in trail.records if each["kind"] == "standing"]
    assert (saved["covers"], saved["rule"], saved["by"]) == (covers, kept.rule, "anna")
    assert saved["expires_at_ns"] == kept.expires_at_ns
    assert (revoked["event"], revoked["by"], revoked["uses"]) == ("revoked", "anna", 2)
    [settled] = [each for each in trail.records if each.get("event") == "granted"]
    assert (settled["covers"], settled["standing"]) == (covers, kept.id)


async def test_with_a_session_goes_what_was_approved_for_it(desk: Approvals, trail: Trail) -> None:
    await granted(desk, "session")
    await granted(desk, "project", replace(INSIDE, command_line="rm -rf dist"))

    desk.withdraw("id-of-s")

    assert [each.covers for each in desk.standing.in_force()] == ["project"]
    assert standing_events(trail) == ["saved", "saved", "ended"]


async def test_a_session_that_ended_while_no_server_ran_leaves_nothing(
    desk: Approvals, store: Store, trail: Trail, clock: HandClock
) -> None:
    await granted(desk, "session")

    class Ended(NoContext):
        def has_ended(self, session_id: str) -> bool:
            return session_id == "id-of-s"

    later = restarted(store, trail, clock, Ended())

    changed = later.standing.changed
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(later.expire)
        with anyio.fail_after(60):
            await changed.wait()
        tasks.cancel_scope.cancel()

    assert later.standing.in_force() == []


async def test_other_questions_that_the_answer_covers_need_none_of_their_own(
    desk: Approvals, trail: Trail
) -> None:
    alike = replace(INSIDE, command_line="rm -rf dist", session_id="id-of-other")
    unlike = replace(INSIDE, command_line="rm -rf lib", actor=replace(BOT, name="other"))
    async with asked(desk, alike) as second, asked(desk, unlike) as third:
        await granted(desk, "hours")
        await over(second)

        assert second.granted is not None
        assert trail.outcomes(second.id) == ["granted"]
        assert [each.id for each in desk.pending()] == [third.id]
        [kept] = desk.standing.in_force()
        assert kept.uses == 1


async def test_a_question_is_taken_back_when_the_rules_refuse_it_meanwhile(
    desk: Approvals, trail: Trail
) -> None:
    rules = [Edited(reason="asks")]

    def judge(line: str) -> Edited:
        return rules[-1]

    refused: list[PolicyDenied] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(desk.expire)
        tasks.start_soon(_changed_later, desk, rules)
        try:
            with anyio.fail_after(60):
                await desk.obtain(replace(INSIDE, judge=judge))
        except PolicyDenied as error:
            refused.append(error)
        tasks.cancel_scope.cancel()

    [told] = refused
    assert "nobody deletes here" in told.message
    assert trail.outcomes(str(told.details["approval"])) == ["withdrawn"]


async def _changed_later(desk: Approvals, rules: list[Edited]) -> None:
    while not desk.pending():
        with desk.subscribe() as entries:
            await entries.wait()
    rules.append(Edited(denied="nobody deletes here"))

"""A command runs once, whatever is asked twice and whoever restarts."""

from contextlib import closing
from pathlib import Path

import anyio
import pytest

from duetty.errors import CommandIdReused, ResultNotKept, SessionNotFound
from duetty.hub.dedupe import KEPT_BYTES, Dedupe


class Counted:
    """Runs, and counts how often."""

    def __init__(self, answer: bytes = b"done") -> None:
        self.answer = answer
        self.ran = 0
        self.may_end = anyio.Event()
        self.may_end.set()

    async def __call__(self) -> bytes:
        self.ran += 1
        await self.may_end.wait()
        return self.answer


async def test_a_repetition_gets_the_first_answer_also_after_a_restart(tmp_path: Path) -> None:
    run = Counted()
    dedupe = Dedupe(tmp_path / "commands")
    first = await dedupe.once("u", "c1", b"x", run)
    second = await dedupe.once("u", "c1", b"x", run)
    dedupe.close()
    dedupe = Dedupe(tmp_path / "commands")
    third = await dedupe.once("u", "c1", b"x", run)
    dedupe.close()

    assert (first, second, third, run.ran) == (b"done", b"done", b"done", 1)


async def test_two_at_the_same_time_are_one() -> None:
    run, dedupe, answers = Counted(), Dedupe(None), list[bytes]()
    run.may_end = anyio.Event()

    async def ask() -> None:
        answers.append(await dedupe.once("u", "c1", b"x", run))

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            tasks.start_soon(ask)
            await anyio.wait_all_tasks_blocked()
            run.may_end.set()
    dedupe.close()

    assert (answers, run.ran) == ([b"done", b"done"], 1)


async def test_a_command_that_a_crash_cut_off_is_not_run_again(tmp_path: Path) -> None:
    run = Counted()
    run.may_end = anyio.Event()
    dedupe = Dedupe(tmp_path / "commands")
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(dedupe.once, "u", "c1", b"x", run)
            await anyio.wait_all_tasks_blocked()
            after = Dedupe(tmp_path / "commands")  # as another process would find it
            with pytest.raises(ResultNotKept) as refused:
                await after.once("u", "c1", b"x", run)
            assert refused.value.details == {"executed": "unknown"}
            after.close()
            run.may_end.set()
    dedupe.close()

    assert run.ran == 1


async def test_an_id_is_one_users_and_one_commands() -> None:
    run, dedupe = Counted(), Dedupe(None)
    await dedupe.once("u", "c1", b"x", run)
    await dedupe.once("v", "c1", b"x", run)
    with pytest.raises(CommandIdReused):
        await dedupe.once("u", "c1", b"y", run)
    dedupe.close()

    assert run.ran == 2


async def test_what_was_not_done_may_be_asked_again() -> None:
    async def fail() -> bytes:
        raise SessionNotFound("s")

    run, dedupe = Counted(), Dedupe(None)
    with pytest.raises(SessionNotFound):
        await dedupe.once("u", "c1", b"x", fail)
    answer = await dedupe.once("u", "c1", b"x", run)
    dedupe.close()

    assert (answer, run.ran) == (b"done", 1)


async def test_a_large_answer_is_not_kept_and_not_made_twice() -> None:
    run, dedupe = Counted(b"x" * (KEPT_BYTES + 1)), Dedupe(None)
    await dedupe.once("u", "c1", b"x", run)
    with pytest.raises(ResultNotKept) as refused:
        await dedupe.once("u", "c1", b"x", run)
    dedupe.close()

    assert refused.value.details == {"executed": True}
    assert run.ran == 1


async def test_only_the_last_commands_are_kept() -> None:
    run, dedupe = Counted(), Dedupe(None, kept=10)
    for number in range(25):
        await dedupe.once("u", str(number), b"x", run)
    await dedupe.once("u", "24", b"x", run)
    await dedupe.once("u", "0", b"x", run)
    dedupe.close()

    assert run.ran == 26


async def test_a_damaged_memory_is_put_aside_and_a_new_one_begins(tmp_path: Path) -> None:
    file = tmp_path / "commands.db"
    file.write_bytes(b"no database" * 1_000)

    with closing(Dedupe(file)) as dedupe:
        assert await dedupe.once("ada", "1", b"x", Counted()) == b"done"

    assert (tmp_path / "commands.db.unreadable").read_bytes().startswith(b"no database")

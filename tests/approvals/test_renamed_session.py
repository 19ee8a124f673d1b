"""A question is about a session, whatever it is called when the answer comes."""

from pathlib import Path

import anyio
import pytest

from duetty.calls import Actor
from duetty.config import Settings
from duetty.errors import ApprovalSettled, SessionExited
from tests.approvals.test_scope import RULES, asked, asking_engine
from tests.engine import Engine, running_engine

pytestmark = [pytest.mark.anyio, pytest.mark.pty]

ANNA = Actor(kind="person", name="anna")


async def rename(engine: Engine, name: str, new: str) -> None:
    await engine.dispatcher.call(ANNA, "session.update", {"session": name, "name": new})


async def approve(engine: Engine, approval: str) -> None:
    await engine.dispatcher.call(ANNA, "approval.approve", {"approval": approval})


async def test_an_approved_line_runs_in_the_session_that_was_meant(home: Path) -> None:
    async with asking_engine(home) as engine:
        meant = engine.registry.find("mine")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: engine.run("touch made", session="mine"))
            question = await asked(engine)
            await rename(engine, "mine", "other")
            await rename(engine, "yours", "mine")
            await approve(engine, question.id)

        blocks = await engine.call("block.list", session="other")
        assert (home / "made").exists()
        assert [each.command_line for each in blocks if each.command_line] == ["touch made"]
        assert meant.name == "other"


async def test_the_question_is_listed_under_the_name_of_now(home: Path) -> None:
    async with asking_engine(home) as engine:
        id_ = engine.registry.find("mine").profile.id
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: engine.run("touch made", session="mine"))
            question = await asked(engine)
            await rename(engine, "mine", "other")

            [waiting] = (await engine.call("approval.list")).approvals
            with engine.dispatcher.approval_feed(ANNA) as looking:
                await approve(engine, question.id)
                told = await looking.receive()

            assert (waiting.session, waiting.session_id) == ("other", id_)
            assert told is not None
            assert (told.session, told.session_id) == ("other", id_)
        settled = await engine.call("approval.list", settled=True)
        assert [each.session for each in settled.approvals] == ["other"]


async def test_it_is_after_a_restart_too(home: Path) -> None:
    (home / "config.toml").write_text(RULES)
    settings = Settings(session_grace_ms=300, policy_profile="guarded", approval_ask="always")
    with anyio.fail_after(60):
        async with running_engine(home, settings=settings, keep_sessions=True) as engine:
            await engine.open("mine")
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(lambda: engine.run("touch made", session="mine"))
                await asked(engine)
                await rename(engine, "mine", "other")
                engine.services.approvals.stop()  # as the server does before it ends its calls
                tasks.cancel_scope.cancel()
        async with running_engine(home, settings=settings) as engine:
            [waiting] = (await engine.call("approval.list")).approvals
            assert waiting.session == "other"
            await approve(engine, waiting.id)
            ran = await engine.run("touch made", session="other")
            assert ran.exit_code == 0


async def test_a_session_that_is_gone_is_not_taken_for_one_of_its_name(home: Path) -> None:
    async with asking_engine(home) as engine:
        failed: list[SessionExited] = []

        async def run() -> None:
            try:
                await engine.run("touch made", session="mine")
            except SessionExited as error:
                failed.append(error)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            question = await asked(engine)
            await engine.dispatcher.call(ANNA, "session.remove", {"session": "mine"})
            await rename(engine, "yours", "mine")
            with pytest.raises(ApprovalSettled, match="withdrawn"):
                await approve(engine, question.id)

        assert len(failed) == 1
        assert not (home / "made").exists()

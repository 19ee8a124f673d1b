"""The scope `approve`: a person who sees and answers, and does nothing else."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from duetty.calls import Actor, Scope
from duetty.config import Settings
from duetty.errors import ApprovalNotFound, BadArguments, NotAPerson, PolicyDenied, ScopeMissing
from duetty.ops import OPERATIONS
from duetty.store import ApprovalRecord
from tests.engine import AGENT, Engine, running_engine

pytestmark = [pytest.mark.anyio, pytest.mark.pty]

ANNA = Actor(kind="person", name="anna")
RULES = '[[policy.rules]]\nname = "asks"\ndecide = "ask"\ncommand = ["touch **"]\n'


@asynccontextmanager
async def asking_engine(home: Path, ask: str = "always") -> AsyncGenerator[Engine]:
    (home / "config.toml").write_text(RULES)
    settings = Settings(session_grace_ms=300, policy_profile="guarded", approval_ask=ask)
    async with running_engine(home, settings=settings) as engine:
        with anyio.fail_after(60):
            await engine.open("mine")
            await engine.open("yours")
            yield engine


async def answerer(engine: Engine, **given: object) -> Actor:
    made = await engine.dispatcher.call(
        ANNA, "token.create", {"name": "phone", "scopes": ["approve"], **given}
    )
    actor = engine.services.access.by_token(made.token)
    assert actor is not None
    return actor


async def asked(engine: Engine) -> ApprovalRecord:
    desk = engine.services.approvals
    while not desk.pending():
        with desk.subscribe() as entries:
            await entries.wait()
    return desk.pending()[0]


async def test_it_is_a_person_who_looks_and_answers_and_nothing_else(home: Path) -> None:
    async with asking_engine(home) as engine:
        phone = await answerer(engine)

        assert (phone.kind, phone.scopes) == ("person", {Scope.READ, Scope.APPROVE})
        for name, operation in OPERATIONS.items():
            if operation.scope not in (Scope.READ, Scope.APPROVE):
                with pytest.raises(ScopeMissing):
                    await engine.dispatcher.call(phone, name, {})


async def test_its_yes_lets_the_line_run(home: Path) -> None:
    async with asking_engine(home) as engine, anyio.create_task_group() as tasks:
        phone = await answerer(engine, session="mine")
        tasks.start_soon(lambda: engine.run("touch made", session="mine"))
        question = await asked(engine)

        await engine.dispatcher.call(phone, "approval.approve", {"approval": question.id})

    assert (home / "made").exists()


async def test_what_is_asked_about_another_session_is_neither_seen_nor_answered(home: Path) -> None:
    async with asking_engine(home) as engine, anyio.create_task_group() as tasks:
        phone = await answerer(engine, session="mine")
        tasks.start_soon(lambda: engine.run("touch made", session="yours"))
        question = await asked(engine)

        listed = await engine.dispatcher.call(phone, "approval.list", {})
        with pytest.raises(ApprovalNotFound):
            await engine.dispatcher.call(phone, "approval.approve", {"approval": question.id})

        assert listed.approvals == []
        await engine.dispatcher.call(ANNA, "approval.approve", {"approval": question.id})


@pytest.mark.parametrize(
    "beyond",
    [
        {"command_line": "touch other"},
        {"covers": "always", "rule": "that was shown"},
        {"covers": "project"},
        {"covers": "hours"},
    ],
    ids=["another line", "a standing rule", "the project", "for a time"],
)
async def test_its_answer_goes_no_further_than_the_question(
    home: Path, beyond: dict[str, Any]
) -> None:
    async with asking_engine(home) as engine, anyio.create_task_group() as tasks:
        phone = await answerer(engine)
        tasks.start_soon(lambda: engine.run("touch made", session="mine"))
        question = await asked(engine)

        with pytest.raises(ScopeMissing):
            await engine.dispatcher.call(
                phone, "approval.approve", {"approval": question.id, **beyond}
            )
        await engine.dispatcher.call(
            phone, "approval.approve", {"approval": question.id, "covers": "session"}
        )

    assert not (home / "other").exists()


async def test_an_agent_cannot_make_one_for_itself(home: Path) -> None:
    async with asking_engine(home) as engine:
        with pytest.raises(NotAPerson):
            await engine.dispatcher.call(
                AGENT, "token.create", {"name": "x", "scopes": ["approve"]}
            )


@pytest.mark.parametrize("other", ["input", "control", "admin"])
async def test_it_goes_with_reading_only(home: Path, other: str) -> None:
    """A person's calls are not judged, so a token that makes a person must not type."""
    async with asking_engine(home) as engine:
        with pytest.raises(BadArguments):
            await answerer(engine, scopes=["approve", other])


async def test_whoever_looks_at_one_session_can_be_asked_about_that_one(home: Path) -> None:
    async with asking_engine(home, ask="present") as engine:
        phone = await answerer(engine, session="mine")
        with (
            engine.dispatcher.follow(phone, "mine", kind="page"),
            pytest.raises(PolicyDenied),
        ):
            await engine.run("touch made", session="yours")
        async with anyio.create_task_group() as tasks:
            with engine.dispatcher.follow(phone, "mine", kind="page"):
                tasks.start_soon(lambda: engine.run("touch made", session="mine"))
                question = await asked(engine)
                await engine.dispatcher.call(phone, "approval.approve", {"approval": question.id})

    assert (home / "made").exists()

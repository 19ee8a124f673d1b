"""Values of variables are in no record, whatever was decided about them."""

import json
from collections.abc import Mapping
from pathlib import Path

import anyio
import pytest

from duetty.calls import Actor
from duetty.config import Settings
from duetty.errors import PolicyDenied
from duetty.store import ApprovalRecord
from tests.engine import AGENT, Engine, running_engine

pytestmark = [pytest.mark.anyio, pytest.mark.pty]

ANNA = Actor(kind="person", name="anna")
SECRET = "ENVSECRET99"


async def asked_about(
    engine: Engine, operation: str, given: Mapping[str, object]
) -> ApprovalRecord:
    """The question that an agent's call leads to; the call goes away then."""
    desk = engine.services.approvals
    found: list[ApprovalRecord] = []
    with desk.attendance.attending(ANNA):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(engine.dispatcher.call, AGENT, operation, given)
            while not desk.pending():
                with desk.subscribe() as entries:
                    await entries.wait()
            found = desk.pending()
            tasks.cancel_scope.cancel()
    [record] = found
    return record


@pytest.mark.parametrize("name", ["BASH_ENV", "LD_PRELOAD", "PS1"])
@pytest.mark.parametrize("operation", ["session.open", "process.run"])
async def test_a_question_about_variables_names_them_and_keeps_no_value(
    home: Path, operation: str, name: str
) -> None:
    env = {name: f"$({SECRET})"}
    given = {"env": env} | ({"command": "true"} if operation == "process.run" else {})
    async with running_engine(
        home, settings=Settings(session_grace_ms=300, policy_profile="strict")
    ) as engine:
        with anyio.fail_after(60):
            with pytest.raises(PolicyDenied) as refused:
                await engine.call(operation, **given)
            asked = await asked_about(engine, operation, given)
            kept = await engine.dispatcher.call(ANNA, "audit.list", {})

    assert name in asked.reason
    assert SECRET not in repr(asked)
    assert SECRET not in refused.value.message
    assert SECRET not in json.dumps(kept)
    files = [each for each in home.rglob("*") if each.is_file()]
    assert not [each for each in files if SECRET.encode() in each.read_bytes()]


async def test_an_answer_is_for_the_values_that_were_given(home: Path) -> None:
    """They are not shown, but another value is another question."""
    async with running_engine(
        home, settings=Settings(session_grace_ms=300, policy_profile="strict")
    ) as engine:
        with anyio.fail_after(60):
            first, second = [
                await asked_about(
                    engine, "process.run", {"command": "true", "env": {"BASH_ENV": value}}
                )
                for value in ("one", "two")
            ]

    assert first.reason == second.reason
    assert first.digest != second.digest

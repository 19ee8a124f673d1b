"""A call's operation, arguments and session are found once, and carried."""

from pathlib import Path

import pytest

from duetty.session import Registry, Session
from duetty.wire.params import RunParams
from tests.engine import running_engine

pytestmark = [pytest.mark.anyio, pytest.mark.pty]


async def test_the_session_of_a_call_is_looked_up_once_and_its_arguments_are_read_once(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[str] = []
    read: list[object] = []
    find, validate = Registry.find, RunParams.model_validate

    def finding(self: Registry, name: str) -> Session:
        found.append(name)
        return find(self, name)

    def validating(arguments: object) -> RunParams:
        read.append(arguments)
        return validate(arguments)

    async with running_engine(home) as engine:
        await engine.open(command="bash")
        await engine.run("true")
        monkeypatch.setattr(Registry, "find", finding)
        monkeypatch.setattr(RunParams, "model_validate", validating)
        await engine.run("echo hello")

    assert found == ["s"]
    assert len(read) == 1

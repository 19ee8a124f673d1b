"""The shell that a call names for its line is judged with it: it is a program like any other."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from duetty.approvals import choices
from duetty.calls import Actor
from duetty.config import Settings
from duetty.errors import PolicyDenied
from duetty.store import ApprovalRecord
from tests.engine import AGENT, Engine, running_engine

pytestmark = [pytest.mark.anyio, pytest.mark.pty]

ANNA = Actor(kind="person", name="anna")
ASKS = """
[[policy.rules]]
name = "asks"
decide = "ask"
command = ["touch **"]
"""
NO_OTHER = """
[[policy.rules]]
name = "no-other"
decide = "deny"
command = ["evilsh **"]
"""


@pytest.fixture
def evil(tmp_path: Path) -> Path:
    """Calls itself a shell, and leaves a trace instead of reading the line."""
    program = tmp_path / "evilsh"
    program.write_text(f"#!/bin/sh\n/bin/echo ran > {tmp_path}/trace\n")
    program.chmod(0o755)
    (tmp_path / "bash").symlink_to(program)
    (tmp_path / "sh").symlink_to(program)
    return program


@asynccontextmanager
async def engine_with(home: Path, **settings: object) -> AsyncGenerator[Engine]:
    given = Settings(**{"session_grace_ms": 300, **settings})  # type: ignore[arg-type]
    async with running_engine(home, settings=given) as engine:
        with anyio.fail_after(60):
            yield engine


async def question(engine: Engine, **given: object) -> ApprovalRecord:
    """What an agent's call asks; the call goes away then."""
    desk = engine.services.approvals
    found: list[ApprovalRecord] = []
    with desk.attendance.attending(ANNA):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(engine.dispatcher.call, AGENT, "process.run", given)
            while not desk.pending():
                with desk.subscribe() as entries:
                    await entries.wait()
            found = desk.pending()
            tasks.cancel_scope.cancel()
    [record] = found
    return record


@pytest.mark.parametrize("operation", ["process.run", "process.start"])
@pytest.mark.parametrize("profile", ["guarded", "strict"])
async def test_a_program_that_reads_the_line_is_asked_about(
    home: Path, evil: Path, profile: str, operation: str
) -> None:
    async with engine_with(home, policy_profile=profile) as engine:
        for shell in (str(evil), str(evil.with_name("bash")), "python3"):
            with pytest.raises(PolicyDenied) as refused:
                await engine.call(operation, command="ls", shell=shell)
            assert refused.value.details["nobody_to_ask"] is True
            assert f"read by {shell}" in refused.value.message
        [last, *_] = await engine.dispatcher.call(ANNA, "audit.list", {"kind": "call"})

    assert not evil.with_name("trace").exists()
    assert last["arguments"]["shell"] == "python3"


@pytest.mark.parametrize("profile", ["guarded", "strict"])
async def test_the_shells_of_the_system_read_lines_unasked(home: Path, profile: str) -> None:
    async with engine_with(home, policy_profile=profile) as engine:
        for shell in ("sh", "bash", "/bin/bash", "/usr/bin/bash", "/bin/sh"):
            ran = await engine.call("process.run", command="echo hello", shell=shell)
            assert ran.stdout == "hello\n"


async def test_the_shell_of_the_settings_is_the_persons_choice(home: Path, evil: Path) -> None:
    async with engine_with(home, process_shell=str(evil)) as engine:
        await engine.call("process.run", command="ls")
        await engine.call("process.run", command="ls", shell=str(evil))

    assert evil.with_name("trace").exists()


async def test_variables_of_a_call_do_not_choose_its_shell(home: Path, evil: Path) -> None:
    path = f"{evil.parent}:/usr/bin:/bin"
    async with engine_with(home) as engine:
        for shell in ("sh", "bash"):
            ran = await engine.call(
                "process.run", command="echo hello", shell=shell, env={"PATH": path}
            )
            assert ran.stdout == "hello\n"

    assert not evil.with_name("trace").exists()


async def test_a_rule_is_about_the_shell_too(home: Path, evil: Path) -> None:
    (home / "config.toml").write_text(NO_OTHER)
    async with engine_with(home, policy_profile="open") as engine:
        with pytest.raises(PolicyDenied) as refused:
            await engine.call("process.run", command="ls", shell=str(evil))

    assert refused.value.details["rule"] == "rule:no-other"


async def test_what_is_proven_of_one_shell_is_not_proven_of_another(home: Path) -> None:
    """The same text is a background job, and a redirection, to dash."""
    async with engine_with(home, policy_profile="strict") as engine:
        await engine.call("process.run", command="ls &>/dev/null", shell="bash")
        with pytest.raises(PolicyDenied):
            await engine.call("process.run", command="ls &>/dev/null", shell="dash")


@pytest.mark.parametrize(
    "besides",
    [
        {"shell": "bash"},
        {"shell": "/tmp/evilsh"},
        {"env": {"BASH_ENV": "/tmp/evil"}},
        {"command": "touch here; sh", "stdin": "touch there\n"},
    ],
)
@pytest.mark.sampled(3)
async def test_an_answer_that_stays_is_for_the_line_alone(
    home: Path, besides: dict[str, Any]
) -> None:
    """And the question says what comes besides it, as does an answer that is for once."""
    (home / "config.toml").write_text(ASKS)
    plain = {"command": besides.get("command", "touch here"), "cwd": "/"}
    async with engine_with(home) as engine:
        first = await question(engine, **plain)
        desk = engine.services.approvals
        with desk.attendance.attending(ANNA):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(
                    engine.dispatcher.call, AGENT, "process.run", {**plain, "cwd": str(home)}
                )
                while not desk.pending():
                    with desk.subscribe() as entries:
                        await entries.wait()
                [record] = desk.pending()
                answer = {"approval": record.id, "covers": "always"}
                rule = {"rule": choices(record)[-1].rule}
                await engine.dispatcher.call(ANNA, "approval.approve", answer | rule)

        await engine.call("process.run", **{**plain, "cwd": str(home)})
        with pytest.raises(PolicyDenied):
            await engine.call("process.run", **{**plain, **besides, "cwd": str(home)})
        asked = await question(engine, **{**plain, **besides})

    assert asked.digest != first.digest
    assert not asked.can_stand
    assert str(besides.get("shell", "")) in asked.reason
    assert next(iter(besides.get("env", [""]))) in asked.reason

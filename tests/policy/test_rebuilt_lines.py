"""Where what is proven runs rebuilt, and where a shell reads it as it was typed."""

import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from duetty.calls import Actor
from duetty.config import Settings
from duetty.errors import PolicyDenied
from tests.engine import AGENT, Engine, running_engine

pytestmark = [pytest.mark.anyio, pytest.mark.pty]

ANNA = Actor(kind="person", name="anna")
REFUSED = "duetty: "

GIT_MAY_STATUS = """
[[policy.rules]]
name = "status"
decide = "allow"
command = ["git status"]
"""


@asynccontextmanager
async def strict_engine(home: Path, profile: str = "strict") -> AsyncGenerator[Engine]:
    given = Settings(session_grace_ms=300, policy_profile=profile)
    async with running_engine(home, settings=given) as engine:
        with anyio.fail_after(60):
            yield engine


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """With a monitor of its own, that leaves a mark when it runs."""
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\ntouch '{tmp_path}/sprung'\n")
    trap.chmod(0o755)
    made = tmp_path / "repo"
    subprocess.run(["git", "init", "-q", str(made)], check=True)
    subprocess.run(["git", "-C", str(made), "config", "core.fsmonitor", str(trap)], check=True)
    (made / "a").touch()
    subprocess.run(["git", "-C", str(made), "-c", "core.fsmonitor=", "add", "a"], check=True)
    return made


def sprung(repo: Path) -> bool:
    return (repo.parent / "sprung").exists()


async def test_in_strict_a_process_of_its_own_runs_what_was_proven(home: Path, repo: Path) -> None:
    async with strict_engine(home) as engine:
        ran = await engine.call("process.run", command="git status --short", cwd=str(repo))

        assert ran.stdout == "A  a\n"
        assert not sprung(repo)


async def test_in_guarded_it_runs_as_it_was_given(home: Path, repo: Path) -> None:
    async with strict_engine(home, "guarded") as engine:
        await engine.call("process.run", command="git status --short", cwd=str(repo))

        assert sprung(repo)


async def test_a_persons_own_command_is_not_rebuilt(home: Path, repo: Path) -> None:
    async with strict_engine(home) as engine:
        given = {"command": "git status --short", "cwd": str(repo)}
        await engine.dispatcher.call(ANNA, "process.run", given)

        assert sprung(repo)


async def test_in_a_strict_session_what_would_have_to_be_rebuilt_asks(
    home: Path, repo: Path
) -> None:
    async with strict_engine(home) as engine:
        await engine.open(cwd=str(repo))
        for line in ("git status", "grep -rn TODO .", "echo a && git status"):
            with pytest.raises(PolicyDenied) as refused:
                await engine.run(line)
            assert refused.value.details["reason"] == "not_provable"
            assert "process.run" in str(refused.value)
        with pytest.raises(PolicyDenied):
            await engine.call("session.open", name="other", command="git status", cwd=str(repo))
        plain = await engine.run("echo a && ls && git --version > /dev/null")

        assert plain.exit_code == 0
        assert not sprung(repo)


async def test_a_rule_lets_it_run_in_a_session_as_it_is(home: Path, repo: Path) -> None:
    (home / "config.toml").write_text(GIT_MAY_STATUS)
    async with strict_engine(home) as engine:
        await engine.open(cwd=str(repo))
        ran = await engine.run("git status")
        with pytest.raises(PolicyDenied):
            await engine.run("git log")

        assert ran.exit_code == 0


async def test_headless_does_not_type_what_it_must_rebuild(home: Path, repo: Path) -> None:
    async with strict_engine(home, "guarded") as engine:
        await engine.open(cwd=str(repo))
        given = {"session": "s", "input": "git status"}
        with pytest.raises(PolicyDenied):
            await engine.dispatcher.call(AGENT, "command.run", given, mode="headless")

        assert not sprung(repo)

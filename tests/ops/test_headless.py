"""Headless: what was judged is what runs, as its own words and read by no shell."""

import os
from pathlib import Path
from typing import Any

import anyio
import pytest

from duetty.config import Settings
from duetty.errors import PolicyDenied
from tests.engine import AGENT, Engine, child_env, running_engine

pytestmark = [pytest.mark.anyio, pytest.mark.pty]

GUARDED = Settings(session_grace_ms=300, policy_profile="guarded")


async def headless(engine: Engine, command: str, **more: object) -> Any:
    with anyio.fail_after(60):
        return await engine.dispatcher.call(
            AGENT, "process.run", {"command": command, **more}, mode="headless"
        )


async def test_a_single_command_runs_without_a_shell(home: Path) -> None:
    (home / "config.toml").write_text(
        '[[policy.rules]]\nname = "reads"\ndecide = "allow"\ncommand = "cat **"\n'
    )
    async with running_engine(home, settings=GUARDED) as engine:
        ran = await headless(engine, "cat /proc/self/stat '/proc/self/cmdline'")

        assert ran.stdout.replace("\0", " ").endswith(
            "/usr/bin/cat /proc/self/stat /proc/self/cmdline "
        )
        parent = int(ran.stdout.rpartition(")")[2].split()[1])
        assert parent == os.getpid()


async def test_words_stay_words(home: Path) -> None:
    async with running_engine(home, settings=GUARDED) as engine:
        ran = await headless(engine, "echo 'a  b' \"c;d\" '$(id)' '*'")

        assert ran.stdout == "a  b c;d $(id) *\n"


async def test_what_needs_a_shell_gets_a_plain_one(home: Path) -> None:
    (home / "rc").write_text("echo read by bash\n")
    env = {**child_env(home), "BASH_ENV": str(home / "rc")}
    async with running_engine(home, settings=GUARDED, env=env) as engine:
        ran = await headless(engine, "echo one && echo two | cat")

        assert ran.stdout == "one\ntwo\n"


async def test_a_program_of_the_same_name_elsewhere_is_not_taken(home: Path) -> None:
    (home / "bin").mkdir()
    (home / "bin" / "ls").write_text("#!/bin/sh\necho mine\n")
    (home / "bin" / "ls").chmod(0o755)
    env = child_env(home)
    env = {**env, "PATH": f"{home}/bin:{env['PATH']}", "GIT_EXTERNAL_DIFF": "x"}
    async with running_engine(home, settings=GUARDED, env=env) as engine:
        proven = await headless(engine, "ls bin", cwd=str(home))
        piped = await headless(engine, "ls bin | cat", cwd=str(home))

        assert (proven.stdout, piped.stdout) == ("ls\n", "ls\n")


async def test_a_rules_program_is_found_where_the_person_has_it(home: Path) -> None:
    (home / "bin").mkdir()
    (home / "bin" / "mytool").write_text('#!/bin/sh\necho mine "$@"\n')
    (home / "bin" / "mytool").chmod(0o755)
    (home / "config.toml").write_text(
        '[[policy.rules]]\nname = "mine"\ndecide = "allow"\ncommand = "mytool **"\n'
    )
    env = child_env(home)
    env = {**env, "PATH": f"{home}/bin:{env['PATH']}"}
    async with running_engine(home, settings=GUARDED, env=env) as engine:
        ran = await headless(engine, "mytool 'a  b'")

        assert ran.stdout == "mine a  b\n"


async def test_no_caller_can_say_that_its_words_are_proven(home: Path) -> None:
    async with running_engine(home, settings=GUARDED) as engine:
        with pytest.raises(PolicyDenied):
            await headless(engine, "touch made", cwd=str(home))
        for sneaked in ("_proven", "proven", "words"):
            with pytest.raises(Exception, match=sneaked):
                await headless(engine, "echo a", **{sneaked: ["touch", "made"]})

        assert not (home / "made").exists()

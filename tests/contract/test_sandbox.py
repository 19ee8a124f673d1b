"""What a terminal or a headless command runs in: chosen by the request, said in every answer."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from duetty.errors import SandboxUnavailable
from duetty.ops.contract.failures import failure_of
from duetty.sandbox import support
from tests.contract.doors import DOORS, opened
from tests.contract.people import looking
from tests.server_process import ServerProcess, running_server

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.pty,
    pytest.mark.skipif(
        support().bubblewrap is None or not support().has_landlock,
        reason="this machine has no user namespaces, no bubblewrap or no Landlock",
    ),
]

LEVELS = ["none", "landlock", "bubblewrap"]


CONFINED = "grep NoNewPrivs /proc/self/status"
"""The kernel says it: whatever is confined may gain no privileges."""

RULES = f"""
[[policy.rules]]
name = "looks-at-itself"
decide = "allow"
command = ["{CONFINED}"]
"""


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    with tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as path:
        home = Path(path)
        (home / "config.toml").write_text(RULES)
        with running_server(home, DUETTY_SERVER_PING_S="3600") as server:
            yield server


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("level", LEVELS)
async def test_a_headless_command_runs_in_the_sandbox_that_was_asked_for(
    server: ServerProcess, door: str, level: str
) -> None:
    async with opened(door, server) as ask:
        ran = await ask(
            action="execute",
            invocation={"mode": "headless"},
            runtime={"sandbox": level},
            execution={"command": CONFINED},
        )
        listed = await ask(action="list", invocation={"mode": "headless"})

    assert ran.answer is not None, ran.error
    assert ran.answer["target"]["sandbox"] == level
    assert ran.result["stdout"].split() == ["NoNewPrivs:", "0" if level == "none" else "1"], ran
    found = {each["session"]: each["sandbox"] for each in listed.result["terminals"]}
    assert found[ran.session] == level


@pytest.mark.parametrize("level", LEVELS)
async def test_a_new_terminal_says_its_sandbox_in_every_answer(
    server: ServerProcess, level: str
) -> None:
    with looking(server):
        async with opened("http", server) as ask:
            ran = await ask(
                action="execute",
                runtime={"sandbox": level},
                execution={"command": CONFINED},
            )
            target = {"session": ran.session}
            read = await ask(action="read_output", target=target)
            listed = await ask(action="list")
            ended = await ask(action="terminate", target=target)

    assert ran.result["output"].split() == ["NoNewPrivs:", "0" if level == "none" else "1"]
    for said in (ran, read, ended):
        assert said.answer is not None
        assert said.answer["target"]["sandbox"] == level
    found = {each["session"]: each["sandbox"] for each in listed.result["terminals"]}
    assert found[ran.session] == level


def test_a_sandbox_that_cannot_be_had_is_an_error_of_the_contract() -> None:
    failure = failure_of(SandboxUnavailable("no bubblewrap here"))

    assert (failure.code, failure.details["reason"]) == ("PM_TERM_INTERNAL", "sandbox_unavailable")

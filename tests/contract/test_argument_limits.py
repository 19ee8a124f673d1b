"""What no program can be given is told before anything runs: the same field, in both modes and by both doors."""

from typing import Any

import httpx
import pytest

from duetty.wire.base import MAX_ARGUMENT_BYTES, MAX_VARIABLES_BYTES
from tests.contract.doors import DOORS, opened
from tests.contract.people import looking
from tests.server_process import ServerProcess

pytestmark = [pytest.mark.anyio, pytest.mark.pty]

Json = dict[str, Any]

ROOM = MAX_ARGUMENT_BYTES - len("LANG=")
MANY = {f"LC_{number}": "x" * 10_000 for number in range(MAX_VARIABLES_BYTES // 10_000)}
SMALL = {f"LC_{number}": "x" * 16 for number in range(MAX_VARIABLES_BYTES // 32)}
"""Less text than that, but for what each costs; and fewer values than a message may have."""

TOO_LONG: dict[str, tuple[Json, str]] = {
    "a variable": ({"command": "ls", "env": {"LANG": "x" * (ROOM + 1)}}, "execution.env"),
    "in bytes": ({"command": "ls", "env": {"LANG": "ü" * (ROOM // 2 + 1)}}, "execution.env"),
    "a variable's name": ({"command": "ls", "env": {"LC_" + "A" * ROOM: "xxx"}}, "execution.env"),
    "many variables": ({"command": "ls", "env": MANY}, "execution.env"),
    "very many small ones": ({"command": "ls", "env": SMALL}, "execution.env"),
    "an argument": (
        {"command": "echo", "args": ["a", "x" * (MAX_ARGUMENT_BYTES + 1)]},
        "execution.args.1",
    ),
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("mode", ["interactive", "headless"])
@pytest.mark.parametrize("what", TOO_LONG)
@pytest.mark.sampled(5)
async def test_what_no_program_takes_is_a_bad_payload_in_both_modes(
    server: ServerProcess, door: str, mode: str, what: str
) -> None:
    execution, field = TOO_LONG[what]
    with looking(server):
        async with opened(door, server) as ask:
            told = await ask(action="execute", execution=execution, invocation={"mode": mode})

    assert (told.code, list(told.details["fields"])) == ("PM_TERM_INVALID_PAYLOAD", [field])


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    ("execution", "field"),
    [
        ({"command": "echo " + "x" * MAX_ARGUMENT_BYTES}, "execution.command"),
        ({"command": "make " + "x" * MAX_ARGUMENT_BYTES}, "execution.command"),
        ({"command": "echo", "args": ["x" * 100_000] * 2}, "execution.args"),
        ({"command": "echo", "args": ["'" * 30_000]}, "execution.args"),
    ],
    ids=["proven", "not proven", "several words", "quotes"],
)
async def test_a_headless_line_is_one_argument_of_a_shell_whatever_policy_says(
    server: ServerProcess, door: str, execution: Json, field: str
) -> None:
    async with opened(door, server) as ask:
        told = await ask(action="execute", execution=execution, invocation={"mode": "headless"})

    assert (told.code, list(told.details["fields"])) == ("PM_TERM_INVALID_PAYLOAD", [field])


@pytest.mark.parametrize("mode", ["interactive", "headless"])
async def test_as_much_as_a_program_takes_it_is_given(server: ServerProcess, mode: str) -> None:
    most = {"LANG": "x" * ROOM}
    most |= {f"LC_{number}": "x" * 100_000 for number in range(8)}
    with looking(server):
        async with opened("http", server) as ask:
            ran = await ask(
                action="execute",
                execution={"command": "ls", "args": ["/"], "env": most},
                invocation={"mode": mode},
            )
            if mode == "interactive":
                await ask(action="terminate", target={"session": ran.session})

    assert ran.result["exit_code"] == 0


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/processes", {"command": "true", "env": {"A": "x" * 140_000}}, "env"),
        ("/processes/run", {"command": "true", "env": {"A": "x" * 140_000}}, "env"),
        ("/processes/run", {"command": "true", "env": MANY}, "env"),
        ("/processes/run", {"command": "true " + "x" * 140_000}, "command"),
        ("/sessions", {"env": {"A": "x" * 140_000}}, "env"),
        ("/sessions", {"env": MANY}, "env"),
    ],
)
def test_other_operations_name_the_argument_that_is_too_long(
    server: ServerProcess, path: str, body: Json, field: str
) -> None:
    headers = {"Authorization": f"Bearer {server.token()}"}
    response = httpx.post(f"{server.url()}{path}", json=body, headers=headers, timeout=60)

    error = response.json()["error"]
    assert (response.status_code, error["code"]) == (400, "invalid_request")
    assert list(error["details"]["fields"]) == [field]
    assert "x" * 20 not in response.text

"""Canonical actions, modes and outcomes of policy, each with each, as one table, through every door."""

from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.contract.doors import DOORS, Asking, Said, opened
from tests.contract.people import answering, looking
from tests.server_process import ServerProcess

pytestmark = [pytest.mark.anyio, pytest.mark.pty]

Json = dict[str, Any]


@pytest.fixture(params=DOORS)
def door(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One cell of the matrix for execute."""

    mode: str
    outcome: str
    command: str
    code: str | None = None
    status: int = 200
    reason: str | None = None
    seen: bool = True
    """Whether a person looks."""

    execution: Json = field(default_factory=dict[str, Any])


BLOCKED = "PM_TERM_BLOCKED_DESTRUCTIVE"
DECLINED = "PM_TERM_DECLINED"

EXECUTE = [
    Case(mode="interactive", outcome="allow", command="echo done"),
    Case(mode="interactive", outcome="allow unproven", command="true && test -n done && echo done"),
    Case(
        mode="interactive",
        outcome="allow with stdin",
        command="cat",
        execution={"stdin": "done\n"},
    ),
    Case(mode="interactive", outcome="granted", command="touch granted && echo done"),
    Case(
        mode="interactive",
        outcome="declined",
        command="touch declined",
        code=DECLINED,
        status=403,
        reason="declined",
    ),
    Case(
        mode="interactive",
        outcome="expired",
        command="touch unanswered",
        code=DECLINED,
        status=403,
        reason="expired",
    ),
    Case(
        mode="interactive",
        outcome="time is up before the answer",
        command="touch unanswered",
        execution={"timeout": 300},
        code="PM_TERM_TIMEOUT",
        status=408,
        reason="approval_unanswered",
    ),
    Case(
        mode="interactive",
        outcome="denied by rule",
        command="uname -a",
        code=BLOCKED,
        status=403,
        reason="denied_by_rule",
    ),
    Case(
        mode="interactive",
        outcome="destructive, declined",
        command="rm -rf /nowhere/declined",
        code=DECLINED,
        status=403,
        reason="declined",
    ),
    Case(
        mode="interactive",
        outcome="nobody sees it",
        command="echo done",
        code="PM_TERM_GUI_UNAVAILABLE",
        status=409,
        seen=False,
    ),
    Case(
        mode="interactive",
        outcome="time is up",
        command="echo before; sleep 60",
        execution={"timeout": 700},
        code="PM_TERM_TIMEOUT",
        status=408,
        reason="deadline",
    ),
    Case(mode="headless", outcome="allow", command="echo done", seen=False),
    Case(mode="headless", outcome="allow, seen", command="echo done"),
    Case(mode="headless", outcome="granted", command="touch granted; echo done"),
    Case(
        mode="headless",
        outcome="declined",
        command="make declined",
        code=DECLINED,
        status=403,
        reason="declined",
    ),
    Case(
        mode="headless",
        outcome="expired",
        command="make unanswered",
        code=DECLINED,
        status=403,
        reason="expired",
    ),
    Case(
        mode="headless",
        outcome="time is up before the answer",
        command="make unanswered",
        execution={"timeout_ms": 300},
        code="PM_TERM_TIMEOUT",
        status=408,
        reason="approval_unanswered",
    ),
    Case(
        mode="headless",
        outcome="destructive is not even asked",
        command="rm -rf /nowhere/granted",
        code=BLOCKED,
        status=403,
        reason="destructive",
    ),
    Case(
        mode="headless",
        outcome="destructive",
        command="rm -rf /nowhere",
        code=BLOCKED,
        status=403,
        reason="destructive",
        seen=False,
    ),
    Case(
        mode="headless",
        outcome="not on the list",
        command="make install",
        code=BLOCKED,
        status=403,
        reason="not_allowlisted",
        seen=False,
    ),
    Case(
        mode="headless",
        outcome="not provable",
        command="echo $(cat x)",
        code=BLOCKED,
        status=403,
        reason="not_provable",
        seen=False,
    ),
    Case(
        mode="headless",
        outcome="asked by rule, nobody there",
        command="touch x",
        code=BLOCKED,
        status=403,
        reason="denied_by_rule",
        seen=False,
    ),
    Case(
        mode="headless",
        outcome="denied by rule",
        command="uname -a",
        code=BLOCKED,
        status=403,
        reason="denied_by_rule",
    ),
    Case(
        mode="headless",
        outcome="variables that could name code",
        command="ls",
        execution={"env": {"LD_PRELOAD": "./x.so"}},
        code=BLOCKED,
        status=403,
        reason="not_provable",
    ),
    Case(
        mode="headless",
        outcome="piped into what would be asked about",
        command="bash # granted",
        execution={"stdin": "echo hello"},
        code=BLOCKED,
        status=403,
        reason="not_provable",
    ),
    Case(
        mode="headless",
        outcome="time is up",
        command="sleep 60",
        execution={"timeout": 300},
        code="PM_TERM_TIMEOUT",
        status=408,
        reason="deadline",
        seen=False,
    ),
]


@pytest.mark.parametrize("case", EXECUTE, ids=lambda case: f"{case.mode} {case.outcome}")
@pytest.mark.sampled(3)
async def test_execute_ends_as_its_cell_of_the_matrix_says(
    server: ServerProcess, door: str, case: Case
) -> None:
    with ExitStack() as stack:
        if case.seen:
            stack.enter_context(looking(server))
            stack.enter_context(answering(server))
        async with opened(door, server) as ask:
            said = await ask(
                action="execute",
                invocation={"mode": case.mode},
                execution={"command": case.command, **case.execution},
            )

    assert said.code == case.code, said
    assert said.metadata["mode"] == case.mode
    assert said.metadata["intent"] == "execute_command"
    if said.status is not None:
        assert said.status == case.status
    if case.code is None:
        printed = said.result["output" if case.mode == "interactive" else "stdout"]
        assert (said.result["exit_code"], printed.strip()) == (0, "done")
        return
    assert_whole(said)
    assert said.details.get("reason") == case.reason
    assert not (server.home / "declined").exists()
    assert not (server.home / "unanswered").exists()


def assert_whole(said: Said) -> None:
    """Every error has every part of the payload."""
    assert said.error is not None
    assert set(said.error) == {"code", "message", "hint", "details"}
    parts = {"fields", "allowed", "retriable", "retry", "trace_id", "metadata"}
    assert parts <= set(said.details)
    retriable = {"PM_TERM_TIMEOUT", "PM_TERM_DISCONNECTED", "PM_TERM_GUI_UNAVAILABLE"}
    assert said.details["retriable"] is (said.code in retriable)
    assert said.details["trace_id"] == said.metadata["trace_id"]


@pytest.mark.parametrize("mode", ["interactive", "headless"])
async def test_a_timeout_has_what_was_printed_so_far(
    server: ServerProcess, door: str, mode: str
) -> None:
    with looking(server):
        async with opened(door, server) as ask:
            said = await ask(
                action="execute",
                invocation={"mode": mode},
                execution={"command": "echo so far && sleep 60", "timeout": 900},
            )

    assert said.code == "PM_TERM_TIMEOUT"
    partial = said.details["partial"]
    assert (partial["output"] or partial["stdout"]).strip() == "so far"
    assert said.details["still_running"] is (mode == "interactive")


async def test_a_refused_command_leaves_no_terminal_behind(
    server: ServerProcess, door: str
) -> None:
    with looking(server):
        async with opened(door, server) as ask:
            before = (await ask(action="list")).result["counts"]
            said = await ask(
                action="execute", execution={"command": "uname -a", "cwd": str(server.home)}
            )
            after = (await ask(action="list")).result["counts"]

    assert said.code == BLOCKED
    assert after == before


# --- the other actions --------------------------------------------------------

MODES = ["interactive", "headless"]


async def running(ask: Asking, mode: str) -> str:
    """A terminal of the caller's own, in which something runs."""
    if mode == "headless":
        said = await ask(
            action="execute",
            invocation={"mode": mode},
            execution={"command": "sleep 60"},
            runtime={"background": True},
        )
    else:
        said = await ask(action="execute", execution={"intent": "open_only"})
    return said.session


@pytest.mark.parametrize("mode", MODES)
async def test_what_runs_is_listed_read_and_ended_in_its_own_mode_only(
    server: ServerProcess, door: str, mode: str
) -> None:
    other = "headless" if mode == "interactive" else "interactive"
    with looking(server):
        async with opened(door, server) as ask:
            name = await running(ask, mode)
            target = {"session": name}
            listed = {
                each: [
                    item["session"]
                    for item in (await ask(action="list", invocation={"mode": each})).result[
                        "terminals"
                    ]
                ]
                for each in MODES
            }
            strange = [
                (await ask(action=action, invocation={"mode": other}, target=target)).code
                for action in ("read_output", "terminate")
            ]
            read = await ask(action="read_output", invocation={"mode": mode}, target=target)
            ended = await ask(action="terminate", invocation={"mode": mode}, target=target)
            again = await ask(action="terminate", invocation={"mode": mode}, target=target)

    assert name in listed[mode]
    assert name not in listed[other]
    assert strange == ["PM_TERM_NOT_FOUND"] * 2
    assert read.result["state"] != "exited"
    assert (ended.result["state"], ended.result["was_running"]) == ("exited", True)
    assert (again.result["state"], again.result["was_running"]) == ("exited", False)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("action", ["read_output", "terminate"])
async def test_a_target_that_is_not_there_says_to_list(
    server: ServerProcess, door: str, action: str, mode: str
) -> None:
    async with opened(door, server) as ask:
        said = await ask(action=action, invocation={"mode": mode}, target={"session": "nowhere"})

    assert said.code == "PM_TERM_NOT_FOUND"
    assert "list" in (said.error or {})["hint"]
    assert said.details["retry"] == "after_list"
    assert_whole(said)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("action", ["read_output", "terminate", "list"])
async def test_rules_deny_the_other_actions_too(
    closed_server: ServerProcess, door: str, action: str, mode: str
) -> None:
    with looking(closed_server):
        async with opened(door, closed_server) as ask:
            name = await running(ask, mode)
            asked: Json = {"action": action, "invocation": {"mode": mode}}
            if action != "list":
                asked["target"] = {"session": name}
            said = await ask(**asked)

    assert said.code == BLOCKED
    assert said.details["reason"] == "denied_by_rule"
    assert said.details["rule"] == "rule:hands-off"
    assert_whole(said)

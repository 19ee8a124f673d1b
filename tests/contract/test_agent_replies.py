"""What an agent is told: of the person who answered, of what was wrong, and what to do then."""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from duetty.edges.mcp.dialects.terminal import TERMINAL, without_aliases
from duetty.errors import ApprovalRejected, PolicyDenied
from duetty.ops.contract.compat import bridge
from duetty.ops.contract.failures import InvalidPayload, failure_of
from duetty.ops.contract.request import checked
from duetty.wire.contract import TerminalParams
from tests.approvals.asking import AgentCall, waiting
from tests.contract.doors import DOORS, opened
from tests.contract.people import looking
from tests.edges.mcp.host import hosted
from tests.server_process import ServerProcess

Json = dict[str, Any]

RULES = """
[[policy.rules]]
name = "asks"
decide = "ask"
command = ["touch **"]

[[policy.rules]]
name = "asks-to-open"
decide = "ask"
operation = ["session.open"]
cwd = "/usr"
"""


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    with tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as name:
        (Path(name) / "config.toml").write_text(RULES)
        server = ServerProcess(Path(name))
        server.start()
        try:
            server.client.post("/sessions", {"name": "s"})
            yield server
        finally:
            server.end()


def answered(server: ServerProcess, path: str, body: Json, **answer: object) -> tuple[str, Json]:
    """The question's id, and what the agent got after a person's yes."""
    with looking(server):
        call = AgentCall(server, "", path=path, body=body)
        approval = waiting(server)["id"]
        server.client.post(f"/approvals/{approval}/approve", answer)
        call.over()
    assert call.status in (200, 201), call.answer
    return approval, call.answer


# --- who answered, and what ran -------------------------------------------------------


@pytest.mark.pty
@pytest.mark.parametrize("mode", ["interactive", "headless"])
def test_the_contract_tells_that_a_person_put_another_line_in_place(
    server: ServerProcess, mode: str
) -> None:
    body: Json = {"action": "execute", "invocation": {"mode": mode}}
    body["execution"] = {"command": "touch nothing"}

    approval, edited = answered(
        server, "/terminal", body, command_line="echo edited", note="rather this"
    )
    again, plain = answered(server, "/terminal", body)

    assert "edited" in (edited["result"]["output"] or edited["result"]["stdout"])
    assert edited["metadata"]["approval"] == {
        "id": approval,
        "edited": True,
        "command": "echo edited",
        "note": "rather this",
    }
    assert plain["metadata"]["approval"] == {
        "id": again,
        "edited": False,
        "command": None,
        "note": None,
    }


@pytest.mark.pty
def test_a_command_that_was_ended_tells_it_too(server: ServerProcess) -> None:
    body: Json = {"action": "execute", "invocation": {"mode": "headless"}}
    body["execution"] = {"command": "touch nothing", "timeout": 3_000}
    with looking(server):
        call = AgentCall(server, "", path="/terminal", body=body)
        approval = waiting(server)["id"]
        server.client.post(f"/approvals/{approval}/approve", {"command_line": "sleep 30"})
        call.over()

    assert call.answer["error"]["code"] == "PM_TERM_TIMEOUT"
    assert call.answer["error"]["details"]["metadata"]["approval"]["command"] == "sleep 30"


@pytest.mark.pty
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/sessions/s/run", {"input": "touch nothing"}),
        ("/processes/run", {"command": "touch nothing"}),
        ("/processes", {"command": "touch nothing"}),
    ],
    ids=["command.run", "process.run", "process.start"],
)
def test_so_do_the_operations(server: ServerProcess, path: str, body: Json) -> None:
    approval, ran = answered(server, path, body, command_line="echo edited")

    told = ran.get("process", ran)["approved"]
    assert told == {"id": approval, "edited": True, "command": "echo edited", "note": None}


@pytest.mark.pty
@pytest.mark.parametrize(
    ("dialect", "tool", "arguments"),
    [
        ("wsh", "wsh_run_command", {"session": "s", "input": "touch nothing"}),
        ("command", "run_command", {"command": "touch nothing"}),
        ("command", "run_command", {"command": "touch nothing", "background": True}),
    ],
)
def test_and_the_other_dialects(
    server: ServerProcess, dialect: str, tool: str, arguments: Json
) -> None:
    with looking(server), hosted(server, "--dialect", dialect) as host:
        host.shake_hands()
        host.begin("tools/call", {"name": tool, "arguments": arguments})
        approval = waiting(server)["id"]
        server.client.post(f"/approvals/{approval}/approve", {"command_line": "echo edited"})
        content = host.hear_answer()["result"]["structuredContent"]

    assert content["approved"]["id"] == approval
    assert (content["approved"]["edited"], content["approved"]["command"]) == (True, "echo edited")


@pytest.mark.pty
def test_where_nobody_was_asked_there_is_nothing_to_tell(server: ServerProcess) -> None:
    ran = AgentCall(server, "", path="/processes/run", body={"command": "echo x"})
    ran.over()

    assert ran.answer["process"]["approved"] is None


@pytest.mark.pty
def test_of_two_calls_each_tells_of_its_own_question(server: ServerProcess) -> None:
    """A terminal is opened, which is asked about; the command in it is not."""
    body: Json = {"action": "execute", "execution": {"command": "echo x", "cwd": "/usr"}}

    _, ran = answered(server, "/terminal", body)

    assert ran["result"]["exit_code"] == 0
    assert ran["metadata"]["approval"] is None


# --- credentials ----------------------------------------------------------------------


@pytest.mark.pty
@pytest.mark.anyio
@pytest.mark.parametrize(("scope", "missing"), [("read", "control"), ("control", "read")])
async def test_a_credential_that_lacks_a_scope_is_blocked_whichever_it_lacks(
    server: ServerProcess, scope: str, missing: str
) -> None:
    made = server.client.post("/tokens", {"name": f"only-{scope}", "scopes": [scope]})
    async with opened(DOORS[0], server, token=made["token"]) as ask:
        said = await ask(
            action="execute", invocation={"mode": "headless"}, execution={"command": "pwd"}
        )

    assert said.code == "PM_TERM_BLOCKED_DESTRUCTIVE"
    assert (said.details["reason"], said.details["rule"]) == ("denied_by_rule", f"scope:{missing}")
    assert {"fields", "allowed", "retriable", "retry", "trace_id", "metadata"} <= set(said.details)


# --- a terminal that is busy ----------------------------------------------------------


@pytest.mark.pty
def test_a_terminal_that_something_else_has_is_busy(server: ServerProcess) -> None:
    def run(line: str, timeout: int) -> AgentCall:
        body: Json = {"action": "execute", "target": {"session": "mine"}}
        return AgentCall(
            server, "", path="/terminal", body=body | {"execution": {"command": line, "timeout": timeout}}
        )  # fmt: skip

    with looking(server):
        opening: Json = {"action": "create", "runtime": {"name": "mine"}}
        AgentCall(server, "", path="/terminal", body=opening).over()
        first = run("sleep 4", 60_000)
        server.client.post("/sessions/mine/wait", {"state": ["running"], "max_wait_ms": 20_000})
        second = run("echo two", 700)
        second.over()
        first.over()

    details = second.answer["error"]["details"]
    assert (second.answer["error"]["code"], details["reason"]) == (
        "PM_TERM_TIMEOUT",
        "session_busy",
    )
    assert (details["still_running"], details["retriable"]) == (False, True)


@pytest.mark.pty
def test_a_signal_has_one_name_in_both_modes(server: ServerProcess) -> None:
    ran = AgentCall(
        server,
        "",
        path="/terminal",
        body={"action": "execute", "invocation": {"mode": "headless"}, "runtime": {"background": True}, "execution": {"command": "sleep 50"}},
    )  # fmt: skip
    ran.over()
    ended = AgentCall(
        server,
        "",
        path="/terminal",
        body={"action": "terminate", "invocation": {"mode": "headless"}, "target": ran.answer["target"] and {"session": ran.answer["target"]["session"]}},
    )  # fmt: skip
    ended.over()

    assert ended.answer["result"]["exit_signal"] == "SIGTERM"


# --- requests -------------------------------------------------------------------------


def problems(request: Json) -> Json:
    with pytest.raises(InvalidPayload) as refused:
        checked(bridge(request))
    fields: Any = refused.value.details["fields"]
    return fields


@pytest.mark.parametrize("action", ["list", "read_output", "terminate"])
def test_a_directory_means_nothing_where_nothing_begins(action: str) -> None:
    request: Json = {"action": action, "runtime": {"default_cwd": "/tmp"}}
    if action != "list":
        request["target"] = {"session": "x"}

    assert list(problems(request)) == ["runtime.default_cwd"]


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        ({"action": "list", "foo": None}, "foo"),
        ({"action": "execute", "execution": {"command": "ls", "foo": None}}, "execution.foo"),
    ],
)
def test_what_is_unknown_is_so_with_null_too(request_: Json, field: str) -> None:
    assert list(problems(TerminalParams.model_validate(request_).given())) == [field]


@pytest.mark.parametrize("action", ["run", "execute"])
def test_null_is_the_same_as_left_out_beside_the_action_too(action: str) -> None:
    request: Json = {"action": action, "cwd": None, "execution": {"command": "ls", "cwd": None}}

    assert checked(bridge(request)).execution.command == "ls"


def test_list_is_in_the_table_of_aliases_and_may_be_flat() -> None:
    bridged = bridge({"action": "list", "mode": "headless"})

    assert (checked(bridged).mode, bridged.shape, bridged.alias.normalised) == (
        "headless",
        "flat",
        False,
    )
    assert bridge({"action": "list", "mode": "headless"}, takes_aliases=False).shape == "canonical"


def test_half_a_character_is_no_action_and_no_mode() -> None:
    assert list(problems({"action": "\ud800"})) == ["action"]
    assert list(problems({"action": "list", "invocation": {"mode": "\ud800"}})) == [
        "invocation.mode"
    ]


@pytest.mark.parametrize(
    ("part", "given", "told"),
    [
        ("runtime", {"name": "x" * 201}, {"runtime.name": "must have at most 200 characters"}),
        (
            "execution",
            {"command": "ls", "args": ["x"] * 10_001},
            {"execution.args": "must have at most 10000 items"},
        ),
        (
            "execution",
            {"command": "ls", "env": {"A\0": "x"}},
            {"execution.env.A\\x00": "must not contain a NUL character"},
        ),
    ],
)
def test_what_is_wrong_is_told_in_words(part: str, given: Json, told: Json) -> None:
    assert problems({"action": "execute", "execution": {"command": "ls"}, part: given}) == told


@pytest.mark.pty
@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('{"x":' + "[" * 40_000 + "]" * 40_000 + "}", "the body is nested too deeply"),
        ('{"x":' + "9" * 5_000 + "}", "the body holds a number of more than 400 digits"),
    ],
    ids=["deep", "long number"],
)
def test_json_that_is_not_read_is_not_called_something_else(
    server: ServerProcess, body: str, message: str
) -> None:
    call = AgentCall(server, "", path="/terminal", body=body)
    call.over()

    error = call.answer["error"]
    assert (error["code"], error["message"]) == ("PM_TERM_INVALID_PAYLOAD", message)


@pytest.mark.parametrize(("takes", "offered"), [(True, True), (False, False)])
def test_aliases_are_offered_while_they_are_taken(takes: bool, offered: bool) -> None:
    dialect = TERMINAL if takes else without_aliases()
    (tool,) = dialect.tools

    assert ("create" in json.dumps(tool.input_schema()["properties"]["action"])) is offered


# --- hints ----------------------------------------------------------------------------


def test_a_no_to_something_destructive_still_says_not_to_repeat_it() -> None:
    error = ApprovalRejected("a person declined it", hint="name single files", details={})

    assert failure_of(error).hint == (
        "do not try the same again; ask the person what they want instead; perhaps: name single files"
    )


def test_what_nobody_could_be_asked_about_is_not_to_be_sent_again_as_it_was() -> None:
    error = PolicyDenied(
        "not run", hint="open the page, then try again", details={"nobody_to_ask": True}
    )

    failure = failure_of(error)

    assert (failure.details["retriable"], failure.details["retry"]) == (False, "after_change")
    assert "try again" not in (failure.hint or "")
    assert "change the command" in (failure.hint or "")

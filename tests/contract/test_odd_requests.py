"""Odd requests and odd surroundings, through the real server: each has its code, and says what it is about."""

import http.client
import json
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import pytest

from duetty.client.view_protocol import Viewing
from tests.contract.conftest import RULES
from tests.contract.doors import DOORS, opened
from tests.contract.people import looking
from tests.edges.mcp.host import hosted
from tests.server_process import ServerProcess, running_server

pytestmark = [pytest.mark.anyio, pytest.mark.pty]

Json = dict[str, Any]


@pytest.fixture(params=DOORS)
def door(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def posted(
    server: ServerProcess, body: bytes, path: str = "/terminal", **headers: str
) -> tuple[int, Json]:
    address = urlsplit(server.url())
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=60)
    given = {"Authorization": f"Bearer {server.token()}", "Content-Type": "application/json"}
    try:
        connection.request("POST", path, body, given | headers)
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


@contextmanager
def attached(server: ServerProcess, session: str) -> Generator[None]:
    """A terminal that shows one session and no list of them."""
    viewing = Viewing.connect(server.paths.server_socket)
    try:
        viewing.open(session, cols=80, rows=24)
        while not any(
            isinstance(told, dict) and told["type"] == "opened" for told in viewing.receive()
        ):
            pass
        yield
    finally:
        viewing.close()


@pytest.mark.parametrize(
    "body",
    [
        b"[]",
        b'"x"',
        b"{",
        b"null",
        b"7",
        b"\xff\xfe",
        b"",
        b"{}",
        b'{"action": "list", "action": "list"}',
    ],
)
def test_a_body_that_is_no_request_is_told_like_any_bad_payload(
    server: ServerProcess, body: bytes
) -> None:
    status, told = posted(server, body)

    error = told["error"]
    assert (status, error["code"]) == (400, "PM_TERM_INVALID_PAYLOAD")
    assert error["details"]["trace_id"] == error["details"]["metadata"]["trace_id"]
    assert set(error["details"]) == {
        "fields",
        "allowed",
        "retriable",
        "retry",
        "trace_id",
        "metadata",
    }
    assert error["details"]["fields"]
    assert error["details"]["metadata"]["alias"]["normalised"] is False


def test_a_key_that_stands_twice_at_any_depth_is_refused(server: ServerProcess) -> None:
    body = b'{"action": "execute", "execution": {"command": "echo one", "command": "echo two"}}'

    status, told = posted(server, body)
    other = posted(server, b'{"name": "one", "name": "two"}', "/sessions")

    assert (status, told["error"]["code"]) == (400, "PM_TERM_INVALID_PAYLOAD")
    assert "command" in told["error"]["message"]
    assert (other[0], other[1]["error"]["code"]) == (400, "invalid_request")


@pytest.mark.parametrize("mebibytes", [2, 8])
def test_a_body_that_is_too_large_is_answered_before_the_connection_closes(
    server: ServerProcess, mebibytes: int
) -> None:
    body = json.dumps({"action": "list", "compat": {"x": "x" * (mebibytes << 20)}}).encode()

    status, told = posted(server, body)

    assert (status, told["error"]["code"]) == (413, "body_too_large")


@pytest.mark.parametrize("text", ["echo \x03", "echo \x1b[A", "echo \x7f"])
async def test_a_control_character_is_told_whatever_else_would_be(
    server: ServerProcess, door: str, text: str
) -> None:
    """Nobody looks, there is no such target, no spec proves it: the payload comes first."""
    async with opened(door, server) as ask:
        answers = [
            await ask(action="execute", execution={"command": text}, **more)
            for more in ({}, {"invocation": {"mode": "headless"}}, {"target": {"session": "none"}})
        ]
        words = [
            await ask(action="execute", execution={"command": "echo", "args": ["x", word]})
            for word in (text, "a\rb", "a\r\nb")
        ]

    assert {each.code for each in answers} == {"PM_TERM_INVALID_PAYLOAD"}
    assert [list(each.details["fields"]) for each in answers] == [["execution.command"]] * 3
    assert [list(each.details["fields"]) for each in words] == [["execution.args.1"]] * 3


@pytest.mark.parametrize(
    ("request_", "rule"),
    [
        ({"execution": {"command": "ls", "env": {"LD_PRELOAD": "./x.so"}}}, "headless:env"),
        ({"execution": {"command": "bash", "stdin": "echo hello"}}, "headless:stdin"),
        ({"action": "terminate", "target": {"session": "none"}}, None),
    ],
    ids=["variables", "piped", "not found"],
)
async def test_what_the_contract_refuses_itself_is_in_the_trail_under_its_trace_id(
    server: ServerProcess, door: str, request_: Json, rule: str | None
) -> None:
    async with opened(door, server) as ask:
        refused = await ask(
            **({"action": "execute", "invocation": {"mode": "headless"}} | request_)
        )

    [record] = server.client.get("/audit", text=refused.details["trace_id"])
    assert (record["kind"], record["operation"]) == ("call", "terminal.act")
    assert (record["outcome"], record.get("rule")) == (refused.code, rule)


async def test_a_shell_for_a_command_that_may_not_run_is_not_ended_within_a_persons_files(
    door: str,
) -> None:
    with tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as name:
        home = Path(name)
        (home / ".bashrc").write_text("touch ~/begun; sleep 0.5; touch ~/ended\n")
        (home / "config.toml").write_text(RULES)
        with running_server(home, HOME=name, SHELL="/bin/bash") as server, looking(server):
            async with opened(door, server) as ask:
                refused = await ask(action="execute", execution={"command": "uname -a"})
        left = [(home / each).exists() for each in ("begun", "ended")]

    assert refused.code == "PM_TERM_BLOCKED_DESTRUCTIVE"
    assert left == [True, True]


@pytest.mark.parametrize("mode", ["interactive", "headless"])
async def test_a_directory_that_is_not_there_is_told_under_the_field_that_named_it(
    server: ServerProcess, door: str, mode: str
) -> None:
    run: Json = {"action": "execute", "invocation": {"mode": mode}}
    with looking(server):
        async with opened(door, server) as ask:
            default = await ask(
                **run,
                execution={"command": "echo x"},
                runtime={
                    "default_cwd": "/nowhere",
                    **({"rows": 30} if mode == "interactive" else {}),
                },
            )
            own = await ask(
                **run,
                execution={"command": "echo x", "cwd": "/nowhere"},
                runtime={"default_cwd": "/"},
            )

    assert (default.code, own.code) == ("PM_TERM_INVALID_PAYLOAD",) * 2
    assert list(default.details["fields"]) == ["runtime.default_cwd"]
    assert list(own.details["fields"]) == ["execution.cwd"]


async def test_a_directory_that_is_not_there_is_told_whichever_terminals_are_free(
    server: ServerProcess, door: str
) -> None:
    run: Json = {"action": "execute", "execution": {"command": "echo x"}}
    nowhere: Json = {"runtime": {"default_cwd": "/nowhere"}}
    with looking(server):
        async with opened(door, server) as ask:
            with_none = await ask(**run, runtime={"default_cwd": "/nowhere", "rows": 40})
            made = await ask(action="create", runtime={"rows": 41})
            its = {"session": made.session}
            with anyio.fail_after(60):
                while (await ask(action="read_output", target=its)).result["state"] != "prompt":
                    pass
            with_one = await ask(**run, **nowhere)
            with_target = await ask(**run, **nowhere, target=its)
            in_place = await ask(
                action="execute",
                execution={"command": "pwd", "cwd": "/"},
                runtime={"default_cwd": "/nowhere"},
            )
            there = await ask(**run, runtime={"default_cwd": "~"}, target=its)
            for each in (made, in_place):
                await ask(action="terminate", target={"session": each.session})

    told = [with_none, with_one, with_target]
    assert [each.code for each in told] == ["PM_TERM_INVALID_PAYLOAD"] * 3
    assert [list(each.details["fields"]) for each in told] == [["runtime.default_cwd"]] * 3
    assert in_place.result["output"].strip() == "/"
    assert there.result["exit_code"] == 0


@pytest.mark.parametrize("hints", [{}, {"default_cwd": None}, {"default_cwd": None, "cols": None}])
def test_on_stdio_a_command_begins_where_its_host_works_unless_it_is_told(
    server: ServerProcess, tmp_path: Path, hints: Json
) -> None:
    run: Json = {"action": "execute", "execution": {"command": "pwd"}}
    with hosted(server, "--dialect", "terminal", cwd=tmp_path) as host:
        host.shake_hands()
        headless = host.call("terminal", **run, invocation={"mode": "headless"}, runtime=hints)
        unknown = host.call("terminal", **run, runtime={**hints, "bogus": None})

    assert headless["result"]["stdout"].strip() == str(tmp_path)
    assert list(unknown["error"]["details"]["fields"]) == ["runtime.bogus"]


def test_on_stdio_a_host_whose_directory_is_gone_goes_on_in_its_terminals(
    server: ServerProcess, tmp_path: Path
) -> None:
    place = tmp_path / "gone"
    place.mkdir()
    with looking(server), hosted(server, "--dialect", "terminal", cwd=place) as host:
        host.shake_hands()
        made = host.call("terminal", action="create", runtime={"rows": 42})
        its = {"session": made["target"]["session"]}
        place.rmdir()
        goes_on = host.call(
            "terminal", action="execute", execution={"command": "echo x"}, target=its
        )
        begins = host.call("terminal", action="create")
        host.call("terminal", action="terminate", target=its)

    assert goes_on["result"]["exit_code"] == 0
    assert list(begins["error"]["details"]["fields"]) == ["runtime.default_cwd"]


async def test_the_id_of_a_session_is_as_well_known_in_the_other_mode_as_its_name(
    server: ServerProcess, door: str
) -> None:
    with looking(server):
        async with opened(door, server) as ask:
            made = await ask(action="create", runtime={"rows": 31})
            listed = server.client.get(f"/sessions/{made.session}")
            told = [
                await ask(
                    action="read_output", invocation={"mode": "headless"}, target={"session": name}
                )
                for name in (made.session, listed["id"])
            ]
            await ask(action="terminate", target={"session": made.session})

    assert [each.code for each in told] == ["PM_TERM_NOT_FOUND"] * 2
    assert [each.details["reason"] for each in told] == ["other_mode"] * 2
    assert "interactive" in (told[1].error or {})["hint"]


async def test_the_exit_code_of_a_terminal_that_has_ended_is_read(
    server: ServerProcess, door: str
) -> None:
    with looking(server):
        async with opened(door, server) as ask:
            made = await ask(action="create", runtime={"rows": 32})
            its = {"session": made.session}
            before = await ask(action="execute", execution={"command": "true"}, target=its)
            last = await ask(action="execute", execution={"command": "exit 7"}, target=its)
            with anyio.fail_after(60):
                read = await ask(action="read_output", target=its)
                while read.result["state"] != "exited":
                    read = await ask(action="read_output", target=its, execution={"timeout": 1_000})

            ended = await ask(action="execute", execution={"command": "true"}, target=its)
            unknown = await ask(
                action="execute", execution={"command": "true"}, target={"session": "none"}
            )

    told = {"target.session": "use one that list gives"}
    assert [each.code for each in (ended, unknown)] == ["PM_TERM_NOT_FOUND"] * 2
    assert [each.details["fields"] for each in (ended, unknown)] == [told] * 2
    assert before.result["exit_code"] == 0
    assert last.result["exit_code"] == 7
    assert read.result["exit_code"] == 7


async def test_a_terminal_that_shows_another_session_shows_no_new_one(
    server: ServerProcess, door: str
) -> None:
    server.client.post("/sessions", {"name": f"mine-{door}"})
    async with opened(door, server) as ask:
        with looking(server):
            made = await ask(action="create", runtime={"rows": 33})
        its = {"session": made.session}
        with attached(server, f"mine-{door}"):
            unseen = [
                await ask(action="execute", execution={"command": "touch unseen"}),
                await ask(action="create"),
                await ask(action="execute", execution={"command": "touch unseen"}, target=its),
            ]
        with attached(server, made.session):
            new = await ask(action="create")
            seen = await ask(action="execute", execution={"command": "echo seen"}, target=its)
            free = await ask(action="execute", execution={"command": "echo free"})
        await ask(action="terminate", target=its)

    assert [each.code for each in unseen] == ["PM_TERM_GUI_UNAVAILABLE"] * 3
    assert all(each.details["retriable"] for each in unseen)
    assert new.code == "PM_TERM_GUI_UNAVAILABLE"
    assert seen.result["output"].strip() == "seen"
    assert free.session == made.session
    assert not (server.home / "unseen").exists()


@pytest.mark.anyio
@pytest.mark.parametrize("door", DOORS)
async def test_a_server_that_is_not_known_is_a_bad_payload(
    server: ServerProcess, door: str
) -> None:
    async with opened(door, server) as ask:
        said = await ask(action="list", server="nowhere")

    assert said.code == "PM_TERM_INVALID_PAYLOAD"
    assert list(said.details["fields"]) == ["server"]

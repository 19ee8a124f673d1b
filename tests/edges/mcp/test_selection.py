"""A call that names no session: none, one or several active, through every dialect, in both eras."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp import Client
from mcp import types as t
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from duetty.client import session_path
from tests.edges.mcp.connect import WAYS, call, connected
from tests.server_process import ServerProcess

pytestmark = [pytest.mark.anyio, pytest.mark.pty]

LOOK = {"wsh": "wsh_get_screen", "elwood": "terminal_read_screen", "terminal": "terminal"}
GIVEN: dict[str, dict[str, Any]] = {
    "wsh": {"format": "plain"},
    "elwood": {},
    "terminal": {"action": "read_output"},
}
CODES = {
    ("terminal", "no_active_session"): "PM_TERM_NOT_FOUND",
    ("terminal", "multiple_sessions"): "PM_TERM_INVALID_PAYLOAD",
}
SAYS_HOW = {"wsh": "wsh_create_session", "elwood": "terminal_execute", "terminal": "execute"}


@pytest.fixture(autouse=True)
def no_sessions(server: ServerProcess) -> None:
    for each in server.client.get("/sessions"):
        server.client.delete(session_path(each["name"]))


def opened(server: ServerProcess, *names: str) -> None:
    for name in names:
        server.client.post("/sessions", {"name": name, "command": "cat"})


async def looked(client: Client, dialect: str) -> tuple[bool, dict[str, Any]]:
    result = await client.call_tool(LOOK[dialect], GIVEN[dialect])
    return bool(result.is_error), dict(result.structured_content or {})


def session_of(dialect: str, answer: dict[str, Any]) -> str:
    if dialect == "terminal":
        return answer["target"]["session"]
    return answer["pane_id" if dialect == "elwood" else "session"]


async def own_opened(server: ServerProcess, client: Client, dialect: str, *names: str) -> None:
    """Where a caller sees its own sessions only, they are its own."""
    if dialect != "terminal":
        return opened(server, *names)
    async with connected("stdio-2026", server) as other:
        for name in names:
            await call(other, "wsh_create_session", name=name, command="cat")
    return None


@pytest.mark.parametrize("way", ["stdio-2025", "http-2026"])
@pytest.mark.parametrize("dialect", LOOK)
async def test_none_one_and_several_in_every_dialect(
    server: ServerProcess, dialect: str, way: str
) -> None:
    if dialect == "terminal":
        way = way.replace("http", "stdio")  # of one caller, who sees its own
    async with connected(way, server, dialect=dialect) as client:
        failed, none = await looked(client, dialect)
        await own_opened(server, client, dialect, "one")
        fine, one = await looked(client, dialect)
        await own_opened(server, client, dialect, "two")
        failed_too, several = await looked(client, dialect)

    assert (failed, fine, failed_too) == (True, False, True)
    codes = [none["error"]["code"], several["error"]["code"]]
    wanted = ["no_active_session", "multiple_sessions"]
    assert codes == [CODES.get((dialect, code), code) for code in wanted]
    assert SAYS_HOW[dialect] in none["error"]["hint"]
    assert session_of(dialect, one) == "one"
    details = several["error"]["details"] if dialect == "terminal" else several
    assert {each["name"] for each in details["candidates"]} == {"one", "two"}
    assert set(details["candidates"][0]) == {
        "sessionId", "name", "title", "machine", "cwd", "lastActivityMs"
    }  # fmt: skip
    for each in details["candidates"]:
        assert f"({each['sessionId']} \u2013 {each['name']}: " in several["error"]["message"]


@pytest.mark.parametrize("way", WAYS)
async def test_a_host_that_can_asks_its_person_and_the_answer_holds_until_that_session_ends(
    server: ServerProcess, way: str
) -> None:
    asked: list[Any] = []

    async def choose(context: Any, params: t.ElicitRequestFormParams) -> t.ElicitResult:
        wanted = params.requested_schema["properties"]["session"]
        asked.append(wanted["enumNames"])
        [label] = [each for each in wanted["enumNames"] if each.startswith("two: ")]
        chosen = wanted["enum"][wanted["enumNames"].index(label)]
        return t.ElicitResult(action="accept", content={"session": chosen})

    opened(server, "one", "two", "three")
    async with connected(way, server, elicitation_callback=choose) as client:
        first = await call(client, "wsh_get_screen", format="plain")
        again = await call(client, "wsh_send_input", input="x")
        server.client.delete(session_path("two"))
        opened(server, "two")
        anew = await call(client, "wsh_get_screen", format="plain")

    remembers = way != "http-2026"  # there no request knows of another
    assert [each["session"] for each in (first, again, anew)] == ["two"] * 3
    assert len(asked) == (2 if remembers else 3)
    assert len(asked[0]) == 3


@pytest.mark.parametrize("way", ["stdio-2025", "stdio-2026"])
@pytest.mark.parametrize("dialect", ["elwood", "terminal"])
async def test_a_host_that_can_asks_in_every_dialect_once(
    server: ServerProcess, dialect: str, way: str
) -> None:
    asked: list[Any] = []

    async def choose(context: Any, params: t.ElicitRequestFormParams) -> t.ElicitResult:
        wanted = params.requested_schema["properties"]["session"]
        asked.append(wanted["enumNames"])
        [at] = [at for at, each in enumerate(wanted["enumNames"]) if each.startswith("two: ")]
        return t.ElicitResult(action="accept", content={"session": wanted["enum"][at]})

    async with connected(way, server, dialect=dialect, elicitation_callback=choose) as client:
        await own_opened(server, client, dialect, "one", "two")
        looks = [await looked(client, dialect) for _ in range(2)]

    assert [(failed, session_of(dialect, told)) for failed, told in looks] == [(False, "two")] * 2
    assert len(asked) == 1


@pytest.mark.parametrize("way", ["stdio-2025", "stdio-2026"])
async def test_a_person_who_does_not_choose_leaves_the_error(
    server: ServerProcess, way: str
) -> None:
    async def decline(context: Any, params: Any) -> t.ElicitResult:
        return t.ElicitResult(action="decline")

    opened(server, "one", "two")
    async with connected(way, server, elicitation_callback=decline) as client:
        failed, told = await looked(client, "wsh")

    assert (failed, told["error"]["code"]) == (True, "multiple_sessions")


async def test_the_next_call_that_names_a_candidate_is_the_choice_and_no_other_call_is(
    server: ServerProcess,
) -> None:
    opened(server, "one", "two")
    async with connected("stdio-2025", server) as client:
        await call(client, "wsh_get_screen", session="one", format="plain")
        failed, _ = await looked(client, "wsh")
        await call(client, "wsh_get_screen", session="two", format="plain")
        chosen = await call(client, "wsh_get_screen", format="plain")
        await call(client, "wsh_get_screen", session="one", format="plain")
        still = await call(client, "wsh_get_screen", format="plain")
    async with connected("stdio-2025", server) as client:
        failed_elsewhere, _ = await looked(client, "wsh")

    assert (failed, failed_elsewhere) == (True, True)
    assert (chosen["session"], still["session"]) == ("two", "two")


@pytest.mark.parametrize("era", ["2025", "2026"])
async def test_a_header_names_the_session_of_every_call_that_leaves_it_out(
    server: ServerProcess, era: str
) -> None:
    opened(server, "one", "two")
    async with _with_header(server, era, "two") as client:
        by_header = await call(client, "wsh_get_screen", format="plain")
        by_argument = await call(client, "wsh_list_sessions", session="one")

    assert (by_header["session"], by_argument["name"]) == ("two", "one")


@asynccontextmanager
async def _with_header(server: ServerProcess, era: str, session: str) -> AsyncGenerator[Client]:
    headers = {"Authorization": f"Bearer {server.token()}", "Duetty-Session": session}
    async with create_mcp_http_client(headers=headers) as http:
        transport = streamable_http_client(f"{server.url()}/mcp", http_client=http)
        async with Client(transport, mode="legacy" if era == "2025" else "auto") as client:
            yield client


async def test_a_command_in_the_background_is_nobodys_to_choose(server: ServerProcess) -> None:
    opened(server, "one")
    async with connected("stdio-2026", server) as client:
        begun = await call(client, "wsh_run_command", input="sleep 600", background=True)
        after = await call(client, "wsh_get_screen", format="plain")

    assert begun["session"] == after["session"] == "one"


async def test_what_a_program_wrote_into_its_title_is_short_clean_and_marked_as_data(
    server: ServerProcess,
) -> None:
    opened(server, "two")
    title = "\\033]0;obey\\u202e " + "x" * 500 + "\\007"
    server.client.post("/sessions", {"name": "one", "command": f"printf '{title}'; cat"})
    server.client.post(session_path("one", "/wait"), {"idle_ms": 200})
    async with connected("stdio-2026", server) as client:
        _, told = await looked(client, "wsh")

    [title] = [each["title"] for each in told["candidates"] if each["name"] == "one"]
    assert title.isprintable()
    assert (title[:4], len(title)) == ("obey", 100)
    assert "data" in told["candidates_are"]


async def test_execute_of_elwood_opens_a_pane_where_there_is_none(server: ServerProcess) -> None:
    async with connected("stdio-2026", server, dialect="elwood") as client:
        ran = await call(client, "terminal_execute", command="echo $((6 * 7))")
        again = await call(client, "terminal_execute", command="echo again")

    assert (ran["output"], again["pane_id"]) == ("42", ran["pane_id"])

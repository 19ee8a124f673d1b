"""MCP at a hub: an agent's tools reach the sessions of its user's machines, and choose among them."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, cast

import httpx
import pytest

from tests.hub.conftest import Servers, wait_for

pytestmark = [pytest.mark.pty]


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    with ExitStack() as stack:
        yield Servers(stack)


@pytest.fixture(scope="module")
def agent(servers: Servers) -> httpx.Client:
    """An agent of ann, who has two machines with a shell each."""
    servers.hub.client.post("/users", {"name": "ann"})
    given = {"scopes": ["read", "input", "control", "join"]}
    token = servers.hub.client.post("/users/ann/tokens", given)["token"]
    file = servers.hub.home / "ann.token"
    file.write_text(token)
    for name in ("north", "south"):
        machine = servers.start(name)
        assert machine.command("join", servers.hub.url(), "--token-file", str(file)).returncode == 0
    return servers.client(servers.hub, token)


def call(
    agent: httpx.Client, tool: str, /, dialect: str = "wsh", **arguments: Any
) -> dict[str, Any]:
    return called(agent, tool, dialect=dialect, **arguments)["result"]


def called(agent: httpx.Client, tool: str, /, dialect: str, **arguments: Any) -> dict[str, Any]:
    """The whole answer."""
    version = "2026-07-28"
    meta = {
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    asked = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": tool, "arguments": arguments, "_meta": meta},
    }
    headers = {
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": version,
        "Mcp-Method": "tools/call",
        "Mcp-Name": tool,
    }
    answer = agent.post(f"/mcp/{dialect}", json=asked, headers=headers)
    text = answer.text
    if text.startswith(("event:", "id:", ":")):
        text = next(line[6:] for line in text.splitlines() if line.startswith("data: {"))
    return httpx.Response(200, text=text).json()


def test_a_call_without_a_session_is_routed_refused_or_answered_with_the_choice(
    servers: Servers, agent: httpx.Client
) -> None:
    none = call(agent, "wsh_run_command", input="echo hi")
    assert none["isError"]
    assert none["structuredContent"]["error"]["code"] == "no_active_session"

    north = agent.post("/sessions", json={"name": "work", "command": "bash", "server": "north"})
    assert north.status_code == 201, north.text
    only = call(agent, "wsh_run_command", input="echo hi")
    assert "hi" in str(only)

    south = agent.post("/sessions", json={"name": "work", "command": "bash", "server": "south"})
    several = call(agent, "wsh_run_command", input="echo hi")
    told = several["structuredContent"]
    assert told["error"]["code"] == "multiple_sessions"
    assert {each["machine"] for each in told["candidates"]} == {"north", "south"}

    chosen = call(agent, "wsh_run_command", session=south.json()["id"], input="echo $((40+2))")
    by_both = call(agent, "wsh_run_command", session="south/work", input="echo $((40+3))")
    assert "42" in str(chosen)
    assert "43" in str(by_both)
    unclear = call(agent, "wsh_run_command", session="work", input="echo hi")
    assert "session_ambiguous" in str(unclear)


def test_the_list_of_sessions_is_that_of_the_users_machines(
    servers: Servers, agent: httpx.Client
) -> None:
    servers.http.post("/sessions", json={"name": "of-the-hub", "command": "cat"})

    listed = wait_for(lambda: call(agent, "wsh_list_sessions"))

    assert "of-the-hub" not in str(listed)


def test_a_model_opens_a_session_on_the_machine_that_it_names(agent: httpx.Client) -> None:
    unclear = call(agent, "wsh_create_session", name="made")
    told = unclear["structuredContent"]
    assert told["error"]["code"] == "multiple_machines"
    assert {each["server"] for each in told["machines"]} == {"north", "south"}
    assert "north" in unclear["content"][0]["text"]
    assert "`name` as MACHINE/NAME" in told["error"]["hint"]

    made = call(agent, "wsh_create_session", name="south/made", command="bash")
    [id_] = [each["id"] for each in told["machines"] if each["server"] == "north"]
    chosen = call(agent, "wsh_create_session", name=f"{id_}/", command="bash")
    wrong = agent.post("/sessions", json={"name": "west/made"})

    sessions = {each["id"]: each["server"] for each in agent.get("/sessions").json()}
    names = [made["structuredContent"]["session"], chosen["structuredContent"]["session"]]
    found = [agent.get("/sessions/made").json(), *_listed(agent, names[1].partition("/")[2])]
    assert names[0] == "south/made"
    assert [sessions[each["id"]] for each in found] == ["south", "north"]
    assert "42" in str(call(agent, "wsh_run_command", session=names[0], input="echo $((40+2))"))
    assert "43" in str(call(agent, "wsh_run_command", session=names[1], input="echo $((40+3))"))
    assert (wrong.status_code, wrong.json()["error"]["code"]) == (404, "server_not_found")


def _listed(agent: httpx.Client, name: str) -> list[dict[str, Any]]:
    return [each for each in agent.get("/sessions").json() if each["name"] == name]


def test_a_background_command_runs_on_the_machine_of_its_session(agent: httpx.Client) -> None:
    call(agent, "wsh_create_session", name="south/own", command="bash")

    begun = call(agent, "wsh_run_command", session="own", input="cat", background=True)

    [found] = _listed(agent, begun["structuredContent"]["background"])
    assert found["server"] == "south"


def test_each_vocabulary_says_how_the_machine_of_a_new_terminal_is_named(
    servers: Servers, agent: httpx.Client
) -> None:
    for each in agent.get("/sessions").json():
        agent.delete(f"/sessions/{each['id']}")
    wait_for(lambda: agent.get("/sessions").json() == [] or None)

    panes = call(agent, "terminal_execute", dialect="elwood", command="true")
    pane = call(agent, "terminal_execute", dialect="elwood", command="echo hi", pane_id="north/")
    unclear = call(agent, "terminal", dialect="terminal", action="list")
    there = call(agent, "terminal", dialect="terminal", action="list", server="south")

    assert "`pane_id` as MACHINE/" in panes["structuredContent"]["error"]["hint"]
    assert pane["structuredContent"]["pane_id"].startswith("north/"), pane
    assert "with `server`" in str(unclear), unclear
    assert not there["isError"], there


def test_sessions_of_several_machines_are_listed_with_what_selects_them(
    agent: httpx.Client,
) -> None:
    for machine in ("north", "south"):
        agent.post("/sessions", json={"name": "twin", "command": "cat", "server": machine})

    listed = call(agent, "wsh_list_sessions")["structuredContent"]["sessions"]
    panes = call(agent, "terminal_get_panes", dialect="elwood")["structuredContent"]["panes"]

    twins = {each["machine"]: each["id"] for each in listed if each["name"] == "twin"}
    assert twins.keys() == {"north", "south"}
    for machine, id_ in twins.items():
        assert agent.get(f"/sessions/{id_}").json()["server"] == machine
    assert {"north/twin", "south/twin"} <= {each["pane_id"] for each in panes}


WRONG: list[tuple[str, str, dict[str, Any], object]] = [
    ("wsh", "wsh_run_command", {"session": "nowhere", "input": "true"}, False),
    ("wsh", "wsh_run_command", {"input": 7}, False),
    ("wsh", "wsh_run_command", {"input": "true"}, False),
    ("wsh", "wsh_create_session", {"name": "made"}, False),
    ("wsh", "wsh_nothing", {}, False),
    ("elwood", "terminal_execute", {"pane_id": "north/nowhere", "command": "true"}, False),
    ("elwood", "terminal_read_screen", {}, False),
    ("terminal", "terminal", {"action": "list"}, False),
    ("terminal", "terminal", {"action": "run", "command": ["x"], "server": "north"}, False),
    (
        "terminal",
        "terminal",
        {
            "action": "run",
            "mode": "headless",
            "command": "sleep 60",
            "timeout_ms": 1_000,
            "server": "north",
        },
        "unknown",
    ),
    ("command", "run_command", {"command": "true"}, False),
    ("command", "run_command", {"nothing": 1}, False),
    ("rooms", "room__nothing", {}, False),
    ("gateway", "invoke_tool", {"name": "nowhere__nothing", "arguments": {}}, False),
]


def _executed(value: object) -> list[object]:
    """What each `executed` in it says."""
    if isinstance(value, list):
        return [one for each in cast("list[object]", value) for one in _executed(each)]
    fields = cast("dict[str, object]", value) if isinstance(value, dict) else {}
    mine = [fields["executed"]] if "executed" in fields else []
    return mine + [one for each in fields.values() for one in _executed(each)]


@pytest.fixture
def prepared(agent: httpx.Client) -> None:
    for each in agent.get("/sessions").json():
        agent.delete(f"/sessions/{each['id']}")
    for name, command in (("one", "bash"), ("two", "bash")):
        body = {"name": name, "command": command, "server": "north"}
        assert agent.post("/sessions", json=body).status_code == 201
    wait_for(lambda: len(agent.get("/sessions").json()) == 2 or None)


@pytest.mark.usefixtures("prepared")
@pytest.mark.parametrize(("dialect", "tool", "arguments", "executed"), WRONG)
def test_each_error_through_a_hub_says_whether_anything_can_have_run(
    agent: httpx.Client, dialect: str, tool: str, arguments: dict[str, Any], executed: object
) -> None:
    answer = called(agent, tool, dialect=dialect, **arguments)

    assert "error" in answer or answer["result"]["isError"], answer
    assert executed in _executed(answer), answer

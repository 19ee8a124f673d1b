"""Runs that outlive a request, cancellation, and connections that close: the shell lives on."""

import secrets
import time
from typing import Any

import httpx
import pytest

from tests.edges.mcp.host import MODERN, Host, hosted
from tests.server_process import ServerProcess

pytestmark = pytest.mark.pty

TASKS = "io.modelcontextprotocol/tasks"
WITH_TASKS: dict[str, Any] = {
    **MODERN,
    "io.modelcontextprotocol/clientCapabilities": {"extensions": {TASKS: {}}},
}


def opened(host: Host, meta: dict[str, Any] | None = None) -> str:
    name = f"t{secrets.token_hex(4)}"
    params: dict[str, Any] = {"name": "wsh_create_session", "arguments": {"name": name}}
    assert "result" in host.ask("tools/call", params | ({"_meta": meta} if meta else {}))
    return name


def run_params(session: str, line: str, **arguments: object) -> dict[str, Any]:
    wanted = {"session": session, "input": line, "view": "output", **arguments}
    return {"name": "wsh_run_command", "arguments": wanted}


def wait_status(host: Host, task: str, status: str, meta: dict[str, Any] | None) -> dict[str, Any]:
    deadline_s = time.monotonic() + 20
    while time.monotonic() < deadline_s:
        params = {"taskId": task} | ({"_meta": meta} if meta else {})
        got = host.ask("tasks/get", params)["result"]
        if got["status"] == status:
            return got
        time.sleep(0.05)
    raise AssertionError(f"the task did not become {status}")


def test_a_long_run_of_the_modern_era_becomes_a_task(server: ServerProcess) -> None:
    with hosted(server) as host:
        session = opened(host, WITH_TASKS)
        wanted = run_params(session, "sleep 6; echo done") | {"_meta": WITH_TASKS}
        made = host.ask("tools/call", wanted)["result"]
        got = wait_status(host, made["taskId"], "completed", WITH_TASKS)

    assert (made["resultType"], made["status"]) == ("task", "working")
    assert got["result"]["structuredContent"]["output"] == "done"
    assert got["result"]["resultType"] == "complete"


def test_a_short_run_of_the_modern_era_is_answered_at_once(server: ServerProcess) -> None:
    with hosted(server) as host:
        session = opened(host, WITH_TASKS)
        answer = host.ask("tools/call", run_params(session, "echo hi") | {"_meta": WITH_TASKS})

    assert answer["result"]["resultType"] == "complete"
    assert answer["result"]["structuredContent"]["output"] == "hi"


def test_a_client_without_tasks_gets_none(server: ServerProcess) -> None:
    with hosted(server) as host:
        session = opened(host, MODERN)
        wanted = run_params(session, "sleep 6; echo done") | {"_meta": MODERN}
        answer = host.ask("tools/call", wanted)["result"]
        refused = host.ask("tasks/get", {"taskId": "x", "_meta": MODERN})

    assert answer["structuredContent"]["output"] == "done"
    assert refused["error"]["code"] == -32021


def test_a_task_of_the_2025_revision_is_made_on_request_polled_and_fetched(
    server: ServerProcess,
) -> None:
    with hosted(server) as host:
        about = host.shake_hands("2025-11-25")
        tools = {tool["name"]: tool for tool in host.ask("tools/list")["result"]["tools"]}
        session = opened(host)
        wanted = run_params(session, "sleep 0.5; echo done") | {"task": {"ttl": 60_000}}
        made = host.ask("tools/call", wanted)["result"]["task"]
        listed = host.ask("tasks/list")["result"]["tasks"]
        result = host.ask("tasks/result", {"taskId": made["taskId"]})["result"]
        got = host.ask("tasks/get", {"taskId": made["taskId"]})["result"]
        refused = host.ask("tools/call", {"name": "wsh_list_sessions", "arguments": {}, "task": {}})

    assert about["capabilities"]["tasks"]["requests"] == {"tools": {"call": {}}}
    assert tools["wsh_run_command"]["execution"] == {"taskSupport": "optional"}
    assert (made["status"], made["ttl"]) == ("working", 60_000)
    assert made["taskId"] in {task["taskId"] for task in listed}
    assert result["structuredContent"]["output"] == "done"
    related = result["_meta"]["io.modelcontextprotocol/related-task"]
    assert related == {"taskId": made["taskId"]}
    assert got["status"] == "completed"
    assert refused["error"]["code"] == -32601


def test_a_cancelled_task_leaves_the_command_and_the_shell_alive(server: ServerProcess) -> None:
    with hosted(server) as host:
        host.shake_hands("2025-11-25")
        session = opened(host)
        wanted: dict[str, Any] = {**run_params(session, "sleep 1; colour=blue"), "task": {}}
        task = host.ask("tools/call", wanted)["result"]["task"]["taskId"]
        host.call("wsh_await_quiesce", session=session, timeout_ms=100)
        cancelled = host.ask("tasks/cancel", {"taskId": task})["result"]
        again = host.ask("tasks/cancel", {"taskId": task})
        after = host.call("wsh_run_command", session=session, input="echo $colour", view="output")

    assert cancelled["status"] == "cancelled"
    assert again["error"]["code"] == -32602
    assert after["output"] == "blue"


def over_http(
    server: ServerProcess,
    method: str,
    name: str,
    params: dict[str, Any],
    *,
    mine: bool = True,
    meta: dict[str, Any] = WITH_TASKS,
    timeout_s: float = 60,
) -> dict[str, Any]:
    """A request of the modern era, by the token's agent or by the person of the socket."""
    headers = {
        "Accept": "application/json, text/event-stream",
        "Mcp-Protocol-Version": "2026-07-28",
        "Mcp-Method": method,
        "Mcp-Name": name,
    } | ({"Authorization": f"Bearer {server.token()}"} if mine else {})
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": method,
        "params": {**params, "_meta": meta},
    }
    uds = None if mine else str(server.paths.server_socket)
    with httpx.Client(transport=httpx.HTTPTransport(uds=uds), timeout=timeout_s) as client:
        return client.post(f"{server.url()}/mcp", json=message, headers=headers).json()


def test_a_task_belongs_to_whoever_asked_for_it(server: ServerProcess) -> None:
    name = f"t{secrets.token_hex(4)}"
    made = {"name": "wsh_create_session", "arguments": {"name": name}}
    over_http(server, "tools/call", "wsh_create_session", made)
    run = run_params(name, "sleep 600", max_wait_ms=600_000)
    task = over_http(server, "tools/call", "wsh_run_command", run)["result"]["taskId"]
    which = {"taskId": task}

    theirs = [
        over_http(server, method, task, which, mine=False)["error"]
        for method in ("tasks/get", "tasks/cancel")
    ]
    own = over_http(server, "tasks/get", task, which)["result"]
    over_http(server, "tasks/cancel", task, which)
    with hosted(server) as host:
        host.shake_hands("2025-11-25")
        others = host.ask("tasks/list")["result"]["tasks"]
        unknown = host.ask("tasks/get", {"taskId": "0" * 32})["error"]

    assert theirs == [{"code": -32602, "message": "Unknown taskId"}] * 2
    assert unknown == theirs[0]
    assert own["status"] == "working"
    assert task not in {each["taskId"] for each in others}


@pytest.mark.parametrize("interrupt", [False, True])
def test_a_cancelled_run_goes_on_unless_an_interrupt_was_asked_for(
    server: ServerProcess, interrupt: bool
) -> None:
    with hosted(server) as host:
        host.shake_hands()
        session = opened(host)
        line = "echo be''gun; sleep 3; echo went''-on"
        host.begin("tools/call", run_params(session, line, interrupt=interrupt))
        host.call("wsh_await_quiesce", session=session, until="begun")
        host.say(
            b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}'
            % (host.last_id - 1)
        )
        server.client.post(
            f"/sessions/{session}/wait", {"state": ["prompt"], "max_wait_ms": 30_000}
        )
        shown = host.call("wsh_get_screen", session=session, format="plain")["lines"]

    assert ("went-on" in shown) is not interrupt


def test_a_call_over_http_of_the_modern_era_is_cancelled_with_its_connection(
    server: ServerProcess,
) -> None:
    name = f"t{secrets.token_hex(4)}"
    made = {"name": "wsh_create_session", "arguments": {"name": name}}
    over_http(server, "tools/call", "wsh_create_session", made, meta=MODERN)
    run = run_params(name, "sleep 600", interrupt=True, max_wait_ms=600_000)

    with pytest.raises(httpx.ReadTimeout):  # and the client closes the connection
        over_http(server, "tools/call", "wsh_run_command", run, meta=MODERN, timeout_s=2)
    after = over_http(
        server, "tools/call", "wsh_run_command", run_params(name, "echo alive"), meta=MODERN
    )

    assert after["result"]["structuredContent"]["output"] == "alive"


def test_who_waits_behind_a_cancelled_run_gets_the_turn_when_its_interrupt_is_done(
    server: ServerProcess,
) -> None:
    with hosted(server) as host:
        host.shake_hands()
        name = host.call("wsh_create_session")["session"]
        run = {"session": name, "input": "echo be''gun; sleep 600", "interrupt": True}
        host.begin("tools/call", {"name": "wsh_run_command", "arguments": run})
        first = host.last_id
        host.call("wsh_await_quiesce", session=name, until="begun", max_wait_ms=60_000)
        after = {"session": name, "input": "echo alive", "view": "output", "max_wait_ms": 60_000}
        host.begin("tools/call", {"name": "wsh_run_command", "arguments": after})
        host.say(
            b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}'
            % first
        )
        answer = host.hear_answer()

    assert answer["id"] == first + 2
    assert answer["result"]["structuredContent"]["output"] == "alive"


def test_a_deadline_with_interrupt_ends_the_command(server: ServerProcess) -> None:
    with hosted(server) as host:
        host.shake_hands()
        session = opened(host)
        wanted = run_params(session, "sleep 60", interrupt=True, max_wait_ms=500)
        answer = host.ask("tools/call", wanted)["result"]
        after = host.call("wsh_run_command", session=session, input="echo ok", view="output")

    assert answer["isError"]
    assert answer["structuredContent"]["completed_by"] == "deadline"
    assert after["output"] == "ok"

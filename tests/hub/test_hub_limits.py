"""What one user and one machine may have of a hub: at the bound a clear error, and nothing ran."""

import json
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.sync.client import connect

from tests.hub.conftest import wait_for
from tests.hub.room_host import ECHO
from tests.server_process import ServerProcess

pytestmark = [pytest.mark.pty]

SMALL = "; ".join(
    f"import {module}; {module}.{name} = {value}"
    for module, name, value in (
        ("duetty.hub.hub", "JOINED_EACH", 1),
        ("duetty.hub.rooms", "ROOMS_EACH", 1),
        ("duetty.hub.rooms", "CALLS_EACH", 1),
        ("duetty.hub.joined_node", "MAX_STREAMS", 1),
        ("duetty.hub.users", "SHARES_EACH", 1),
        ("duetty.hub.users", "MAX_USERS", 2),
    )
)


class Hub:
    """With ann and bob; ann has her machine."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self.process = ServerProcess(self._home(), DUETTY_POLICY_PROFILE="open")
        stack.callback(self.process.end)
        self.process.start("--hostname", "hub", change=SMALL)
        self.tokens = {name: self._added(name) for name in ("ann", "bob")}
        self.machine, joined = self.join("box")
        assert joined == "", joined
        made = self.ask("POST", "/sessions", {"name": "work", "command": "bash"})
        assert made.status_code == 201, made.text

    def _home(self) -> Path:
        made = tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True)
        return Path(self._stack.enter_context(made))

    def _added(self, name: str) -> str:
        done = self.process.command("hub", "user", "add", name, "-L", "default")
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def join(self, name: str) -> tuple[ServerProcess, str]:
        """A machine of ann's, and why it was refused."""
        machine = ServerProcess(self._home(), DUETTY_POLICY_PROFILE="open")
        self._stack.callback(machine.end)
        machine.start("--hostname", name)
        file = machine.home / "hub.token"
        file.write_text(self.tokens["ann"])
        done = machine.command("join", self.process.url(), "--token-file", str(file))
        return machine, "" if done.returncode == 0 else done.stderr

    def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.tokens['ann']}"}
        url = f"{self.process.url()}{path}"
        return httpx.request(method, url, json=body, headers=headers, timeout=60)


@pytest.fixture(scope="module")
def hub() -> Iterator[Hub]:
    with ExitStack() as stack:
        yield Hub(stack)


def refusal(answer: httpx.Response) -> tuple[int, str, object]:
    error = answer.json()["error"]
    return answer.status_code, error["code"], error.get("details", {}).get("executed")


def test_a_user_with_as_many_machines_as_one_may_have_brings_no_other(hub: Hub) -> None:
    _, refused = hub.join("second")

    assert "this user has 1 machines" in refused
    assert [each["hostname"] for each in hub.ask("GET", "/servers").json()] == ["box"]


def test_a_machine_that_is_asked_too_much_at_once_says_so_and_runs_nothing_more(hub: Hub) -> None:
    with ThreadPoolExecutor(1) as threads:
        asked = {"text": "never", "max_wait_ms": 60_000}
        waits = threads.submit(hub.ask, "POST", "/sessions/work/wait", asked)
        wait_for(lambda: _under_way(hub) or None)
        refused = hub.ask("POST", "/sessions/work/run", {"input": "touch late"})
        hub.machine.client.post("/sessions/work/input", {"data": "never\r"})
        assert waits.result(60).json()["reason"] == "text"

    assert refusal(refused) == (429, "node_busy", False)
    assert not (hub.machine.home / "late").exists()
    assert hub.ask("GET", "/sessions/work").status_code == 200


def _under_way(hub: Hub) -> bool:
    headers = {"Authorization": f"Bearer {hub.process.token()}"}
    text = httpx.get(f"{hub.process.url()}/metrics", headers=headers, timeout=60).text
    return "duetty_hub_calls_under_way 1" in text


def test_a_user_has_so_many_rooms_and_a_room_so_many_calls(hub: Hub) -> None:
    url = f"ws{hub.process.url()[4:]}/ws/room"
    headers = {"Authorization": f"Bearer {hub.tokens['ann']}"}
    announced = json.dumps({"type": "announce", "protocol": 1, "tools": [ECHO]})
    with (
        connect(url, additional_headers=headers) as host,
        connect(url, additional_headers=headers) as second,
        ThreadPoolExecutor(1) as threads,
    ):
        host.send(announced)
        room = json.loads(host.recv(timeout=60))["sessionId"]
        second.send(announced)
        refused = json.loads(second.recv(timeout=60))
        call = {"tool": "echo", "args": {"text": "x"}}
        first = threads.submit(hub.ask, "POST", f"/rooms/{room}/call", call)
        told = json.loads(host.recv(timeout=60))
        busy = hub.ask("POST", f"/rooms/{room}/call", call)
        answer = {"type": "result", "commandId": told["commandId"], "result": 1}
        host.send(json.dumps(answer))

    assert "this user has 1 rooms" in json.dumps(refused)
    assert refusal(busy) == (429, "room_busy", False)
    assert first.result(60).json()["result"] == 1


def test_a_user_shares_so_many_sessions_and_a_hub_has_so_many_users(hub: Hub) -> None:
    share = {"session": "work", "user": "bob", "role": "watch", "expires_in_s": 60}
    given = hub.ask("POST", "/shares", share)
    more = hub.ask("POST", "/shares", share)
    added = hub.process.command("hub", "user", "add", "cat", "-L", "default")

    assert given.status_code == 201, given.text
    assert refusal(more)[:2] == (429, "resource_limit_reached"), more.text
    assert "this user has 1 shares" in more.text
    assert added.returncode != 0
    assert "there are 2 users" in added.stderr

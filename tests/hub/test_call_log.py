"""One command id finds a routed call in the log of the hub and in that of the machine."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.hub.conftest import Servers, wait_for
from tests.hub.echo_host import echo_host
from tests.server_process import ServerProcess

pytestmark = [pytest.mark.pty]

SECRET = "correct-horse-battery"


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    with ExitStack() as stack:
        yield Servers(stack)


@pytest.fixture(scope="module")
def machine(servers: Servers) -> ServerProcess:
    servers.hub.client.post("/users", {"name": "ann"})
    return joined(servers, "laptop")


def token_of(servers: Servers) -> str:
    given = {"scopes": ["read", "input", "control", "join"]}
    return servers.hub.client.post("/users/ann/tokens", given)["token"]


def joined(servers: Servers, name: str, **env: str) -> ServerProcess:
    machine = servers.start(name, **env)
    file = Path(machine.home) / "hub.token"
    file.write_text(token_of(servers))
    assert machine.command("join", servers.hub.url(), "--token-file", str(file)).returncode == 0
    machine.client.post("/sessions", {"name": f"on-{name}", "command": "bash"})
    return machine


def lines(server: ServerProcess, command_id: str) -> list[dict[str, Any]]:
    """The log's, of this call, without what differs from run to run."""
    text = server.paths.log_file.read_text()
    found = [json.loads(line) for line in text.splitlines() if command_id in line]
    for each in found:
        assert each.pop("took_ms") >= 0
        assert each.pop("at")
    return found


def test_a_call_is_one_line_at_the_hub_and_one_at_its_machine(
    servers: Servers, machine: ServerProcess
) -> None:
    ann = servers.client(servers.hub, token_of(servers))
    id_ = next(each["id"] for each in machine.client.get("/sessions"))
    wait_for(lambda: ann.get(f"/sessions/{id_}").status_code == 200 or None)
    asked = {"input": f"echo {SECRET}"}

    for _ in range(2):  # the second is answered from what was kept
        done = ann.post(f"/sessions/{id_}/run", json=asked, headers={"Duetty-Command-Id": "c-0001"})
        assert done.json()["output"] == SECRET

    at_hub, again = lines(servers.hub, "c-0001")
    at_machine, kept = lines(machine, "c-0001")
    assert at_hub == again
    assert at_hub == {
        "level": "info",
        "logger": "duetty.hub",
        "event": "call_routed",
        "outcome": "done",
        "command_id": "c-0001",
        "operation": "command.run",
        "machine": machine.client.get("/server/hub")["machine"],
        "user": "ann",
    }
    assert (at_machine["event"], at_machine["path"]) == ("call_of_hub", f"/sessions/{id_}/run")
    assert (at_machine["status"], at_machine["ran"], kept["ran"]) == (200, True, False)
    for each in (servers.hub, machine):
        assert SECRET not in each.paths.log_file.read_text()


def test_a_call_that_fails_is_a_line_with_its_code_and_one_that_reads_is_none(
    servers: Servers, machine: ServerProcess
) -> None:
    ann = servers.client(servers.hub, token_of(servers))
    id_ = next(each["id"] for each in machine.client.get("/sessions"))
    ann.get(f"/sessions/{id_}/screen", headers={"Duetty-Command-Id": "c-0002"})
    ann.get("/sessions/nowhere/screen?server=laptop", headers={"Duetty-Command-Id": "c-0003"})

    assert lines(servers.hub, "c-0002") == lines(machine, "c-0002") == []
    [failed] = lines(servers.hub, "c-0003")
    assert failed["outcome"] == "session_not_found"


def test_calls_that_read_are_written_at_debug(servers: Servers, machine: ServerProcess) -> None:
    other = joined(servers, "desktop", DUETTY_SERVER_LOG_LEVEL="debug")
    ann = servers.client(servers.hub, token_of(servers))
    wait_for(lambda: ann.get("/sessions/on-desktop").status_code == 200 or None)

    ann.get("/sessions/on-desktop/screen", headers={"Duetty-Command-Id": "c-0004"})

    # It is written when the call has ended, which its caller may know first.
    [line] = wait_for(lambda: lines(other, "c-0004") or None)
    assert (line["level"], line["method"]) == ("debug", "GET")


def test_a_call_to_a_room_is_a_line(servers: Servers, machine: ServerProcess) -> None:
    token = token_of(servers)
    with echo_host(servers.hub.url(), token) as room:
        ann = servers.client(servers.hub, token)
        asked = {"command_id": "c-0005", "tool": "echo", "args": {"text": SECRET}}
        done = ann.post(f"/rooms/{room}/call", json=asked)

    assert done.status_code == 200, done.text
    [line] = lines(servers.hub, "c-0005")
    assert (line["operation"], line["room"], line["outcome"]) == ("room.call", room, "done")

"""The link between a machine and its hub: versions of either side, ends that nobody announced, many at once."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from duetty.config import Settings
from duetty.hub.dial import PING_S, PONG_S
from duetty.server import PONG_S as SERVER_PONG_S
from tests.hub.conftest import wait_for
from tests.server_process import ServerProcess

pytestmark = [pytest.mark.pty]

IDLE = 200


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as made:
        yield made


def join(machine: ServerProcess, hub: ServerProcess) -> subprocess.CompletedProcess[str]:
    file = Path(machine.home) / "hub.token"
    file.write_text(hub.token())
    return machine.command("join", hub.url(), "--token-file", str(file))


def client_of(hub: ServerProcess) -> httpx.Client:
    headers = {"Authorization": f"Bearer {hub.token()}"}
    return httpx.Client(base_url=hub.url(), headers=headers, timeout=60)


def started(stack: ExitStack, home: Path, name: str, change: str, **env: str) -> ServerProcess:
    home.mkdir()
    server = ServerProcess(home, **{"DUETTY_POLICY_PROFILE": "open", **env})
    stack.callback(server.end)
    if change:
        server.start_with(change, "--hostname", name)
    else:
        server.start("--hostname", name)
    return server


NEWER_HUB = "duetty.hub.joined_node.PROTOCOLS = (1, 2)"
NEWEST_HUB = "duetty.hub.joined_node.PROTOCOLS = (2,)"
NEWER_NODE = "duetty.hub.hub_membership.PROTOCOLS = (1, 2)"
NEWEST_NODE = "duetty.hub.hub_membership.PROTOCOLS = (2,)"


@pytest.mark.parametrize(
    ("of_hub", "of_node"), [(NEWER_HUB, ""), ("", NEWER_NODE), (NEWEST_HUB, NEWER_NODE)]
)
def test_hub_and_machine_are_updated_in_either_order(
    stack: ExitStack, tmp_path: Path, of_hub: str, of_node: str
) -> None:
    hub = started(stack, tmp_path / "h", "hub", of_hub)
    node = started(stack, tmp_path / "n", "node", of_node)

    joined = join(node, hub)
    made = hub.client.post("/sessions", {"command": "cat", "server": "node"})

    assert joined.returncode == 0, joined.stderr
    assert made["server"] == "node"


@pytest.mark.parametrize(("of_hub", "of_node"), [(NEWEST_HUB, ""), ("", NEWEST_NODE)])
def test_a_machine_that_speaks_no_version_of_the_hubs_says_which_is_to_be_updated(
    stack: ExitStack, tmp_path: Path, of_hub: str, of_node: str
) -> None:
    hub = started(stack, tmp_path / "h", "hub", of_hub)
    node = started(stack, tmp_path / "n", "node", of_node)

    joined = join(node, hub)
    spoken = ("2", "1") if of_hub else ("1", "2")

    assert joined.returncode != 0
    assert f"hub {spoken[0]}, machine {spoken[1]}" in joined.stderr
    assert "update the older" in joined.stderr
    assert [each["hostname"] for each in hub.client.get("/servers")] == ["hub"]


def test_an_end_that_nobody_announced_is_found_within_30_seconds() -> None:
    """The bounds as they are set; the two tests below show with shorter ones that they are kept."""
    assert Settings().server_ping_s + SERVER_PONG_S <= 30
    assert PING_S + PONG_S <= 30


def test_a_hub_notices_that_a_machine_is_frozen_and_ends_its_calls(
    stack: ExitStack, tmp_path: Path
) -> None:
    hub = started(stack, tmp_path / "h", "hub", "", DUETTY_SERVER_PING_S="1")
    node = started(stack, tmp_path / "n", "node", "")
    assert join(node, hub).returncode == 0
    session = hub.client.post("/sessions", {"command": "bash", "server": "node"})["id"]
    answers: list[Any] = []
    http = stack.enter_context(client_of(hub))
    waiting = threading.Thread(
        target=lambda: answers.append(
            http.post(f"/sessions/{session}/run", json={"input": "sleep 60"})
        )
    )
    waiting.start()
    wait_for(lambda: hub.client.get(f"/sessions/{session}")["state"] == "running" or None)
    assert node.process is not None
    os.kill(node.process.pid, signal.SIGSTOP)
    try:
        wait_for(lambda: hub.client.get("/servers")[1]["health"] == "away" or None)
        began_s = time.monotonic()
        refused = http.get(f"/sessions/{session}")
        took_s = time.monotonic() - began_s
        waiting.join(20)
    finally:
        os.kill(node.process.pid, signal.SIGCONT)
    [answer] = answers

    assert answer.status_code == 503, answer.text
    assert answer.json()["error"]["details"]["executed"] == "unknown"
    assert refused.json()["error"]["details"]["executed"] is False, refused.text
    assert took_s < 1
    wait_for(lambda: hub.client.get("/servers")[1]["health"] == "healthy" or None)


def test_a_machine_notices_that_its_hub_is_frozen_and_comes_back(
    stack: ExitStack, tmp_path: Path
) -> None:
    hub = started(stack, tmp_path / "h", "hub", "")
    short = "duetty.hub.dial.PING_S = duetty.hub.dial.PONG_S = 0.5"
    node = started(stack, tmp_path / "n", "node", short)
    assert join(node, hub).returncode == 0
    assert hub.process is not None
    os.kill(hub.process.pid, signal.SIGSTOP)
    try:
        wait_for(lambda: node.client.get("/server/hub")["state"] != "joined" or None)
    finally:
        os.kill(hub.process.pid, signal.SIGCONT)

    wait_for(lambda: node.client.get("/server/hub")["state"] == "joined" or None)
    wait_for(lambda: len(hub.client.get("/servers")) == 2 or None)


@pytest.mark.parametrize(
    "count",
    [
        IDLE,
        pytest.param(
            5_000,
            marks=pytest.mark.slow,  # joins take half a minute; the smaller number shows the same
        ),
    ],
)
def test_a_hub_with_many_idle_machines_answers_as_fast_as_before(
    stack: ExitStack, tmp_path: Path, count: int
) -> None:
    hub = started(stack, tmp_path / "h", "hub", "")
    node = started(stack, tmp_path / "n", "node", "")
    assert join(node, hub).returncode == 0
    session = hub.client.post("/sessions", {"command": "cat", "server": "node"})["id"]
    hub.client.post("/users", {"name": "many"})
    tokens = [
        hub.client.post("/users/many/tokens", {"scopes": ["join"]})["token"] for _ in range(8)
    ]
    before_s = _median_s(hub, session)
    held = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.idle_nodes", hub.url(), str(count)],
        env={**os.environ, "DUETTY_TOKEN": " ".join(tokens)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parent.parent.parent,
    )
    try:
        assert held.stdout is not None
        joined = int(held.stdout.readline().split()[0])
        after_s = _median_s(hub, session)
    finally:
        held.kill()
        held.communicate()

    assert joined == count
    assert after_s < max(10 * before_s, 0.25), (before_s, after_s)
    wait_for(lambda: _nodes(hub) == 1 or None)


def _median_s(hub: ServerProcess, session: str) -> float:
    taken: list[float] = []
    for _ in range(15):
        began_s = time.monotonic()
        hub.client.get(f"/sessions/{session}")
        taken.append(time.monotonic() - began_s)
    return sorted(taken)[len(taken) // 2]


def _nodes(hub: ServerProcess) -> int:
    with client_of(hub) as http:
        text = http.get("/metrics").text
    found = re.search(r"^duetty_\w*nodes (\d+)", text, re.MULTILINE)
    assert found, text
    return int(float(found[1]))

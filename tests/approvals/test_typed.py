"""Questions about lines that an agent typed: each ends once, with its line, and outlives the server."""

import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.approvals.asking import asking_server, outcomes, waiting
from tests.server_process import ServerProcess

pytestmark = [pytest.mark.pty, pytest.mark.shells]

SHELLS = ["bash", "zsh", "fish"]


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    with asking_server() as server:
        yield server


def opened(server: ServerProcess, shell: str, name: str) -> str:
    server.client.post("/sessions", {"name": name, "command": shell})
    server.client.post(f"/sessions/{name}/run", {"input": "true"})
    return name


def types(server: ServerProcess, session: str, keys: str) -> None:
    """As an agent, with the server's own token."""
    request = urllib.request.Request(
        f"{server.url()}/sessions/{session}/input",
        data=keys.encode(),
        headers={
            "Authorization": f"Bearer {server.token()}",
            "Content-Type": "application/octet-stream",
        },
    )
    urllib.request.urlopen(request, timeout=60).close()


def eventually(fact: Any) -> None:
    deadline_s = time.monotonic() + 60
    while not fact():
        assert time.monotonic() < deadline_s
        time.sleep(0.01)


@pytest.mark.parametrize("shell", SHELLS)
def test_a_question_ends_with_the_line_it_was_about(server: ServerProcess, shell: str) -> None:
    session = opened(server, shell, f"gone-{shell}")
    one, two = server.home / f"one-{shell}", server.home / f"two-{shell}"

    types(server, session, f"touch {one}\r")
    first = waiting(server)
    # Again and again: fish drops it now and then.
    while outcomes(server, first["id"]) == []:
        types(server, session, "\x03")
        server.client.get("/approvals", after=server.client.get("/approvals")["seq"], wait_ms=500)
    server.client.post(f"/sessions/{session}/wait", {"state": ["prompt"], "max_wait_ms": 30_000})
    types(server, session, f"touch {two}\r")
    second = waiting(server)
    server.client.post(f"/approvals/{second['id']}/approve", {})
    eventually(two.exists)
    lines = "\n".join(server.client.get(f"/sessions/{session}/scrollback", format="plain")["lines"])

    assert outcomes(server, first["id"]) == ["withdrawn"]
    assert outcomes(server, second["id"]) == ["granted"]
    assert not one.exists()
    assert " allow" not in lines


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("how", ["killed", "replaced"])
def test_a_question_about_a_typed_line_is_the_same_after_a_restart(shell: str, how: str) -> None:
    with asking_server() as server:
        session, made = opened(server, shell, "typed"), server.home / "made"
        types(server, session, f"touch {made}\r")
        asked = waiting(server)

        if how == "killed":
            server.kill()
            server.start()
        else:
            first = server.process
            server.start("--replace")
            assert first is not None
            assert first.wait(60) == 0
            assert first.stderr is not None
            first.stderr.close()
        again = waiting(server)
        server.client.post(f"/approvals/{again['id']}/approve", {})
        eventually(made.exists)
        ended = outcomes(server, asked["id"])
        records = server.client.get("/audit", kind="approval", limit=1_000)

    assert [each["approval"] for each in records if each["event"] == "asked"] == [asked["id"]]
    assert (again["id"], again["actor"]) == (asked["id"], asked["actor"])
    assert ended == ["granted"]


def test_ctrl_backslash_runs_no_line_that_waits_for_its_answer(server: ServerProcess) -> None:
    session, made = opened(server, "bash", "quits"), Path(server.home / "unanswered")
    types(server, session, f"touch {made}\r")
    asked = waiting(server)

    for _ in range(5):
        types(server, session, "\x1c")
    server.client.get("/approvals", after=server.client.get("/approvals")["seq"], wait_ms=500)
    still = waiting(server)
    server.client.post(f"/approvals/{asked['id']}/decline", {})
    server.client.post(f"/sessions/{session}/wait", {"state": ["prompt"], "max_wait_ms": 30_000})

    assert still["id"] == asked["id"]
    assert outcomes(server, asked["id"]) == ["rejected"]
    assert not made.exists()

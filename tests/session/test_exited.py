"""Exited sessions stay readable, for as long and in such a number as the settings say."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.server_process import ServerProcess, running_server

pytestmark = pytest.mark.pty

WAIT_S = 60


def eventually(fact: Callable[[], bool]) -> float:
    """How long it took, in seconds."""
    began_s = time.monotonic()
    while not fact():
        assert time.monotonic() < began_s + WAIT_S
        time.sleep(0.05)
    return time.monotonic() - began_s


def names(server: ServerProcess) -> list[str]:
    return sorted(each["name"] for each in server.client.get("/sessions"))


def state(server: ServerProcess, name: str) -> str:
    return str(server.client.get(f"/sessions/{name}")["state"])


def exited(server: ServerProcess, name: str) -> None:
    server.client.post("/sessions", {"name": name, "command": "true"})
    eventually(lambda: name not in names(server) or state(server, name) == "exited")


def test_an_exited_session_goes_when_its_time_is_up_and_an_open_one_stays(home: Path) -> None:
    with running_server(home, DUETTY_SESSION_EXITED_S="3") as server:
        server.client.post("/sessions", {"name": "open", "command": "cat"})
        began_s = time.monotonic()
        exited(server, "over")
        eventually(lambda: names(server) == ["open"])
        took_s = time.monotonic() - began_s

    # It is read until then; the next look would come after a minute without the setting.
    assert 3 <= took_s < 45


def test_of_exited_sessions_the_oldest_go_when_there_are_too_many(home: Path) -> None:
    with running_server(home, DUETTY_SESSION_EXITED_MAX="2") as server:
        server.client.post("/sessions", {"name": "open", "command": "cat"})
        for name in ("a", "b", "c", "d"):
            exited(server, name)
        eventually(lambda: names(server) == ["c", "d", "open"])


def test_an_exited_session_keeps_its_name_over_a_restart_if_it_was_asked_to(home: Path) -> None:
    with running_server(home) as server:
        server.command("new", "-d", "--name", "kept", "--keep-name", "--", "true")
        eventually(lambda: state(server, "kept") == "exited")
        exited(server, "given-up")
        server.kill()
        server.start()
        refused = server.command("new", "-d", "--name", "kept", "--", "true")
        taken = server.command("new", "-d", "--name", "given-up", "--", "true")
        server.command("kill", "kept")
        again = server.command("new", "-d", "--name", "kept", "--", "true")

    assert (refused.returncode, "duetty kill" in refused.stderr) == (1, True)
    assert (taken.stdout.strip(), again.stdout.strip()) == ("given-up", "kept")

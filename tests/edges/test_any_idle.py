"""`GET /idle`: the first session that falls silent, whichever it is."""

import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.server_process import ServerProcess, running_server

pytestmark = [pytest.mark.pty]


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    with (
        tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as home,
        running_server(Path(home)) as server,
    ):
        yield server


@pytest.fixture
def http(server: ServerProcess) -> Iterator[httpx.Client]:
    headers = {"Authorization": f"Bearer {server.token()}"}
    with httpx.Client(base_url=server.url(), headers=headers, timeout=60) as client:
        yield client
        for session in client.get("/sessions").json():
            client.delete(f"/sessions/{session['name']}", params={"grace_ms": 0})


BUSY = "sh -c 'while :; do echo busy; sleep 0.02; done'"


def test_without_a_session_there_is_nothing_to_wait_for(http: httpx.Client) -> None:
    none = http.get("/idle", params={"timeout_ms": 10})
    http.post("/sessions", json={"name": "tagged", "command": "cat", "tags": ["a"]})
    other_tag = http.get("/idle", params={"timeout_ms": 10, "tag": "b,c"})
    missing = http.get("/idle")

    assert (none.status_code, none.json()["error"]["code"]) == (404, "no_sessions")
    assert (other_tag.status_code, other_tag.json()["error"]["code"]) == (404, "no_sessions")
    assert missing.status_code == 400


def test_the_quiet_one_of_two_wins(http: httpx.Client) -> None:
    http.post("/sessions", json={"name": "busy", "command": BUSY})
    http.post("/sessions", json={"name": "quiet", "command": "cat", "tags": ["q"]})

    first = http.get("/idle", params={"timeout_ms": 1_500, "format": "plain"}).json()
    by_tag = http.get("/idle", params={"timeout_ms": 100, "tag": "x, q"}).json()

    assert (first["session"], by_tag["session"]) == ("quiet", "quiet")
    assert set(first) == {"session", "screen", "scrollback_lines", "generation"}
    assert all(isinstance(line, str) for line in first["screen"]["lines"])


def test_only_busy_sessions_end_in_a_timeout(http: httpx.Client) -> None:
    http.post("/sessions", json={"name": "busy", "command": BUSY})

    answer = http.get("/idle", params={"timeout_ms": 60_000, "max_wait_ms": 400})

    assert (answer.status_code, answer.json()["error"]["code"]) == (408, "idle_timeout")


def test_the_session_seen_last_must_do_something_before_it_is_told_again(
    http: httpx.Client,
) -> None:
    http.post("/sessions", json={"name": "one", "command": "cat"})
    seen = http.get("/idle", params={"timeout_ms": 100}).json()
    known = {
        "timeout_ms": 100,
        "last_session": seen["session"],
        "last_generation": seen["generation"],
    }

    nothing = http.get("/idle", params={**known, "max_wait_ms": 300})
    typing = threading.Timer(0.2, http.post, ["/sessions/one/input"], {"content": b"x\r"})
    typing.start()
    news = http.get("/idle", params=known).json()
    typing.join()
    http.post("/sessions", json={"name": "two", "command": "cat"})
    other = http.get("/idle", params={**known, "last_generation": news["generation"]}).json()

    assert nothing.status_code == 408
    assert news["generation"] > seen["generation"]
    assert other["session"] == "two"


def test_a_fresh_wait_counts_the_silence_from_now(http: httpx.Client) -> None:
    http.post("/sessions", json={"name": "one", "command": "cat"})
    http.get("/idle", params={"timeout_ms": 200})

    answer = http.get("/idle", params={"timeout_ms": 30_000, "fresh": "true", "max_wait_ms": 100})

    assert answer.json()["error"]["code"] == "idle_timeout"

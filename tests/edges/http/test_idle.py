"""Waiting for silence over HTTP, as published."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.edges.http.asking import refusal

pytestmark = [pytest.mark.pty]


def idle(http: httpx.Client, name: str, **query: Any) -> httpx.Response:
    return http.get(f"/sessions/{name}/idle", params=query)


def touch(http: httpx.Client, name: str) -> None:
    """Something happens, and the program neither echoes nor answers it."""
    assert http.post(f"/sessions/{name}/input", content=b"x").status_code == 204


def while_waiting(
    ask: Callable[[], httpx.Response], meanwhile: Callable[[], object]
) -> httpx.Response:
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(ask)
        meanwhile()
        return asked.result(30)


def test_a_quiet_session_answers_with_its_screen(http: httpx.Client, quiet: str) -> None:
    answer = idle(http, quiet, timeout_ms=100).json()

    assert set(answer) == {"screen", "scrollback_lines", "generation", "last_activity_ms"}
    assert (answer["scrollback_lines"], answer["screen"]["rows"]) == (24, 24)
    assert answer["last_activity_ms"] >= 100


def test_a_session_that_was_quiet_already_answers_without_waiting(
    http: httpx.Client, quiet: str
) -> None:
    idle(http, quiet, timeout_ms=300)

    assert idle(http, quiet, timeout_ms=250, max_wait_ms=100).status_code == 200


def test_a_session_that_is_active_is_waited_for(http: httpx.Client) -> None:
    command = "sh -c 'for n in 1 2 3 4 5 6 7 8; do echo $n; sleep 0.1; done; exec sleep 1000'"
    http.post("/sessions", json={"name": "busy", "command": command})

    answer = idle(http, "busy", timeout_ms=1_500, format="plain").json()

    assert "8" in answer["screen"]["lines"]
    http.delete("/sessions/busy", params={"grace_ms": 0, "signal": "KILL"})


def test_one_touch_is_one_generation(http: httpx.Client, quiet: str) -> None:
    before = idle(http, quiet, timeout_ms=50).json()["generation"]
    touch(http, quiet)

    assert idle(http, quiet, timeout_ms=50).json()["generation"] == before + 1


def test_the_generation_seen_last_is_waited_past(http: httpx.Client, quiet: str) -> None:
    seen = idle(http, quiet, timeout_ms=50).json()["generation"]

    answer = while_waiting(
        lambda: idle(http, quiet, timeout_ms=50, last_generation=seen),
        lambda: touch(http, quiet),
    )

    assert answer.json()["generation"] == seen + 1


def test_a_generation_that_is_not_the_current_one_changes_nothing(
    http: httpx.Client, quiet: str
) -> None:
    assert idle(http, quiet, timeout_ms=10, last_generation=10**9).status_code == 200


def test_waiting_past_a_generation_has_a_bound(http: httpx.Client, quiet: str) -> None:
    seen = idle(http, quiet, timeout_ms=50).json()["generation"]

    answer = idle(http, quiet, timeout_ms=50, last_generation=seen, max_wait_ms=300)

    assert refusal(answer) == (408, "idle_timeout")
    assert answer.json()["error"]["details"]["generation"] == seen


def test_fresh_silence_begins_with_the_question(http: httpx.Client, quiet: str) -> None:
    idle(http, quiet, timeout_ms=300)

    assert idle(http, quiet, timeout_ms=250, fresh="true", max_wait_ms=100).status_code == 408
    assert idle(http, quiet, timeout_ms=200, fresh="true").status_code == 200


def test_the_silence_to_wait_for_must_be_said(http: httpx.Client, quiet: str) -> None:
    assert refusal(idle(http, quiet)) == (400, "invalid_request")
    assert refusal(idle(http, quiet, timeout_ms="soon")) == (400, "invalid_request")


def test_long_waits_are_cut_not_refused(http: httpx.Client, quiet: str) -> None:
    idle(http, quiet, timeout_ms=50)

    answer = idle(http, quiet, timeout_ms=50, max_wait_ms=10**9)

    assert answer.status_code == 200


def test_any_session_may_be_the_quiet_one_and_tags_choose_among_them(
    http: httpx.Client, quiet: str
) -> None:
    http.patch(f"/sessions/{quiet}", json={"add_tags": ["build"]})

    found = http.get("/idle", params={"timeout_ms": 50, "tag": "build"})
    none = http.get("/idle", params={"timeout_ms": 50, "tag": "deploy"})

    assert (found.status_code, found.json()["session"]) == (200, quiet)
    assert refusal(none) == (404, "no_sessions")
    assert refusal(http.get("/idle")) == (400, "invalid_request")


def test_without_any_session_there_is_none_to_wait_for(http: httpx.Client) -> None:
    assert http.get("/sessions").json() == []

    assert refusal(http.get("/idle", params={"timeout_ms": 50})) == (404, "no_sessions")

"""Server-sent events of a real server."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.server_process import ServerProcess, running_server

pytestmark = [pytest.mark.pty]


def events(response: httpx.Response) -> Iterator[dict[str, Any]]:
    fields: dict[str, str] = {}
    until_s = time.monotonic() + 60
    for line in response.iter_lines():
        # A stream without events still says something now and then: no timeout of a read ends it.
        assert time.monotonic() < until_s, "no event came"
        if line.startswith(":"):
            continue
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
        elif fields:
            yield {"id": fields["id"], "name": fields["event"], **json.loads(fields["data"])}
            fields, until_s = {}, time.monotonic() + 60


def until(stream: Iterator[dict[str, Any]], name: str) -> dict[str, Any]:
    return next(event for event in stream if event["name"] == name)


def test_a_session_s_events_come_after_a_sync(http: httpx.Client, session: str) -> None:
    with http.stream("GET", f"/sessions/{session}/events") as response:
        stream = events(response)
        first = next(stream)
        http.post(f"/sessions/{session}/input", content=b"(exit 9)\r")
        block = next(each for each in stream if each.get("change") == "finished")

    assert response.headers["content-type"].startswith("text/event-stream")
    assert (first["name"], "screen" in first) == ("sync", True)
    assert block["exit_code"] == 9


def test_whoever_missed_nothing_gets_no_sync(http: httpx.Client, session: str) -> None:
    with http.stream("GET", f"/sessions/{session}/events?events=title") as response:
        seq = int(next(events(response))["id"])
    # Leaving and coming are told too, so this is where the log is when we come again.
    deadline = time.monotonic() + 10
    while http.get(f"/sessions/{session}").json()["clients"] and time.monotonic() < deadline:
        time.sleep(0.01)
    headers = {"Last-Event-ID": str(seq + 2)}

    with http.stream(
        "GET", f"/sessions/{session}/events?events=title", headers=headers
    ) as response:
        http.post(f"/sessions/{session}/input", content=b"printf '\\033]2;sse\\007'\r")
        first = next(events(response))

    assert (first["name"], first["title"]) == ("title", "sse")


def test_lines_are_events_when_asked_for(http: httpx.Client, session: str) -> None:
    path = f"/sessions/{session}/events?events=lines&format=plain&interval_ms=0"
    with http.stream("GET", path) as response:
        stream = events(response)
        until(stream, "sync")
        http.post(f"/sessions/{session}/input", content=b"echo ss''e\r")
        line = next(each for each in stream if each.get("line") == "sse")

    assert line["name"] == "line"


def test_changes_of_the_list_come_after_the_list(http: httpx.Client) -> None:
    with http.stream("GET", "/events") as response:
        stream = events(response)
        listed = next(stream)
        http.post("/sessions", json={"name": "sse", "command": "cat"})
        created = until(stream, "session_created")
        http.delete("/sessions/sse")
        destroyed = until(stream, "session_destroyed")

    assert listed["name"] == "sessions"
    assert created["params"] == destroyed["params"] == {"name": "sse"}
    assert int(destroyed["id"]) > int(created["id"]) > int(listed["id"])


def test_a_removed_session_ends_its_stream(http: httpx.Client) -> None:
    http.post("/sessions", json={"name": "ending", "command": "cat"})
    with http.stream("GET", "/sessions/ending/events") as response:
        stream = events(response)
        next(stream)
        http.delete("/sessions/ending")
        names = [event["name"] for event in stream]

    assert names[-2:] == ["exit", "end"] or "exit" in names
    assert names[-1] == "end"


def test_a_stopping_server_ends_the_streams(home: Path) -> None:
    with running_server(home) as server:
        headers = {"Authorization": f"Bearer {server.token()}"}
        with httpx.stream("GET", f"{server.url()}/events", headers=headers) as response:
            stream = events(response)
            next(stream)
            server.client.post("/server/stop", {"keep_sessions": True})
            rest = list(stream)
        server.wait_ended()

    assert rest == []


def test_a_revoked_token_ends_its_streams_and_no_others(
    http: httpx.Client, server: ServerProcess, session: str
) -> None:
    made = http.post("/tokens", json={"name": "x", "scopes": ["read"]}).json()
    revoked = {"Authorization": f"Bearer {made['token']}"}
    with (
        http.stream("GET", "/events") as staying,
        http.stream("GET", "/events", headers=revoked) as of_server,
        http.stream("GET", f"/sessions/{session}/events", headers=revoked) as of_session,
    ):
        streams = [events(each) for each in (staying, of_server, of_session)]
        firsts = [next(each)["name"] for each in streams]
        http.delete(f"/tokens/{made['info']['id']}")
        rests = [[each["name"] for each in stream] for stream in streams[1:]]
        http.patch(f"/sessions/{session}", json={"add_tags": ["told"]})
        still = until(streams[0], "session_tags_changed")

    assert firsts == ["sessions", "sessions", "sync"]
    assert all("end" not in rest for rest in rests)
    assert still["params"]["added"] == ["told"]


def test_bad_questions_are_coded_errors(http: httpx.Client, server: ServerProcess) -> None:
    assert http.get("/sessions/none/events").json()["error"]["code"] == "session_not_found"
    assert http.get("/events", headers={"Authorization": "Bearer no"}).status_code == 403
    assert httpx.get(f"{server.url()}/events").status_code == 401


def test_an_unknown_event_type_is_refused(http: httpx.Client, session: str) -> None:
    response = http.get(f"/sessions/{session}/events?events=nonsense")

    assert (response.status_code, response.json()["error"]["code"]) == (400, "invalid_request")
    assert http.head(f"/sessions/{session}/events").status_code == 200

"""Routes under `/session`: for the session that is meant."""

import pytest

from tests.edges.http.asking import client_of, refusal
from tests.server_process import ServerProcess

pytestmark = [pytest.mark.pty]


def test_the_only_session_is_meant_and_the_answer_names_it(server: ServerProcess) -> None:
    with client_of(server) as http:
        for each in http.get("/sessions").json():
            http.delete(f"/sessions/{each['name']}")
        none = http.get("/session/screen")
        http.post("/sessions", json={"name": "one.1", "command": "bash"})
        ran = http.post("/session/run", json={"input": "echo $((6 * 7))"})
        http.post("/sessions", json={"name": "two", "command": "cat"})
        several = http.get("/session/screen")
        in_body = http.post("/session/run", json={"session": "one.1", "input": "echo here"})
        by_header = http.get("/session", headers={"Duetty-Session": ran.headers["duetty-session"]})

    assert refusal(none) == (404, "no_active_session")
    assert (ran.json()["output"], ran.headers["duetty-session"]) == ("42", "one.1")
    assert refusal(several) == (409, "multiple_sessions")
    candidates = several.json()["error"]["details"]["candidates"]
    assert {each["name"] for each in candidates} == {"one.1", "two"}
    assert in_body.json()["output"] == "here"
    assert by_header.json()["name"] == "one.1"

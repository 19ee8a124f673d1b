"""Each tool of the agent, called by a model; and the overlay that names the step in its session."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from duetty.ops.agent_tools import outcome_of
from duetty.wire.results import Approved, RunResult
from tests.agent.model_server import ModelServer, Reply, Request, call, results, say
from tests.agent.talking import Asked, agent_server, until

pytestmark = pytest.mark.pty


def test_a_model_reads_waits_presses_searches_and_draws(home: Path) -> None:
    never = threading.Event()
    with ModelServer() as model, agent_server(home, model) as server:
        calls = [
            call("run", {"input": "seq 5; read answer"}),
            call("press", {"keys": ["x", "Enter"]}),
            call("read_screen"),
            call("run", {"input": "sleep 300", "max_wait_ms": 200}),
            call("interrupt"),
            call("wait", {"state": ["prompt"], "max_wait_ms": 20_000}),
            call("read_output", {"block": "1"}),
            call("search_history", {"query": "seq"}),
            call("git_status"),
            call("show_overlay", {"text": "look here"}),
            call("show_panel", {"text": "step 2 of 3"}),
        ]
        model.script = [*calls, say("Drawn.", before=never)]

        sent = server.client.post("/agent/messages", {"text": "go", "cwd": str(home)})
        asked = Asked(server, sent["info"]["id"])
        until(lambda: len(model.requests) == len(calls) + 1)
        session = asked.info()["session"]
        drawn = json.dumps(server.client.get(f"/sessions/{session}/overlay"))
        never.set()
        asked.wait("idle")
        left = json.dumps(server.client.get(f"/sessions/{session}/overlay"))

        told = results(model.requests[-1])
        assert "waits for input" in told[0]
        assert "cursor at row" in told[2]
        assert "it still runs" in told[3]
        assert "5" in told[6]
        assert "seq 5" in told[7]
        assert told[9].startswith("overlay ")
        assert told[10].startswith("panel ")
        assert [text for text in told if text.startswith(("Refused", "Failed"))] == []
        assert " agent: thinking " in drawn
        assert "look here" in drawn
        assert " agent: " not in left


def test_a_model_opens_another_terminal_and_takes_its_overlay_away(home: Path) -> None:
    def remove(request: Request) -> Reply:
        shown = results(request)[-1].removeprefix("overlay ")
        return call("remove_overlay", {"id": shown.split()[0]})

    with ModelServer() as model, agent_server(home, model) as server:
        model.script = [
            call("open_session", {"name": "second", "cwd": str(home)}),
            call("show_overlay", {"text": "look here"}),
            remove,
            say("Done."),
        ]

        sent = server.client.post("/agent/messages", {"text": "go", "cwd": str(home)})
        asked = Asked(server, sent["info"]["id"])
        asked.wait("idle")
        drawn = server.client.get(f"/sessions/{asked.info()['session']}/overlay")
        names = [each["name"] for each in server.client.get("/sessions")]

        told = results(model.requests[-1])
        assert [text for text in told if text.startswith(("Refused", "Failed"))] == []
        assert "look here" not in json.dumps(drawn)
        assert "second" in names


def test_an_approval_reads_as_words_to_the_model() -> None:
    known: dict[str, Any] = {
        "completed_by": "mark",
        "exit_code": 0,
        "output": "",
        "state": "prompt",
        "duration_ms": 1,
        "cwd": "/w",
        "omitted_bytes": 0,
        "block": "1",
    }
    answer = Approved(id="a", edited=True, command="rm -r old", note="only that one")

    told = outcome_of(RunResult.model_construct(**known, approved=answer)).text

    assert told.endswith(
        "\n[a person approved it and changed the line to: rm -r old; their words: only that one]"
    )

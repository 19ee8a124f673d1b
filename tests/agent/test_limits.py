"""What a conversation may take: at each limit it asks first, and as much again follows a yes."""

import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from duetty.agent import Limits, Reached
from duetty.agent.limits import reached
from duetty.store import ConversationEntry
from tests.agent.model_server import ModelServer, call, say
from tests.agent.talking import Asked, agent_server, until
from tests.homes import settle_home
from tests.server_process import ServerProcess

pytestmark = pytest.mark.pty

WIDE = {"turns": 100, "tokens": 10**9, "cost_usd": 0.0, "minutes": 1e9}


def entry(seq: int, kind: str, **body: object) -> ConversationEntry:
    return ConversationEntry(conversation="c", seq=seq, at_ns=seq, kind=kind, body=body)  # type: ignore[arg-type]


def answer(seq: int) -> ConversationEntry:
    return entry(seq, "answer", tokens_in=100, tokens_out=20, cost_usd=0.01)


def found(*entries: ConversationEntry, worked: float = 0.0, **limits: float) -> Reached | None:
    return reached(entries, Limits(**{**WIDE, **limits}), minutes=worked)  # type: ignore[arg-type]


MESSAGE = entry(1, "message", text="go", by="ann", is_person=True)
TWO = (MESSAGE, answer(2), answer(3))


def granted(what: str) -> ConversationEntry:
    return entry(4, "limit", what=what, reason="", granted=True)


@pytest.mark.parametrize(
    ("what", "just_enough", "too_few"),
    [
        ("turns", {"turns": 3}, {"turns": 2}),
        ("tokens", {"tokens": 360}, {"tokens": 359}),
        ("money", {"cost_usd": 0.03}, {"cost_usd": 0.02}),
        ("minutes", {"minutes": 5.1}, {"minutes": 5.0}),
    ],
)
def test_a_request_that_would_pass_a_limit_is_not_made(
    what: str, just_enough: dict[str, float], too_few: dict[str, float]
) -> None:
    assert found(*TWO, worked=5.0, **just_enough) is None
    over = found(*TWO, worked=5.0, **too_few)
    assert over is not None
    assert over.what == what
    assert found(*TWO, granted(what), worked=5.0, **too_few) is None


def test_what_was_added_since_the_last_answer_counts_to_the_next_request() -> None:
    result = entry(4, "result", text="abcd" * 50, call="1", tool="run", ok=True)

    assert found(*TWO, tokens=360) is None
    assert found(*TWO, result, tokens=360) is not None
    assert found(*TWO, result, tokens=410) is None
    assert found(*TWO, result, cost_usd=0.03) is not None
    assert found(entry(1, "message", text="abcd" * 500), tokens=499) is not None


def test_turns_begin_anew_with_a_message_of_whom_it_works_for_only() -> None:
    theirs = entry(4, "message", text="more", by="inside", is_person=False)
    again = entry(4, "message", text="more", by="ann", is_person=True)
    of_a_host = entry(1, "message", text="go", by="claude", is_person=False)

    assert found(*TWO, theirs, turns=2) is not None
    assert found(*TWO, again, turns=2) is None
    assert found(of_a_host, *TWO[1:], theirs, turns=2) is None


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with ModelServer() as started:
        yield started


@pytest.fixture(scope="module")
def server(model: ModelServer) -> Iterator[ServerProcess]:
    with tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as path:
        most = {"DUETTY_AGENT_MAX_COST_CENTS": "1", "DUETTY_AGENT_MAX_TURNS": "200"}
        with agent_server(settle_home(Path(path)), model, **most) as started:
            yield started


def test_money_is_asked_about_before_it_is_spent_and_a_yes_is_for_as_much_again(
    server: ServerProcess, model: ModelServer
) -> None:
    model.script = [call("list_sessions", {}) for _ in range(80)]

    sent = server.client.post("/agent/messages", {"text": "spend", "cwd": str(server.home)})
    asked = Asked(server, sent["info"]["id"])
    first = asked.wait("awaiting_approval")
    server.client.post(f"/approvals/{first['approval']['id']}/approve", {})
    until(lambda: (asked.info()["approval"] or first["approval"])["id"] != first["approval"]["id"])
    second = asked.wait("awaiting_approval")
    server.client.post(f"/approvals/{second['approval']['id']}/decline", {})
    info = asked.wait("failed")

    assert 0.009 < first["cost_usd"] <= 0.01
    assert 0.019 < second["cost_usd"] <= 0.02
    assert info["code"] == "agent_limit"
    assert info["cost_usd"] == second["cost_usd"]


def test_where_nobody_is_it_ends_and_a_resumed_one_asks_again(
    home: Path, model: ModelServer
) -> None:
    server = ServerProcess(home, **model.settings, DUETTY_AGENT_MAX_TURNS="1")
    server.start()
    try:
        model.script = [call("list_sessions", {}), say("Done.")]

        sent = server.client.post("/agent/messages", {"text": "go", "cwd": str(home)})
        asked = Asked(server, sent["info"]["id"])
        ended = asked.wait("failed")
        resumed = server.command("agent", "resume", asked.id, stdin=subprocess.DEVNULL)

        assert ended["code"] == "agent_limit"
        assert resumed.returncode == 1
        assert "[agent_limit]" in resumed.stderr
        assert [each["granted"] for each in asked.entries("limit")] == [False, False]
    finally:
        server.end()

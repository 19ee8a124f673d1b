"""Where the agent's words are found again: the session's log, the recording, the trail, the list."""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.agent.model_server import ModelServer, call, say
from tests.agent.talking import Asked, until
from tests.edges.mcp.connect import connected
from tests.homes import settle_home
from tests.server_process import ServerProcess

pytestmark = pytest.mark.pty


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with ModelServer() as started:
        yield started


@pytest.fixture(scope="module")
def server(model: ModelServer) -> Iterator[ServerProcess]:
    with tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as path:
        started = ServerProcess(settle_home(Path(path)), **model.settings)
        started.start()
        try:
            yield started
        finally:
            started.end()


@pytest.fixture(scope="module")
def worked(server: ServerProcess, model: ModelServer) -> Asked:
    """A conversation that ran one command and answered."""
    model.script = [call("run", {"input": "echo printed"}, "I look."), say("It was printed.")]
    sent = server.client.post(
        "/agent/messages",
        {"text": "print it", "cwd": str(server.home), "wait_ms": 30_000},
        wait_s=60,
    )
    return Asked(server, sent["info"]["id"])


def in_order(text: str, *pieces: str) -> bool:
    places = [text.find(each) for each in pieces]
    return -1 not in places and places == sorted(places)


def test_the_log_of_its_session_has_messages_calls_and_commands_in_order(
    server: ServerProcess, worked: Asked
) -> None:
    async def read() -> str:
        async with connected("http-2026", server, dialect="elwood") as client:
            session = server.client.get(f"/sessions/{worked.info()['session']}")["id"]
            found = await client.read_resource(f"elwood://session/{session}/log")
            return str(found.contents[0].text)  # type: ignore[union-attr]

    log = anyio.run(read)

    assert in_order(log, "print it", "I look.", "### `run`", "It was printed.")
    assert "```sh\necho printed\n```" in log


def test_its_own_log_is_markdown_of_all_of_it(server: ServerProcess, worked: Asked) -> None:
    printed = server.command("agent", "log", worked.id)

    assert printed.returncode == 0, printed.stderr
    assert printed.stdout.startswith("# print it\n")
    assert in_order(printed.stdout, "I look.", '"input": "echo printed"', "It was printed.")
    assert "exit code 0" in printed.stdout


def test_the_trail_has_every_call_with_the_conversations_id(
    server: ServerProcess, worked: Asked
) -> None:
    trail: list[dict[str, Any]] = server.client.get("/audit", limit=500)
    mine = [each for each in trail if each["kind"] == "call" and each["actor"]["name"] == worked.id]

    assert "command.run" in {each["operation"] for each in mine}
    assert {each["conversation"] for each in mine} == {worked.id}


@pytest.mark.parametrize("version", ["2", "3"])
def test_a_recording_has_what_was_said_beside_the_terminal(
    server: ServerProcess, worked: Asked, version: str
) -> None:
    recorded = server.command("record", worked.info()["session"], "--format", version)
    events = [json.loads(line) for line in recorded.stdout.splitlines()[1:]]

    said = [each[2] for each in events if each[1] == "m"]
    assert [each.partition(": ")[2] or each for each in said] == [
        "print it",
        "I look.",
        "agent ● run echo printed",
        "It was printed.",
    ]
    ran = next(at for at, each in enumerate(events) if each[2] == "agent ● run echo printed")
    out = next(at for at, each in enumerate(events) if each[1] == "o" and "printed\r\n" in each[2])
    assert ran < out


def test_a_session_that_is_called_otherwise_by_now_is_still_the_one_it_works_in(
    server: ServerProcess, model: ModelServer
) -> None:
    opened = server.client.post("/sessions", {"name": "before", "cwd": str(server.home)})
    model.script = [say("Here."), call("run", {"input": "echo again"}), say("There.")]
    sent = server.client.post(
        "/agent/messages", {"text": "hi", "session": "before", "wait_ms": 30_000}, wait_s=60
    )
    asked = Asked(server, sent["info"]["id"])
    server.command("rename", "before", "after")
    server.client.post("/sessions", {"name": "before", "cwd": str(server.home)})

    server.client.post("/agent/messages", {"text": "go on", "conversation": asked.id})
    until(lambda: len(asked.entries("answer")) == 3)

    assert asked.info()["session"] == "after"
    assert asked.entries("result")[0]["details"]["session"] == "after"
    assert server.client.get("/sessions/after")["id"] == opened["id"]


def test_a_server_that_nobody_asked_to_stay_goes_when_the_agent_has_answered(
    home: Path, model: ModelServer
) -> None:
    model.script = [call("run", {"input": "echo done"}), say("Done.")]
    server = ServerProcess(home, **model.settings)
    server.start_with("duetty.server.LEFT_S = 0.3", "--ephemeral")
    try:
        sent = server.client.post(
            "/agent/messages", {"text": "hi", "cwd": str(home), "wait_ms": 30_000}, wait_s=60
        )

        assert sent["answer"] == "Done."
        assert server.wait_ended() == 0
    finally:
        server.end()


def test_a_session_of_its_own_ends_when_it_rests_and_a_message_opens_another(
    home: Path, model: ModelServer
) -> None:
    model.script = [call("run", {"input": "echo one"}), say("Once."), say("Twice.")]
    server = ServerProcess(home, **model.settings)
    server.start(change="import duetty.server as s; s.RESTING_S = s.MINUTE_S = 0.02")
    try:
        told = {"text": "hi", "cwd": str(home), "wait_ms": 30_000}
        asked = Asked(server, server.client.post("/agent/messages", told, wait_s=60)["info"]["id"])
        first = server.client.get(f"/sessions/{asked.info()['session']}")["id"]
        mine = server.client.post("/sessions", {"cwd": str(home)})["name"]
        until(lambda: server.client.get(f"/sessions/{first}")["state"] == "exited")
        log = server.client.get("/context/log", session=first)
        server.client.post("/agent/messages", told | {"conversation": asked.id}, wait_s=60)

        assert "echo one" in json.dumps(log)
        second = server.client.get(f"/sessions/{asked.info()['session']}")["id"]
        assert second != first
        assert asked.entries("answer")[-1]["text"] == "Twice."
        assert server.client.get(f"/sessions/{mine}")["state"] == "prompt"
    finally:
        server.end()


def test_what_a_person_brings_along_for_a_session_has_not_the_servers_key(
    server: ServerProcess,
) -> None:
    key = server.env["OPENAI_API_KEY"]
    brought = {"OPENAI_API_KEY": key, "ALSO": key, "OTHER_API_KEY": "my own"}
    opened = server.client.post("/sessions", {"cwd": str(server.home), "env": brought})

    ran = server.client.post(f"/sessions/{opened['name']}/run", {"input": "env"})

    assert key not in ran["output"]
    assert "OTHER_API_KEY=my own" in ran["output"]


def test_a_list_is_told_without_reading_what_was_said(server: ServerProcess, worked: Asked) -> None:
    shown = worked.info()
    server.kill()
    server.start()

    [listed] = [
        each for each in server.client.get("/agent/conversations") if each["id"] == worked.id
    ]

    for name in ("title", "state", "tokens_in", "tokens_out", "cost_usd", "turns", "seq"):
        assert listed[name] == shown[name], name

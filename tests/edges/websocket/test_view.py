"""`/ws/view` of a real server, seen by a viewer with a terminal of its own."""

import json
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from websockets.exceptions import InvalidStatus

from tests.edges.websocket.connect import HEAD, INPUT, connected, viewing
from tests.faults.server_facts import MIB, resident_bytes
from tests.server_process import ServerProcess, running_server

pytestmark = [pytest.mark.anyio, pytest.mark.pty]


JOURNAL_BYTES = 32 * MIB
"""Pages of the journal's file that are mapped while it is written; they are the kernel's to take."""


def screen_of(http: httpx.Client, session: str) -> dict[str, Any]:
    return http.get(f"/sessions/{session}/screen", params={"format": "plain"}).json()


async def test_a_viewer_gets_the_session_its_size_and_a_snapshot_then_bytes(
    server: ServerProcess, http: httpx.Client, session: str
) -> None:
    http.post(f"/sessions/{session}/run", json={"input": "echo before"})

    async with viewing(server) as viewer:
        await viewer.say("open", stream=1, session=session)
        opened = await viewer.until("opened")
        size = await viewer.until("size")
        await viewer.until_shown("before")
        await viewer.type(b"echo aft''er\r")
        await viewer.until_shown("after")

    assert (opened["stream"], opened["resumed"]) == (1, False)
    assert opened["session"]["name"] == session
    assert (size["cols"], size["rows"], size["program_rows"], size["top"], size["holder"]) == (
        80,
        24,
        24,
        0,
        "nobody",
    )
    assert viewer.snapshots == 1


async def test_a_viewer_that_comes_back_goes_on_at_its_byte_with_nothing_lost_or_doubled(
    server: ServerProcess, http: httpx.Client, session: str
) -> None:
    async with viewing(server) as viewer:
        await viewer.open(session)
        await viewer.type(b"echo o''ne\r")
        await viewer.until_shown("one")
        offset, terminal = viewer.offsets[1], viewer.terminals[1]
    http.post(f"/sessions/{session}/run", json={"input": "seq 1 500"})

    async with viewing(server) as again:
        again.terminals[7], again.offsets[7] = terminal, offset
        await again.say("open", stream=7, session=session, offset=offset)
        opened = await again.until("opened")
        http.post(f"/sessions/{session}/wait", json={"state": ["prompt"]})
        shown = screen_of(http, session)["lines"]
        while again.lines(7) != shown:
            await again.take()

    assert (opened["resumed"], opened["offset"], again.snapshots) == (True, offset, 0)


async def test_an_offset_that_never_was_gets_a_snapshot(
    server: ServerProcess, session: str
) -> None:
    async with viewing(server) as viewer:
        await viewer.say("open", stream=1, session=session, offset=10**12)
        opened = await viewer.until("opened")
        while not viewer.snapshots:
            await viewer.take()

    assert opened["resumed"] is False


async def test_a_viewer_that_was_away_while_the_size_changed_gets_a_snapshot(
    server: ServerProcess, http: httpx.Client, session: str
) -> None:
    async with viewing(server) as viewer:
        await viewer.open(session)
        offset = viewer.offsets[1]
    http.post(f"/sessions/{session}/resize", json={"cols": 100, "rows": 30})

    async with viewing(server) as again:
        await again.say("open", stream=1, session=session, offset=offset)
        opened = await again.until("opened")
        while not again.snapshots:
            await again.take()

    assert opened["resumed"] is False
    assert again.terminals[1].cols == 100


async def test_a_flooded_viewer_is_told_the_gap_also_when_the_size_changes(
    server: ServerProcess, http: httpx.Client, session: str
) -> None:
    async with viewing(server) as viewer:
        await viewer.open(session)
        viewer.acks = False
        await viewer.type(b"seq 1 1000000; echo the-''end\r")
        http.post(f"/sessions/{session}/wait", json={"text": "the-end", "max_wait_ms": 30_000})
        http.post(f"/sessions/{session}/resize", json={"cols": 90, "rows": 20})
        gap = await viewer.until("gap")
        await viewer.until_shown("the-end")

    assert gap["skipped"] > 1_000_000
    assert (viewer.terminals[1].cols, viewer.terminals[1].rows) == (90, 20)


async def test_malformed_messages_are_told_and_the_connection_stays(
    server: ServerProcess, session: str
) -> None:
    bad: list[str | bytes] = [
        "not json",
        "[]",
        json.dumps({"type": "nonsense"}),
        json.dumps({"type": "open", "stream": "x"}),
        json.dumps({"type": "size", "stream": 4, "cols": 80, "rows": 24}),
        json.dumps({"type": "open", "stream": 1, "session": "no-such"}),
        b"",
        b"\xff\x00garbage",
        HEAD.pack(INPUT, 9, 0) + b"ls\r",
        HEAD.pack(1, 1, 0) + b"output from a viewer",
    ]
    codes: list[str] = []

    async with viewing(server) as viewer:
        for message in bad:
            await viewer.socket.send(message)
            codes.append((await viewer.until("error"))["error"]["code"])
        await viewer.say("call", id=5, operation="server.health", arguments={})
        answer = await viewer.until("result")

    assert set(codes) == {"invalid_request", "session_not_found"}
    assert answer == {"type": "result", "id": 5, "result": {"status": "ok"}}


async def test_any_operation_can_be_called_and_a_wait_does_not_hold_up_others(
    server: ServerProcess, session: str
) -> None:
    async with viewing(server) as viewer:
        arguments = {"session": session, "text": "no-such-text", "max_wait_ms": 400}
        await viewer.say("call", id="slow", operation="session.wait", arguments=arguments)
        await viewer.say("call", id="fast", operation="session.get", arguments={"session": session})
        await viewer.say("call", id="none", operation="no.such", arguments={})
        answers = [await viewer.until(lambda told: "id" in told) for _ in range(3)]

    assert [answer["id"] for answer in answers] == ["fast", "none", "slow"]
    assert answers[0]["result"]["name"] == session
    assert [answer["error"]["code"] for answer in answers[1:]] == [
        "unknown_method",
        "wait_timeout",
    ]


async def test_watching_gives_the_list_and_then_every_change(
    server: ServerProcess, http: httpx.Client
) -> None:
    async with viewing(server) as viewer:
        await viewer.say("watch", on=True)
        await viewer.until("sessions")
        http.post("/sessions", json={"name": "watched", "command": "cat"})
        http.patch("/sessions/watched", json={"name": "seen", "add_tags": ["x"]})
        http.delete("/sessions/seen")
        changes: list[dict[str, Any]] = []
        while not changes or changes[-1]["change"] != "removed":
            changes.append(await viewer.until("session"))

    words = [change["change"] for change in changes]
    assert words[0] == "created"
    assert words[-2:] != ["updated", "removed"] or "exited" in words
    renamed = next(change for change in changes if change["change"] == "renamed")
    assert (renamed["old_name"], renamed["name"]) == ("watched", "seen")
    shown = [change["session"] for change in changes if change.get("session")]
    assert ["x"] in [session["tags"] for session in shown]


async def test_a_thumb_is_text_and_changing_to_stream_brings_a_snapshot(
    server: ServerProcess, http: httpx.Client, session: str
) -> None:
    http.post(f"/sessions/{session}/run", json={"input": "echo little"})

    async with viewing(server) as viewer:
        await viewer.say("open", stream=1, session=session, mode="thumb")
        thumb = await viewer.until("thumb")
        assert viewer.snapshots == 0
        await viewer.say("mode", stream=1, mode="stream")
        await viewer.until_shown("little")

    assert "little" in "\n".join(thumb["lines"])
    assert thumb["state"] == "prompt"
    assert viewer.snapshots == 1


async def test_events_tell_state_blocks_title_and_the_end(
    server: ServerProcess, http: httpx.Client
) -> None:
    http.post("/sessions", json={"name": "telling", "command": "bash"})
    http.post("/sessions/telling/wait", json={"state": ["prompt"]})

    async with viewing(server) as viewer:
        await viewer.open("telling")
        await viewer.type(b"printf '\\033]2;hello\\007'; false\r")
        title = await viewer.find(lambda told: told.get("title") == "hello")
        done = await viewer.find(lambda told: told.get("change") == "finished")
        await viewer.type(b"exit 3\r")
        exited = await viewer.until(lambda told: told.get("event") == "exit")
        http.delete("/sessions/telling")
        ended = await viewer.until("ended")

    assert title["title"] == "hello"
    assert done["exit_code"] == 1
    assert (exited["exit_code"], exited["signal"]) == (3, None)
    assert (ended["reason"], ended["exit_code"]) == ("removed", 3)
    states = [told["state"] for told in viewer.messages if told.get("event") == "state"]
    assert "running" in states


async def test_a_question_is_noticed_while_somebody_looks(
    server: ServerProcess, session: str
) -> None:
    async with viewing(server) as viewer:
        await viewer.open(session)
        await viewer.type(b"read answer\r")
        await viewer.until(lambda told: told.get("state") == "awaiting_input")


async def test_a_slow_viewer_of_a_flood_ends_up_with_the_same_screen_and_is_told_the_gap(
    server: ServerProcess, http: httpx.Client, session: str
) -> None:
    before = resident_bytes(server)

    async with viewing(server) as viewer:
        await viewer.open(session)
        viewer.acks = False
        await viewer.type(b"seq 1 4000000; echo the-''end\r")
        http.post(
            f"/sessions/{session}/wait",
            json={"text": "the-end", "max_wait_ms": 30_000},
        )
        viewer.acks = True
        for stream, offset in viewer.offsets.items():
            await viewer.say("ack", stream=stream, offset=offset)
        grown = resident_bytes(server) - before
        gap = await viewer.until("gap")
        await viewer.until_shown("the-end")
        http.post(f"/sessions/{session}/wait", json={"state": ["prompt"]})
        shown = screen_of(http, session)["lines"]
        while viewer.lines() != shown:
            await viewer.take()

    assert grown < 64 * MIB + JOURNAL_BYTES
    assert gap["skipped"] > 5_000_000
    assert gap["skipped"] == gap["end"] - gap["start"]


async def test_a_reader_that_acknowledges_gets_a_burst_whole(
    server: ServerProcess, session: str
) -> None:
    async with viewing(server) as viewer:
        await viewer.open(session)
        await viewer.type(b"seq 1 20000; echo the-''end\r")
        await viewer.until_shown("the-end")

    assert not [told for told in viewer.messages if told["type"] == "gap"]
    assert b"\r\n".join(str(n).encode() for n in range(1, 20001)) in bytes(viewer.output[1])


async def test_streams_of_one_connection_do_not_mix(
    server: ServerProcess, http: httpx.Client, session: str
) -> None:
    http.post("/sessions", json={"name": "other", "command": "bash"})

    async with viewing(server) as viewer:
        await viewer.open(session)
        await viewer.open("other", stream=2)
        await viewer.type(b"echo to-''one\r", stream=1)
        await viewer.type(b"echo to-''two\r", stream=2)
        await viewer.until_shown("to-one", stream=1)
        await viewer.until_shown("to-two", stream=2)
        await viewer.say("close", stream=2)
        await viewer.type(b"echo fin''al\r", stream=1)
        await viewer.until_shown("final", stream=1)
    http.delete("/sessions/other")

    assert "to-two" not in viewer.text(1)
    assert "to-one" not in viewer.text(2)


async def test_nobody_comes_in_without_a_credential_or_from_another_page(
    server: ServerProcess,
) -> None:
    url = server.url().replace("http://", "ws://") + "/ws/view"
    from websockets.asyncio.client import connect

    with pytest.raises(InvalidStatus) as refused:
        async with connect(url):
            pass
    with pytest.raises(InvalidStatus) as foreign:
        async with connected(server, "/ws/view", origin="http://evil.example"):
            pass

    assert refused.value.response.status_code == 401
    assert json.loads(refused.value.response.body)["error"]["code"] == "auth_required"
    assert foreign.value.response.status_code == 403
    with anyio.fail_after(60):
        async with viewing(server):
            pass


async def test_a_viewer_goes_on_at_its_byte_after_the_server_was_killed(home: Path) -> None:
    with running_server(home) as server:
        server.client.post("/sessions", {"name": "s", "command": "bash"})
        server.client.post("/sessions/s/wait", {"state": ["prompt"]})
        async with viewing(server) as viewer:
            await viewer.open("s")
            await viewer.type(b"(sleep 1; seq 1 3000) & echo be''gun\r")
            await viewer.until_shown("begun")
            offset, terminal = viewer.offsets[1], viewer.terminals[1]
            await anyio.to_thread.run_sync(server.kill)
        await anyio.to_thread.run_sync(server.start)
        async with viewing(server) as again:
            again.terminals[1], again.offsets[1] = terminal, offset
            await again.say("open", stream=1, session="s", offset=offset)
            opened = await again.until("opened")
            await again.until_shown("\n3000")

    assert (opened["resumed"], again.snapshots) == (True, 0)
    assert b"\r\n".join(str(n).encode() for n in range(1, 3001)) in bytes(again.output[1])

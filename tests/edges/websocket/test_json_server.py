"""`/ws/json`: all sessions on one connection, and what happens to the sessions themselves."""

import httpx
import pytest

from tests.edges.websocket.connect import speaking, viewing
from tests.server_process import ServerProcess

pytestmark = [pytest.mark.anyio, pytest.mark.pty]


async def test_sessions_are_created_renamed_tagged_and_killed_and_each_is_told(
    server: ServerProcess,
) -> None:
    async with speaking(server, "/ws/json") as client:
        created = await client.call("create_session", name="made", command="cat", tags=["a"])
        conflict = await client.call("create_session", name="made")
        renamed = await client.call("rename_session", name="made", new_name="moved")
        tagged = await client.call("update_tags", session="moved", add=["b"], remove=["a"])
        bad_tag = await client.call("update_tags", session="moved", add=["not a tag"])
        updated = await client.call("update_session", session="moved", add_tags=["c"])
        listed = await client.call("list_sessions", tag=["c"])
        killed = await client.call("kill_session", name="moved")
        await client.call("server.health")
        unknown = await client.call("kill_session", name="moved")

    assert (created["name"], created["rows"], created["tags"]) == ("made", 24, ["a"])
    assert conflict == "session_name_conflict"
    assert (renamed["name"], tagged["tags"], updated["tags"]) == ("moved", ["b"], ["b", "c"])
    assert [each["name"] for each in listed] == ["moved"]
    assert (killed, unknown, bad_tag) == ({}, "session_not_found", "invalid_tag")
    told = {event["event"]: event["params"] for event in client.events if "event" in event}
    assert told["session_created"] == {"name": "made"}
    assert told["session_renamed"] == {"old_name": "made", "new_name": "moved"}
    assert told["session_destroyed"] == {"name": "moved"}
    tags = [
        (event["params"]["added"], event["params"]["removed"])
        for event in client.events
        if event.get("event") == "session_tags_changed"
    ]
    assert tags == [(["b"], ["a"]), (["c"], [])]


async def test_an_unnamed_session_gets_a_number_and_its_exit_is_told(
    server: ServerProcess,
) -> None:
    async with speaking(server, "/ws/json") as client:
        created = await client.call("create_session", command="sh -c 'exit 4'")
        exited = await client.find("session_exited")
        await client.call("kill_session", name=created["name"])

    assert created["name"].isdecimal()
    assert exited["params"] == {"name": created["name"], "exit_code": 4}


async def test_a_method_about_a_session_needs_its_name(server: ServerProcess, session: str) -> None:
    async with speaking(server, "/ws/json") as client:
        screen = await client.call("get_screen", session)
        nameless = await client.call("get_screen")
        unknown = await client.call("get_screen", "none")
        nowhere = await client.call("subscribe", events=["lines"])
        idle = await client.call("await_idle", session, timeout_ms=50)

    assert screen["cols"] == 80
    assert (nameless, unknown, nowhere) == (
        "session_required",
        "session_not_found",
        "session_required",
    )
    assert "screen" in idle


async def test_activity_of_a_session_is_told_with_its_name(
    server: ServerProcess, session: str
) -> None:
    async with speaking(server, "/ws/json") as client:
        await client.call("await_idle", session, timeout_ms=300)
        await client.call("subscribe", session, events=["activity"], idle_timeout_ms=200)
        sync = await client.until("sync")
        idle = await client.until("idle")
        await client.call("send_input", session, data="#")
        running = await client.find("running")
        again = await client.until("idle")

    assert set(sync) == {"event", "session", "params"}
    assert set(sync["params"]) == {"seq", "screen", "scrollback_lines"}
    assert {told["session"] for told in (sync, idle, running, again)} == {session}


async def test_a_subscription_follows_a_rename_and_another_replaces_it(
    server: ServerProcess, http: httpx.Client
) -> None:
    http.post("/sessions", json={"name": "before", "command": "cat"})

    async with speaking(server, "/ws/json") as client:
        await client.call("subscribe", "before", events=["lines"], interval_ms=0)
        await client.call("rename_session", name="before", new_name="after")
        await client.call("send_input", "after", data="one\r")
        line = await client.until(lambda told: told.get("event") == "line")
        await client.call("subscribe", "after", events=["cursor"], interval_ms=0)
        start = len(client.events)
        await client.call("send_input", "after", data="two\r")
        await client.until("cursor")
        clients = (await client.call("session.get", "after"))["clients"]
    http.delete("/sessions/after")

    assert line["session"] == "after"
    assert not [told for told in client.events[start:] if told.get("event") == "line"]
    assert clients == 1


async def test_keys_typed_at_a_viewer_are_told_at_the_server_level_too(
    server: ServerProcess, session: str
) -> None:
    async with viewing(server) as viewer, speaking(server, "/ws/json") as client:
        await viewer.open(session)
        await client.call("subscribe", session, events=["input"])
        await client.until("sync")
        await viewer.type(b"\x1b[A")
        typed = await client.until("input")

    assert (typed["session"], typed["parsed"]) == (session, {"key": "ArrowUp", "modifiers": []})


async def test_one_session_does_not_hear_of_another(
    server: ServerProcess, http: httpx.Client, session: str
) -> None:
    http.post("/sessions", json={"name": "neighbour", "command": "cat"})

    async with speaking(server, "/ws/json") as client:
        await client.call("subscribe", session, events=["lines"], format="plain", interval_ms=0)
        await client.until("sync")
        await client.call("send_input", "neighbour", data="elsewhere\r")
        await client.call("await_idle", "neighbour", timeout_ms=100)
        await client.call("send_input", session, data="echo he''re\r")
        await client.until(lambda told: told.get("line") == "here")
    http.delete("/sessions/neighbour")

    assert "elsewhere" not in str([t for t in client.events if t.get("event") == "line"])


async def test_the_server_mode_is_asked_and_set(server: ServerProcess) -> None:
    async with speaking(server, "/ws/json") as client:
        assert await client.call("set_server_mode") == {"persistent": True}
        assert await client.call("set_server_mode", persistent=True) == {"persistent": True}


async def test_detaching_ends_attached_viewers_only(server: ServerProcess, session: str) -> None:
    async with viewing(server) as viewer, speaking(server, "/ws/json") as client:
        await viewer.open(session, stream=1, role="attach")
        await viewer.open(session, stream=2, role="page")
        assert await client.call("detach_session", name=session) == {}
        ended = await viewer.until("ended")
        await viewer.type(b"echo st''ill\r", stream=2)
        await viewer.until_shown("still", stream=2)

    assert (ended["stream"], ended["reason"]) == (1, "detached")


async def test_changes_that_nobody_took_in_time_are_followed_by_the_whole_list(
    server: ServerProcess, http: httpx.Client, session: str
) -> None:
    async with speaking(server, "/ws/json") as client:
        for number in range(400):  # in one turn each, while we read nothing
            http.patch(f"/sessions/{session}", json={"add_tags": [f"t{number}"]})
        await client.call("server.health")
        tags = [t for t in client.events if t.get("event") == "session_tags_changed"]

    # Either every change came, or it was said how many did not, and the list came instead.
    lagged = [t for t in client.events if t.get("type") == "lagged"]
    assert len(tags) + sum(t["skipped"] for t in lagged) >= 400
    assert bool(lagged) == any(t.get("event") == "sessions" for t in client.events)

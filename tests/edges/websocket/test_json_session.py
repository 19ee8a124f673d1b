"""`/sessions/{name}/ws/json`: the published methods and events, the broken promises kept."""

import base64
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import httpx
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from duetty.edges.http.websocket.methods import METHODS, find_method, is_of_session
from duetty.ops import OPERATIONS
from tests.edges.websocket.connect import JsonClient, connected, speaking, viewing
from tests.server_process import ServerProcess

pytestmark = [pytest.mark.anyio, pytest.mark.pty]


@pytest.fixture
async def client(server: ServerProcess, session: str) -> AsyncIterator[JsonClient]:
    async with speaking(server, f"/sessions/{session}/ws/json") as client:
        yield client


# --- methods ------------------------------------------------------------------


def test_every_operation_is_a_method_and_every_method_an_operation() -> None:
    reachable = {method.operation for method in METHODS.values()} | set(OPERATIONS)
    unreachable = [name for name in OPERATIONS if find_method(name) is None]

    assert reachable == set(OPERATIONS)
    assert unreachable == []
    assert find_method("no_such") is None


def test_a_method_that_is_about_a_session_says_so() -> None:
    found = find_method("get_screen")

    assert found is not None
    assert is_of_session(found[1])
    assert not is_of_session(OPERATIONS["history.list"])


async def test_an_answer_carries_id_method_and_result(client: JsonClient) -> None:
    id_ = await client.ask("get_input_mode")
    answer = await client.answer(id_)

    assert (answer["id"], answer["method"]) == (id_, "get_input_mode")
    assert answer["result"]["mode"] == "passthrough"


async def test_an_answer_without_id_has_none(client: JsonClient) -> None:
    await client.socket.send(json.dumps({"method": "get_focus"}))

    assert await client.take() == {"method": "get_focus", "result": {"focused": None}}


async def test_what_cannot_be_read_is_told_and_the_connection_stays(client: JsonClient) -> None:
    for bad in (
        "nonsense",
        "[1]",
        "{}",
        '{"method": 5}',
        "\\u0000",
    ):
        await client.socket.send(bad)
        told = await client.take()
        assert told["error"]["code"] == "invalid_request"
        assert "method" not in told
        assert "id" not in told
    await client.socket.send(b"\xff\xfe binary garbage")
    await client.socket.send("[" * 100_000)
    assert (await client.take())["error"]["code"] == "invalid_request"

    assert (await client.call("get_input_mode"))["mode"] == "passthrough"


async def test_unknown_methods_and_bad_parameters_are_told_with_id_and_method(
    client: JsonClient,
) -> None:
    unknown = await client.answer(await client.ask("no_such"))
    of_server = await client.answer(await client.ask("list_sessions"))
    bad = await client.answer(await client.ask("get_scrollback", offset="far"))

    assert (unknown["method"], unknown["error"]["code"]) == ("no_such", "unknown_method")
    assert of_server["error"]["code"] == "unknown_method"
    assert (bad["method"], bad["error"]["code"]) == ("get_scrollback", "invalid_request")


@pytest.mark.parametrize("wrong", [{"params": []}, {"params": "x"}, {"session": 5}])
async def test_parts_of_the_wrong_kind_are_told_with_id_and_method(
    client: JsonClient, wrong: dict[str, object]
) -> None:
    await client.socket.send(json.dumps({"id": 7, "method": "get_input_mode", **wrong}))
    told = await client.take()

    assert (told["id"], told["method"]) == (7, "get_input_mode")
    assert told["error"]["code"] == "invalid_request"


async def test_input_reaches_the_program_in_either_encoding(client: JsonClient) -> None:
    encoded = base64.b64encode(b"echo fr''om-base64\r").decode()

    assert await client.call("send_input", data="echo fr''om-text\r") == {}
    assert await client.call("send_input", data=encoded, encoding="base64") == {}
    assert await client.call("send_input", data="?!", encoding="base64") == "invalid_request"
    await client.call("await_idle", timeout_ms=200)
    screen = await client.call("get_screen", format="plain")
    assert {"from-text", "from-base64"} <= set(screen["lines"])


async def test_screen_and_scrollback_have_the_published_shape(client: JsonClient) -> None:
    await client.call("command.run", input="seq 1 100")
    screen = await client.call("get_screen")
    scrollback = await client.call("get_scrollback", format="plain", offset=0, limit=5)

    assert {
        "epoch", "first_line_index", "total_lines", "lines", "cursor", "cols", "rows",
        "alternate_active",
    } <= set(screen)  # fmt: skip
    assert all(isinstance(line, list) for line in screen["lines"])
    assert len(scrollback["lines"]) == 5


async def test_the_epoch_grows_when_the_screen_changes(client: JsonClient) -> None:
    before = (await client.call("get_screen"))["epoch"]
    await client.call("command.run", input="echo more")
    after = (await client.call("get_screen"))["epoch"]

    assert after > before


async def test_a_resize_is_brought_into_range_and_resets(client: JsonClient) -> None:
    await client.call("subscribe", events=["lines"])
    await client.until("sync")

    assert await client.call("resize", cols=0, rows=0) == {}
    reset = await client.find("reset")
    sync = await client.until("sync")

    assert reset["reason"] == "resize"
    assert (sync["screen"]["cols"], sync["screen"]["rows"]) == (1, 1)


async def test_overlays_panels_and_batches_by_their_published_names(client: JsonClient) -> None:
    overlay = await client.call(
        "create_overlay", x=1, y=2, width=10, height=1, spans=[{"id": "a", "text": "hi"}]
    )
    panel = await client.call("create_panel", position="bottom", height=2)

    assert await client.call(
        "batch_update",
        id=overlay["id"],
        type="overlay",
        spans=[{"id": "a", "text": "new"}],
        writes=[{"row": 0, "col": 5, "text": "w"}],
    ) == {}  # fmt: skip
    kept = await client.call("get_overlay", id=overlay["id"])
    assert kept["spans"][0]["text"] == "new"
    assert kept["region_writes"][0]["text"] == "w"
    assert await client.call("batch_update", id="none", type="overlay") == "overlay_not_found"
    assert await client.call("batch_update", id="none", type="panel") == "panel_not_found"
    assert (await client.call("get_screen"))["rows"] == 22
    assert [each["id"] for each in await client.call("list_panels")] == [panel["id"]]
    assert await client.call("delete_overlay", id=overlay["id"]) == {}
    assert await client.call("get_overlay", id=overlay["id"]) == "overlay_not_found"
    assert await client.call("enter_alt_screen") == {}
    assert await client.call("enter_alt_screen") == "already_in_alt_screen"
    assert await client.call("get_screen_mode") == {"mode": "alt"}
    assert await client.call("exit_alt_screen") == {}
    assert await client.call("clear_panels") == {}
    assert (await client.call("get_screen"))["rows"] == 24


# --- idle ---------------------------------------------------------------------


async def test_await_idle_answers_when_it_is_quiet_and_in_time_when_it_is_not(
    client: JsonClient,
) -> None:
    quiet = await client.call("await_idle", timeout_ms=100, format="plain")
    await client.call("send_input", data="while sleep 0.02; do echo busy; done\r")
    busy = await client.call("await_quiesce", timeout_ms=60_000, max_wait_ms=500)
    await client.call("send_input", data="\x03")

    assert {"screen", "scrollback_lines", "generation"} <= set(quiet)
    assert busy == "idle_timeout"


async def test_a_wait_for_news_ends_when_there_are_some(client: JsonClient) -> None:
    generation = (await client.call("await_idle", timeout_ms=200))["generation"]
    waiting = await client.ask("await_idle", timeout_ms=50, last_generation=generation)

    await client.call("send_input", data="#")  # others go on meanwhile
    answer = await client.answer(waiting)

    assert answer["result"]["generation"] > generation


async def test_a_second_wait_supersedes_the_first(client: JsonClient) -> None:
    await client.call("await_idle", timeout_ms=200)
    first = await client.ask("await_idle", timeout_ms=50, last_generation=10**6, fresh=True)
    current = (await client.call("get_screen"))["epoch"]
    generation = (await client.call("session.idle", timeout_ms=0))["generation"]
    first = await client.ask("await_idle", timeout_ms=50, last_generation=generation)
    second = await client.ask("await_idle", timeout_ms=50)
    answers = {
        told["id"]: told
        for told in [
            await client.until(lambda told: told.get("id") in (first, second)) for _ in "ab"
        ]
    }

    assert current > 0
    assert answers[first]["error"]["code"] == "idle_superseded"
    assert "result" in answers[second]


# --- events -------------------------------------------------------------------


async def test_a_subscriber_gets_a_sync_then_lines_and_the_cursor(client: JsonClient) -> None:
    answer = await client.call("subscribe", events=["lines", "cursor"], interval_ms=0)
    sync = await client.until("sync")
    await client.call("send_input", data="echo he''llo\r")
    line = await client.until(lambda told: told.get("line") == [{"text": "hello"}])
    cursor = await client.until("cursor")

    assert answer == {"events": ["lines", "cursor"]}
    assert (sync["seq"], set(sync)) == (0, {"event", "seq", "screen", "scrollback_lines"})
    assert set(line) == {"event", "seq", "index", "total_lines", "line"}
    assert set(cursor) == {"event", "seq", "row", "col", "visible"}
    seqs = [told["seq"] for told in client.events if told.get("seq")]
    assert seqs == list(range(1, len(seqs) + 1))


async def test_lines_are_plain_when_that_was_asked_for(client: JsonClient) -> None:
    await client.call("subscribe", events=["lines"], format="plain", interval_ms=0)
    await client.until("sync")
    await client.call("send_input", data="echo pl''ain\r")

    assert (await client.until(lambda told: told.get("line") == "plain"))["event"] == "line"


async def test_diffs_and_chars_come_when_asked_for(client: JsonClient) -> None:
    await client.call("subscribe", events=["diffs", "chars"], format="plain", interval_ms=0)
    await client.until("sync")
    await client.call("send_input", data="echo gr''üße\r")
    diff = await client.until(
        lambda told: told.get("event") == "diff" and "grüße" in told["screen"]["lines"]
    )
    chars = "".join(told["text"] for told in client.events if told.get("event") == "chars")

    assert diff["screen"]["lines"].index("grüße") in [
        index
        for told in client.events
        if told.get("event") == "diff"
        for index in told["changed_lines"]
    ]
    assert "grüße\r\n" in chars


async def test_no_more_than_one_burst_comes_in_an_interval(client: JsonClient) -> None:
    await client.call("subscribe", events=["diffs"], format="plain", interval_ms=60_000)
    await client.until("sync")
    await client.call("command.run", input="for i in 1 2 3 4 5; do echo $i; sleep 0.02; done")
    await client.call("subscribe", events=["diffs"], format="plain", interval_ms=0)
    await client.until("sync")

    assert not [told for told in client.events if told.get("event") == "diff"]


async def test_clearing_resetting_and_the_other_screen_are_told_and_followed_by_a_sync(
    client: JsonClient,
) -> None:
    await client.call("subscribe", events=["lines", "mode"], interval_ms=0)
    await client.until("sync")
    told: dict[str, Any] = {}
    for reason, sequence in {
        "clear_screen": "\\033[2J",
        "clear_scrollback": "\\033[3J",
        "hard_reset": "\\033c",
        "alternate_screen_enter": "\\033[?1049h",
        "alternate_screen_exit": "\\033[?1049l",
    }.items():
        await client.call("send_input", data=f"printf '{sequence}'\r")
        told[reason] = await client.until("reset")
        await client.until("sync")

    assert {reason: event["reason"] for reason, event in told.items()} == {
        reason: reason for reason in told
    }
    modes = [event for event in client.events if event.get("event") == "mode"]
    assert [event["alternate_active"] for event in modes] == [True, False]


async def test_a_quiet_session_is_idle_at_once_then_running_then_idle(client: JsonClient) -> None:
    await client.call("await_idle", timeout_ms=300)
    await client.call("subscribe", events=["activity"], idle_timeout_ms=200)
    await client.until("sync")
    idle = await client.take()
    await client.call("send_input", data="#")
    running = await client.find("running")
    again = await client.until("idle")

    assert set(idle) == {"event", "seq", "generation", "screen", "scrollback_lines"}
    assert set(running) == {"event", "seq", "generation"}
    assert again["generation"] > idle["generation"]


async def test_a_session_that_was_just_active_is_running_first(client: JsonClient) -> None:
    await client.call("send_input", data="#")
    await client.call("subscribe", events=["activity"], quiesce_ms=2_000)
    await client.until("sync")
    running = await client.take()

    assert running["event"] == "running"
    assert "screen" not in running


async def test_state_block_title_and_elements_are_events_beyond(client: JsonClient) -> None:
    words = ["state", "block", "title", "overlay"]
    await client.call("subscribe", events=words)
    await client.call("create_overlay", x=0, y=0, width=1, height=1, spans=[{"text": "o"}])
    overlay = await client.find("overlay")
    await client.call("send_input", data="printf '\\033]2;named\\007'; (exit 7)\r")
    title = await client.find("title")
    block = await client.find(lambda told: told.get("change") == "finished")

    assert overlay["overlays"][0]["spans"][0]["text"] == "o"
    assert title["title"] == "named"
    assert block["exit_code"] == 7


async def test_an_unknown_event_type_is_refused(client: JsonClient) -> None:
    assert await client.call("subscribe", events=["nonsense"]) == "invalid_request"
    assert await client.call("subscribe") == "invalid_request"
    assert await client.call("subscribe", events=["lines"], interval_ms=-1) == "invalid_request"


async def test_captured_keys_are_events_and_the_capture_ends_with_the_connection(
    server: ServerProcess, http: httpx.Client, session: str
) -> None:
    async with viewing(server) as viewer:
        await viewer.open(session)
        async with speaking(server, f"/sessions/{session}/ws/json") as client:
            await client.call("subscribe", events=["input"])
            await client.call("capture_input")
            mode = await client.find("mode")
            await viewer.type(b"q")
            typed = await client.until("input")
            captured = http.get(f"/sessions/{session}/input/mode").json()
        await viewer.until(lambda told: told.get("input_mode") == "passthrough")

    assert mode["mode"] == "capture"
    assert (typed["mode"], typed["raw"], typed["parsed"]) == (
        "capture",
        [ord("q")],
        {"key": "q", "modifiers": []},
    )
    assert captured["mode"] == "capture"
    assert http.get(f"/sessions/{session}/input/mode").json()["mode"] == "passthrough"


# --- coming and going ---------------------------------------------------------


@pytest.mark.parametrize("path", ["/nowhere", "/ws", "/sessions", "/ws/json/", "//ws/json"])
async def test_an_upgrade_where_no_websocket_is_is_told_so(
    server: ServerProcess, path: str
) -> None:
    with pytest.raises(InvalidStatus) as caught:
        async with connected(server, path):
            pass

    response = caught.value.response
    assert (response.status_code, json.loads(response.body)["error"]["code"]) == (404, "not_found")


async def test_an_unknown_session_is_not_upgraded(server: ServerProcess) -> None:
    with pytest.raises(InvalidStatus) as refused:
        async with connected(server, "/sessions/none/ws/json"):
            pass

    assert refused.value.response.status_code == 404
    assert json.loads(refused.value.response.body)["error"]["code"] == "session_not_found"


async def test_the_connection_ends_with_the_session_and_says_so(
    server: ServerProcess, http: httpx.Client
) -> None:
    http.post("/sessions", json={"name": "short", "command": "cat"})

    async with speaking(server, "/sessions/short/ws/json") as client:
        await client.call("subscribe", events=["exit"])
        http.delete("/sessions/short")
        await client.until("exit")
        with pytest.raises(ConnectionClosed) as closed:
            await client.take()

    assert closed.value.rcvd is not None
    assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (1000, "session ended")


async def test_a_viewer_counts_as_a_client(
    server: ServerProcess, http: httpx.Client, session: str
) -> None:
    before = http.get(f"/sessions/{session}").json()["clients"]
    async with (
        speaking(server, f"/sessions/{session}/ws/json") as client,
        speaking(server, f"/sessions/{session}/ws/json"),
    ):
        during = (await client.call("session.get"))["clients"]

    assert (before, during) == (0, 2)


async def test_the_sixty_fifth_viewer_is_refused(
    server: ServerProcess, http: httpx.Client, session: str
) -> None:
    async with AsyncExitStack() as stack:
        for _ in range(64):
            await stack.enter_async_context(connected(server, f"/sessions/{session}/ws/raw"))
        with pytest.raises(InvalidStatus) as refused:
            await stack.enter_async_context(connected(server, f"/sessions/{session}/ws/raw"))

    assert refused.value.response.status_code == 429
    assert json.loads(refused.value.response.body)["error"]["code"] == "resource_limit_reached"

"""Commands that go on by themselves: bounded, listed, read from a cursor, waited for, told of."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.server.subscriptions import ResourceUpdated
from mcp.types import LoggingMessageNotificationParams

from tests.edges.mcp.connect import call, connected
from tests.server_process import ServerProcess, running_server

pytestmark = [pytest.mark.anyio, pytest.mark.pty]


@pytest.fixture
async def client(server: ServerProcess) -> AsyncGenerator[Client]:
    async with connected("stdio-2026", server) as client:
        yield client


async def begun(client: Client, line: str, **more: object) -> dict[str, Any]:
    """In the background of a session of its own."""
    opened = await call(client, "wsh_create_session", command="bash")
    given = {"session": opened["session"], "input": line, "background": True, **more}
    return await call(client, "wsh_run_command", **given)


async def test_a_background_command_has_an_owner_a_deadline_and_a_cap_and_is_listed(
    client: Client,
) -> None:
    started = await begun(client, "sleep 600", max_output_bytes=5_000)
    listed = await call(client, "wsh_list_sessions", tag=["background"])
    [entry] = [each for each in listed["sessions"] if each["name"] == started["background"]]
    await call(client, "wsh_manage_session", session=started["background"], action="kill")

    told = entry["background"]
    assert (told["owner"], told["command_line"]) == ("agent:local", "sleep 600")
    assert told["ends_at"] == started["ends_at"]
    assert (told["max_output_bytes"], told["output_bytes"]) == (5_000, 0)


async def test_its_output_is_read_on_from_a_cursor_and_its_end_waited_for(client: Client) -> None:
    line = "echo one; while [ ! -e go-on ]; do sleep 0.05; done; echo two; exit 3"
    started = await begun(client, line, until="one")
    name = started["background"]
    first = await call(client, "wsh_get_scrollback", session=name, cursor=0)
    await begun(client, "touch go-on")
    ended = await call(client, "wsh_await_quiesce", session=name, end=True)
    rest = await call(client, "wsh_get_scrollback", session=name, cursor=first["next"])

    assert first["lines"] == ["one"]
    assert (ended["state"], ended["exit_code"]) == ("exited", 3)
    assert (rest["lines"], rest["exit_code"]) == (["two"], 3)


async def test_a_command_that_prints_more_than_its_cap_is_ended_and_that_is_told(
    client: Client,
) -> None:
    started = await begun(client, "yes", max_output_bytes=50_000)
    ended = await call(client, "wsh_await_quiesce", session=started["background"], end=True)

    mine = [each for each in ended["ended"] if each["session"] == started["background"]]
    assert [each["bound_reached"] for each in mine] == ["output"]


@pytest.mark.parametrize("way", ["stdio-2025", "http-2025"])
async def test_a_client_of_the_handshake_era_is_notified_of_the_end(
    server: ServerProcess, way: str
) -> None:
    heard: list[Any] = []
    news = anyio.Event()

    async def log(params: LoggingMessageNotificationParams) -> None:
        heard.append(params.data)
        if len(heard) == 2:
            news.set()

    async with connected(way, server, logging_callback=log) as client:
        started = await begun(client, "exit 4")
        opened = await call(client, "wsh_create_session", command="bash")
        late = {"session": opened["session"], "input": "sleep 0.3; (exit 5)", "max_wait_ms": 100}
        await client.call_tool("wsh_run_command", late)
        with anyio.fail_after(60):
            await news.wait()

    told = {each["ended"]["session"]: each["ended"]["exit_code"] for each in heard}
    assert told == {started["background"]: 4, opened["session"]: 5}


async def test_a_listener_of_the_modern_era_is_notified_of_the_end(client: Client) -> None:
    started = await begun(client, "sleep 0.2")
    listed: dict[str, Any] = {}

    with anyio.fail_after(60):
        async with client.listen(resource_subscriptions=["wsh://sessions"]) as heard:
            async for event in heard:
                assert event == ResourceUpdated(uri="wsh://sessions")
                listed = await call(client, "wsh_list_sessions", session=started["background"])
                if listed["state"] == "exited":
                    break

    assert listed["exit_code"] == 0


async def test_the_wait_for_a_command_in_front_ends_with_it(client: Client) -> None:
    opened = await call(client, "wsh_create_session", command="bash")
    late = {"session": opened["session"], "input": "sleep 0.3; (exit 6)", "max_wait_ms": 100}
    answer = dict((await client.call_tool("wsh_run_command", late)).structured_content or {})
    listed = await call(client, "wsh_list_sessions", session=opened["session"])
    ended = await call(client, "wsh_await_quiesce", session=opened["session"], end=True)

    told = listed["left_running"]
    assert (told["owner"], told["command_line"]) == ("agent:local", "sleep 0.3; (exit 6)")
    assert {name: told[name] for name in ("block", "ends_at", "max_output_bytes")} == {
        name: answer[name] for name in ("block", "ends_at", "max_output_bytes")
    }
    assert (ended["state"], ended["exit_code"]) == ("prompt", 6)


async def test_any_of_several_texts_ends_a_wait_and_the_answer_says_which_and_where(
    client: Client,
) -> None:
    opened = await call(client, "wsh_create_session", command="bash")
    name = opened["session"]
    line = "seq 100; echo 'error: port 80 is taken'; sleep 600"
    patterns = [r"listening on \d+", r"port \d+"]
    ran = await call(
        client, "wsh_run_command", session=name, input=line, until="ready", until_regex=patterns
    )
    waited = await call(client, "wsh_await_quiesce", session=name, until=["nothing", "taken"])
    row = await call(
        client, "wsh_get_scrollback", session=name, offset=ran["match_row"], limit=1, format="plain"
    )

    assert (ran["completed_by"], ran["match"], ran["matched"]) == ("text", "port 80", r"port \d+")
    assert row["lines"] == ["error: port 80 is taken"]
    assert (waited["match"], waited["match_row"]) == ("taken", ran["match_row"])


async def test_a_refusal_for_its_length_says_the_limit_and_another_way(client: Client) -> None:
    opened = await call(client, "wsh_create_session", command="bash")
    line = "rm -rf /etc #" + "x" * 20_000
    given = {"session": opened["session"], "input": line, "view": "output"}
    told = dict((await client.call_tool("wsh_run_command", given)).structured_content or {})

    message = told["error"]["message"]
    assert "16384" in message
    assert len(message.partition("most: ")[2]) <= 200
    assert "stdin" in told["error"]["hint"]


async def test_a_background_command_keeps_its_deadline_over_a_restart(home: Path) -> None:
    with running_server(home) as server:
        async with connected("stdio-2025", server) as client:
            started = await begun(client, "sleep 600", max_wait_ms=1_500)
        server.kill()
        server.start()
        async with connected("stdio-2025", server) as client:
            name = started["background"]
            ended = await call(client, "wsh_await_quiesce", session=name, end=True)

    [told] = ended["ended"]
    assert (told["session"], told["bound_reached"]) == (name, "deadline")


async def test_the_wait_for_an_end_has_the_last_lines_that_were_printed(client: Client) -> None:
    started = await begun(client, "seq 2000; exit 3")
    ended = await call(client, "wsh_await_quiesce", session=started["background"], end=True)
    opened = await call(client, "wsh_create_session", command="bash")
    late = {"session": opened["session"], "input": "seq 40; sleep 0.3; read -p 'Go on? ' x"}
    await client.call_tool("wsh_run_command", {**late, "max_wait_ms": 100})
    asked = await call(client, "wsh_await_quiesce", session=opened["session"], end=True)

    assert ended["output"].endswith("\n1999\n2000")
    assert ended["output"].startswith("[... ")
    assert asked["output"].split("\n")[:2] == ["[... 11 lines before ...]", "12"]
    assert asked["output"].endswith("40\nGo on? ")


def ended_in(*answers: dict[str, Any]) -> set[str]:
    return {each["session"] for answer in answers for each in answer.get("ended", [])}


async def test_another_host_of_the_same_user_does_not_hear_of_an_end(
    server: ServerProcess,
) -> None:
    async with connected("stdio-2026", server) as one, connected("stdio-2025", server) as other:
        name = (await begun(one, "sleep 1"))["background"]
        there = await call(other, "wsh_await_quiesce", session=name, end=True)
        more = await call(other, "wsh_list_sessions", session=name)
        here = await call(one, "wsh_list_sessions", session=name)

    assert name not in ended_in(there, more)
    assert name in ended_in(here)


@pytest.mark.parametrize("ways", [("stdio-2025", "stdio-2026"), ("http-2025", "http-2026")])
async def test_the_end_of_what_a_host_left_is_told_to_the_next_one_when_that_has_gone(
    server: ServerProcess, ways: tuple[str, str]
) -> None:
    async with connected(ways[0], server) as one:
        name = (await begun(one, "sleep 1"))["background"]
    async with connected(ways[1], server) as following:
        told = await call(following, "wsh_await_quiesce", session=name, end=True)

    assert name in ended_in(told)


async def test_the_end_of_a_command_whose_deadline_passed_is_told_by_another_server_too(
    home: Path,
) -> None:
    with running_server(home) as server:
        async with connected("stdio-2026", server) as client:
            opened = await call(client, "wsh_create_session", command="bash")
            line = "while [ ! -e go-on ]; do sleep 0.05; done; (exit 7)"
            late = {"session": opened["session"], "input": line, "max_wait_ms": 100}
            await client.call_tool("wsh_run_command", late)
            server.kill()
            server.start()
            listed = await call(client, "wsh_list_sessions", session=opened["session"])
            (Path(opened["cwd"]) / "go-on").touch()
            ended = await call(client, "wsh_await_quiesce", session=opened["session"], end=True)
            later = await call(client, "wsh_list_sessions", session=opened["session"])

    assert listed["left_running"]["command_line"] == line
    assert [each["exit_code"] for each in ended["ended"]] == [7]
    assert "ended" not in later


async def test_a_block_whose_beginning_is_gone_gives_its_end_and_says_what_is_missing(
    home: Path,
) -> None:
    with running_server(home, DUETTY_JOURNAL_LIMIT_MIB="1") as server:
        async with connected("stdio-2026", server) as client:
            opened = await call(client, "wsh_create_session", command="bash")
            given = {"session": opened["session"], "view": "output", "max_output_bytes": 400}
            ran = await call(client, "wsh_run_command", input="seq 800000", **given)
            page = await call(
                client,
                "wsh_get_scrollback",
                session=opened["session"],
                block=ran["block"],
                offset=-2,
            )

    assert "bytes no longer kept" in ran["output"]
    assert ran["output"].endswith("799999\n800000")
    assert page["lines"] == ["799999", "800000"]
    assert "no longer kept" in page["note"]


@pytest.mark.parametrize("is_over", [False, True])
async def test_after_a_restart_the_end_comes_as_a_notification_too(
    home: Path, is_over: bool
) -> None:
    heard: list[Any] = []
    news = anyio.Event()

    async def log(params: LoggingMessageNotificationParams) -> None:
        heard.append(params.data)
        if len(heard) == 2:
            news.set()

    with running_server(home) as server:
        async with connected("stdio-2025", server, logging_callback=log) as client:
            opened = await call(client, "wsh_create_session", command="bash")
            go_on = Path(opened["cwd"]) / "go-on"
            line = f"while [ ! -e {go_on} ]; do sleep 0.05; done; (exit 7)"
            late = {"session": opened["session"], "input": line, "max_wait_ms": 100}
            await client.call_tool("wsh_run_command", late)
            started = await begun(client, f"{line}; exit 8")
            server.kill()
            if is_over:
                go_on.touch()
                await anyio.sleep(0.3)
            server.start()
            await anyio.sleep(0.3)
            go_on.touch()
            with anyio.fail_after(60):
                await news.wait()
            later = await call(client, "wsh_list_sessions", session=opened["session"])

    told = {each["ended"]["session"]: each["ended"]["exit_code"] for each in heard}
    assert told == {opened["session"]: 7, started["background"]: 8}
    assert ended_in(later) == set(told)


async def left_behind(client: Client) -> tuple[str, Path]:
    """A session with a run that its caller left, and the file that lets it end with 7."""
    opened = await call(client, "wsh_create_session", command="bash")
    line = "while [ ! -e go-on ]; do sleep 0.05; done; (exit 7)"
    late = {"session": opened["session"], "input": line, "max_wait_ms": 100}
    await client.call_tool("wsh_run_command", late)
    return opened["session"], Path(opened["cwd"]) / "go-on"


async def test_after_a_restart_the_end_comes_when_the_stream_over_http_is_open_again(
    home: Path,
) -> None:
    heard: list[Any] = []
    news = anyio.Event()

    async def log(params: LoggingMessageNotificationParams) -> None:
        heard.append(params.data)
        news.set()

    with running_server(home) as server:
        async with connected("http-2025", server) as client:
            name, go_on = await left_behind(client)
        server.kill()
        go_on.touch()
        server.start()
        async with connected("http-2025", server, logging_callback=log):
            with anyio.fail_after(60):
                await news.wait()

    assert [(each["ended"]["session"], each["ended"]["exit_code"]) for each in heard] == [(name, 7)]


@pytest.mark.parametrize("way", ["stdio-2026", "http-2026"])
async def test_after_a_restart_a_listener_of_the_modern_era_hears_that_a_run_has_ended(
    home: Path, way: str
) -> None:
    with running_server(home) as server:
        async with connected(way, server) as client:
            name, go_on = await left_behind(client)
        server.kill()
        go_on.touch()
        await anyio.sleep(0.3)
        server.start()
        async with connected(way, server) as client:
            with anyio.fail_after(60):
                async with client.listen(resource_subscriptions=["wsh://sessions"]) as heard:
                    event = await anext(aiter(heard))
            ended = await call(client, "wsh_await_quiesce", session=name, end=True)

    assert event == ResourceUpdated(uri="wsh://sessions")
    assert [each["exit_code"] for each in ended["ended"]] == [7]


async def test_a_listener_over_a_restart_hears_of_what_ended_meanwhile(home: Path) -> None:
    with running_server(home) as server:
        async with connected("stdio-2026", server) as client:
            name, go_on = await left_behind(client)
            with anyio.fail_after(60):
                async with client.listen(resource_subscriptions=["wsh://sessions"]) as heard:
                    server.kill()
                    go_on.touch()
                    await anyio.sleep(0.3)
                    server.start()
                    event = await anext(aiter(heard))
            ended = await call(client, "wsh_await_quiesce", session=name, end=True)

    assert event == ResourceUpdated(uri="wsh://sessions")
    assert [each["exit_code"] for each in ended["ended"]] == [7]

"""One slow upstream blocks nobody, and one that is not needed is not started."""

import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client.subscriptions import ResourcesListChanged

from duetty.edges.mcp.dialects.gateway import LIST_S
from duetty.errors import BadSetting, UpstreamTimeout
from duetty.upstreams.upstream_settings import as_toml, parse_order
from tests.edges.mcp.connect import connected
from tests.server_process import ServerProcess, is_alive, running_server
from tests.upstreams.running import WAIT_S, Home, named, plain, trusted, until, until_true
from tests.upstreams.test_gateway import trust

SOON_S = 5
"""Less than any bound that an upstream's own silence would cost."""

NOTE: list[dict[str, Any]] = [{"uri": "note://one", "name": "one"}]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@contextmanager
def serving(home: Path, **tables: dict[str, Any]) -> Generator[ServerProcess]:
    text = "\n".join(as_toml(name, table) for name, table in tables.items())
    (home / "config.toml").write_text(text, encoding="utf-8")
    with running_server(home) as server:
        yield server


@pytest.mark.pty
async def test_lists_come_at_once_beside_upstreams_that_never_answer() -> None:
    with tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as place:
        tables = {
            "good": plain(tools=named("echo"), resources=NOTE),
            "deaf": plain(deaf=True),
            "mute": plain(mute=True),
            "silent": plain(silent=True),
            "stuck": plain(tools=named("echo"), resources=None),
        }
        with serving(Path(place), **tables) as server:
            trust(server, "good")
            trust(server, "stuck")
            async with connected("http-2026", server, dialect="gateway") as client:
                with anyio.fail_after(SOON_S):
                    tools = {tool.name for tool in (await client.list_tools()).tools}
                    uris = [each.uri for each in (await client.list_resources()).resources]
                    prompts = (await client.list_prompts()).prompts
                    answer = await client.call_tool("mcp__good__echo", {"a": 1})
                # The first list waited; whoever lists again waits for nobody.
                began_s = anyio.current_time()
                for _ in range(SOON_S):
                    await client.list_resources(cache_mode="refresh")
                again_s = anyio.current_time() - began_s
            browsed = server.command("upstreams", "browse", "good")

    assert again_s < SOON_S * LIST_S
    assert browsed.returncode == 0
    assert "@mcp:good/one" in browsed.stdout
    assert tools == {"mcp__good__echo", "mcp__stuck__echo"}
    assert uris == ["upstream+good:note://one"]
    assert prompts == []
    assert answer.structured_content == {"a": 1}


@pytest.mark.pty
async def test_tools_are_listed_while_their_upstream_starts_and_a_call_waits_for_it() -> None:
    with tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as place:
        gate = Path(place) / "gate"
        gate.touch()
        slow = plain(tools=named("echo"), resources=NOTE, waits_for=str(gate))
        with serving(Path(place), slow=slow) as server:
            trust(server, "slow")
        gate.unlink()
        with running_server(Path(place)) as server:
            async with (
                connected("http-2026", server, dialect="gateway") as client,
                client.listen(resources_list_changed=True) as events,
            ):
                with anyio.fail_after(SOON_S):
                    tools = [tool.name for tool in (await client.list_tools()).tools]
                    early = (await client.list_resources()).resources
                gate.touch()
                with anyio.fail_after(WAIT_S):
                    answer = await client.call_tool("mcp__slow__echo", {"a": 1})
                    heard = await anext(aiter(events))
                    late = (await client.list_resources(cache_mode="refresh")).resources

    assert tools == ["mcp__slow__echo"]
    assert early == []
    assert heard == ResourcesListChanged()
    assert answer.structured_content == {"a": 1}
    assert [each.uri for each in late] == ["upstream+slow:note://one"]


async def test_a_lazy_upstream_starts_at_its_first_use_and_ends_when_it_is_not_used(
    home: Home,
) -> None:
    notes = home.directory / "notes"
    table = plain(tools=named("echo"), notes=str(notes), tells_start=True)
    table |= {"start": "lazy", "idle_timeout": 0.2}
    async with home.running(it=table) as upstreams:  # nothing is known of it: it has to be asked
        await trusted(upstreams)
        await until(upstreams, lambda: upstreams.find("it").state == "idle")
    notes.unlink()

    async with home.running(it=table) as upstreams:
        upstream = upstreams.find("it")
        offered = [tool.id for tool in upstreams.usable()]
        assert (upstream.state, offered, notes.exists()) == ("idle", ["mcp__it__echo"], False)
        with anyio.fail_after(WAIT_S):
            await upstreams.call("it", "echo", {})
        assert upstream.link is not None
        pid = upstream.link.pid
        assert pid is not None
        await until(upstreams, lambda: upstream.state == "idle")
        await until_true(lambda: not is_alive(pid))
        with anyio.fail_after(WAIT_S):
            await upstreams.call("it", "echo", {})

    assert notes.read_text().count("started") == 2


async def test_a_lazy_upstream_in_use_is_not_ended(home: Home) -> None:
    notes = home.directory / "notes"
    table = plain(tools=named("hang"), notes=str(notes)) | {"start": "lazy", "idle_timeout": 0.1}
    async with home.running(it=table) as upstreams:
        await trusted(upstreams)
        with pytest.raises(UpstreamTimeout):
            await upstreams.call("it", "hang", {}, timeout_s=1)
        await until(upstreams, lambda: upstreams.find("it").state == "idle")

    assert "hung" in notes.read_text()


async def test_the_risk_of_a_tool_is_known_while_its_upstream_sleeps(home: Home) -> None:
    tools = [{"name": "wipe", "annotations": {"destructiveHint": True}}]
    table = plain(tools=tools) | {"start": "lazy"}
    async with home.running(it=table) as upstreams:
        await trusted(upstreams)
    async with home.running(it=table) as upstreams:
        assert upstreams.find("it").state == "idle"
        assert upstreams.risk_of("it", "wipe") == "destructive"


async def test_more_than_a_thousand_tools_are_all_there(home: Home) -> None:
    table = plain(tools=named(*(f"tool{number}" for number in range(1_058))))
    async with home.running(it=table) as upstreams:
        await trusted(upstreams)

        assert len(upstreams.usable()) == 1_058


@pytest.mark.parametrize(
    "keys", [{"start": "later"}, {"idle_timeout": 5}, {"start": "lazy", "idle_timeout": 0}]
)
def test_a_wrong_way_to_start_is_refused(keys: dict[str, Any]) -> None:
    with pytest.raises(BadSetting):
        parse_order("it", {"command": "x", **keys}, where=lambda *_: "here")

"""What people see beside the program, and the keys they press, through the tools."""

import secrets

import anyio
import pytest
from mcp import Client, MCPError
from mcp.types import INVALID_PARAMS, ImageContent

from tests.edges.mcp.connect import WAYS, call, connected
from tests.server_process import ServerProcess

pytestmark = [pytest.mark.anyio, pytest.mark.pty, pytest.mark.sampled(3)]
# Of the four ways in the first and the last: stdio and HTTP, the old era and the new.

SPANS = [{"text": "hello", "fg": "red", "bold": True, "id": "a"}]


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def opened(client: Client) -> str:
    name = f"v{secrets.token_hex(4)}"
    await call(client, "wsh_create_session", name=name)
    return name


async def refused(client: Client, tool: str, **arguments: object) -> MCPError:
    with pytest.raises(MCPError) as caught:
        await client.call_tool(tool, arguments)
    return caught.value


async def test_an_overlay_is_created_listed_changed_and_removed(
    server: ServerProcess, way: str
) -> None:
    async with connected(way, server) as client:
        place = {"session": await opened(client)}
        box = {"x": 3, "y": 2, "z": 5, "width": 20, "height": 4}
        made = await call(client, "wsh_overlay", **place, **box, background="#102030", spans=SPANS)
        changed = await call(
            client, "wsh_overlay", **place, id=made["id"], x=7, spans=[{"text": "bye"}]
        )
        other = await call(client, "wsh_overlay", **place, **box, spans=SPANS)
        await call(client, "wsh_remove_overlay", **place, id=made["id"])
        left = await call(client, "wsh_overlay", **place, list=True)
        await call(client, "wsh_remove_overlay", **place)
        none = await call(client, "wsh_overlay", **place, list=True)

    assert {key: made[key] for key in box} == box
    assert made["background"] == {"bg": {"r": 16, "g": 32, "b": 48}}
    assert (changed["id"], changed["x"], changed["y"]) == (made["id"], 7, 2)
    assert [span["text"] for span in changed["spans"]] == ["bye"]
    assert [each["id"] for each in left["overlays"]] == [other["id"]]
    assert none == {"overlays": []}


async def test_a_panel_takes_rows_from_the_program_and_gives_them_back(
    server: ServerProcess, way: str
) -> None:
    async with connected(way, server) as client:
        place = {"session": await opened(client)}

        async def rows() -> str:
            ran = await call(client, "wsh_run_command", **place, input="stty size", view="output")
            return ran["output"].strip()

        before = await rows()
        made = await call(client, "wsh_panel", **place, position="top", height=3, spans=SPANS)
        during = await rows()
        moved = await call(client, "wsh_panel", **place, id=made["id"], position="bottom", height=2)
        listed = await call(client, "wsh_panel", **place, list=True)
        await call(client, "wsh_remove_panel", **place, id=made["id"])
        after = await rows()

    assert (before, during, after) == ("24 80", "21 80", "24 80")
    assert (moved["position"], moved["height"]) == ("bottom", 2)
    assert [each["id"] for each in listed["panels"]] == [made["id"]]


async def test_elements_that_do_not_exist_are_errors_of_the_protocol(
    server: ServerProcess, way: str
) -> None:
    async with connected(way, server) as client:
        name = await opened(client)
        errors = [
            await refused(client, "wsh_overlay", session="nobody", list=True),
            await refused(client, "wsh_overlay", session=name, id="nothing", x=1),
            await refused(client, "wsh_overlay", session=name, x=1),
            await refused(client, "wsh_remove_overlay", session=name, id="nothing"),
            await refused(client, "wsh_panel", session=name, id="nothing", height=1),
            await refused(client, "wsh_panel", session=name, position="left", height=1),
            await refused(client, "wsh_remove_panel", session=name, id="nothing"),
            await refused(client, "wsh_input_mode", session=name, focus="nothing"),
            await refused(client, "wsh_input_mode", session=name, focus="a", unfocus=True),
        ]

    assert {error.error.code for error in errors} == {INVALID_PARAMS}


async def test_the_keyboard_is_captured_read_and_released(server: ServerProcess, way: str) -> None:
    async with connected(way, server) as client:
        place = {"session": await opened(client)}
        box = await call(client, "wsh_overlay", **place, x=0, y=0, width=9, height=1, spans=SPANS)
        at_first = await call(client, "wsh_input_mode", **place)
        captured = await call(client, "wsh_input_mode", **place, mode="capture", focus=box["id"])
        read: list[dict[str, object]] = []

        async def read_key() -> None:
            read.append(await call(client, "wsh_input_mode", **place, keys_after=0, wait_ms=10_000))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read_key)
            server.client.post(f"/sessions/{place['session']}/input/type", {"data": "y"})
        unfocused = await call(client, "wsh_input_mode", **place, unfocus=True)
        released = await call(client, "wsh_input_mode", **place, mode="release")

    assert at_first == {"mode": "passthrough", "focused_element": None}
    assert captured == {"mode": "capture", "focused_element": box["id"]}
    assert [key["text"] for key in read[0]["keys"]] == ["y"]  # type: ignore[index, union-attr]
    assert unfocused == {"mode": "capture", "focused_element": None}
    assert released == {"mode": "passthrough", "focused_element": None}


async def test_overlays_of_the_alt_mode_go_with_it(server: ServerProcess, way: str) -> None:
    async with connected(way, server) as client:
        place = {"session": await opened(client)}
        box = {"x": 0, "y": 0, "width": 9, "height": 1, "spans": SPANS}
        first = await call(client, "wsh_overlay", **place, **box)
        modes = [
            await call(client, "wsh_screen_mode", **place),
            await call(client, "wsh_screen_mode", **place, action="enter_alt"),
        ]
        second = await call(client, "wsh_overlay", **place, **box)
        inside = await call(client, "wsh_overlay", **place, list=True)
        modes.append(await call(client, "wsh_screen_mode", **place, action="exit_alt"))
        outside = await call(client, "wsh_overlay", **place, list=True)
        twice = await client.call_tool("wsh_screen_mode", {**place, "action": "exit_alt"})

    assert modes == [{"mode": "normal"}, {"mode": "alt"}, {"mode": "normal"}]
    assert [each["id"] for each in inside["overlays"]] == [second["id"]]
    assert [each["id"] for each in outside["overlays"]] == [first["id"]]
    assert twice.is_error


async def test_a_screen_can_be_had_as_a_picture(server: ServerProcess, way: str) -> None:
    async with connected(way, server) as client:
        name = await opened(client)
        result = await client.call_tool("wsh_get_screen", {"session": name, "picture": True})

    if result.is_error and "font" in str(result.content):
        pytest.skip("this machine has no monospace font")
    (picture,) = result.content
    assert isinstance(picture, ImageContent)
    assert picture.mime_type == "image/png"
    assert picture.data.startswith("iVBORw0KGgo")

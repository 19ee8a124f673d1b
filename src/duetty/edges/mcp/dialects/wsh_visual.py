"""Dialect `wsh`, what is drawn over and beside the program: overlays, panels, keyboard, screen mode."""

import re
from typing import Any

from duetty.edges.mcp.dialect import Answer, Calls, Json, Tool
from duetty.edges.mcp.dialects.schema import (
    BOOLEAN,
    MAYBE_STRING,
    STRING,
    flag,
    given,
    number,
    object_of,
    text,
)
from duetty.errors import BadArguments

DONE = Answer(content={"success": True})
SUCCESS = object_of(["success"], success=BOOLEAN)
SESSION = text("session; default: the only one")

_HEX = re.compile(r"#([0-9a-fA-F]{2})([0-9a-fA-F]{2})([0-9a-fA-F]{2})")


def _colour(given_colour: Any) -> Any:
    """`#rrggbb` as the operations say it; names and objects as they are."""
    found = _HEX.fullmatch(given_colour) if isinstance(given_colour, str) else None
    if found is None:
        return given_colour
    return dict(zip("rgb", (int(part, 16) for part in found.groups()), strict=True))


def _drawn(arguments: Json, *names: str) -> Json:
    """Arguments of an element, with colours as the operations say them."""
    drawn = given(arguments, "session", *names)
    if "background" in arguments:
        wanted = arguments["background"]
        drawn["background"] = wanted if isinstance(wanted, dict) else {"bg": _colour(wanted)}
    if "spans" in arguments:
        drawn["spans"] = [
            {key: _colour(value) if key in ("fg", "bg") else value for key, value in span.items()}
            for span in arguments["spans"]
        ]
    return drawn


async def _element(calls: Calls, arguments: Json, kind: str, drawn: Json) -> Answer:
    """List, change or create: the published upsert."""
    session = {"session": arguments["session"]}
    if arguments.get("list"):
        elements = await calls(f"{kind}.list", session)
        return Answer(content={f"{kind}s": elements}, text=elements)
    if "id" in arguments:
        id_ = arguments["id"]
        await calls(f"{kind}.patch", drawn | {"id": id_})
    else:
        made: Json = {"spans": [], "focusable": True, **drawn}
        id_ = (await calls(f"{kind}.create", made)).id
    return Answer(content=dict(await calls(f"{kind}.get", session | {"id": id_})))


async def _overlay(calls: Calls, arguments: Json) -> Answer:
    places = ("x", "y", "z", "width", "height")
    return await _element(calls, arguments, "overlay", _drawn(arguments, *places))


async def _panel(calls: Calls, arguments: Json) -> Answer:
    places = ("position", "height", "z")
    return await _element(calls, arguments, "panel", _drawn(arguments, *places))


async def _remove(calls: Calls, arguments: Json, kind: str) -> Answer:
    await calls(f"{kind}.delete" if "id" in arguments else f"{kind}.clear", arguments)
    return DONE


async def _remove_overlay(calls: Calls, arguments: Json) -> Answer:
    return await _remove(calls, arguments, "overlay")


async def _remove_panel(calls: Calls, arguments: Json) -> Answer:
    return await _remove(calls, arguments, "panel")


async def _input_mode(calls: Calls, arguments: Json) -> Answer:
    session = {"session": arguments["session"]}
    if "focus" in arguments and arguments.get("unfocus"):
        raise BadArguments("focus: give focus or unfocus, not both")
    if arguments.get("mode") == "capture":
        await calls("input.capture", session)
    if "focus" in arguments:
        await calls("input.focus", session | {"id": arguments["focus"]})
    if arguments.get("unfocus"):
        await calls("input.unfocus", session)
    if arguments.get("mode") == "release":
        await calls("input.release", session)
    content: Json = {}
    if "keys_after" in arguments or "wait_ms" in arguments:
        read = await calls("input.keys", session | given(arguments, "wait_ms", after="keys_after"))
        content = {
            "keys": [
                {"seq": key.seq, "key": key.key, "modifiers": key.modifiers, "text": key.text}
                for key in read.keys
            ],
            "last_seq": read.last_seq,
            "missed": read.missed,
        }
    mode = await calls("input.mode", session)
    focused = await calls("input.focused", session)
    return Answer(content={"mode": mode.mode, "focused_element": focused.focused, **content})


async def _screen_mode(calls: Calls, arguments: Json) -> Answer:
    session = {"session": arguments["session"]}
    if "action" in arguments:
        await calls(f"screen_mode.{arguments['action']}", session)
    return Answer(content={"mode": (await calls("screen_mode.get", session)).mode})


_SPANS: Json = {
    "type": "array",
    "items": {"type": "object"},
    "description": "{text, fg?, bg?, bold?, italic?, underline?, id?}; \\n in text begins a row; colours: red, …, #rrggbb",
}
_BACKGROUND = text(
    "fills the box: black, red, green, yellow, blue, magenta, cyan, white or #rrggbb"
)
_LIST = flag("true: return all of them, change nothing")
_Z = number("higher is on top")
_ELEMENT_ID = text("omit to create, give to change")

TOOLS = (
    Tool(
        name="wsh_overlay",
        title="Draw over the screen",
        description=(
            "Create, change or list boxes of text above a session's screen. People see them; the program and its "
            "output are not touched. To create: x, y, width, height, spans."
        ),
        parameters={
            "session": SESSION,
            "id": _ELEMENT_ID,
            "x": number("column", low=0),
            "y": number("row", low=0),
            "z": _Z,
            "width": number("columns", low=0),
            "height": number("rows", low=0),
            "background": _BACKGROUND,
            "spans": _SPANS,
            "list": _LIST,
        },
        result={"type": "object", "description": "the overlay, or {overlays: [...]}"},
        session_word="session",
        run=_overlay,
    ),
    Tool(
        name="wsh_remove_overlay",
        title="Remove overlays",
        description="Take one overlay away, or all of them.",
        parameters={"session": SESSION, "id": text("omit to clear all")},
        result=SUCCESS,
        session_word="session",
        run=_remove_overlay,
    ),
    Tool(
        name="wsh_panel",
        title="Draw beside the screen",
        description=(
            "Create, change or list panels: rows at the top or bottom that the program gives up while the panel is "
            "there. To create: position, height, spans."
        ),
        parameters={
            "session": SESSION,
            "id": _ELEMENT_ID,
            "position": text("edge", "top", "bottom"),
            "height": number("rows", low=0),
            "z": _Z,
            "background": _BACKGROUND,
            "spans": _SPANS,
            "list": _LIST,
        },
        result={"type": "object", "description": "the panel, or {panels: [...]}"},
        session_word="session",
        run=_panel,
    ),
    Tool(
        name="wsh_remove_panel",
        title="Remove panels",
        description="Take one panel away, or all of them; the program gets the rows back.",
        parameters={"session": SESSION, "id": text("omit to clear all")},
        result=SUCCESS,
        session_word="session",
        run=_remove_panel,
    ),
    Tool(
        name="wsh_input_mode",
        title="Capture the keyboard",
        description=(
            "Look at or set who gets what people type: the program, or (capture) you. Read captured keys with "
            "keys_after and wait_ms; a capture that you do not read ends after a minute. Release when done."
        ),
        parameters={
            "session": SESSION,
            "mode": text("omit to look", "capture", "release"),
            "focus": text("overlay or panel that the keys are for"),
            "unfocus": flag("clear the focus"),
            "keys_after": number("return keys after this seq; 0 for all", low=0),
            "wait_ms": number("wait so long for a key", low=0),
        },
        result=object_of(
            ["mode"],
            mode=text("who gets the keys", "passthrough", "capture"),
            focused_element=MAYBE_STRING,
            keys={"type": "array", "items": {"type": "object"}},
            last_seq={"type": "integer"},
            missed={"type": "integer"},
        ),
        session_word="session",
        run=_input_mode,
    ),
    Tool(
        name="wsh_screen_mode",
        title="Switch the set of overlays and panels",
        description=(
            "Look at or switch which set of overlays and panels is shown. enter_alt begins an empty one; exit_alt "
            "drops it and shows the first one again."
        ),
        parameters={
            "session": SESSION,
            "action": text("omit to look", "enter_alt", "exit_alt"),
        },
        result=object_of(["mode"], mode=STRING),
        session_word="session",
        run=_screen_mode,
    ),
)

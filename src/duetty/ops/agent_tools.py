"""The agent's tools: operations of the one table, with the arguments that a model needs.

A tool names its operation, which of its arguments the model fills, and what the rest are. Its
schema is the operation's own. Results are short; the whole can be read in parts.
"""

import difflib
import json
import os
import shlex
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import anyio.to_thread
from pydantic import BaseModel

from duetty.agent import Tool, ToolOutcome
from duetty.errors import BadArguments
from duetty.ops.table import OPERATIONS
from duetty.store import ConversationEntry
from duetty.wire.results import Approved, RunResult, Written
from duetty.wire.upstreams import FoundTools, OfferedTool, ToolResult, UpstreamTools

MAX_RESULT_BYTES = 20_000
MAX_DIFF_CHARS = 20_000
MAX_FOUND = 20
"""The last tools that were found: each request to the model has their whole schemas."""

MAX_UPSTREAM_TOOLS = 100
"""Tools of upstreams in a request to the model: providers take 128 in all."""

FIND_TOOLS = "find_tools"

Door = Callable[[str, Mapping[str, Any]], Awaitable[Any]]
"""A call of an operation by the agent, on the one path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationTool:
    name: str
    operation: str
    description: str
    takes: tuple[str, ...] = ()
    """Arguments that the model fills."""

    fixed: Mapping[str, Any] = field(default_factory=dict[str, Any])
    run: Callable[[Door, Mapping[str, Any]], Awaitable[ToolOutcome]] | None = None
    """Where more than one call is made."""

    schema: Mapping[str, Any] | None = None
    """Where it is not the operation's own."""

    @property
    def takes_session(self) -> bool:
        return "session" in OPERATIONS[self.operation].params.model_fields


def schema_of(tool: OperationTool) -> Mapping[str, Any]:
    if tool.schema is not None:
        return tool.schema
    return _schema(tool.operation, tool.takes)


@cache
def _schema(operation: str, takes: tuple[str, ...]) -> Mapping[str, Any]:
    whole = OPERATIONS[operation].params.model_json_schema()
    properties = {name: _plain(whole["properties"][name]) for name in takes}
    required = [name for name in whole.get("required", ()) if name in takes and name != "session"]
    return {"type": "object", "properties": properties, "required": required}


def _plain(shape: dict[str, Any]) -> dict[str, Any]:
    """Without what a model does not need: titles, null, bounds that an error tells."""
    if "anyOf" in shape:
        [kind, *_] = [each for each in shape["anyOf"] if each.get("type") != "null"]
        shape = kind | {key: each for key, each in shape.items() if key == "description"}
    kept = ("type", "description", "enum", "items", "additionalProperties")
    return {key: each for key, each in shape.items() if key in kept}


# --- results, as a model gets them -------------------------------------------------


def outcome_of(result: Any) -> ToolOutcome:
    match result:
        case RunResult():
            return _ran(result)
        case Written(after=RunResult() as after):
            return _ran(after)
        case ToolResult():
            return _upstream_outcome(result)
        case _:
            return ToolOutcome(text=_json(result))


def _ran(result: RunResult) -> ToolOutcome:
    code = result.exit_code
    how = {
        "mark": f"exit code {'unknown' if code is None else code}",
        "exit": f"the session's program ended with {code}",
        "input": "the program waits for input: answer it with type or press",
        "fullscreen": "a full-screen program has the terminal: read_screen, then press keys",
        "text": "the text appeared; the command goes on",
        "idle": "it fell silent; whether it ended is not known",
        "deadline": "it still runs; wait for it, or interrupt it",
    }[result.completed_by]
    lines = [f"[{how}; state {result.state}; {result.duration_ms:.0f} ms; in {result.cwd}]"]
    if result.output:
        lines.append(result.output)
    if result.omitted_bytes:
        left_out = (
            f"{result.omitted_lines} lines"
            if result.omitted_lines
            else f"{result.omitted_bytes} bytes"
        )
        lines.append(f"[{left_out} left out; read_output with block {result.block!r} has them]")
    if result.approved is not None:
        lines.append(f"[{_approved_text(result.approved)}]")
    details = {"block": result.block, "exit_code": code, "state": result.state}
    return ToolOutcome(
        text="\n".join(lines),
        ok=code in (0, None),
        code=None if code in (0, None) else f"exit_{code}",
        details=details,
    )


def _approved_text(approved: Approved) -> str:
    text = "a person approved it"
    if approved.edited:
        text += f" and changed the line to: {approved.command}"
    return text + (f"; their words: {approved.note}" if approved.note else "")


def _upstream_outcome(result: ToolResult) -> ToolOutcome:
    texts = [
        str(each["text"]) if each.get("type") == "text" else f"[{each.get('type')}]"
        for each in result.content
    ]
    if not texts and result.structured_content is not None:
        texts = [_json(result.structured_content)]
    details = {"decided_by": result.decided_by}
    code = "tool_error" if result.is_error else None
    return ToolOutcome(text="\n".join(texts), ok=not result.is_error, code=code, details=details)


def _json(result: Any) -> str:
    if isinstance(result, list):
        return _json_text([_dumped(each) for each in result])  # pyright: ignore[reportUnknownVariableType] - of whatever it holds
    return _json_text(_dumped(result))


def _dumped(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_none=True)
    return value


def _json_text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


# --- tools of several calls -----------------------------------------------------------


async def _read_screen(door: Door, arguments: Mapping[str, Any]) -> ToolOutcome:
    screen = await door("screen.get", {**arguments, "format": "plain"})
    rows = "\n".join(line.rstrip() for line in screen["lines"]).rstrip("\n")
    cursor = screen["cursor"]
    return ToolOutcome(text=f"[cursor at row {cursor['row']}, col {cursor['col']}]\n{rows}")


async def _read_output(door: Door, arguments: Mapping[str, Any]) -> ToolOutcome:
    found = await door("block.output", arguments)
    return ToolOutcome(text="\n".join(found.lines))


async def _paths(door: Door, session: str, path: str) -> tuple[str, str]:
    """The path for operations on files, and for a command line there: both name the same file.

    Operations begin at the workspace where the shell has left it; a command line never does.
    """
    place = await door("context.cwd", {"session": session})
    if place.workspace is None:
        return path, path
    return await anyio.to_thread.run_sync(_both_paths, place.cwd, place.workspace, path)


def _both_paths(cwd: str, workspace: str, path: str) -> tuple[str, str]:
    top, here = Path(workspace).resolve(), Path(cwd).resolve()
    begin = here if here.is_relative_to(top) else top
    whole = os.path.normpath(begin / path)
    is_short = begin == here and not Path(path).is_absolute() and ".." not in Path(path).parts
    return os.path.relpath(whole, begin), path if is_short else whole


async def _list_files(door: Door, arguments: Mapping[str, Any]) -> ToolOutcome:
    path, _ = await _paths(door, arguments["session"], str(arguments.get("path") or "."))
    return outcome_of(await door("file.list", {**arguments, "path": path}))


async def _read_file(door: Door, arguments: Mapping[str, Any]) -> ToolOutcome:
    path, _ = await _paths(door, arguments["session"], str(arguments.get("path") or ""))
    found = await door("file.read", {**arguments, "path": path})
    if found.encoding == "base64":
        return ToolOutcome(text=f"[{found.size_bytes} bytes of {found.media_type}]")
    more = "\n[the file is longer]" if found.truncated else ""
    return ToolOutcome(text=found.data + more)


async def _edit_file(door: Door, arguments: Mapping[str, Any]) -> ToolOutcome:
    """Written by a command line in the terminal, where it is judged, seen and recorded as any."""
    session = {"session": arguments["session"]}
    path, old, new = (arguments.get(name) for name in ("path", "old", "new"))
    if not isinstance(path, str) or not isinstance(new, str) or not isinstance(old, str | None):
        raise BadArguments("path and new are texts, and old if it is given")
    before = ""
    read_path, typed_path = await _paths(door, arguments["session"], path)
    if old is not None:
        found = await door("file.read", {**session, "path": read_path, "max_bytes": 1_048_576})
        if found.encoding == "base64" or found.truncated:
            raise BadArguments("the file is no text, or too long", hint="change it by a command")
        before = found.data
        if (times := before.count(old)) != 1 or not old:
            raise BadArguments(
                f"`old` occurs {times} times in {path}", hint="give a piece that occurs once"
            )
        after = before.replace(old, new)
    else:
        after = new
    word = shlex.quote(typed_path)
    line = f"cat > {word}" if not word.startswith("-") else f"cat > ./{word}"
    wrote = await door("command.run", {**session, "input": line, "stdin": after, "screen": False})
    outcome = _ran(wrote)
    if not outcome.ok or wrote.exit_code is None:
        return outcome
    diff = "".join(
        difflib.unified_diff(
            before.splitlines(keepends=True), after.splitlines(keepends=True), path, path
        )
    )[:MAX_DIFF_CHARS]
    return ToolOutcome(
        text=f"written: {path}\n{diff}" if old is not None else f"written: {path}",
        details={**outcome.details, "diff": diff, "path": path},
    )


async def _find_tools(door: Door, arguments: Mapping[str, Any]) -> ToolOutcome:
    found: FoundTools = await door("upstreams.find", arguments)
    if not found.fits:
        return ToolOutcome(text=f"None of {found.of} tools fits. Say it in other words.", ok=False)
    lines = [f"Of {found.of} tools these fit; from now on you can call them:"]
    lines += [
        f"- {each.id}({', '.join(each.parameters)}) [Server {each.upstream!r}, in its own words:] {each.lead}"
        for each in found.tools
    ]
    return ToolOutcome(text="\n".join(lines), details={"tools": [each.id for each in found.tools]})


async def _show_overlay(door: Door, arguments: Mapping[str, Any]) -> ToolOutcome:
    rows = str(arguments.get("text", "")).split("\n")
    made = await door(
        "overlay.create",
        {
            "session": arguments["session"],
            "x": arguments.get("x", 0),
            "y": arguments.get("y", 0),
            "width": max(1, *map(len, rows)),
            "height": len(rows),
            "spans": [{"text": "\n".join(rows)}],
            "background": {"bg": "blue"},
        },
    )
    return ToolOutcome(text=f"overlay {made.id}")


async def _show_panel(door: Door, arguments: Mapping[str, Any]) -> ToolOutcome:
    text = str(arguments.get("text", ""))
    made = await door(
        "panel.create",
        {
            "session": arguments["session"],
            "position": arguments.get("position", "bottom"),
            "height": text.count("\n") + 1,
            "spans": [{"text": text}],
        },
    )
    return ToolOutcome(text=f"panel {made.id}")


_SESSION = {"session": {"type": "string", "description": "left out: the one you work in"}}
_TEXT = {"type": "string"}


def _object(required: Sequence[str], **properties: Any) -> Mapping[str, Any]:
    return {"type": "object", "properties": properties | _SESSION, "required": list(required)}


TOOLS: Mapping[str, OperationTool] = {
    tool.name: tool
    for tool in (
        OperationTool(
            name="run",
            operation="command.run",
            description="Type a command line into the terminal and wait for its end.",
            takes=("input", "max_wait_ms", "why", "session"),
            fixed={"screen": False},
        ),
        OperationTool(
            name="type",
            operation="input.write",
            description="Type text for a program that waits for input; end it with \\n for Enter.",
            takes=("data", "session"),
            fixed={"wait": "end"},
        ),
        OperationTool(
            name="press",
            operation="input.press",
            description="Press keys: Enter, Ctrl-C, Up, F5, q …",
            takes=("keys", "session"),
            fixed={"wait": "settle"},
        ),
        OperationTool(
            name="read_screen",
            operation="screen.get",
            description="What the terminal shows now.",
            takes=("session",),
            run=_read_screen,
        ),
        OperationTool(
            name="read_output",
            operation="block.output",
            description="Lines of a command's output, by its block.",
            takes=("block", "offset", "limit", "session"),
            run=_read_output,
        ),
        OperationTool(
            name="wait",
            operation="session.wait",
            description="Wait for one thing in the terminal: a text, a state, the exit, or silence.",
            takes=("text", "regex", "state", "exit", "idle_ms", "max_wait_ms", "session"),
        ),
        OperationTool(
            name="interrupt",
            operation="input.interrupt",
            description="Do what Ctrl-C does.",
            takes=("session",),
        ),
        OperationTool(
            name="list_sessions",
            operation="session.list",
            description="All terminals: name, directory, state.",
        ),
        OperationTool(
            name="open_session",
            operation="session.open",
            description="Open another terminal.",
            takes=("name", "cwd"),
        ),
        OperationTool(
            name="search_history",
            operation="history.search",
            description="Search command lines and output of everything that was ever run.",
            takes=("query", "failed", "limit"),
        ),
        OperationTool(
            name="list_files",
            operation="file.list",
            description="A directory of the workspace.",
            takes=("path", "session"),
            run=_list_files,
        ),
        OperationTool(
            name="read_file",
            operation="file.read",
            description="A file of the workspace.",
            takes=("path", "session"),
            run=_read_file,
        ),
        OperationTool(
            name="edit_file",
            operation="command.run",
            description="Put `new` in the place of `old`, which occurs once in the file;"
            " without `old`, write the whole file.",
            schema=_object(("path", "new"), path=_TEXT, old=_TEXT, new=_TEXT),
            run=_edit_file,
        ),
        OperationTool(
            name="git_status",
            operation="context.git",
            description="Branch and changed files.",
            takes=("session",),
        ),
        OperationTool(
            name="show_overlay",
            operation="overlay.create",
            description="Draw text above the terminal for viewers; programs do not see it.",
            schema=_object(("text",), text=_TEXT, x={"type": "integer"}, y={"type": "integer"}),
            run=_show_overlay,
        ),
        OperationTool(
            name="show_panel",
            operation="panel.create",
            description="Show text in rows at the terminal's edge.",
            schema=_object(
                ("text",), text=_TEXT, position={"type": "string", "enum": ["top", "bottom"]}
            ),
            run=_show_panel,
        ),
        OperationTool(
            name=FIND_TOOLS,
            operation="upstreams.find",
            description="There are more tools of other servers than are listed here. Finds those that fit, by"
            " words of what should be done; you can call them afterwards.",
            takes=("query", "limit"),
            run=_find_tools,
        ),
        OperationTool(
            name="remove_overlay",
            operation="overlay.delete",
            description="Take an overlay away.",
            takes=("id", "session"),
        ),
    )
}


def offered(others: UpstreamTools | None, entries: Sequence[ConversationEntry]) -> list[Tool]:
    """Its own; of other servers all where they are few, else the usual ones and those that it found."""
    own = [
        Tool(name=each.name, description=each.description, schema=schema_of(each))
        for each in TOOLS.values()
        if each.name != FIND_TOOLS or (others is not None and not others.are_few)
    ]
    if others is None:
        return own
    ids = {each.id for each in others.listed()} | set(_found(entries))
    shown = [each for each in others.tools if each.id in ids][:MAX_UPSTREAM_TOOLS]
    return own + [
        Tool(name=each.id, description=_in_its_words(each), schema=each.input_schema)
        for each in shown
    ]


def _found(entries: Sequence[ConversationEntry]) -> list[str]:
    """By `find_tools`, the last ones: they stand in the conversation, so that a restart forgets none."""
    ids: dict[str, None] = {}
    for entry in reversed(entries):
        if entry.kind == "result" and entry.body["tool"] == FIND_TOOLS:
            ids |= dict.fromkeys(entry.body["details"].get("tools", ()))
    return list(ids)[:MAX_FOUND]


def _in_its_words(tool: OfferedTool) -> str:
    return f"[Server {tool.upstream!r}, in its own words:] {tool.description}"

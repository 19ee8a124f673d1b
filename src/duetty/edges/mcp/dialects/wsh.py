"""Dialect `wsh`: the tools and resources that clients of `wsh` know, over our operations.

The published names, parameters and defaults are kept. What is added is optional:
`keys`, `until`, `until_regex`, `view`, negative offsets, and in results the exit
code, output, state, directory and duration of the command itself.
"""

from collections.abc import Mapping
from typing import Any

from duetty.edges.mcp.dialect import Answer, Calls, Dialect, Json, Resource, Tool, failed
from duetty.errors import BadArguments, Conflict, Deadline, InputRejected

SCROLLBACK_ROWS = 100
"""Rows of the scrollback resource."""

INSTRUCTIONS = """\
Real terminals that live on between calls; a person may watch them and type too.
1. wsh_create_session once, then wsh_run_command for every command line. It returns the moment the command ends, \
with that command's own exit_code and output. view="output" leaves the screen out and is cheapest. Directory, \
variables and jobs stay from call to call.
2. `state` says what the session does: prompt (ready), running, awaiting_input or awaiting_password (answer with \
wsh_send_input), fullscreen (press keys, read wsh_get_screen), exited. exit_code null means unknown.
3. When max_wait_ms passes, the result is an error with the screen so far and the command goes on: call \
wsh_await_quiesce, or press ["Ctrl-C"]. For servers and watchers give `until`: the call returns when that text appears.
4. One session per parallel task. wsh_manage_session kill ends a session that is no longer needed."""


# --- shapes -------------------------------------------------------------------


def _session(info: Any) -> Json:
    shape: Json = {
        "name": info.name,
        "pid": info.pid,
        "command": info.command,
        "rows": info.rows,
        "cols": info.cols,
        "running": info.state != "exited",
        "state": info.state,
        "cwd": info.cwd,
    }
    if info.state == "exited":
        shape["exit_code"] = info.exit_code
    return shape


def _screen(screen: Mapping[str, Any]) -> Json:
    return {
        "lines": screen["lines"],
        "cursor": screen["cursor"],
        "rows": screen["rows"],
        "cols": screen["cols"],
        "mode": "alt" if screen["alternate_active"] else "normal",
    }


def _scrollback(scrollback: Mapping[str, Any]) -> Json:
    return {
        "lines": scrollback["lines"],
        "total": scrollback["total_lines"],
        "offset": scrollback["offset"],
    }


def _given(arguments: Json, *names: str, **renamed: str) -> Json:
    """Arguments under the operation's names; what was left out stays left out."""
    pairs = {name: name for name in names} | renamed
    return {ours: arguments[theirs] for ours, theirs in pairs.items() if theirs in arguments}


_DONE = Answer(content={"success": True})


# --- sessions -----------------------------------------------------------------


async def _create_session(calls: Calls, arguments: Json) -> Answer:
    place = {"cwd": calls.caller.cwd} if calls.caller.cwd else {}
    info = await calls("session.open", place | arguments)
    return Answer(
        content={
            "session": info.name,
            "pid": info.pid,
            "rows": info.rows,
            "cols": info.cols,
            "command": info.command,
            "cwd": info.cwd,
        }
    )


async def _list_sessions(calls: Calls, arguments: Json) -> Answer:
    if "session" in arguments:
        return Answer(content=_session(await calls("session.get", arguments)))
    sessions = [_session(info) for info in await calls("session.list")]
    # Structured content has to be an object in most revisions; the text is the published array.
    return Answer(content={"sessions": sessions}, text=sessions)


async def _manage_session(calls: Calls, arguments: Json) -> Answer:
    session = {"session": arguments["session"]}
    match arguments["action"]:
        case "kill":
            await calls("session.remove", session)
        case "rename":
            if "new_name" not in arguments:
                raise BadArguments("new_name: needed to rename")
            await calls("session.update", session | {"name": arguments["new_name"]})
        case _:
            # Nobody can be attached yet: the session is looked for, and there is nobody to detach.
            await calls("session.get", session)
    return _DONE


# --- input and output ---------------------------------------------------------


async def _send_input(calls: Calls, arguments: Json) -> Answer:
    if "input" not in arguments and "keys" not in arguments:
        raise BadArguments("input: give input, keys or both")
    if "input" in arguments:
        await calls("input.write", _given(arguments, "session", "encoding", data="input"))
    if "keys" in arguments:
        await calls("input.press", _given(arguments, "session", "keys"))
    return _DONE


async def _get_screen(calls: Calls, arguments: Json) -> Answer:
    return Answer(content=_screen(await calls("screen.get", arguments)))


async def _get_scrollback(calls: Calls, arguments: Json) -> Answer:
    return Answer(content=_scrollback(await calls("scrollback.get", arguments)))


async def _await_quiesce(calls: Calls, arguments: Json) -> Answer:
    condition = _given(arguments, text="until", regex="until_regex") or {
        "idle_ms": arguments.get("timeout_ms", 2_000),
        **_given(arguments, "last_generation", "fresh"),
    }
    try:
        result = await calls(
            "session.wait", condition | _given(arguments, "session", "max_wait_ms")
        )
    except (Deadline, Conflict) as error:
        return await _failed_with_screen(calls, error, arguments)
    return Answer(content={"generation": result.generation, "state": result.state})


async def _run_command(calls: Calls, arguments: Json) -> Answer:
    view = arguments.get("view", "both")
    wanted = _given(
        arguments,
        "session",
        "input",
        "timeout_ms",
        "max_wait_ms",
        until_text="until",
        until_regex="until_regex",
    )
    wanted |= {"format": arguments.get("format", "styled"), "screen": view != "output"}
    try:
        result = await calls("command.run", wanted)
    except (Deadline, Conflict, InputRejected) as error:
        return await _failed_with_screen(calls, error, arguments)
    content: Json = {"generation": result.generation, "exit_code": result.exit_code}
    if view != "screen":
        content["output"] = result.output
        if result.omitted_bytes:
            content |= {
                "omitted_lines": result.omitted_lines,
                "omitted_bytes": result.omitted_bytes,
            }
    content |= {
        "state": result.state,
        "completed_by": result.completed_by,
        "cwd": result.cwd,
        "duration_ms": result.duration_ms,
    }
    if result.match is not None:
        content["match"] = result.match
    if result.screen is not None:
        content["screen"] = _screen(result.screen)
    return Answer(content=content, failure=_run_failure(result))


def _run_failure(result: Any) -> str | None:
    match result.completed_by:
        case "deadline":
            return "max_wait_ms passed and the command goes on; this is what is known so far"
        case "exit":
            code = "unknown" if result.exit_code is None else result.exit_code
            return f"the session's process has exited (exit code: {code})"
        case _:
            return None


async def _failed_with_screen(
    calls: Calls, error: Deadline | Conflict | InputRejected, arguments: Json
) -> Answer:
    wanted = {
        "session": arguments["session"],
        "format": arguments.get("format", "plain"),
    }
    return failed(error, screen=_screen(await calls("screen.get", wanted)))


# --- resources ----------------------------------------------------------------


async def _read_sessions(calls: Calls, places: Mapping[str, str]) -> object:
    return [_session(info) for info in await calls("session.list")]


async def _read_screen(calls: Calls, places: Mapping[str, str]) -> object:
    return _screen(await calls("screen.get", {"session": places["name"]}))


async def _read_scrollback(calls: Calls, places: Mapping[str, str]) -> object:
    return _scrollback(
        await calls(
            "scrollback.get",
            {"session": places["name"], "offset": -SCROLLBACK_ROWS, "limit": SCROLLBACK_ROWS},
        )
    )


# --- the vocabulary -----------------------------------------------------------


def _text(description: str, *words: str) -> Json:
    return {"type": "string", "description": description} | ({"enum": list(words)} if words else {})


def _number(description: str, default: int | None = None, *, low: int | None = None) -> Json:
    schema: Json = {"type": "integer", "description": description}
    if default is not None:
        schema["default"] = default
    return schema if low is None else schema | {"minimum": low}


def _object(required: list[str], **properties: Json) -> Json:
    return {"type": "object", "properties": properties, "required": required}


_STRING, _INTEGER, _BOOLEAN = ({"type": word} for word in ("string", "integer", "boolean"))
_MAYBE_INTEGER: Json = {"type": ["integer", "null"]}
_MAYBE_STRING: Json = {"type": ["string", "null"]}
_LINES: Json = {"type": "array", "description": "a string per row, or its styled spans"}

_SESSION = _text("session name")
_FORMAT = _text("default: styled", "styled", "plain")
_QUIET = _number("silence that counts as idle, in ms", 2_000, low=1)
_MAX_WAIT = _number("overall deadline in ms; the command goes on after it", 30_000, low=1)
_UNTIL = {
    "until": _text("return when the output holds this text"),
    "until_regex": _text("the same with a regular expression"),
}

_SCREEN_FIELDS: Mapping[str, Json] = {
    "lines": _LINES,
    "cursor": {"type": "object"},
    "rows": _INTEGER,
    "cols": _INTEGER,
    "mode": _text("alt: a full-screen program", "normal", "alt"),
}
_SUCCESS = _object(["success"], success=_BOOLEAN)

TOOLS = (
    Tool(
        name="wsh_create_session",
        title="Create a terminal session",
        description="Open a new terminal session with a shell (or `command`) that stays until killed.",
        parameters={
            "name": _text("session name; chosen when left out"),
            "command": _text("command to run; default: the user's shell"),
            "rows": _number("terminal rows", 24),
            "cols": _number("terminal columns", 80),
            "cwd": _text("working directory"),
            "env": {
                "type": "object",
                "additionalProperties": {"type": "string"},
                "description": "additional environment variables",
            },
        },
        result=_object(
            ["session", "pid", "rows", "cols"],
            session=_STRING,
            pid=_MAYBE_INTEGER,
            rows=_INTEGER,
            cols=_INTEGER,
            command=_STRING,
            cwd=_STRING,
        ),
        run=_create_session,
    ),
    Tool(
        name="wsh_list_sessions",
        title="List terminal sessions",
        description="List all sessions with what each is doing, or look at one.",
        parameters={"session": _text("only this session")},
        result={"type": "object", "description": "{sessions: [...]}, or the one session asked for"},
        run=_list_sessions,
        is_read_only=True,
    ),
    Tool(
        name="wsh_manage_session",
        title="Kill, rename or detach a session",
        description="End a session and its processes, rename it, or detach all clients from it.",
        parameters={
            "session": _SESSION,
            "action": _text("what to do", "kill", "rename", "detach"),
            "new_name": _text("for rename"),
        },
        required=("session", "action"),
        result=_SUCCESS,
        run=_manage_session,
        is_destructive=True,
    ),
    Tool(
        name="wsh_send_input",
        title="Type into a session",
        description=(
            "Send text or keys to whatever runs in a session, verbatim: no Enter is added. For answers to prompts, "
            "REPLs and full-screen programs; to run a command line use wsh_run_command."
        ),
        parameters={
            "session": _SESSION,
            "input": _text("text to send"),
            "encoding": _text("default: utf8", "utf8", "base64"),
            "keys": {
                "type": "array",
                "items": {"type": "string"},
                "minItems": 1,
                "description": "keys pressed after the text: Enter, Escape, Tab, Up, PageDown, F5, Ctrl-C, Alt-x, q",
            },
        },
        required=("session",),
        result=_SUCCESS,
        run=_send_input,
        is_destructive=True,
    ),
    Tool(
        name="wsh_get_screen",
        title="Read the screen",
        description="The visible screen of a session, as a person sees it.",
        parameters={"session": _SESSION, "format": _FORMAT},
        required=("session",),
        result=_object(list(_SCREEN_FIELDS), **_SCREEN_FIELDS),
        run=_get_screen,
        is_read_only=True,
    ),
    Tool(
        name="wsh_get_scrollback",
        title="Read the scrollback",
        description="Rows that a session printed, screen included; offset -100 starts 100 rows before the end.",
        parameters={
            "session": _SESSION,
            "offset": _number("first row from the oldest; negative counts from the newest", 0),
            "limit": _number("rows", 100, low=0),
            "format": _FORMAT,
        },
        required=("session",),
        result=_object(["lines", "total"], lines=_LINES, total=_INTEGER, offset=_INTEGER),
        run=_get_scrollback,
        is_read_only=True,
    ),
    Tool(
        name="wsh_await_quiesce",
        title="Wait until a session is idle",
        description=(
            "Wait until a session printed nothing for timeout_ms, or until a text appears. "
            "Not needed after wsh_run_command, unless its deadline passed."
        ),
        parameters={
            "session": _SESSION,
            "timeout_ms": _QUIET,
            "max_wait_ms": _MAX_WAIT,
            **_UNTIL,
            "last_generation": _number("wait for activity after this generation first"),
            "fresh": {"type": "boolean", "description": "count silence from now"},
        },
        required=("session",),
        result=_object(["generation"], generation=_INTEGER, state=_STRING),
        run=_await_quiesce,
        is_read_only=True,
        waits=True,
    ),
    Tool(
        name="wsh_run_command",
        title="Run a command",
        description=(
            "Type a command line into a session, wait for its end and read what it did: the primary tool. "
            "Returns as soon as the command ends, waits for input, or draws a full-screen program."
        ),
        parameters={
            "session": _SESSION,
            "input": _text("command line, or text for the running program; Enter is added"),
            "timeout_ms": _number(
                "silence that counts as an end, in ms, where the shell does not tell", 2_000, low=1
            ),
            "max_wait_ms": _MAX_WAIT,
            "format": _FORMAT,
            **_UNTIL,
            "view": _text("what to return; default: both", "screen", "output", "both"),
        },
        required=("session", "input"),
        result=_object(
            ["generation", "exit_code", "state", "completed_by", "cwd", "duration_ms"],
            screen={"type": "object"},
            generation=_INTEGER,
            exit_code=_MAYBE_INTEGER,
            output=_MAYBE_STRING,
            omitted_lines=_INTEGER,
            omitted_bytes=_INTEGER,
            state=_STRING,
            completed_by=_text(
                "mark: it ended; input, fullscreen: it waits",
                "mark",
                "exit",
                "input",
                "fullscreen",
                "text",
                "idle",
                "deadline",
            ),
            cwd=_STRING,
            duration_ms={"type": "number"},
            match=_STRING,
        ),
        run=_run_command,
        is_destructive=True,
        waits=True,
    ),
)

RESOURCES = (
    Resource(
        uri="wsh://sessions",
        name="sessions",
        title="Terminal sessions",
        description="All sessions and what each is doing.",
        read=_read_sessions,
    ),
    Resource(
        uri="wsh://sessions/{name}/screen",
        name="screen",
        title="Screen of a session",
        description="The visible screen.",
        read=_read_screen,
    ),
    Resource(
        uri="wsh://sessions/{name}/scrollback",
        name="scrollback",
        title="Scrollback of a session",
        description=f"The last {SCROLLBACK_ROWS} rows.",
        read=_read_scrollback,
    ),
)

WSH = Dialect(name="wsh", instructions=INSTRUCTIONS, tools=TOOLS, resources=RESOURCES)

"""Dialect `wsh`: the tools and resources that clients of `wsh` know, over our operations.

The published names, parameters and defaults are kept. What is added is optional:
keys by name, texts to wait for, views, pictures, tags, sizes, negative offsets, and
in results the exit code, output, state, directory and duration of the command itself.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, cast

from duetty.edges.mcp.dialect import (
    Answer,
    Calls,
    Dialect,
    Json,
    Picture,
    Resource,
    Telling,
    Tool,
    failed,
)
from duetty.edges.mcp.dialects import wsh_visual
from duetty.edges.mcp.dialects.left_terminal import (
    INCOMPLETE,
    changed,
    is_in_pager,
    program,
)
from duetty.edges.mcp.dialects.schema import (
    APPROVED,
    BOOLEAN,
    INTEGER,
    MAYBE_INTEGER,
    MAYBE_STRING,
    STRING,
    flag,
    given,
    number,
    object_of,
    one_or_more,
    text,
    texts,
)
from duetty.edges.mcp.dialects.wsh_visual import DONE, SESSION, SUCCESS
from duetty.edges.mcp.prompts import PROMPTS
from duetty.errors import BadArguments, Conflict, Deadline, InputRejected, SeveralMachines

SCROLLBACK_ROWS = 100
"""Rows of the scrollback resource."""

INSTRUCTIONS = """\
Real terminals that live on between calls; a person may watch them and type too.
1. wsh_create_session once, then wsh_run_command for every command line; `session` may be left out while there is only \
one. It returns the moment the command ends, \
with that command's own exit_code and output. view="output" leaves the screen out and is cheapest. Directory, \
variables and jobs stay from call to call. The line runs exactly as given: `!` and quotes need no care.
2. Write a file: input="cat > path" with the content as `stdin`, any text, up to 8 MB. The same for python3 -, \
git commit -F -, patch -p1.
3. `state` says what the session does: prompt (ready), running, awaiting_input (type the answer with wsh_run_command: it \
returns at the next question, or at the end), awaiting_password (answer with wsh_send_input), fullscreen (press keys with \
wsh_send_input: it returns the rows that changed), exited. exit_code null means unknown.
4. When max_wait_ms passes, the result is an error and the command goes on: call \
wsh_await_quiesce end: true, or press ["Ctrl-C"]. For servers and watchers give `until`: the call returns when that text appears.
For what goes on by itself give background: true; a later answer has its end (`ended`).
5. Stuck in a program, a quote or a raw terminal: wsh_run_command with reset: true.
6. One session per parallel task. wsh_manage_session kill ends a session that is no longer needed.
7. Reading, building, and changing files in the working directory need no approval; deleting outside it, \
emptying it, git commands that throw work away, disks, system services and sending data away are asked about or refused. \
A refusal names what is allowed instead: do that, or tell the user; do not disguise the command.
8. wsh_overlay and wsh_panel show things to people without touching the program; wsh_input_mode takes their keys. \
Prompts wsh:core, wsh:drive-process, wsh:tui … teach more."""


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
        "tags": info.tags,
    }
    if info.state == "exited":
        shape["exit_code"] = info.exit_code
    if (goes_on := info.background) is not None:
        word = "background" if goes_on.block is None else "left_running"
        shape[word] = goes_on.model_dump(exclude_none=True)
    return shape | program(info)


def _match(result: Any) -> Json:
    """Which text was found, as it was given, and where."""
    if result.match is None:
        return {}
    names = ("match", "matched", "match_line", "match_row")
    known = {name: getattr(result, name) for name in names}
    if known["matched"] == known["match"]:
        del known["matched"]
    return {name: value for name, value in known.items() if value is not None}


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


# --- sessions -----------------------------------------------------------------


async def _create_session(calls: Calls, arguments: Json) -> Answer:
    machine, slash, _ = str(arguments.get("name", "")).rpartition("/")
    place = {"cwd": calls.caller.cwd} if calls.caller.cwd and not slash else {}
    try:
        info = await calls("session.open", place | arguments)
    except SeveralMachines as error:
        error.hint = "give `name` as MACHINE/NAME, or MACHINE/ alone; MACHINE is a name or an id"
        raise
    return Answer(
        content={
            "session": f"{machine}{slash}{info.name}",
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
    listed: list[Any] = await calls("session.list", arguments)
    sessions = [_session(info) for info in listed]
    if len({info.server for info in listed}) > 1 or len({info.name for info in listed}) < len(
        listed
    ):
        sessions = [
            {"id": info.id, "machine": info.server, **shape}
            for info, shape in zip(listed, sessions, strict=True)
        ]
    # Structured content has to be an object in most revisions; the text is the published array.
    return Answer(content={"sessions": sessions}, text=sessions)


async def _manage_session(calls: Calls, arguments: Json) -> Answer:
    session = {"session": arguments["session"]}
    match arguments["action"]:
        case "kill":
            await calls("session.remove", session)
        case "rename":
            new = _needed(arguments, "new_name", to="rename")
            await calls("session.update", session | {"name": new["new_name"]})
        case "resize":
            await calls("session.resize", session | _needed(arguments, "cols", "rows", to="resize"))
        case "add_tags" | "remove_tags" as change:
            tags = _needed(arguments, "tags", to="change tags")
            await calls("session.update", session | {change: tags["tags"]})
        case _:
            await calls("session.detach", session)
    return DONE


def _needed(arguments: Json, *names: str, to: str) -> Json:
    missing = [name for name in names if name not in arguments]
    if missing:
        raise BadArguments(f"{missing[0]}: needed to {to}")
    return {name: arguments[name] for name in names}


# --- input and output ---------------------------------------------------------


async def _send_input(calls: Calls, arguments: Json) -> Answer:
    if "input" not in arguments and "keys" not in arguments:
        raise BadArguments("input: give input, keys or both")
    view = arguments.get("view")
    has_end = arguments.get("wait") or "until" in arguments or "until_regex" in arguments
    watched: Json = {
        "wait": "end" if has_end else "settle",
        "changes": True,
        "screen": view in ("screen", "both"),
        **given(arguments, "max_wait_ms", until_text="until", until_regex="until_regex"),
    }
    typed = given(arguments, "session", "encoding", data="input")
    pressed = given(arguments, "session", "keys")
    if "keys" not in arguments:
        written = await calls("input.write", typed | watched)
    else:
        if "input" in arguments:
            await calls("input.write", typed)
        written = await calls("input.press", pressed | watched)
    result = written.after
    content: Json = {"success": True, "state": result.state, **program(result)}
    if has_end or view is not None:
        content |= _ended(result, "both" if view is None else view)
    cursor = result.cursor
    content["cursor"] = {"row": cursor.row, "col": cursor.col}
    if result.screen is not None:
        content["screen"] = _screen(result.screen)
    elif view != "output":
        content["changed"] = changed(result)
        if result.state == "fullscreen":
            content.pop("output", None)  # the same rows
    if written.had_effect is False:
        content["note"] = _NO_EFFECT.format(_program_text(result))
    is_late = has_end and result.completed_by == "deadline"
    return Answer(content=content, failure=_still_running(result, arguments) if is_late else None)


_NO_EFFECT = (
    "Ctrl-C had no effect: {} goes on. Leave it as it is left (q, :q!, exit, Ctrl-D), "
    "or call wsh_run_command with reset: true, which ends it"
)


def _program_text(result: Any) -> str:
    program = result.foreground
    return "the program" if program is None else f"{program.name} (pid {program.pid})"


async def _get_screen(calls: Calls, arguments: Json) -> Answer:
    screen = _screen(await calls("screen.get", given(arguments, "session", "format")))
    if not arguments.get("picture"):
        return Answer(content=screen)
    wanted = {"session": arguments["session"], "format": "png"}
    drawn = await calls("session.snapshot", wanted)
    return Answer(content=screen, blocks=[Picture(base64=drawn.data)])


async def _get_scrollback(calls: Calls, arguments: Json) -> Answer:
    if "block" in arguments:
        wanted = given(arguments, "session", "block", "offset", "limit")
        page = await calls("block.output", {"limit": SCROLLBACK_ROWS} | wanted)
        content = {"lines": page.lines, "total": page.total_lines, "offset": page.offset}
        if page.gone_bytes:
            content["note"] = f"its first {page.gone_bytes} bytes are no longer kept"
        return Answer(content=content | _beyond(content, arguments))
    if "cursor" in arguments:
        return await _read_on(calls, arguments)
    content = _scrollback(await calls("scrollback.get", arguments))
    return Answer(content=content | _beyond(content, arguments))


async def _read_on(calls: Calls, arguments: Json) -> Answer:
    read = await calls("output.read", given(arguments, "session", "cursor"))
    lines: list[str] = read.text.split("\n") if read.text else []
    content: Json = {"lines": lines, "total": len(lines), "next": read.next, "state": read.state}
    if read.state == "exited":
        content["exit_code"] = read.exit_code
    if read.gone_bytes:
        content["note"] = f"{read.gone_bytes} bytes behind that cursor are no longer kept"
    return Answer(content=content)


def _beyond(page: Json, arguments: Json) -> Json:
    """A note on an offset behind which there is nothing."""
    offset = arguments.get("offset", 0)
    if offset < page["total"] or not offset:
        return {}
    return {"note": f"offset {offset} is beyond the {page['total']} rows that there are"}


async def _await_quiesce(calls: Calls, arguments: Json) -> Answer:
    if arguments.get("end"):
        return await _await_end(calls, arguments)
    condition = given(arguments, text="until", regex="until_regex") or {
        "idle_ms": arguments.get("timeout_ms", 2_000),
        **given(arguments, "last_generation", "fresh"),
    }
    try:
        result = await calls("session.wait", condition | given(arguments, "session", "max_wait_ms"))
    except (Deadline, Conflict) as error:
        return await _failed_with_screen(calls, error, arguments)
    content: Json = {"generation": result.generation, "state": result.state, **program(result)}
    content |= _match(result)
    if result.state != "exited" or "idle_ms" not in condition:
        return Answer(content=content)
    # The session has ended: a caller that waits for silence gets the reason.
    content["exit_code"] = (await calls("session.get", given(arguments, "session"))).exit_code
    content["screen"] = await _screen_now(calls, arguments)
    return Answer(content=content, failure=_exited(content["exit_code"]))


_ENDS = ["prompt", "awaiting_input", "awaiting_password", "fullscreen", "exited"]


async def _await_end(calls: Calls, arguments: Json) -> Answer:
    """Wait until the command has ended, or waits for input."""
    wanted = given(arguments, "session", "max_wait_ms")
    try:
        result = await calls("session.wait", wanted | {"state": _ENDS})
    except (Deadline, Conflict) as error:
        return await _failed_with_screen(calls, error, arguments)
    content: Json = {"generation": result.generation, "state": result.state, **program(result)}
    session = given(arguments, "session")
    if result.state == "exited":
        content["exit_code"] = result.exit_code
    elif last := await calls("block.list", session | {"limit": 1}):
        content |= {"exit_code": last[0].exit_code, "block": last[0].id}
    if result.state != "fullscreen":
        content["output"] = await _last_lines(calls, session, content.get("block"))
    return Answer(content=content)


LAST_LINES, LAST_BYTES = 30, 2_000


async def _last_lines(calls: Calls, session: Json, block: str | None) -> str:
    """What was printed last: a build's verdict, or a question."""
    if block is None:
        read = await calls("output.read", session | {"cursor": -LAST_BYTES})
        lines: list[str] = read.text.split("\n")
        before = f"{read.cursor} bytes"
        is_cut = read.cursor > 0
    else:
        page = await calls("block.output", session | {"block": block, "offset": -LAST_LINES})
        lines, before = page.lines, f"{page.offset} lines"
        is_cut = page.offset > 0
    text = "\n".join(lines)[-LAST_BYTES:]
    return f"[... {before} before ...]\n{text}" if is_cut else text


async def _run_command(calls: Calls, arguments: Json) -> Answer:
    view = arguments.get("view", "both")
    if arguments.get("background"):
        return await _in_background(calls, arguments)
    if arguments.get("reset"):
        await calls("session.reset", given(arguments, "session"))
    wanted = given(
        arguments,
        "session",
        "input",
        "stdin",
        "timeout_ms",
        "max_wait_ms",
        "interrupt",
        "why",
        "max_output_bytes",
        until_text="until",
        until_regex="until_regex",
    )
    wanted |= {
        "format": arguments.get("format", "styled"),
        "screen": view in ("screen", "both"),
        "changes": view == "diff",
    }
    try:
        result = await calls("command.run", wanted)
    except (Deadline, Conflict, InputRejected) as error:
        return await _failed_with_screen(calls, error, arguments)
    content: Json = {"generation": result.generation, **_ended(result, view, arguments["input"])}
    if result.approved is not None:
        content["approved"] = result.approved.model_dump()
    if calls.later is not None and result.completed_by == "deadline" and result.block:
        calls.later(result.block, partial(_end_of_block, arguments["session"], result.block))
    if result.into_program and result.state == "fullscreen":
        content.setdefault("note", _TYPED_INTO.format(_program_text(result)))
    if "\r\n" in arguments["input"].rstrip("\r\n"):
        content.setdefault("note", _NO_CR)
    if view == "diff":
        content["changed"] = changed(result)
    if result.screen is not None:
        content["screen"] = _screen(result.screen)
    return Answer(content=content, failure=_run_failure(result, arguments))


_NO_CR = "a terminal takes CR LF for one line end: give text that must keep its CR as stdin"


async def _in_background(calls: Calls, arguments: Json) -> Answer:
    """In a session of its own, in the directory of the one that was named; it ends with the command."""
    if "stdin" in arguments:
        raise BadArguments("stdin: a command in the background has none; write a file first")
    here = await calls("session.get", given(arguments, "session"))
    order = {
        "name": f"{here.name}-{calls.id[:4]}",
        "command": arguments["input"],
        "cwd": here.cwd,
        "rows": here.rows,
        "cols": here.cols,
        "tags": ["background"],
        "background": True,
        "max_run_ms": arguments.get("max_wait_ms", BACKGROUND_MS),
        "max_output_bytes": arguments.get("max_output_bytes", BACKGROUND_BYTES),
        **({"sandbox": here.sandbox} if here.sandbox != "none" else {}),
        **({"server": here.server} if calls.caller.actor.user is not None else {}),
    }
    opened = await calls("session.open", order)
    content: Json = {
        "generation": 0,
        "exit_code": None,
        "background": opened.name,
        "state": "running",
        "completed_by": "background",
        "cwd": opened.cwd,
        "duration_ms": 0,
        **_bounds(opened.background),
        "note": _GOES_ON.format(opened.name),
    }
    if calls.later is not None:
        calls.later(opened.id, partial(_end_of, opened.name, opened.id))
    if awaited := given(arguments, text="until", regex="until_regex"):
        place = {"session": opened.name, "max_wait_ms": 30_000}
        try:
            found = await calls("session.wait", awaited | place)
        except (Deadline, Conflict) as error:
            return failed(error, background=opened.name)
        content |= {"state": found.state, **_match(found)}
    return Answer(content=content)


BACKGROUND_MS = 86_400_000
BACKGROUND_BYTES = 1 << 30
"""What a command in the background may take and print, where nothing else is asked for."""

_GOES_ON = (
    "read session {!r} with wsh_get_scrollback cursor: 0, wait with wsh_await_quiesce end: true, "
    "end it with wsh_manage_session kill"
)


async def _end_of(name: str, id_: str, calls: Calls) -> Json:
    """How it ended that runs by itself, once it has."""
    await calls("session.wait", {"session": id_, "exit": True, "max_wait_ms": BACKGROUND_MS})
    info = await calls("session.get", {"session": id_})
    ended = {"session": name, "exit_code": info.exit_code, "signal": info.exit_signal}
    return {"ended": {key: value for key, value in ended.items() if value is not None}}


async def _end_of_block(session: str, block: str, calls: Calls) -> Json:
    """How it ended that its caller stopped waiting for."""
    number_ = int(block.rpartition("-")[2])
    wanted = {"session": session, "block": number_ - 1, "max_wait_ms": BACKGROUND_MS}
    ended = (await calls("session.wait", wanted)).block
    return {"ended": {"session": session, "block": ended.id, "exit_code": ended.exit_code}}


async def _left(calls: Calls) -> list[tuple[str, Telling]]:
    """What this caller left running and heard no end of: how each will have ended."""
    left: list[Any] = await calls("command.left")
    return [(each.block or each.session_id, partial(_end_of_left, each)) for each in left]


async def _end_of_left(left: Any, calls: Calls) -> Json | None:
    if left.block is None:
        news = await _end_of(left.session, left.session_id, calls)
    else:
        news = await _end_of_block(left.session, left.block, calls)
    # Its own host may be back, or an answer has had it.
    now: list[Any] = await calls("command.left")
    is_ours = any((each.session_id, each.block) == (left.session_id, left.block) for each in now)
    return news if is_ours else None


def _with_ended(
    run: Callable[[Calls, Json], Awaitable[Answer]],
) -> Callable[[Calls, Json], Awaitable[Answer]]:
    """The same tool, which also tells what ended that its caller stopped waiting for."""

    async def with_ended(calls: Calls, arguments: Json) -> Answer:
        answer = await run(calls, arguments)
        if not calls.dispatcher.has_left_runs or isinstance(answer.text, list):
            return answer  # a published array has no place for it
        ended = await calls("command.ended")
        if not ended:
            return answer
        news = {"ended": [each.model_dump(exclude_none=True) for each in ended]}
        text = answer.text
        if isinstance(text, dict):
            text = {**cast("Json", text), **news}
        return replace(answer, content=answer.content | news, text=text)

    return with_ended


def _ended(result: Any, view: str, line: str = "") -> Json:
    """How far it came and what it printed."""
    content: Json = {"exit_code": result.exit_code}
    is_on_screen = result.state == "fullscreen" and result.screen is not None
    if view in ("output", "both") and not is_on_screen:
        content["output"] = result.output
        if result.omitted_bytes:
            content |= {
                "omitted_lines": result.omitted_lines,
                "omitted_bytes": result.omitted_bytes,
                "block": result.block,
            }
    content |= {
        "state": result.state,
        "completed_by": result.completed_by,
        "cwd": result.cwd,
        "duration_ms": result.duration_ms,
        **program(result),
    }
    content |= _match(result)
    if result.background is not None:
        content |= _bounds(result.background) | {"block": result.background.block}
    if (note := _note(result, line)) is not None:
        content["note"] = note
    return content


def _bounds(goes_on: Any) -> Json:
    """What ends it that goes on by itself; nothing ends it that a person opened, or types into."""
    bounds = {"ends_at": goes_on.ends_at, "max_output_bytes": goes_on.max_output_bytes}
    return {name: value for name, value in bounds.items() if value is not None}


def _note(result: Any, line: str) -> str | None:
    """What stands in the way of the next line, and how to go on."""
    if result.continuation:
        return INCOMPLETE
    if result.blocks and result.running and not line.rstrip().endswith(result.running):
        return _PARTLY.format(len(result.blocks), result.running)
    if is_in_pager(result):
        return _PAGER
    if result.terminal == "raw" and result.state == "prompt":
        return _LEFT_RAW
    if result.completed_by == "idle" and result.state == "running":
        return _SILENT
    if result.into_program and "event not found" in (result.output or ""):
        return _EXPANDS
    return None


_PAGER = "a pager has the terminal: q leaves it; reset: true leaves it and runs the next command"
_LEFT_RAW = "a program left the terminal raw: give the next run reset: true"
_TYPED_INTO = "typed into {}, which has the terminal: no shell ran it. Press keys with wsh_send_input, or give reset: true"
_SILENT = "it is silent and may still run: wait on with wsh_await_quiesce end: true"
_EXPANDS = "this inner shell expands `!`: run `set +H` in it first, or quote with '...'"


_PARTLY = "{} of its commands ended; this one has not: {}. Those behind it run when it ends"


def _still_running(result: Any, arguments: Json) -> str:
    seconds = f"{result.duration_ms / 1000:.1f}".removesuffix(".0")
    if arguments.get("interrupt"):
        return f"max_wait_ms passed after {seconds} s and Ctrl-C was pressed"
    end = "press Ctrl-C with wsh_send_input"
    if result.terminal == "raw":
        end = "end it by a run with reset: true (the terminal is raw: Ctrl-C is a key like others)"
    return (
        f"max_wait_ms passed and the command goes on: {_program_text(result)} is still running after {seconds} s. "
        f"Watch on with wsh_await_quiesce end: true, or {end}"
    )


def _run_failure(result: Any, arguments: Json) -> str | None:
    match result.completed_by:
        case "deadline":
            return _still_running(result, arguments)
        case "exit":
            return _exited(result.exit_code)
        case _:
            return None


def _exited(exit_code: int | None) -> str:
    code = "unknown" if exit_code is None else exit_code
    return f"the session's process has exited (exit code: {code})"


async def _failed_with_screen(
    calls: Calls, error: Deadline | Conflict | InputRejected, arguments: Json
) -> Answer:
    if arguments.get("view") in ("output", "diff"):
        return failed(error)
    return failed(error, screen=await _screen_now(calls, arguments))


async def _screen_now(calls: Calls, arguments: Json) -> Json:
    wanted = {"session": arguments["session"], "format": arguments.get("format", "plain")}
    return _screen(await calls("screen.get", wanted))


TAIL_LINES = 3
TAIL_CHARS = 500


async def _tail(calls: Calls, arguments: Json) -> str | None:
    """The last lines on the screen."""
    wanted = {"session": arguments["session"], "format": "plain"}
    screen = await calls("screen.get", wanted)
    shown = [line for line in screen["lines"] if line.strip()]
    return "\n".join(shown[-TAIL_LINES:])[-TAIL_CHARS:] or None


def _bound_ms(arguments: Json) -> int | None:
    return arguments.get("max_wait_ms", 30_000)


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


_LINES: Json = {"type": "array", "description": "a string per row, or its styled spans"}
_FORMAT = text("default: styled", "styled", "plain")
_QUIET = number("silence that counts as idle, in ms", 2_000, low=1)
_MAX_WAIT = number("overall deadline in ms; the command goes on after it", 30_000, low=1)
_UNTIL = {
    "until": one_or_more("return when the output holds this text, or one of these"),
    "until_regex": one_or_more("the same with regular expressions"),
}
_VIEW = text(
    "what to return; default: both; diff: rows that changed since your last look",
    "screen",
    "output",
    "both",
    "diff",
)
_MATCH: Mapping[str, Json] = {"match": STRING, "match_line": STRING, "match_row": INTEGER}
_PROGRAM: Mapping[str, Json] = {
    "foreground": {"type": "object"},
    "terminal": text("raw: keys reach the program one by one", "raw", "no_echo"),
    "changed": {"type": "object"},
    "note": STRING,
}
_ROWS, _COLS = number("terminal rows", 24, low=0), number("terminal columns", 80, low=0)
_SCREEN_FIELDS: Mapping[str, Json] = {
    "lines": _LINES,
    "cursor": {"type": "object"},
    "rows": INTEGER,
    "cols": INTEGER,
    "mode": text("alt: a full-screen program", "normal", "alt"),
}

TOOLS = (
    Tool(
        name="wsh_create_session",
        title="Create a terminal session",
        description="Open a new terminal session with a shell (or `command`) that stays until killed.",
        parameters={
            "name": text("session name; chosen when left out"),
            "command": text("command to run; default: the user's shell"),
            "rows": _ROWS,
            "cols": _COLS,
            "cwd": text("working directory"),
            "env": {
                "type": "object",
                "additionalProperties": {"type": "string"},
                "description": "additional environment variables",
            },
            "tags": texts("labels to find it by"),
            "sandbox": text("confine it", "any"),
            "keep_name": flag("also after its exit, until killed"),
        },
        result=object_of(
            ["session", "pid", "rows", "cols"],
            session=STRING,
            pid=MAYBE_INTEGER,
            rows=INTEGER,
            cols=INTEGER,
            command=STRING,
            cwd=STRING,
        ),
        run=_create_session,
    ),
    Tool(
        name="wsh_list_sessions",
        title="List terminal sessions",
        description="List all sessions with what each is doing, or look at one.",
        parameters={"session": text("only this session"), "tag": texts("only with one of these")},
        result={"type": "object", "description": "{sessions: [...]}, or the one session asked for"},
        run=_with_ended(_list_sessions),
        is_read_only=True,
    ),
    Tool(
        name="wsh_manage_session",
        title="Kill, rename, resize, tag or detach a session",
        description="End a session and its processes, rename, resize or tag it, or detach all viewers from it.",
        parameters={
            "session": SESSION,
            "action": text(
                "what to do", "kill", "rename", "detach", "resize", "add_tags", "remove_tags"
            ),
            "new_name": text("for rename"),
            "rows": number("for resize", low=0),
            "cols": number("for resize", low=0),
            "tags": texts("for add_tags and remove_tags"),
        },
        required=("action",),
        result=SUCCESS,
        session_word="session",
        run=_manage_session,
        is_destructive=True,
    ),
    Tool(
        name="wsh_send_input",
        title="Type into a session",
        description=(
            "Send text or keys to whatever runs in a session, verbatim: no Enter is added. For passwords, single keys "
            "and full-screen programs; returns the state and the rows that changed. To run a command line, or answer a "
            "question with a line, use wsh_run_command."
        ),
        parameters={
            "session": SESSION,
            "input": text("text to send"),
            "encoding": text("default: utf8", "utf8", "base64"),
            "keys": {
                "type": "array",
                "items": {"type": "string"},
                "minItems": 1,
                "description": "keys pressed after the text: Enter, Escape, Tab, Up, PageDown, F5, Ctrl-C, Alt-x, q",
            },
            "wait": flag("wait for the end, as wsh_run_command does, and return what it returns"),
            **_UNTIL,
            "max_wait_ms": _MAX_WAIT,
            "view": _VIEW,
        },
        result=object_of(
            ["success"],
            success=BOOLEAN,
            state=STRING,
            cursor={"type": "object"},
            output=MAYBE_STRING,
            exit_code=MAYBE_INTEGER,
            **_PROGRAM,
        ),
        session_word="session",
        run=_with_ended(_send_input),
        is_destructive=True,
    ),
    Tool(
        name="wsh_get_screen",
        title="Read the screen",
        description="The visible screen of a session, as a person sees it.",
        parameters={
            "session": SESSION,
            "format": _FORMAT,
            "picture": flag("true: a PNG image, for what text cannot tell"),
        },
        result=object_of(list(_SCREEN_FIELDS), **_SCREEN_FIELDS),
        session_word="session",
        run=_get_screen,
        is_read_only=True,
    ),
    Tool(
        name="wsh_get_scrollback",
        title="Read the scrollback",
        description="Rows that a session printed, screen included; offset -100 starts 100 rows before the end.",
        parameters={
            "session": SESSION,
            "offset": number("first row from the oldest; negative counts from the newest", 0),
            "limit": number("rows", 100, low=0),
            "format": _FORMAT,
            "block": text("lines of this command's output instead; from wsh_run_command"),
            "cursor": number("instead: what it printed from this byte on; the answer has `next`"),
        },
        result=object_of(["lines", "total"], lines=_LINES, total=INTEGER, offset=INTEGER),
        session_word="session",
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
            "session": SESSION,
            "timeout_ms": _QUIET,
            "max_wait_ms": _MAX_WAIT,
            **_UNTIL,
            "last_generation": number("wait for activity after this generation first", low=0),
            "fresh": {"type": "boolean", "description": "count silence from now"},
            "end": flag("instead: until the command ends or asks"),
        },
        result=object_of(["generation"], generation=INTEGER, state=STRING, **_MATCH),
        session_word="session",
        run=_with_ended(_await_quiesce),
        is_read_only=True,
        tail=_tail,
        bound_ms=_bound_ms,
    ),
    Tool(
        name="wsh_run_command",
        title="Run a command",
        description=(
            "Type a command line into a session, wait for its end and read what it did: the primary tool. "
            "Returns as soon as the command ends, waits for input, or draws a full-screen program. Best way to write a "
            "file: `cat > path` with its content as stdin."
        ),
        parameters={
            "session": SESSION,
            "input": text("command line, or text for the running program; Enter is added"),
            "stdin": text(
                "standard input of the whole line: any text, up to 8 MB, never in history"
            ),
            "timeout_ms": number(
                "silence that counts as an end, in ms, where the shell does not tell", 2_000, low=1
            ),
            "max_wait_ms": _MAX_WAIT,
            "format": _FORMAT,
            **_UNTIL,
            "view": _VIEW,
            "reset": flag(
                "first end the program that has the terminal, clear the line and a raw terminal"
            ),
            "background": flag(
                "with sh, in a session of its own, which the answer names; max_wait_ms (a day) ends it"
            ),
            "max_output_bytes": number(
                "of the answer, from 256; of a run in the background: ends it", low=256
            ),
            "interrupt": flag("press Ctrl-C when max_wait_ms passes or the call is cancelled"),
            "why": text("what for, in your words: shown to the person who is asked"),
        },
        required=("input",),
        result=object_of(
            ["generation", "exit_code", "state", "completed_by", "cwd", "duration_ms"],
            screen={"type": "object"},
            generation=INTEGER,
            exit_code=MAYBE_INTEGER,
            output=MAYBE_STRING,
            omitted_lines=INTEGER,
            omitted_bytes=INTEGER,
            block=STRING,
            state=STRING,
            completed_by=text(
                "mark: it ended; input, fullscreen: it waits",
                "mark",
                "exit",
                "input",
                "fullscreen",
                "text",
                "idle",
                "deadline",
                "background",
            ),
            cwd=STRING,
            duration_ms={"type": "number"},
            **_MATCH,
            **_PROGRAM,
            background=STRING,
            ended={"type": "array"},
            approval=STRING,
            approved=APPROVED,
        ),
        session_word="session",
        run=_with_ended(_run_command),
        is_destructive=True,
        tail=_tail,
        bound_ms=_bound_ms,
    ),
    *wsh_visual.TOOLS,
)

RESOURCES = (
    Resource(
        uri="wsh://sessions",
        name="sessions",
        title="Terminal sessions",
        description="All sessions and what each is doing.",
        read=_read_sessions,
        changes_with="sessions",
    ),
    Resource(
        uri="wsh://sessions/{name}/screen",
        name="screen",
        title="Screen of a session",
        description="The visible screen.",
        read=_read_screen,
        changes_with="session",
    ),
    Resource(
        uri="wsh://sessions/{name}/scrollback",
        name="scrollback",
        title="Scrollback of a session",
        description=f"The last {SCROLLBACK_ROWS} rows.",
        read=_read_scrollback,
        changes_with="session",
    ),
)

WSH = Dialect(
    name="wsh",
    instructions=INSTRUCTIONS,
    how_to_start="call wsh_create_session, or have a person run `duetty`",
    tools=TOOLS,
    resources=RESOURCES,
    prompts=PROMPTS,
    left=_left,
)

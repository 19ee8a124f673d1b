"""Dialect `command`: one tool that runs a command, as its published contract says, and handles on those that go on.

Each command is a process of its own with pipes: stdout and stderr stay apart. What
the contract lists as its limitations is not one here: chaining, background
processes, timeouts, memory, streaming.
"""

import platform
from typing import Any

from duetty.edges.mcp.arguments import check_of
from duetty.edges.mcp.dialect import Answer, Calls, Dialect, Json, ServerInfo, Tool, failed
from duetty.edges.mcp.dialects.schema import (
    APPROVED,
    BOOLEAN,
    INTEGER,
    MAYBE_INTEGER,
    MAYBE_STRING,
    STRING,
    given,
    number,
    object_of,
    text,
)
from duetty.errors import BadArguments

OS_NAME = {"Darwin": "macOS"}.get(platform.system(), platform.system() or "unknown")
TAIL_BYTES = 500

INSTRUCTIONS = f"""\
Run commands on this {OS_NAME} machine.
run_command runs one command line in sh (or in `shell`) and returns stdout, stderr and exit_code; nothing of it (directory, \
variables) stays for the next call. Pipes, && and here-documents work; give long text as `stdin`. It is ended after \
timeout_ms. For servers and long jobs give background=true: the answer holds `process` for poll_command and \
stop_command. Output that was left out of an answer is read with poll_command from an offset."""


def _process(info: Any) -> Json:
    shape: Json = {
        "process": info.id,
        "pid": info.pid,
        "command": info.command,
        "workdir": info.cwd,
        "running": info.state == "running",
        "exit_code": info.exit_code,
        "duration_ms": info.duration_ms,
        "stdout_bytes": info.stdout_bytes,
        "stderr_bytes": info.stderr_bytes,
    }
    if info.exit_signal is not None:
        shape["signal"] = info.exit_signal
    return shape


async def _run_command(calls: Calls, arguments: Json) -> Answer:
    """Wrong arguments are a result here, as the contract says, so that a model mends them."""
    try:
        return await _run_checked(calls, _fitting(arguments))
    except BadArguments as error:
        return failed(calls.of_hub(error))


async def _run_checked(calls: Calls, arguments: Json) -> Answer:
    order = given(arguments, "command", "stdin", "timeout_ms", "env", "shell", cwd="workdir")
    if calls.caller.cwd:
        order = {"cwd": calls.caller.cwd} | order
    if arguments.get("background"):
        info = await calls("process.start", order)
        begun: Json = {"process": info.id, "pid": info.pid, "running": True}
        return Answer(content=begun | _approved(info))
    result = await calls("process.run", order | {"id": calls.id})
    content: Json = {
        "stdout": result.stdout,
        "stderr": result.stderr,
        "exit_code": result.process.exit_code,
        "message": result.message,
        "duration_ms": result.process.duration_ms,
        **_approved(result.process),
    }
    if result.stdout_omitted_bytes or result.stderr_omitted_bytes:
        content |= {
            "process": result.process.id,
            "stdout_omitted_bytes": result.stdout_omitted_bytes,
            "stderr_omitted_bytes": result.stderr_omitted_bytes,
        }
    blocks = [result.stdout] if result.stdout or not result.stderr else []
    if not result.stdout and not result.stderr and result.message is None:
        blocks = [f"(no output; exit code {result.process.exit_code})"]
    if result.stderr:
        blocks.append(f"STDERR:\n{result.stderr}")
    failure = result.message
    if result.process.timed_out:
        failure = f"{failure}: give a longer timeout_ms, or background: true"
    return Answer(content=content, blocks=blocks, failure=failure)


def _approved(info: Any) -> Json:
    """How a person answered for it, who may have put another line in place."""
    return {} if info.approved is None else {"approved": info.approved.model_dump()}


async def _poll_command(calls: Calls, arguments: Json) -> Answer:
    wanted = given(arguments, "process", "stdout_offset", "stderr_offset", "wait_ms", "wait_for")
    result = await calls("process.read", wanted)
    return Answer(
        content={
            **_process(result.process),
            "stdout": result.stdout,
            "stderr": result.stderr,
            "stdout_next": result.stdout_next,
            "stderr_next": result.stderr_next,
        }
    )


async def _stop_command(calls: Calls, arguments: Json) -> Answer:
    wanted = given(arguments, "process", "signal")
    return Answer(content=_process(await calls("process.stop", wanted)))


async def _list_commands(calls: Calls, arguments: Json) -> Answer:
    return Answer(content={"commands": [_process(info) for info in await calls("process.list")]})


async def _tail(calls: Calls, arguments: Json) -> str | None:
    """The newest output of a command that is waited for."""
    if arguments.get("background"):
        return None
    wanted = {"stdout_offset": -TAIL_BYTES, "stderr_offset": -TAIL_BYTES}
    id_ = arguments.get("process", calls.id)
    result = await calls("process.read", {"process": id_, "max_bytes": TAIL_BYTES, **wanted})
    return (result.stdout.rstrip() or result.stderr.rstrip()) or None


_PROCESS = object_of(
    ["process", "pid", "running", "exit_code"],
    process=STRING,
    pid=INTEGER,
    command=STRING,
    workdir=STRING,
    running=BOOLEAN,
    exit_code=MAYBE_INTEGER,
    signal=STRING,
    duration_ms={"type": "number"},
    stdout_bytes=INTEGER,
    stderr_bytes=INTEGER,
)

TOOLS = (
    Tool(
        name="run_command",
        title="Run a command",
        description=f"Run a command on this {OS_NAME} machine",
        parameters={
            "command": text("Command with args"),
            "workdir": text("Optional, current working directory"),
            "stdin": text(
                "Optional, text to pipe into the command's STDIN. For example, pass a python script to python3. "
                "Or, pass text for a new file to the cat command to create it!"
            ),
            "timeout_ms": number("ended after this time; default from the settings (60000)", low=1),
            "shell": text("shell that reads the command: sh (default), bash, zsh, fish, or a path"),
            "env": {
                "type": "object",
                "additionalProperties": STRING,
                "description": "variables added to the environment",
            },
            "background": {
                "type": "boolean",
                "description": "return at once with `process`; the command goes on",
            },
        },
        required=("command",),
        result=object_of(
            [],
            stdout=STRING,
            stderr=STRING,
            exit_code=MAYBE_INTEGER,
            message=MAYBE_STRING,
            duration_ms={"type": "number"},
            stdout_omitted_bytes=INTEGER,
            stderr_omitted_bytes=INTEGER,
            process=STRING,
            pid=INTEGER,
            running=BOOLEAN,
            approved=APPROVED,
        ),
        run=_run_command,
        is_destructive=True,
        checks_itself=True,
        tail=_tail,
        bound_ms=lambda arguments: arguments.get("timeout_ms"),
    ),
    Tool(
        name="poll_command",
        title="Read a background command",
        description="What a command printed since an offset, and whether it still runs; may wait for more.",
        parameters={
            "process": text("from run_command"),
            "stdout_offset": number("first byte; negative counts from the end", 0),
            "stderr_offset": number("first byte; negative counts from the end", 0),
            "wait_ms": number("wait so long for something new", 0, low=0),
            "wait_for": text("default: output", "output", "end"),
        },
        required=("process",),
        result=_PROCESS
        | {
            "properties": {
                **_PROCESS["properties"],
                "stdout": STRING,
                "stderr": STRING,
                "stdout_next": INTEGER,
                "stderr_next": INTEGER,
            }
        },
        run=_poll_command,
        is_read_only=True,
        tail=_tail,
        bound_ms=lambda arguments: arguments.get("wait_ms", 0),
    ),
    Tool(
        name="stop_command",
        title="Stop a background command",
        description="End a command and everything it started: asked first, then by KILL.",
        parameters={
            "process": text("from run_command"),
            "signal": text("sent first; default: TERM", "TERM", "INT", "HUP", "QUIT", "KILL"),
        },
        required=("process",),
        result=_PROCESS,
        run=_stop_command,
        is_destructive=True,
    ),
    Tool(
        name="list_commands",
        title="List background commands",
        description="Commands that run, and those that ended within the last hour.",
        parameters={},
        result=object_of(["commands"], commands={"type": "array", "items": {"type": "object"}}),
        run=_list_commands,
        is_read_only=True,
    ),
)

_fitting = check_of(TOOLS[0].input_schema())

COMMAND = Dialect(
    name="command",
    instructions=INSTRUCTIONS,
    tools=TOOLS,
    server=ServerInfo(
        name="mcp-server-command",
        version="0.5.0",
        title="Duetty (commands)",
        description=f"Run commands on this {OS_NAME} machine",
    ),
)

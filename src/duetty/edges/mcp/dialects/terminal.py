"""Dialect `terminal`: one tool for everything, as its published contract says.

The contract itself, its aliases, checks, routes and failures, is in `ops/contract`:
over HTTP it is the same. Here a request and an answer only change their envelope.
"""

from dataclasses import replace
from typing import Any, cast, get_args

from duetty.edges.mcp.dialect import Answer, Calls, Dialect, Json, Tool, shortened
from duetty.edges.mcp.session_choice import chosen_of
from duetty.errors import DuettyError, MultipleSessions
from duetty.ops import cut_off_failure
from duetty.wire.contract import Action, TerminalAnswer, TerminalParams

OPERATION = "terminal.act"
ACTIONS: tuple[str, ...] = get_args(Action)

INSTRUCTIONS = """\
One tool, terminal, with four actions: execute, read_output, terminate, list.
execute runs execution.command in a terminal that a person can see (mode interactive, the default); the answer's \
target.session names that terminal for read_output, terminate and further execute calls. Without a person's view it \
fails with PM_TERM_GUI_UNAVAILABLE: ask for a view and retry, never switch to headless by yourself. \
invocation.mode = headless runs a command as a process of its own, only if policy proves it harmless.
A non-zero exit_code is an answer, not an error. Errors have a PM_TERM_ code, details.fields with a hint per field, \
and details.retriable. Never retry PM_TERM_DECLINED or PM_TERM_BLOCKED_DESTRUCTIVE as it was; after PM_TERM_TIMEOUT \
look with read_output first."""


async def _terminal(calls: Calls, arguments: Json) -> Answer:
    try:
        answer = await _acted(calls, _with_directory(calls, arguments))
    except DuettyError as error:
        if not error.code.startswith("PM_TERM_"):
            raise
        return _failed(error)
    text: Json = answer.model_dump(mode="json", exclude_none=True)
    # How its request was read is nothing new to a model; how a person answered is.
    metadata: Json = text.pop("metadata")
    if "approval" in metadata:
        text["metadata"] = {"approval": metadata["approval"]}
    return Answer(content=answer.model_dump(mode="json"), text=text)


async def _acted(calls: Calls, asked: Json) -> TerminalAnswer:
    """Where several terminals could be meant, with the one that was chosen, or is chosen now."""
    if (named := _named(asked)) is not None:
        calls.choice.named(named)
    try:
        return await calls(OPERATION, asked)
    except DuettyError as error:
        if error.details.get("reason") != MultipleSessions.code:
            raise
        chosen = await chosen_of(calls, calls.choice, error.details["candidates"])
        if chosen is None:
            raise
    return await calls(OPERATION, {**asked, "target": {"session": chosen}})


def _named(asked: Json) -> str | None:
    target = asked.get("target")
    named = cast("Json", target).get("session") if isinstance(target, dict) else None
    return named if isinstance(named, str) else None


def _failed(error: DuettyError) -> Answer:
    fields: Json = {"code": error.code, "message": error.message}
    fields |= {"hint": error.hint, "details": dict(error.details)}
    # For a model the message stands before it, and how its request was read is nothing new to it.
    news = {
        name: value
        for name, value in error.details.items()
        if (value and name != "metadata") or name == "executed"
    }
    text: Json = {"code": error.code, "hint": error.hint, "details": news}
    return Answer(content={"error": fields}, text={"error": text}, failure=shortened(error.message))


def cut_off(arguments: object, message: str) -> Answer:
    """The answer to a caller whose server ended first."""
    return _failed(cut_off_failure(arguments, message))


_ELSEWHERE = ("session", "session_id", "terminal", "terminal_id", "server")


def _with_directory(calls: Calls, arguments: Json) -> Json:
    """With the directory in which the agent's host works, where it gave one and a command may begin."""
    runtime = arguments.get("runtime", {})
    if arguments.get("action") not in ("execute", "run", "send", "create"):
        return arguments  # a directory means nothing to the others
    if not calls.caller.cwd or not isinstance(runtime, dict):
        return arguments
    hints = cast("Json", runtime)
    if hints.get("default_cwd") is not None or _is_elsewhere(arguments):
        return arguments
    return {**arguments, "runtime": {**hints, "default_cwd": calls.caller.cwd}}


def _is_elsewhere(arguments: Json) -> bool:
    """Whether it goes on in a terminal that is there, or on a machine that may have no such directory."""
    target = arguments.get("target")
    named = cast("Json", target) if isinstance(target, dict) else {}
    meant = [*named.values(), *(arguments.get(each) for each in _ELSEWHERE)]
    return any(each is not None for each in meant)


async def _tail(calls: Calls, arguments: Json) -> str | None:
    """The newest output of the terminal that is meant, where one is named."""
    asked: Json = {"action": "read_output", "target": arguments.get("target")}
    if asked["target"] is None:
        return None
    if "invocation" in arguments:
        asked["invocation"] = arguments["invocation"]
    answer: Any = await calls(OPERATION, asked)
    shown = answer.result.output or answer.result.stdout or ""
    return shown[-500:].rstrip() or None


def _bound_ms(arguments: Json) -> int | None:
    execution = arguments.get("execution")
    if not isinstance(execution, dict):
        return None
    fields = cast("Json", execution)
    bound = fields.get("timeout", fields.get("timeout_ms"))
    return bound if isinstance(bound, int) else None


_SCHEMA = TerminalParams.model_json_schema()

TOOLS = (
    Tool(
        name="terminal",
        title="Terminal",
        description=(
            "Run commands in terminals that a person can see, read what they printed, end them, list them. "
            "action: execute (execution.command; execution.intent open_only opens a terminal and runs nothing), "
            "read_output, terminate (target.session), list. invocation.mode headless: no terminal, proven commands only."
        ),
        parameters={
            name: {key: value for key, value in field.items() if key not in ("title", "default")}
            for name, field in _SCHEMA["properties"].items()
        },
        required=_SCHEMA["required"],
        result=TerminalAnswer.model_json_schema(mode="serialization"),
        run=_terminal,
        is_destructive=True,
        checks_itself=True,
        tail=_tail,
        cut_off=cut_off,
        bound_ms=_bound_ms,
    ),
)

TERMINAL = Dialect(name="terminal", instructions=INSTRUCTIONS, tools=TOOLS)


def without_aliases() -> Dialect:
    """The same where the time of the aliases is over: none is offered."""
    action = {"type": "string", "enum": list(ACTIONS), "description": "what to do"}
    (tool,) = TOOLS
    return replace(
        TERMINAL, tools=(replace(tool, parameters={**tool.parameters, "action": action}),)
    )

"""What the trail records of a call's arguments: enough to know what happened, no secrets.

Never the values of environment variables, never standard input, never what is
typed where nothing is shown.
"""

from collections.abc import Mapping
from typing import cast

from duetty.audit import MAX_TEXT
from duetty.blocks import Phase
from duetty.ops.judgements import CallsTool, RunsLine, Types
from duetty.ops.resolved_call import AnyCall
from duetty.session import Session

RAW_CHARS = 256
"""Of input as it was typed."""

OTHER_CHARS = 200
MAX_ITEMS = 20

_CONTENT = frozenset({"stdin", "spans", "draw", "overlays", "panels", "operations"})
_NAMES_ONLY = frozenset({"env"})
_SECRET = frozenset({("server.add", "token")})
_SECRET_WORDS = ("password", "passwd", "secret", "token", "api_key", "apikey", "credential")


def is_secret_input(session: Session, *, raw: bool) -> bool:
    """Whether what is typed now is not shown: a password, or (raw) a program that draws for itself.

    A run's line is typed when the shell is ready for it, so only a program that runs counts there:
    a password prompt, or `read -s` of fish, which draws for itself.
    """
    echo, canonical = session.pty.echo_and_canonical()
    is_other = raw or canonical or session.prompt.phase is Phase.RUNNING
    return not echo and is_other and session.state().word != "prompt"


def recorded_arguments(call: AnyCall, *, secret: bool) -> dict[str, object]:
    """`secret`: what is typed is not shown, and not kept."""
    operation, params = call.operation, call.params
    typed, tool_arguments = None, None
    match operation.judged:
        case RunsLine(line=name) | Types(text=name):
            typed = name
        case CallsTool(arguments=name):
            tool_arguments = name
        case _:
            pass
    found: dict[str, object] = {}
    for name in sorted(params.model_fields_set - {"session"}):
        value: object = getattr(params, name)
        if value is None:
            continue
        if name in _NAMES_ONLY and isinstance(value, Mapping):
            names = sorted(str(key) for key in cast("Mapping[str, object]", value))
            found[name] = names[:MAX_ITEMS]
        elif (operation.name, name) in _SECRET:
            found[name] = {"withheld": "it is a secret"}
        elif name == typed and secret:
            found[name] = {"withheld": "it is typed where nothing is shown"}
        elif name == typed:
            runs = isinstance(operation.judged, RunsLine)
            found[name] = _bounded(value, MAX_TEXT if runs else RAW_CHARS)
        elif name == tool_arguments:
            found[name] = _tool_arguments(cast("Mapping[str, object]", value))
        elif name in _CONTENT:
            found[name] = {"length": len(cast("str | list[object]", value))}
        else:
            found[name] = _bounded(value, OTHER_CHARS)
    return found


def _tool_arguments(given: Mapping[str, object]) -> dict[str, object]:
    """Short texts and numbers as they are, the rest by its size; never what is named like a secret."""
    shown: dict[str, object] = {}
    for name, value in list(given.items())[:MAX_ITEMS]:
        secret = any(word in name.lower() for word in _SECRET_WORDS)
        kept = {"withheld": "it is named like a secret"} if secret else _bounded(value, RAW_CHARS)
        shown[name[:OTHER_CHARS]] = kept
    return shown


def _bounded(value: object, chars: int) -> object:
    if isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, str):
        return value if len(value) <= chars else f"{value[:chars]}… [{len(value)} characters]"
    if isinstance(value, (list, tuple)):
        items = cast("list[object]", value)
        shown = [_bounded(each, chars) for each in items[:MAX_ITEMS]]
        return [*shown, f"… [{len(items)} items]"] if len(items) > MAX_ITEMS else shown
    return {"type": type(value).__name__}

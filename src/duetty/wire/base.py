"""What every shape at the boundary has in common.

Each is made ready when it is first used: a host waits for the server's start, and few
servers see every operation.
"""

import re
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
"""All but Tab and line ends."""


def _system_text(text: str) -> str:
    if "\0" in text:
        raise ValueError("must not contain a NUL character")
    try:
        text.encode("utf-8", "surrogateescape")  # as a name that is not UTF-8 comes to us
    except UnicodeEncodeError as error:
        raise ValueError("must be Unicode text, without lone surrogates") from error
    return text


MAX_ARGUMENT_BYTES = 131_071
"""Of one argument, or one NAME=VALUE: Linux takes 128 KiB, with the NUL behind it."""

MAX_VARIABLES_BYTES = 1_000_000
"""Of what a call adds to the environment: half of what Linux takes, which the server's own
variables and the command need too. Each has a pointer beside it.
"""

_POINTER_BYTES = 8


def system_bytes(text: str) -> int:
    """How long it is for the system."""
    return len(text.encode("utf-8", "surrogateescape"))


def variables(env: dict[str, str]) -> dict[str, str]:
    """Those that a program can be given, in words that no name or value stands in."""
    total = 0
    for name, value in env.items():
        if not name or "=" in name:
            raise ValueError("holds a name that cannot be an environment variable's")
        length = system_bytes(name) + 1 + system_bytes(value)
        if length > MAX_ARGUMENT_BYTES:
            raise ValueError(f"a variable may have {MAX_ARGUMENT_BYTES} bytes, as NAME=VALUE")
        total += length + 1 + _POINTER_BYTES
    if total > MAX_VARIABLES_BYTES:
        raise ValueError(f"the variables may have {MAX_VARIABLES_BYTES} bytes together")
    return env


SystemText = Annotated[str, AfterValidator(_system_text)]
"""What is given to the system as it is: a path, a command line, a variable. The kernel's texts end
at a NUL, so one that holds it would mean something else there, or nothing.
"""


def plain_line(line: str) -> str:
    if found := _CONTROL.search(line):
        raise ValueError(
            f"a command line has no control characters, and this has U+{ord(found[0]):04X}; "
            "press keys (Ctrl-C, Escape, …) by their names instead"
        )
    return line.replace("\r\n", "\n").replace("\r", "\n")


CommandLine = Annotated[str, AfterValidator(plain_line)]
"""What is typed at a shell. A line editor would obey a control character, and could be left in
the middle of a paste. A line ends with a line feed, however it came: what is judged is what is typed.
"""


class Params(BaseModel):
    """Arguments of an operation: an unknown one is an error, not a silence.

    Types are those of JSON as they are: `true` is no number and `"24"` neither. What
    comes as text, a query, is turned into values where it is read.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True, strict=True)


class Result(BaseModel):
    """What an operation answers with."""

    model_config = ConfigDict(frozen=True, defer_build=True)


def field_of(shape: object, name: str) -> Any:
    """Of a shape that may have such a field; None where it has none.

    `getattr` would do; but that there is none takes it several microseconds, at each of many calls.
    """
    return shape.__dict__.get(name) if isinstance(shape, BaseModel) else None

"""What every shape at the boundary has in common.

Each is made ready when it is first used: a host waits for the server's start, and few
servers see every operation.
"""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict


def _system_text(text: str) -> str:
    if "\0" in text:
        raise ValueError("must not contain a NUL character")
    try:
        text.encode("utf-8", "surrogateescape")  # as a name that is not UTF-8 comes to us
    except UnicodeEncodeError as error:
        raise ValueError("must be Unicode text, without lone surrogates") from error
    return text


SystemText = Annotated[str, AfterValidator(_system_text)]
"""What is given to the system as it is: a path, a command line, a variable. The kernel's texts end
at a NUL, so one that holds it would mean something else there, or nothing.
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

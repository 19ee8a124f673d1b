"""Names and identifiers: what they look like and how a new one is made."""

import os
from typing import Literal, NewType

from duetty.errors import InvalidSessionName, InvalidTag

SessionId = NewType("SessionId", str)
"""Permanent; never shown where the session's name would do. Names its directory on disk."""

BlockId = NewType("BlockId", str)
"""`<session id>-<number>`; unique over all history."""

Seq = NewType("Seq", int)
"""Place of an entry in a session's event log; starts at 1, has no gaps."""

Offset = NewType("Offset", int)
"""Place of a byte in everything a session ever printed; starts at 0."""

StateWord = Literal[
    "prompt", "running", "awaiting_input", "awaiting_password", "fullscreen", "exited", "unknown"
]
"""What a session is doing, in one of seven words."""

MAX_NAME_BYTES = 64


def new_session_id() -> SessionId:
    return SessionId(os.urandom(8).hex())


def new_nonce() -> str:
    """The session's secret that makes a mark trusted: 128 bits."""
    return os.urandom(16).hex()


def block_id(session: SessionId, number: int) -> BlockId:
    return BlockId(f"{session}-{number}")


def is_name(text: str) -> bool:
    # A lone surrogate has no bytes of its own; counted so, it is not alphanumeric below.
    return 0 < len(text.encode("utf-8", "surrogatepass")) <= MAX_NAME_BYTES and all(
        char.isalnum() or char in "-_." for char in text
    )


def checked_session_name(text: str) -> str:
    """The name itself.

    Raises:
        InvalidSessionName: if it is not one. "." and ".." would be path tricks.
    """
    if not is_name(text) or set(text) == {"."}:
        raise InvalidSessionName(text)
    return text


def checked_tag(text: str) -> str:
    """The tag itself.

    Raises:
        InvalidTag: if it is not one.
    """
    if not is_name(text):
        raise InvalidTag(text)
    return text

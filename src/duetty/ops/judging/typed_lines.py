"""Lines that an agent types where no shell will ask: their text, as far as it can be known.

Rebuilding a line editor would promise what it cannot keep. What is kept is the text
between two line ends, with what Backspace and Ctrl-U take away; arrow keys, history
and completion of whatever program reads it are not followed. Whether that program is
a shell or an interpreter of some language cannot be told either, so a line that may be
code is judged as both. What is spread over several lines is not put together.
"""

import re
from base64 import b64decode
from collections import OrderedDict
from contextlib import suppress
from shlex import quote
from typing import Any

from duetty.blocks import Phase
from duetty.errors import DuettyError
from duetty.policy.scanning.code import sql_is_destructive
from duetty.session import Session

MAX_CHARS = 8_192
MAX_SESSIONS = 1_000

_SEQUENCE = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|O.|.)?")
_CODE = re.compile(r"[(;='\"`]")
"""Signs without which hardly a line of code deletes or runs anything."""

_ENDS = re.compile(r"[\r\n\x0f]")
_KEYS = {
    "enter": "\r",
    "return": "\r",
    "ctrl-m": "\r",
    "ctrl-j": "\r",
    "ctrl-o": "\r",
    "space": " ",
    "tab": "\t",
    "backspace": "\x7f",
    "ctrl-h": "\x7f",
    "ctrl-u": "\x15",
    "ctrl-c": "\x03",
}


class TypedLines:
    """What each session's agents have typed since the last line end."""

    def __init__(self) -> None:
        self._begun: OrderedDict[str, str] = OrderedDict()

    def lines(self, session: str, text: str) -> list[str]:
        """The command lines to judge for the lines that this text completes; what is left is kept for the next."""
        *whole, rest = _ENDS.split(self._begun.pop(session, "") + text)
        if rest:
            self._begun[session] = rest[-MAX_CHARS:]
            if len(self._begun) > MAX_SESSIONS:
                self._begun.popitem(last=False)
        lines = [line for each in whole if (line := _edited(each)).strip()]
        return [command for line in lines for command in _commands(line)]


def _commands(line: str) -> list[str]:
    """As a shell would read it, and as if an interpreter were given it: the scan reads code of any language alike."""
    if _CODE.search(line) or sql_is_destructive(line):
        return [line, f"python3 -c {quote(line)}"]
    return [line]


def ends_line(text: str) -> bool:
    return _ENDS.search(text) is not None


def _edited(text: str) -> str:
    kept: list[str] = []
    for char in _SEQUENCE.sub("", text):
        match char:
            case "\x7f" | "\x08":
                del kept[-1:]
            case "\x15" | "\x03":
                kept.clear()
            case _:
                kept.append(char)
    return "".join(each for each in kept if each.isprintable() or each == "\t")


def typed_text(operation: str, params: Any) -> str:
    """The characters in a call that writes input."""
    match operation:
        case "input.press":
            return "".join(_pressed(str(key)) for key in params.keys)
        case "input.paste":
            return str(params.text)
        case _:
            if params.encoding != "base64":
                return str(params.data)
            with suppress(ValueError):
                return b64decode(params.data).decode("utf-8", "replace")
            return ""  # the operation says so itself


def written_keys(operation: str, params: Any, session: Session) -> str:
    """The same as the terminal gets it: keys by their bytes, a paste with its marks."""
    with suppress(DuettyError):  # the operation says so itself
        match operation:
            case "input.press":
                return session.pressed(params.keys).decode("utf-8", "replace")
            case "input.paste":
                return session.pasted(params.text).decode("utf-8", "replace")
            case _:
                return typed_text(operation, params)
    return ""


def _pressed(key: str) -> str:
    return key if len(key) == 1 else _KEYS.get(key.lower().replace("+", "-"), "")


def is_at_gate(session: Session) -> bool:
    """Whether what is typed now goes to a shell that asks before it runs it."""
    return session.gate is not None and session.phase in (
        Phase.PROMPT,
        Phase.INPUT,
        Phase.CONTINUATION,
        Phase.DONE,
    )

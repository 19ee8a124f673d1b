r"""Questions to a person, shown in an attached terminal and answered there.

Pure: the server's messages and the keys in, rows and an answer out. Keys are the
program's, so an answer takes two: Ctrl+\ about what is shown, then `y`, `n`, or the key of a
choice that is shown then. Neither counts for a question that has only just appeared, or that cannot be shown whole.
"""

import re
import string
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

from duetty.cli.show import asks
from duetty.client.view_protocol import JsonMessage

SETTLE_S = 0.5
"""A key that was on its way when the question appeared is not meant for it."""

_KEY = re.compile(rb"(?P<key>[a-z])|\x1b\[(?P<code>\d+)[\d;:]*u")
_CODES = {str(ord(each)).encode(): each.encode() for each in string.ascii_lowercase}
KEYS = {
    "y": "once",
    "c": "conversation",
    "s": "session",
    "p": "project",
    "h": "hours",
    "a": "always",
}
NAMES = {
    "once": "once",
    "conversation": "this conversation",
    "session": "this session",
    "project": "this project",
    "hours": "for an hour",
    "always": "always",
}


@dataclass(frozen=True, slots=True)
class Answer:
    approval: str
    granted: bool
    covers: str = "once"
    rule: str | None = None
    """Questions that were shown, of those that wait."""


class Asking:
    def __init__(self, *, can_answer: bool) -> None:
        self._can_answer = can_answer
        self._waiting: dict[str, dict[str, Any]] = {}
        self._since_s = 0.0
        """When the one that is shown appeared."""
        self._about: str | None = None
        """The question that the next key answers."""
        self._is_whole = False
        self._offered: dict[str, dict[str, Any]] = {}
        """The ways to say yes that are shown, by their keys."""

    def tell(self, message: JsonMessage, now_s: float) -> None:
        """`approvals` are all that wait, `approval` is one that was asked or settled."""
        before = self._current
        if message["type"] == "approvals":
            self._waiting = {each["id"]: each for each in message["approvals"]}
        elif message["approval"]["state"] == "pending":
            self._waiting[message["approval"]["id"]] = message["approval"]
        else:
            self._waiting.pop(message["approval"]["id"], None)
        shown = self._current
        if shown is not None and (before is None or before["id"] != shown["id"]):
            self._since_s = now_s
            self._is_whole = False
        if self._about not in self._waiting:
            self._about = None

    def forget(self) -> None:
        """The server is gone: the next one sends the waiting questions again."""
        self._waiting, self._about = {}, None

    @property
    def _current(self) -> dict[str, Any] | None:
        return next(iter(self._waiting.values()), None)

    @property
    def is_answering(self) -> bool:
        return self._about is not None

    def begin(self, now_s: float) -> bool:
        r"""Ctrl+\: whether it is about the question that is shown, and no key for the session."""
        shown = self._current
        if shown is None or not self._can_answer or not self._is_whole:
            return False
        if now_s < self._since_s + SETTLE_S:
            return False
        self._about = None if self.is_answering else str(shown["id"])
        self._offered = {}
        return True

    def take(self, data: bytes) -> Answer | None:
        """The key behind it: an answer, or another one, which leaves the question as it is."""
        found = _KEY.fullmatch(data)
        key = None if found is None else found["key"] or _CODES.get(found["code"])
        if found is not None and key is None:
            return None  # a modifier, or a key let go, as the kitty keyboard tells them
        about, self._about = self._about, None
        if about is None or key is None:
            return None
        if key in (b"y", b"n"):
            return Answer(about, granted=key == b"y")
        if (choice := self._offered.get(key.decode())) is None:
            return None
        return Answer(about, granted=True, covers=choice["covers"], rule=choice["rule"])

    def rows(self, *, cols: int, rows: int) -> list[str]:
        """The question that is shown, in rows of text; empty while nothing is asked."""
        shown = self._current
        if shown is None or cols < 20:
            return []
        lines = self._question_lines(shown)
        made = [row for text in lines for row in _wrapped(text, cols)]
        keys = self._keys()
        self._is_whole = len(made) + 1 < rows
        if not self._is_whole:
            keys = "too long to be shown here whole: see duetty approvals in another terminal"
            made = made[: max(0, rows - 3)]
        if self.is_answering:
            made += self._choices(shown, cols=cols, rows=rows - len(made) - 2)
        return [*made, keys[:cols]]

    def _choices(self, shown: dict[str, Any], *, cols: int, rows: int) -> list[str]:
        """Each way to say yes with its key and what it lets through; none where there is no room for all."""
        made: list[str] = []
        by_covers = {each["covers"]: each for each in shown["choices"]}
        offered = {key: by_covers[covers] for key, covers in KEYS.items() if covers in by_covers}
        for key, each in offered.items():
            # What is saved by a rule is shown as that rule.
            says = each["rule"] if each["covers"] == "always" else each["says"]
            made += _wrapped(f"{key}: {NAMES[each['covers']]}: {says}", cols)
        if len(made) > rows:
            return []
        self._offered = offered
        return made

    def _question_lines(self, shown: dict[str, Any]) -> list[str]:
        where = f" in session {shown['session']}" if shown["session"] else ""
        more = f" (1 of {len(self._waiting)})" if len(self._waiting) > 1 else ""
        lines = [f"{shown['actor']} {asks(shown['operation'])}{where}{more}"]
        if shown["cwd"]:
            lines.append(f"directory: {shown['cwd']}")
        if shown["shown"] is not None:
            lines.append(f"$ {shown['shown']}")
        lines.append(f"because: {shown['reason']}")
        if shown["suggestion"]:
            lines.append(f"safer: {shown['suggestion']}")
        return lines

    def _keys(self) -> str:
        if not self._can_answer:
            return "duetty approve or duetty decline, in another terminal"
        if self.is_answering:
            return "y: yes, this once · n: no · any other key: later"
        return "Ctrl+\\ and then y approves, n declines"


def _wrapped(text: str, cols: int) -> list[str]:
    """All of it, in letters that take one column each and hide nothing."""
    plain = text.encode("ascii", "backslashreplace").decode()
    plain = "".join(char if char.isprintable() else repr(char)[1:-1] for char in plain)
    return wrap(plain, cols - 2, break_on_hyphens=False, drop_whitespace=False) or [""]

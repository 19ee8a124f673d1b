"""What was typed since the last prompt, as far as it is known to the letter.

An agent's Enter is judged by the line that it ends. Text that one actor typed at an empty prompt is
that line. A key that edits, recalls or completes makes it unknown, and so does another's key:
nothing here rebuilds a line editor.
"""

import re

from duetty.calls import Actor
from duetty.shell import EXACT_LINE

MAX_CHARS = 1 << 20
"""A longer line is not known."""

LINE_END = re.compile(rb"[\r\n\x0f]|\x18\x05")
"""What makes a shell take its line: Enter, and Ctrl-O and Ctrl-X Ctrl-E of bash."""

_PASTE = re.compile(r"\x1b\[200~(.*?)(?:\x1b\[201~|\Z)", re.DOTALL)
_PASTED = re.compile(rb"\x1b\[200~.*?(?:\x1b\[201~|\Z)", re.DOTALL)
_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|O.|.)?")
_NEW_LINE = re.compile(rb"[\r\n\x03]")
_WHOLE_KEY = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|O.)")
_PREFIX = re.compile(rb"[\x11\x16\x18\x1b]")
"""Escape, Ctrl-X, Ctrl-V and Ctrl-Q: a line editor may take the next key for the rest of a command."""

_OTHER_KEY = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def plain_text(data: bytes) -> str | None:
    """The text that these bytes put on a line, line ends as line feeds; None if they do anything else."""
    text = data.replace(EXACT_LINE, b"").decode("utf-8", "replace")
    pasted = _PASTE.sub("", text)
    if "\t" in pasted or _OTHER_KEY.search(pasted) or _OTHER_KEY.search(_PASTE.sub(r"\1", text)):
        return None
    return _with_line_feeds(_PASTE.sub(r"\1", text))


def edited_text(data: bytes) -> str:
    """The text in these bytes, with what Backspace and Ctrl-U take away; other keys are left out."""
    kept: list[str] = []
    for char in _with_line_feeds(_SEQUENCE.sub("", data.decode("utf-8", "replace"))):
        match char:
            case "\x7f" | "\x08":
                del kept[-1:]
            case "\x15" | "\x03":
                while kept and kept[-1] != "\n":
                    kept.pop()
            case _ if char.isprintable() or char in "\n\t":
                kept.append(char)
            case _:
                pass
    return "".join(kept)


def ends_line(data: bytes) -> bool:
    """Whether a shell's line editor would take its line: a line end in a paste is only text."""
    return LINE_END.search(_PASTED.sub(b"", data)) is not None


def _with_line_feeds(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\x0f", "\n")


class TypedText:
    """Of one session; begins anew with each prompt, and with each line that runs."""

    __slots__ = ("_caller", "_is_ahead", "_is_known", "_line_by", "has_prefix", "text")

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self._clear_text()
        self._line_by: set[str] = set()
        """Who typed anything since the last line end or Ctrl-C, keys that are no text too."""

        self.has_prefix = False
        """One of those keys may wait for the next one."""

    def _clear_text(self) -> None:
        self.text = ""
        self._is_known = True
        """The text is all that was typed: no other key, and one caller."""

        self._is_ahead = False
        """It was typed before the prompt was there: a program may have taken some of it."""

        self._caller: str | None = None

    def prompt(self) -> None:
        """The shell takes a line, or draws a prompt: what no line end followed may stand there then."""
        if begun := self.begun:
            self.text, self._is_ahead = begun, True
        else:
            self._clear_text()

    def done(self) -> None:
        """A line has run: keys that are no text were for its programs."""
        self.has_prefix = False
        if not self.begun:
            self._line_by.clear()

    def add(self, data: bytes, actor: Actor) -> None:
        if self._caller not in (None, actor.caller):
            self._is_known = False
        self._caller = actor.caller
        self._add_keys(data, actor)
        if actor.kind == "person":
            self._is_known = False  # a person's line is not judged, so its text is not kept
            return
        text = plain_text(data)
        if text is None:
            self._is_known = False
            begun = self.begun
            self.text = self.text.removesuffix(begun) + edited_text(begun.encode() + data)
        else:
            self.text += text
        if len(self.text) > MAX_CHARS:
            self.text, self._is_known = self.text[-MAX_CHARS:], False

    def _add_keys(self, data: bytes, actor: Actor) -> None:
        *ended, rest = _NEW_LINE.split(_PASTED.sub(b" ", data))
        if ended:
            self._line_by.clear()
            self.has_prefix = False
        if rest:
            self._line_by.add(actor.caller)
            self.has_prefix = (
                self.has_prefix or _PREFIX.search(_WHOLE_KEY.sub(b"", rest)) is not None
            )

    def by(self, actor: Actor) -> str | None:
        """The text, if it is known and this actor's; None otherwise, or where there is none."""
        is_sure = self._is_known and not self._is_ahead
        return self.text if self.text and is_sure and self._is_of(actor) else None

    def settle(self, shown: str, actor: Actor) -> str | None:
        """The shell is seen to wait with this text on its line: all of it, if it is known; None otherwise."""
        if not shown:
            self.clear()
        elif not self._is_known or not self._is_of(actor) or shown.strip() != self.text.strip():
            return None
        self._is_ahead = False
        return self.text

    @property
    def is_empty(self) -> bool:
        """No actor typed anything since the last line end."""
        return not self._line_by

    def is_only_of(self, actor: Actor) -> bool:
        """Only this actor typed since the last line end."""
        return self._line_by == {actor.caller}

    def _is_of(self, actor: Actor) -> bool:
        return self._caller == actor.caller

    @property
    def begun(self) -> str:
        """Since the last line end: for a program, which reads line by line. A backslash ends no line."""
        start = self.text.rfind("\n") + 1
        while start > 1 and self.text[start - 2] == "\\":
            start = self.text.rfind("\n", 0, start - 1) + 1
        return self.text[start:]

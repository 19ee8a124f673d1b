"""The line that a shell is about to run, where its history does not have it to the letter.

Of a line that was read in several, bash's history drops empty lines and joins those that a
backslash ends, also where the backslash stood in a comment and joined nothing: what it has may
look like one harmless command where bash runs two. And a line that history itself took away
(`!nosuch`, `!!:p`) is in no count of lines. So bash tells in how many lines it read this one, and
how many it has read at all; what was typed there tells the rest, if nothing in it is history's.
"""

import re

from duetty.shell.marks import Mark

_JOINED = re.compile(r"\\\n")
_LINE_ENDS = re.compile(r"\n+")
_PASTE = re.compile(r"\x1b\[200~([^\x1b]*)\x1b\[201~")
_PLAIN = re.compile(r"[^\x00-\x1f\x7f\ufffd]*", re.DOTALL)

_OF_HISTORY = re.compile(r"!|^\s*\^", re.MULTILINE)

_LEFT_ALONE = re.compile(r"""(?!\s*\^)(?:[^"'\\`!]|"[^"'\\`!]*!?"|'[^']*'|![\s=])*!?""")
"""A line in which each quote ends, and each `!` is plainly one that history leaves alone."""


def line_as_read(mark: Mark, typed: str | None, *, first: int | None) -> str | None:
    """The line that this mark asks about; None if nobody knows.

    `typed`: all that was put on the line since the prompt, to the letter; None if that is not known.
    `first`: how many lines the shell had read then.
    """
    told, lines = mark.command_line, mark.lines
    if told is None or lines is None or (lines == 1 and mark.sure and not mark.cut):
        return told
    if typed is None or first is None or mark.line is None or lines < 1 or _may_be_history(typed):
        return None
    read = _lines_of(typed, mark.line - first, lines)
    return read if read is not None and _is_of(told, read, cut=mark.cut) else None


def plain_text(data: bytes) -> str | None:
    """What these keys put on the line, line ends as such; None if they do anything else."""
    text = data.decode("utf-8", "replace")
    pasted = [each.replace("\r", "\n") for each in _PASTE.findall(text)]
    between = [each.replace("\r", "\n") for each in _PASTE.split(text)[::2]]
    if "\r\n" in text:
        return None  # one line end or two: every one counts here
    if not all(_PLAIN.fullmatch(each.replace("\n", "")) for each in between) or not all(
        _PLAIN.fullmatch(each.replace("\n", "").replace("\t", "")) for each in pasted
    ):
        return None
    pasted.append("")
    return "".join(part for both in zip(between, pasted, strict=True) for part in both)


def _may_be_history(text: str) -> bool:
    return _OF_HISTORY.search(text) is not None and not all(
        _LEFT_ALONE.fullmatch(line) for line in text.split("\n")
    )


def _lines_of(text: str, end: int, lines: int) -> str | None:
    """The last so many of the first `end` lines."""
    found = text.split("\n")[:end]
    return "\n".join(found[-lines:]) if len(found) == end >= lines else None


def _is_of(told: str, read: str, *, cut: bool) -> bool:
    """Whether history would have this of what was read: the same, but for joined and empty lines."""
    told, read = (_LINE_ENDS.sub("\n", _JOINED.sub("", each)).strip() for each in (told, read))
    return read.startswith(told.rstrip("\\\n")) if cut else told == read

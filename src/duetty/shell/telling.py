"""The line that a shell is about to run, where its history does not have it to the letter.

Of a line that was read in several, bash's history drops empty lines and joins those that a
backslash ends, also where the backslash stood in a comment and joined nothing: what it has may
look like one harmless command where bash runs two. What was typed tells the rest, if nothing in it
is history's. Where in it the line stands is told by no count: bash forgets lines that history took
away, and after an error counts from where that was. So all that looks alike in history is one text,
or nobody knows.
"""

import re
from collections.abc import Iterator, Sequence

from duetty.shell.marks import Mark

_LEFT_OUT = re.compile(r"(?:\\\n|\n(?=\n))+")
"""What history may not have of a text."""

_BLANK = " \t"
_PASTE = re.compile(r"\x1b\[200~([^\x1b]*)\x1b\[201~")
_PLAIN = re.compile(r"[^\x00-\x1f\x7f\ufffd]*", re.DOTALL)

_OF_HISTORY = re.compile(r"!|^\s*\^", re.MULTILINE)

_LEFT_ALONE = re.compile(r"""(?!\s*\^)(?:[^"'\\`!]|"[^"'\\`!]*!?"|'[^']*'|![ \t=])*!?""")
"""A line in which each quote ends, and each `!` is plainly one that history leaves alone."""


def line_as_read(mark: Mark, typed: str | None) -> str | None:
    """The line that this mark asks about; None if nobody knows.

    `typed`: all that was put on the line since the prompt, to the letter; None if that is not known.
    """
    told, lines = mark.command_line, mark.lines
    if told is None or lines is None or (lines == 1 and mark.sure and not mark.cut):
        return told
    if typed is None or lines < 1 or _may_be_history(typed):
        return None
    alike = set(_alike(told, typed, cut=mark.cut))
    return alike.pop() if len(alike) == 1 else None


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


def _alike(told: str, typed: str, *, cut: bool) -> Iterator[str]:
    """The lines of a text of which history would have this; all from there on, where it has only the beginning."""
    told, (kept, places) = _kept(told)[0].strip(), _kept(typed)
    told = told.rstrip("\\\n") if cut else told
    at = kept.find(told)
    while at >= 0:
        start, end = places[at], places[at + len(told) - 1] + 1
        begun = typed.rfind("\n", 0, start) + 1
        ended = typed.find("\n", end)
        ended = len(typed) if cut or ended < 0 else ended
        if not typed[begun:start].strip(_BLANK) and (cut or not typed[end:ended].strip(_BLANK)):
            yield typed[begun:ended].rstrip("\n")
        at = kept.find(told, at + 1)


def _kept(text: str) -> tuple[str, Sequence[int]]:
    """What is left of a text in history, and where each character of it stood."""
    kept, places, at = list[str](), list[int](), 0
    for left_out in _LEFT_OUT.finditer(text):
        kept.append(text[at : left_out.start()])
        places += range(at, left_out.start())
        at = left_out.end()
    return "".join([*kept, text[at:]]), [*places, *range(at, len(text))]

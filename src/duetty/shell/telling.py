"""The line that a shell is about to run, where its history does not have it to the letter.

Of a line that was read in several, bash's history drops empty lines and joins those that a
backslash ends, also where the backslash stood in a comment and joined nothing: what it has may
look like one harmless command where bash runs two. So bash tells in how many lines it read
(`lines` of a mark), and what was typed tells the rest.
"""

import re
from collections.abc import Iterable

_EMPTY = re.compile(r"\n\s*\n")
_HERE_DOCUMENT = "<<"
"""Behind one, history has an empty line too many: its lines do not tell."""

_PASTE = re.compile(r"\x1b\[200~([^\x1b]*)\x1b\[201~")
_PLAIN = re.compile(r"[^\x00-\x1f\x7f\ufffd]*", re.DOTALL)


def line_as_read(told: str | None, lines: int | None, typed: Iterable[str | None]) -> str | None:
    """The line; None if nobody knows. `typed`: texts of which it may be a part, to the letter."""
    if told is None or lines is None or (lines == _count(told) and _HERE_DOCUMENT not in told):
        return told
    bare = _bare(told)
    found = {each for text in typed if text for each in _parts(text, lines) if _bare(each) == bare}
    return found.pop() if len(found) == 1 else None


def plain_text(data: bytes) -> str | None:
    """What these keys put on the line, line ends as such; None if they do anything else."""
    text = data.decode("utf-8", "replace")
    pasted = [each.replace("\r\n", "\n").replace("\r", "\n") for each in _PASTE.findall(text)]
    between = [each.replace("\r", "\n") for each in _PASTE.split(text)[::2]]
    if not all(_PLAIN.fullmatch(each.replace("\n", "")) for each in between) or not all(
        _PLAIN.fullmatch(each.replace("\n", "").replace("\t", "")) for each in pasted
    ):
        return None
    pasted.append("")
    return "".join(part for both in zip(between, pasted, strict=True) for part in both)


def _count(text: str) -> int:
    return text.count("\n") + 1


def _parts(text: str, lines: int) -> list[str]:
    """Every so many lines of a text that stand together."""
    each = text.split("\n")
    return (
        ["\n".join(each[at : at + lines]) for at in range(len(each) - lines + 1)]
        if lines > 0
        else []
    )


def _bare(text: str) -> str:
    """What is left of it in any case."""
    text = text.replace("\\\n", "").strip()
    while (shorter := _EMPTY.sub("\n", text)) != text:
        text = shorter
    return text

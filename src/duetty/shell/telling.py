"""The line that a shell is about to run, where its history does not have it to the letter.

Of a line that was read in several, bash's history drops empty lines and joins those that a
backslash ends, also where the backslash stood in a comment and joined nothing: what it has may
look like one harmless command where bash runs two. How many lines it has proves nothing, since
history that is put into a line (`!echo`) can bring lines along. So bash tells which of the lines
since its prompt it read, and what was typed there tells the rest.
"""

import re

from duetty.shell.marks import Mark

_EMPTY = re.compile(r"\n\s*\n")
_PASTE = re.compile(r"\x1b\[200~([^\x1b]*)\x1b\[201~")
_PLAIN = re.compile(r"[^\x00-\x1f\x7f\ufffd]*", re.DOTALL)


def line_as_read(mark: Mark, typed: str | None) -> str | None:
    """The line that this mark asks about; None if nobody knows.

    `typed`: all that was put on the line since the prompt, to the letter; None if that is not known.
    """
    told, lines = mark.command_line, mark.lines
    if told is None or lines is None or (lines == 1 and mark.sure):
        return told
    read = _lines_of(typed, mark.at, lines)
    # What history would have of it: had something been put into it, that would be there.
    return read if read is not None and _bare(read) == _bare(told) else None


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


def _lines_of(text: str | None, at: int, lines: int) -> str | None:
    if text is None or at < 0 or lines < 1:
        return None
    found = text.split("\n")[at : at + lines]
    return "\n".join(found) if len(found) == lines else None


def _bare(text: str) -> str:
    """What is left of it in any case."""
    text = text.replace("\\\n", "").strip()
    while (shorter := _EMPTY.sub("\n", text)) != text:
        text = shorter
    return text

"""The line that a shell is about to run, where its history does not have it to the letter.

Of a line that was read in several, bash's history drops empty lines and joins those that a
backslash ends, also where the backslash stood in a comment and joined nothing: what it has may
look like one harmless command where bash runs two. How many lines it has proves nothing, since
history that is put into a line (`!echo`) can bring lines along. So bash tells which of the lines
since its prompt it read, and what was typed there tells the rest.
"""

import re

from duetty.shell.marks import Mark

_LINE_ENDS = re.compile(r"(\\\n|\n+)")
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
    return read if read is not None and _may_be_of(told, read) else None


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


def _may_be_of(told: str, read: str) -> bool:
    """Whether history may have this of what was read: less by joined and empty lines, and never more.

    More is what history itself put in, be it a backslash and a line end. But an empty line comes
    behind a here-document.
    """
    parts = [
        r"(?:\\\n)?"
        if part == "\\\n"
        else f"\n{{1,{len(part) + 1}}}"
        if part[:1] == "\n"
        else re.escape(part)
        for part in _LINE_ENDS.split(read.strip())
    ]
    return re.fullmatch("".join(parts), told.strip()) is not None

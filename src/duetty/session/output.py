"""The text of a slice of the journal, bounded: head, tail, and a count of what is left out."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from duetty.journal import Journal
from duetty.vt import forward_text, render_text

WHOLE_BYTES = 256 * 1024
"""Slices up to this are rendered whole; of longer ones only head and tail are looked at."""

CHUNK_BYTES = 256 * 1024

PLAIN_BYTES = 64 * 1024 * 1024
"""Up to this a slice is looked at whole: text that only goes forward needs no emulator. It keeps its
tabs, for callers that edit by exact text, and plain one is ten times as fast.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputText:
    text: str
    total_bytes: int
    omitted_bytes: int = 0
    omitted_lines: int = 0


def plain_text(data: bytes, *, cols: int) -> str:
    """The text of one whole slice."""
    text = forward_text(data)
    if text is None:
        text = "\n".join(render_text([data], cols=cols))
    return text.rstrip("\n")


def output_text(journal: Journal, start: int, end: int, *, cols: int, limit: int) -> OutputText:
    """At most about `limit` characters of what `start` to `end` printed.

    Raises:
        OutputExpired: if the journal has turned over past `start`.
    """
    total = end - start
    if total <= max(WHOLE_BYTES, limit):
        return _cut(plain_text(journal.read(start, end), cols=cols), total=total, limit=limit)
    half = max(limit // 2, 256)
    head_end = _after_line(journal, start, min(start + half, end), default=start + half)
    tail_start = _line_start(journal, end - half, end)
    head = plain_text(journal.read(start, head_end), cols=cols)
    tail = plain_text(journal.read(tail_start, end), cols=cols)
    omitted_lines = journal.count_newlines(head_end, tail_start)
    return OutputText(
        text=_join(head, tail, omitted_bytes=tail_start - head_end, omitted_lines=omitted_lines),
        total_bytes=total,
        omitted_bytes=tail_start - head_end,
        omitted_lines=omitted_lines,
    )


def output_lines(journal: Journal, start: int, end: int, *, cols: int) -> Iterator[str]:
    """Every line of the slice, rendered as it streams by; for paging, off the loop."""
    if end - start <= PLAIN_BYTES:
        text = forward_text(journal.read(start, end))
        if text is not None:
            text = text.rstrip("\n")
            return iter(text.split("\n") if text else ())
    chunks: Iterable[bytes] = journal.chunks(start, end, CHUNK_BYTES)
    return render_text(chunks, cols=cols)


def _cut(text: str, *, total: int, limit: int) -> OutputText:
    if len(text) <= limit:
        return OutputText(text=text, total_bytes=total)
    half = limit // 2
    head = text[: text.rfind("\n", 0, half) + 1 or half]
    tail_from = text.find("\n", len(text) - half) + 1 or len(text) - half
    tail = text[tail_from:]
    left_out = text[len(head) : tail_from]
    omitted_bytes, omitted_lines = len(left_out.encode()), left_out.count("\n")
    return OutputText(
        text=_join(head, tail, omitted_bytes=omitted_bytes, omitted_lines=omitted_lines),
        total_bytes=total,
        omitted_bytes=omitted_bytes,
        omitted_lines=omitted_lines,
    )


def _join(head: str, tail: str, *, omitted_bytes: int, omitted_lines: int) -> str:
    note = f"[... {omitted_lines} lines, {omitted_bytes} bytes left out ...]"
    return f"{head.rstrip(chr(10))}\n{note}\n{tail}"


def _after_line(journal: Journal, start: int, end: int, *, default: int) -> int:
    cut = journal.read(start, end).rfind(b"\n")
    return start + cut + 1 if cut >= 0 else default


def _line_start(journal: Journal, start: int, end: int) -> int:
    cut = journal.read(start, end).find(b"\n")
    return start + cut + 1 if 0 <= cut < end - start - 1 else start

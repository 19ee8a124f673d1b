"""Export to asciicast, versions 2 and 3 (docs.asciinema.org/manual/asciicast/)."""

import codecs
import json
import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from duetty.journal.extents import Span
from duetty.journal.index import Moment, Size
from duetty.journal.journal import Journal

MAX_SEQUENCE_BYTES = 64 << 10
"""An escape sequence longer than this is rewritten in pieces."""

_DEFAULT_COLS, _DEFAULT_ROWS = 80, 24
"""The size in a recording whose journal never got one."""

_UNFINISHED = re.compile(rb"\x1b(?:\][^\x07\x1b]*\x1b?)?\Z")
"""The start of an OSC, or of what may become one, at the end of a chunk."""


@dataclass(frozen=True, slots=True)
class _Output:
    wall_ns: int
    content: bytes


def asciicast(
    journal: Journal,
    *,
    version: Literal[2, 3],
    title: str | None = None,
    start: int | None = None,
    end: int | None = None,
    exit_code: int | None = None,
    marks: Sequence[tuple[int, str]] = (),
    rewrite: Callable[[bytes], bytes] | None = None,
    redraw: Callable[[bytes], bytes] | None = None,
) -> Iterator[str]:
    """The lines of a recording, each with its line end.

    Begins with the snapshot if a segment begins at `start`, and again after a
    gap. `rewrite` sees every OSC whole, wherever the reads fell, and its answer
    is recorded instead; one left open at the end is dropped, as it shows nothing.
    `redraw` makes bytes for a terminal of a snapshot, where that is something else.
    `marks` are texts and their times, in order: markers between the output.

    Raises:
        OutputExpired: if bytes go while they are read.
    """
    journal.look_for_damage()
    first = journal.start if start is None else start
    last = journal.end if end is None else end
    spans = journal.spans(first, last)
    moments = journal.times(first, last)
    size = journal.size_at(first)
    began_ns = moments[0].wall_ns if moments else size.wall_ns if size else 0
    cols, rows = (size.cols, size.rows) if size else (_DEFAULT_COLS, _DEFAULT_ROWS)

    yield _line(_header(version, cols=cols, rows=rows, title=title, began_s=began_ns // 10**9))
    writer = _Writer(began_us=began_ns // 1000, is_relative=version == 3)
    later = deque(marks)
    for span in spans:
        for item in _rewritten(_items(journal, span, moments, redraw), rewrite):
            while later and later[0][0] <= item.wall_ns:
                yield writer.event(*_mark(later))
            if isinstance(item, Size):
                if (item.cols, item.rows) != (cols, rows):
                    cols, rows = item.cols, item.rows
                    yield writer.event(item.wall_ns, "r", f"{cols}x{rows}")
            elif text := writer.decode(item.content):
                yield writer.event(item.wall_ns, "o", text)
    while later:
        yield writer.event(*_mark(later))
    if version == 3 and exit_code is not None:
        yield writer.event(0, "x", str(exit_code))


def _mark(later: deque[tuple[int, str]]) -> tuple[int, str, str]:
    wall_ns, text = later.popleft()
    return wall_ns, "m", text


def _header(
    version: int, *, cols: int, rows: int, title: str | None, began_s: int
) -> dict[str, object]:
    size: dict[str, object] = (
        {"width": cols, "height": rows}
        if version == 2
        else {"term": {"cols": cols, "rows": rows, "type": "xterm-256color"}}
    )
    header: dict[str, object] = {"version": version, **size, "timestamp": began_s}
    return header if title is None else {**header, "title": title}


class _Writer:
    """Events in order of time; a clock that went back stands still."""

    def __init__(self, *, began_us: int, is_relative: bool) -> None:
        self._began_us = began_us
        self._now_us = began_us
        self._is_relative = is_relative
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def decode(self, output: bytes) -> str:
        return self._decoder.decode(output)

    def event(self, wall_ns: int, code: str, text: str) -> str:
        now_us = max(self._now_us, wall_ns // 1000)
        since_us = self._now_us if self._is_relative else self._began_us
        self._now_us = now_us
        return _line([(now_us - since_us) / 10**6, code, text])


def _items(
    journal: Journal,
    span: Span,
    moments: list[Moment],
    redraw: Callable[[bytes], bytes] | None,
) -> Iterator[_Output | Size]:
    """The snapshot, then output and sizes of one span in order, cut where the time changes."""
    before = [moment for moment in moments if moment.offset <= span.start]
    now_ns = before[-1].wall_ns if before else 0
    snapshot = journal.snapshot_at(span.start)
    if snapshot is not None:
        yield Size(offset=span.start, wall_ns=now_ns, cols=snapshot.cols, rows=snapshot.rows)
        yield _Output(now_ns, redraw(snapshot.content) if redraw else snapshot.content)
    elif (size := journal.size_at(span.start)) is not None:
        yield size
    sizes = journal.sizes_since(span.start if snapshot is not None else span.start + 1)
    cuts: list[Moment | Size] = [
        *(moment for moment in moments if span.start < moment.offset < span.end),
        *(size for size in sizes if size.offset < span.end),
    ]
    cuts.sort(key=lambda cut: cut.offset)
    at = span.start
    for cut in cuts:
        for chunk in journal.chunks(at, cut.offset):
            yield _Output(now_ns, chunk)
        at = cut.offset
        if isinstance(cut, Size):
            yield cut
        else:
            now_ns = cut.wall_ns
    for chunk in journal.chunks(at, span.end):
        yield _Output(now_ns, chunk)


def _rewritten(
    items: Iterator[_Output | Size], rewrite: Callable[[bytes], bytes] | None
) -> Iterator[_Output | Size]:
    if rewrite is None:
        yield from items
        return
    held = b""
    for item in items:
        if isinstance(item, Size):
            yield item
            continue
        output = held + item.content
        open_at = _UNFINISHED.search(output)
        cut = len(output) if open_at is None else open_at.start()
        if len(output) - cut > MAX_SEQUENCE_BYTES:
            cut = len(output)
        held = output[cut:]
        if cut:
            yield _Output(item.wall_ns, rewrite(output[:cut]))


def _line(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": ")) + "\n"

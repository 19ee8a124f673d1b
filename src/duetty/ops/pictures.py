"""Operations that take a session out of the terminal: a picture of its screen, a recording."""

from collections.abc import AsyncIterator, Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Final

import anyio

from duetty.calls import Actor, Effect
from duetty.errors import BadArguments, OutputExpired, Unavailable
from duetty.ops.conversations import as_mark, entries_in
from duetty.ops.documents import DocumentTooLarge, Stream
from duetty.ops.judgements import PLAIN
from duetty.ops.operation import InSession, Operation, Route
from duetty.ops.services import Services
from duetty.session import (
    MAX_CELLS,
    Session,
    cast_lines,
    cells_of,
    drawn,
    grid_dump,
    html_page,
    spans_of,
    svg_of,
)
from duetty.surface import compose
from duetty.vt import Terminal
from duetty.wire.params import RecordingParams, SnapshotParams
from duetty.wire.results import Document
from duetty.workers import in_worker

PIECE_BYTES = 256 * 1024
"""A recording is read and sent in pieces of about this size; more is never held."""

MAX_PIXELS = 32_000_000
"""128 MB while it is drawn. A screen of 80 by 24 at twice its size has 1.2 million."""

FONT_PLACES = (
    "/usr/share/fonts",
    "/usr/local/share/fonts",
    "~/.local/share/fonts",
    "~/.fonts",
    "/System/Library/Fonts",
    "/Library/Fonts",
)
MONOSPACE: Final = {
    "dejavusansmono": "DejaVu Sans Mono",
    "jetbrainsmono": "JetBrains Mono",
    "cascadiamono": "Cascadia Mono",
    "cascadiacode": "Cascadia Code",
    "liberationmono": "Liberation Mono",
    "notosansmono": "Noto Sans Mono",
    "sourcecodepro": "Source Code Pro",
    "firacode": "Fira Code",
    "firamono": "Fira Mono",
    "hack": "Hack",
    "ibmplexmono": "IBM Plex Mono",
    "ubuntumono": "Ubuntu Mono",
    "robotomono": "Roboto Mono",
    "inconsolata": "Inconsolata",
    "freemono": "FreeMono",
    "menlo": "Menlo",
    "consola": "Consolas",
}
"""How the file of a family begins, best first: covers box drawing, then looks."""


class FontMissing(Unavailable):
    """No font of this machine can draw a terminal."""

    code = "font_missing"


async def _snapshot(
    params: SnapshotParams, session: Session, services: Services, actor: Actor
) -> Stream:
    if params.format != "vt":
        _check_cells(session)
    if params.format == "png":
        cols, rows = session.terminal_size
        size = (session.profile.cols, session.profile.rows) if params.elements else (cols, rows)
        _check_pixels(size, params.scale)
    draw = _with_elements(session) if params.elements else _alone
    above = session.total_rows if params.format == "vt" and not params.elements else 0
    drawn_ = await drawn(
        session,
        partial(draw, params.format, session.name),
        cells=cells_of(session, above=above),
        owner=actor.identity,
    )
    match params.format:
        case "vt":
            return Stream(media_type="application/octet-stream", content=drawn_)
        case "html":
            return Stream(media_type="text/html; charset=utf-8", content=drawn_)
        case "svg":
            return Stream(media_type="image/svg+xml", content=drawn_)
        case "png":
            png = await in_worker(
                _png, drawn_.decode(), params.scale, FONT_PLACES, limiter=_drawing()
            )
            return Stream(media_type="image/png", content=png)


@cache
def _drawing() -> anyio.CapacityLimiter:
    """One at a time: each may take a hundred megabytes."""
    return anyio.CapacityLimiter(1)


def _alone(kind: str, name: str, terminal: Terminal) -> bytes:
    """The screen as the program has it."""
    if kind == "vt":
        return terminal.dump()
    if kind == "html":
        return _encoded(html_page(terminal.screen(styled=True).lines, title=name))
    return _encoded(svg_of(terminal.grid(), cols=terminal.cols, cursor=terminal.cursor))


def _with_elements(session: Session) -> Callable[[str, str, Terminal], bytes]:
    """With its panels and overlays, as who is attached sees it."""
    scene = session.elements.scene(cols=session.profile.cols, rows=session.profile.rows)

    def draw(kind: str, name: str, terminal: Terminal) -> bytes:
        frame = compose(terminal.grid(), terminal.screen(styled=False).cursor, scene)
        if kind == "vt":
            return grid_dump(frame.rows, frame.cursor)
        if kind == "html":
            return _encoded(html_page(tuple(spans_of(row) for row in frame.rows), title=name))
        return _encoded(svg_of(frame.rows, cols=frame.cols, cursor=frame.cursor))

    return draw


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _check_cells(session: Session) -> None:
    cells = cells_of(session)
    if cells > MAX_CELLS:
        raise DocumentTooLarge(
            f"a screen of {cells} cells is too large for a document",
            hint=f"at most {MAX_CELLS}; format=vt takes any",
        )


def _check_pixels(size: tuple[int, int], wanted: int) -> None:
    cols, rows = size
    pixels = (cols * 9 + 20) * (rows * 16 + 20)
    if pixels * wanted**2 > MAX_PIXELS:
        raise DocumentTooLarge(
            f"a picture of {cols} by {rows} at {wanted} times its size is too large",
            hint="ask for a smaller scale, or for format=svg",
        )


def _png(svg: str, scale: int, places: tuple[str, ...]) -> bytes:
    """Drawn in a worker thread: a fifth of a second, and the drawing library is loaded first."""
    from resvg_py import svg_to_bytes

    family = monospace_family(places)
    if family is None:
        raise FontMissing(
            "this machine has no monospace font to draw with",
            hint="install one (Debian: fonts-dejavu-core), or ask for format=svg",
        )
    try:
        return bytes(svg_to_bytes(svg_string=svg, zoom=scale, monospace_family=family))
    except ValueError as error:
        raise BadArguments(f"the picture cannot be drawn: {error}") from error


def monospace_family(places: tuple[str, ...] = FONT_PLACES) -> str | None:
    """The best family whose files are in one of these directories."""
    found: set[str] = set()
    for place in places:
        for kind in ("*.ttf", "*.otf", "*.ttc"):
            for path in Path(place).expanduser().rglob(kind):
                stem = path.stem.lower().replace("-", "").replace("_", "").replace(" ", "")
                found |= {family for begin, family in MONOSPACE.items() if stem.startswith(begin)}
    return next((family for family in MONOSPACE.values() if family in found), None)


async def _recording(
    params: RecordingParams, session: Session, services: Services, actor: Actor
) -> Stream:
    entries = await entries_in(session, services, actor)
    marks = [(each.at_ns, mark) for each in entries if (mark := as_mark(each)) is not None]
    lines = cast_lines(session, version=params.version, marks=marks)
    # Up to the first piece an error is still an answer; after it, the document ends early.
    first = await in_worker(_piece, lines)
    return Stream(
        media_type="application/x-asciicast",
        content=_pieces(first, lines),
        filename=f"{session.name}.cast",
    )


async def _pieces(first: bytes, lines: Iterator[str]) -> AsyncIterator[bytes]:
    piece = first
    while piece:
        yield piece
        try:
            piece = await in_worker(_piece, lines)
        except OutputExpired:
            return  # the journal turned over meanwhile: what was sent is a recording of its own


def _piece(lines: Iterator[str]) -> bytes:
    size, taken = 0, list[bytes]()
    for line in lines:
        taken.append(line.encode("utf-8", "replace"))
        size += len(taken[-1])
        if size >= PIECE_BYTES:
            break
    return b"".join(taken)


SNAPSHOT = Operation(
    name="session.snapshot",
    summary="The screen as a document: bytes for a terminal, a page, or a picture.",
    effect=Effect.READ,
    judged=PLAIN,
    params=SnapshotParams,
    result=Document,
    run=InSession(_snapshot),
    route=Route(
        method="GET",
        path="/sessions/{session}/snapshot",
        media=("application/octet-stream", "text/html", "image/svg+xml", "image/png"),
    ),
    errors=(FontMissing, DocumentTooLarge),
)
RECORDING = Operation(
    name="session.recording",
    summary="Everything the session printed that is kept, with times, as an asciicast; messages to and of the agent are its markers.",
    effect=Effect.READ,
    judged=PLAIN,
    params=RecordingParams,
    result=Document,
    run=InSession(_recording),
    route=Route(
        method="GET", path="/sessions/{session}/recording", media=("application/x-asciicast",)
    ),
    errors=(OutputExpired,),
)

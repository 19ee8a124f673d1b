"""Figures in, Markdown out. Knows nothing of how they were measured."""

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One thing that was measured, and what was measured beside it in the same run."""

    what: str
    measured: str
    beside: str = ""
    ratio: float | None = None
    target: str = ""
    """Empty: the line is for information."""
    met: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    name: str
    title: str
    lines: Sequence[Line]
    notes: Sequence[str] = field(default_factory=list[str])


HEADINGS = ("what", "measured", "beside it", "ratio", "target", "met")


def table_markdown(table: Table) -> str:
    rows = [
        (
            line.what,
            line.measured,
            line.beside,
            "" if line.ratio is None else f"{line.ratio:.2f}",
            line.target or "information",
            {None: "", True: "yes", False: "**no**"}[line.met],
        )
        for line in table.lines
    ]
    widths = [max(len(row[at]) for row in (HEADINGS, *rows)) for at in range(len(HEADINGS))]
    drawn = [_row(HEADINGS, widths), _row(["-" * width for width in widths], widths)]
    drawn += [_row(row, widths) for row in rows]
    notes = [f"- {note}" for note in table.notes]
    return "\n".join([f"## {table.title}", "", *drawn, "", *notes]).rstrip() + "\n"


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = [f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True)]
    return f"| {' | '.join(padded)} |"


# --- values with their unit -------------------------------------------------------


def ms(seconds: float) -> str:
    value = seconds * 1e3
    return f"{value:.2f} ms" if abs(value) < 10 else f"{value:.1f} ms"


def mb_s(bytes_per_s: float) -> str:
    return f"{bytes_per_s / 1e6:.1f} MB/s"


def kb(size_bytes: float) -> str:
    return f"{size_bytes / 1024:.0f} KB"


def mb(size_bytes: float) -> str:
    return f"{size_bytes / (1 << 20):.1f} MB"

"""Which panels get their rows, and where: pure, total, and the same in any order of arrival."""

from collections.abc import Iterable
from dataclasses import dataclass

from duetty.surface.values import Panel


@dataclass(frozen=True, slots=True)
class Placed:
    """A panel that is shown; `row` is its first one on the whole surface."""

    panel: Panel
    row: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How the rows of a surface are shared out."""

    placed: tuple[Placed, ...] = ()
    top: int = 0
    """Where the program's rows begin."""

    program_rows: int

    def shows(self, panel_id: str) -> bool:
        return any(each.panel.id == panel_id for each in self.placed)


def precedence(panel: Panel) -> tuple[int, bool, int]:
    """Who comes first: the higher z, then the top edge, then the one made earlier.

    A list of panels keeps the last two, so a viewer that gets the list shares rows
    out as the session does.
    """
    return (-panel.z, panel.position != "top", panel.made)


def lay_out(panels: Iterable[Panel], *, rows: int) -> Layout:
    """Give panels their rows, highest z first, each its full height or nothing.

    One row is always the program's. A panel that does not fit is left out, and a
    smaller one after it may still get in. At both edges the highest z is outermost.
    """
    room = max(rows, 1) - 1
    shown: list[Panel] = []
    for panel in sorted(panels, key=lambda each: (*precedence(each), each.id)):
        if panel.height <= room:
            shown.append(panel)
            room -= panel.height
    placed: list[Placed] = []
    top, bottom = 0, max(rows, 1)
    for panel in shown:
        if panel.position == "top":
            placed.append(Placed(panel, top))
            top += panel.height
        else:
            bottom -= panel.height
            placed.append(Placed(panel, bottom))
    return Layout(placed=tuple(placed), top=top, program_rows=bottom - top)

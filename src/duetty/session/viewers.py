"""Who looks at a session, and which of them sets its size.

Pure bookkeeping: it says which size there should be; the caller resizes.

A viewer that *holds* the size sets it. When no viewer holds it, the rule decides:
`smallest` takes the least columns and the least rows that any viewer can show,
so that each sees everything; `holder` gives the hold to the viewer that has
been there longest. A viewer that leaves gives its size up. With no viewer left the
size stays as it is.
"""

from dataclasses import dataclass
from typing import Literal

from duetty.errors import Exhausted

MAX_VIEWERS = 96
"""Per session, of every kind together."""

ViewerKind = Literal["page", "attach", "api"]
SizeRule = Literal["smallest", "holder"]


def size_rule(text: str) -> SizeRule:
    """The rule of that name; settings check the name."""
    return "holder" if text == "holder" else "smallest"


@dataclass(frozen=True, slots=True)
class Size:
    cols: int
    rows: int


@dataclass(slots=True, kw_only=True, eq=False)
class Viewer:
    """One that looks at one session."""

    id: int
    kind: ViewerKind
    name: str
    size: Size | None = None
    """What it can show; None takes no part in the size."""

    ended: str | None = None
    """Why it has to go, once a call asked for that."""


class Viewers:
    """The viewers of one session, oldest first."""

    __slots__ = ("_by_id", "_holder", "_next", "_rule", "is_asking", "last_dump")

    def __init__(self, rule: SizeRule = "smallest") -> None:
        self._by_id: dict[int, Viewer] = {}
        self._holder: Viewer | None = None
        self._next = 1
        self.is_asking = False
        """One of them keeps asking the kernel what the program does."""

        self.last_dump: object = None
        """What they were shown last, so that many of them share it; see `snapshots`."""

        self._rule: SizeRule = rule

    def __len__(self) -> int:
        return len(self._by_id)

    @property
    def all(self) -> list[Viewer]:
        return list(self._by_id.values())

    @property
    def holder(self) -> Viewer | None:
        """The one that sets the size, if one does."""
        if self._holder is None and self._rule == "holder":
            return next((each for each in self._by_id.values() if each.size), None)
        return self._holder

    def add(self, *, kind: ViewerKind, name: str, size: Size | None = None) -> Viewer:
        """A new viewer.

        Raises:
            Exhausted: if there are too many already.
        """
        if len(self._by_id) >= MAX_VIEWERS:
            raise Exhausted(
                f"{MAX_VIEWERS} viewers look at this session", hint="close some of them"
            )
        viewer = Viewer(id=self._next, kind=kind, name=name, size=size)
        self._next += 1
        self._by_id[viewer.id] = viewer
        return viewer

    def remove(self, viewer: Viewer) -> None:
        self._by_id.pop(viewer.id, None)
        if self._holder is viewer:
            self._holder = None
        if not self._by_id:
            self.last_dump = None

    def hold(self, viewer: Viewer, *, on: bool) -> None:
        """Give this viewer the say over the size, or let it give that up."""
        if on:
            self._holder = viewer
        elif self._holder is viewer:
            self._holder = None

    def wanted_size(self) -> Size | None:
        """The size that the viewers ask for; None when none of them does."""
        holder = self.holder
        if holder is not None and holder.size is not None:
            return holder.size
        sizes = [each.size for each in self._by_id.values() if each.size is not None]
        if not sizes:
            return None
        return Size(min(size.cols for size in sizes), min(size.rows for size in sizes))

    def detach(self) -> list[Viewer]:
        """Tell every attached terminal to go; pages and programs stay."""
        going = [each for each in self._by_id.values() if each.kind == "attach"]
        for viewer in going:
            viewer.ended = "detached"
        return going

"""The overlays and panels of one session: kept, counted, bounded, and focused.

Knows nothing of the program or of viewers: its owner gets each
change, and whether rows may have to be shared out anew.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar
from uuid import uuid4

from duetty.errors import (
    AlreadyInAltScreen,
    BadArguments,
    Exhausted,
    InvalidOverlay,
    NotFocusable,
    NotInAltScreen,
    OverlayNotFound,
    PanelNotFound,
)
from duetty.surface import (
    Element,
    Layout,
    Overlay,
    Panel,
    RegionWrite,
    Scene,
    ScreenMode,
    TextSpan,
    drawing_order,
    lay_out,
    overlay_from,
    overlay_json,
    panel_from,
    panel_json,
    set_scene,
    with_spans,
    written,
)

E = TypeVar("E", Overlay, Panel)

MAX_ELEMENTS = 256
"""Overlays of a session, and panels; both screen modes together."""

MAX_TEXTS = 4_096
"""Spans of an element, and region writes."""

MAX_TEXT_BYTES = 65_536
MAX_ELEMENT_BYTES = 1024 * 1024
"""Text of one element: what one request can bring."""

MAX_SESSION_BYTES = 4 * 1024 * 1024
"""Text of all elements of a session; every viewer gets it whole."""

MAX_Z = 2**31 - 1

Changed = Callable[[bool], None]
"""Called after each change; true when rows may have to be shared out anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptElements:
    """All of it at one moment, for the file that survives the server."""

    screen_mode: ScreenMode
    focused: str | None
    overlays: tuple[Overlay, ...]
    panels: tuple[Panel, ...]
    cols: int
    rows: int
    """The size of the surface; the journal knows only that of the program."""

    def to_json(self) -> dict[str, Any]:
        return {
            "screen_mode": self.screen_mode,
            "focused": self.focused,
            "overlays": [overlay_json(each) for each in self.overlays],
            "panels": [panel_json(each, visible=False) for each in self.panels],
            "cols": self.cols,
            "rows": self.rows,
        }


def kept_from(shape: Mapping[str, Any]) -> KeptElements:
    """What `to_json` made this of.

    Raises:
        KeyError, TypeError, ValueError: if it did not.
    """
    overlays = [overlay_from(each, made=at) for at, each in enumerate(shape["overlays"])]
    panels = [panel_from(each, made=at) for at, each in enumerate(shape["panels"], len(overlays))]
    return KeptElements(
        screen_mode=shape["screen_mode"],
        focused=shape["focused"],
        overlays=tuple(overlays),
        panels=tuple(panels),
        cols=shape["cols"],
        rows=shape["rows"],
    )


class Elements:
    """What is drawn over and beside one program, in both screen modes."""

    def __init__(self, changed: Changed) -> None:
        self.screen_mode: ScreenMode = "normal"
        self.focused: str | None = None
        self._changed = changed
        self._overlays: dict[str, Overlay] = {}
        self._panels: dict[str, Panel] = {}
        self._bytes: dict[str, int] = {}
        self._next_z = {"overlay": 0, "panel": 0}
        self._made = 0

    # --- reading --------------------------------------------------------------

    def overlays(self) -> tuple[Overlay, ...]:
        """Those of the current screen mode, as they are drawn: lowest z first."""
        return drawing_order(self._on_this_screen(self._overlays))

    def panels(self) -> tuple[Panel, ...]:
        """Those of the current screen mode: top first, then highest z first."""
        return tuple(
            sorted(
                self._on_this_screen(self._panels),
                key=lambda each: (each.position != "top", -each.z, each.made),
            )
        )

    def overlay(self, id: str) -> Overlay:
        """One overlay of either screen mode.

        Raises:
            OverlayNotFound: if there is none.
        """
        if id not in self._overlays:
            raise OverlayNotFound(id)
        return self._overlays[id]

    def panel(self, id: str) -> Panel:
        """One panel of either screen mode.

        Raises:
            PanelNotFound: if there is none.
        """
        if id not in self._panels:
            raise PanelNotFound(id)
        return self._panels[id]

    def layout(self, *, rows: int) -> Layout:
        """How this many rows are shared between the program and the panels that are shown."""
        return lay_out(self._on_this_screen(self._panels), rows=rows)

    def scene(self, *, cols: int, rows: int) -> Scene:
        return set_scene(
            self._overlays.values(),
            self._panels.values(),
            cols=cols,
            rows=rows,
            screen_mode=self.screen_mode,
        )

    def _on_this_screen(self, elements: Mapping[str, E]) -> list[E]:
        return [each for each in elements.values() if each.screen_mode == self.screen_mode]

    # --- changing -------------------------------------------------------------

    def add_overlay(self, *, z: int | None, **fields: Any) -> Overlay:
        """A new overlay of the current screen mode; without a z it is the topmost.

        Raises:
            Exhausted: if there are too many, or it is too large.
        """
        overlay = Overlay(**fields, **self._new("overlay", len(self._overlays), z))
        self._put(overlay, is_new=True)
        return overlay

    def add_panel(self, *, z: int | None, **fields: Any) -> Panel:
        """A new panel of the current screen mode.

        Raises:
            Exhausted: if there are too many, or it is too large.
        """
        panel = Panel(**fields, **self._new("panel", len(self._panels), z))
        self._put(panel, is_new=True)
        return panel

    def change_overlay(self, id: str, **fields: Any) -> None:
        """Give an overlay other values in these fields.

        Raises:
            OverlayNotFound: if there is none.
            InvalidOverlay: if it would be too large.
        """
        self._put(replace(self.overlay(id), **fields), is_new=False)

    def change_panel(self, id: str, **fields: Any) -> None:
        """Give a panel other values in these fields.

        Raises:
            PanelNotFound: if there is none.
            InvalidOverlay: if it would be too large.
        """
        self._put(replace(self.panel(id), **fields), is_new=False)

    def write(
        self,
        element: Element,
        *,
        spans: tuple[TextSpan, ...] = (),
        writes: tuple[RegionWrite, ...] = (),
    ) -> None:
        """Replace the spans of these names, and add these region writes; all of it or nothing.

        Raises:
            InvalidOverlay: if it would be too large.
        """
        changed = replace(
            element,
            spans=with_spans(element.spans, spans),
            region_writes=written(element.region_writes, writes),
        )
        _check_texts((*spans, *writes), InvalidOverlay)
        self._put(changed, is_new=False)

    def remove_overlay(self, id: str) -> None:
        """Take an overlay away.

        Raises:
            OverlayNotFound: if there is none.
        """
        self._remove([self.overlay(id)])

    def remove_panel(self, id: str) -> None:
        """Take a panel away; its rows go back to the program.

        Raises:
            PanelNotFound: if there is none.
        """
        self._remove([self.panel(id)])

    def clear_overlays(self) -> None:
        """Take all of them away, in both screen modes."""
        self._remove([*self._overlays.values()])

    def clear_panels(self) -> None:
        """Take all of them away, in both screen modes."""
        self._remove([*self._panels.values()])

    def _new(self, kind: str, count: int, z: int | None) -> dict[str, Any]:
        if count >= MAX_ELEMENTS:
            raise Exhausted(
                f"the session has {MAX_ELEMENTS} {kind}s", hint="delete those that are not needed"
            )
        self._made += 1
        return {
            "id": str(uuid4()),
            "z": self._next_z[kind] if z is None else z,
            "screen_mode": self.screen_mode,
            "made": self._made,
        }

    def _put(self, element: Element, *, is_new: bool) -> None:
        error = Exhausted if is_new else InvalidOverlay
        size = _checked_size(element, error)
        total = sum(self._bytes.values()) - self._bytes.get(element.id, 0) + size
        if total > MAX_SESSION_BYTES:
            raise Exhausted(
                f"the text of all elements of a session is at most {MAX_SESSION_BYTES} bytes",
                hint="delete those that are not needed",
            )
        self._bytes[element.id] = size
        kind = "overlay" if isinstance(element, Overlay) else "panel"
        self._next_z[kind] = min(max(self._next_z[kind], element.z + 1), MAX_Z)
        if isinstance(element, Overlay):
            self._overlays[element.id] = element
            self._changed(False)
            return
        before = self._panels.get(element.id)
        self._panels[element.id] = element
        self._changed(before is None or _place(before) != _place(element))

    def _remove(self, elements: list[Element]) -> None:
        for element in elements:
            self._overlays.pop(element.id, None)
            self._panels.pop(element.id, None)
            del self._bytes[element.id]
            if self.focused == element.id:
                self.focused = None
        if elements:
            self._changed(any(isinstance(each, Panel) for each in elements))

    # --- focus, screen mode ---------------------------------------------------

    def focus(self, id: str) -> None:
        """Say that keys are meant for this element.

        Raises:
            BadArguments: if there is no such element.
            NotFocusable: if it takes no keys.
        """
        element = self._overlays.get(id) or self._panels.get(id)
        if element is None:
            raise BadArguments(
                f"no overlay or panel {id!r}", hint="list overlays and panels for their ids"
            )
        if not element.focusable:
            raise NotFocusable(id)
        if self.focused != id:
            self.focused = id
            self._changed(False)

    def unfocus(self) -> None:
        if self.focused is not None:
            self.focused = None
            self._changed(False)

    def enter_alt(self) -> None:
        """Show the other set of elements, which begins empty.

        Raises:
            AlreadyInAltScreen: if it is shown.
        """
        if self.screen_mode == "alt":
            raise AlreadyInAltScreen
        self.screen_mode = "alt"
        self._changed(True)

    def exit_alt(self) -> None:
        """Forget the elements of the other set and show the normal ones again.

        Raises:
            NotInAltScreen: if it is not shown.
        """
        if self.screen_mode == "normal":
            raise NotInAltScreen
        gone = [*self._on_this_screen(self._overlays), *self._on_this_screen(self._panels)]
        self.screen_mode = "normal"
        self._remove(gone)
        self._changed(True)

    # --- surviving the server -------------------------------------------------

    def kept(self, *, cols: int, rows: int) -> KeptElements:
        return KeptElements(
            screen_mode=self.screen_mode,
            focused=self.focused,
            overlays=tuple(sorted(self._overlays.values(), key=lambda each: each.made)),
            panels=tuple(sorted(self._panels.values(), key=lambda each: each.made)),
            cols=cols,
            rows=rows,
        )

    def restore(self, kept: KeptElements) -> None:
        """Begin with the elements that an earlier server kept, without an event."""
        self.screen_mode, self.focused = kept.screen_mode, kept.focused
        self._overlays = {each.id: each for each in kept.overlays}
        self._panels = {each.id: each for each in kept.panels}
        self._made = len(kept.overlays) + len(kept.panels)
        self._bytes = {each.id: _size(each) for each in (*kept.overlays, *kept.panels)}
        self._next_z = {
            "overlay": min(max((each.z + 1 for each in kept.overlays), default=0), MAX_Z),
            "panel": min(max((each.z + 1 for each in kept.panels), default=0), MAX_Z),
        }


def _place(panel: Panel) -> tuple[object, ...]:
    return panel.position, panel.height, panel.z


def _checked_size(element: Element, error: type[Exhausted | InvalidOverlay]) -> int:
    if len(element.spans) > MAX_TEXTS or len(element.region_writes) > MAX_TEXTS:
        raise error(f"an element has at most {MAX_TEXTS} spans and {MAX_TEXTS} region writes")
    _check_texts((*element.spans, *element.region_writes), error)
    size = _size(element)
    if size > MAX_ELEMENT_BYTES:
        raise error(f"the text of one element is at most {MAX_ELEMENT_BYTES} bytes")
    return size


def _check_texts(
    texts: tuple[TextSpan | RegionWrite, ...], error: type[Exhausted | InvalidOverlay]
) -> None:
    # Four bytes are the most that a character takes: short texts need no counting.
    for text in texts:
        if len(text.text) * 4 > MAX_TEXT_BYTES and _text_bytes(text) > MAX_TEXT_BYTES:
            raise error(f"one text is at most {MAX_TEXT_BYTES} bytes")


def _text_bytes(text: TextSpan | RegionWrite) -> int:
    return len(text.text.encode("utf-8", "surrogatepass"))


def _size(element: Element) -> int:
    names = sum(len(span.id or "") for span in element.spans)
    return names + sum(_text_bytes(each) for each in (*element.spans, *element.region_writes))

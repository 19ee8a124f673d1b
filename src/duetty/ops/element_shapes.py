"""What the operations on overlays and panels share: from shapes to values, and back."""

from collections.abc import Sequence
from typing import Any

from duetty.session import Session
from duetty.surface import (
    Element,
    ElementColour,
    RegionWrite,
    TextSpan,
    attributes_of,
    overlay_json,
    panel_json,
)
from duetty.vt import Rgb
from duetty.wire.base import Params
from duetty.wire.surface import (
    BackgroundShape,
    ColourShape,
    Looks,
    PatchOverlayParams,
    PatchPanelParams,
    RegionWriteShape,
    RgbShape,
    SpanShape,
)

JsonObject = dict[str, Any]


def spans_of(shapes: Sequence[SpanShape]) -> tuple[TextSpan, ...]:
    return tuple(TextSpan(id=shape.id, **_looks(shape)) for shape in shapes)


def writes_of(shapes: Sequence[RegionWriteShape]) -> tuple[RegionWrite, ...]:
    return tuple(RegionWrite(row=shape.row, col=shape.col, **_looks(shape)) for shape in shapes)


def background_of(shape: BackgroundShape | None) -> ElementColour | None:
    return None if shape is None else _colour(shape.bg)


def _looks(shape: Looks) -> JsonObject:
    return {
        "text": shape.text,
        "fg": None if shape.fg is None else _colour(shape.fg),
        "bg": None if shape.bg is None else _colour(shape.bg),
        "bold": bool(shape.bold),
        "italic": bool(shape.italic),
        "underline": bool(shape.underline),
    }


def _colour(shape: ColourShape) -> ElementColour:
    return Rgb(shape.r, shape.g, shape.b) if isinstance(shape, RgbShape) else shape


def given_of(params: Params, kind: type[Element]) -> JsonObject:
    """The attributes that a caller gave; null is as good as left out."""
    return {
        each.name: value
        for each in attributes_of(kind)
        if each.given and (value := getattr(params, each.name)) is not None
    }


def changes_of(params: PatchOverlayParams | PatchPanelParams, plain: Sequence[str]) -> JsonObject:
    """The fields that a patch gives; null leaves a field as it is, but takes a background away."""
    changes: JsonObject = {
        name: value for name in plain if (value := getattr(params, name)) is not None
    }
    if "background" in params.model_fields_set:
        changes["background"] = background_of(params.background)
    if params.spans is not None:
        changes["spans"] = spans_of(params.spans)
    return changes


def shown_overlays(session: Session) -> list[JsonObject]:
    return [overlay_json(each) for each in session.elements.overlays()]


def shown_panels(session: Session) -> list[JsonObject]:
    return [
        panel_json(each, visible=session.layout.shows(each.id))
        for each in session.elements.panels()
    ]


def surface_shape(session: Session) -> JsonObject:
    """Everything drawn over and beside the program, whole: what a viewer draws from."""
    return {
        "overlays": shown_overlays(session),
        "panels": shown_panels(session),
        "screen_mode": session.elements.screen_mode,
        "input_mode": session.keyboard.mode,
        "focused": session.elements.focused,
        "cols": session.profile.cols,
        "rows": session.profile.rows,
        "program_rows": session.layout.program_rows,
        "top": session.layout.top,
    }

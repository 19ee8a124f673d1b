"""Elements as JSON, both ways: the shapes that clients of `wsh` know.

A field that has its default is left out, as published; `owner` is ours. Reading is
for what we wrote ourselves: a viewer's messages, and the file beside a journal.
"""

from collections.abc import Mapping
from typing import Any

from duetty.surface.values import (
    ColourName,
    Element,
    ElementColour,
    Overlay,
    Panel,
    RegionWrite,
    TextSpan,
    attributes_of,
)
from duetty.vt import Rgb

JsonObject = dict[str, Any]

_FLAGS = ("bold", "italic", "underline")


def overlay_json(overlay: Overlay) -> JsonObject:
    shape: JsonObject = {
        "id": overlay.id,
        "x": overlay.x,
        "y": overlay.y,
        "z": overlay.z,
        "width": overlay.width,
        "height": overlay.height,
    }
    return shape | _common_json(overlay)


def panel_json(panel: Panel, *, visible: bool) -> JsonObject:
    shape: JsonObject = {
        "id": panel.id,
        "position": panel.position,
        "height": panel.height,
        "z": panel.z,
        "visible": visible,
    }
    return shape | _common_json(panel)


def _common_json(element: Element) -> JsonObject:
    shape: JsonObject = {"spans": [_span_json(span) for span in element.spans]}
    if element.background is not None:
        shape["background"] = {"bg": _colour_json(element.background)}
    if element.region_writes:
        shape["region_writes"] = [_write_json(write) for write in element.region_writes]
    for attribute in attributes_of(type(element)):
        value = getattr(element, attribute.name)
        if value != attribute.default:
            shape[attribute.name] = value
    return shape


def _span_json(span: TextSpan) -> JsonObject:
    shape: JsonObject = (
        {"text": span.text} if span.id is None else {"id": span.id, "text": span.text}
    )
    return shape | _looks_json(span)


def _write_json(write: RegionWrite) -> JsonObject:
    shape: JsonObject = {"row": write.row, "col": write.col, "text": write.text}
    return shape | _looks_json(write)


def _looks_json(text: TextSpan | RegionWrite) -> JsonObject:
    shape: JsonObject = {}
    if text.fg is not None:
        shape["fg"] = _colour_json(text.fg)
    if text.bg is not None:
        shape["bg"] = _colour_json(text.bg)
    return shape | {flag: True for flag in _FLAGS if getattr(text, flag)}


def _colour_json(colour: ElementColour) -> str | JsonObject:
    return {"r": colour.r, "g": colour.g, "b": colour.b} if isinstance(colour, Rgb) else colour


def overlay_from(shape: Mapping[str, Any], *, made: int = 0) -> Overlay:
    """The overlay that `overlay_json` made this of; `made` is its place in a list.

    Raises:
        KeyError, TypeError, ValueError: if it did not.
    """
    fields = {name: shape[name] for name in ("x", "y", "width", "height")}
    return Overlay(**fields, **_common(Overlay, shape, made))


def panel_from(shape: Mapping[str, Any], *, made: int = 0) -> Panel:
    """The panel that `panel_json` made this of.

    Raises:
        KeyError, TypeError, ValueError: if it did not.
    """
    fields = {name: shape[name] for name in ("position", "height")}
    return Panel(**fields, **_common(Panel, shape, made))


def _common(kind: type[Element], shape: Mapping[str, Any], made: int) -> JsonObject:
    return {
        "id": shape["id"],
        "z": shape["z"],
        "background": _colour(shape.get("background", {}).get("bg")),
        "spans": tuple(
            TextSpan(id=each.get("id"), **_text(each)) for each in shape.get("spans", ())
        ),
        "region_writes": tuple(
            RegionWrite(row=each["row"], col=each["col"], **_text(each))
            for each in shape.get("region_writes", ())
        ),
        "made": made,
        **{each.name: shape.get(each.name, each.default) for each in attributes_of(kind)},
    }


def _text(shape: Mapping[str, Any]) -> JsonObject:
    return {
        "text": shape["text"],
        "fg": _colour(shape.get("fg")),
        "bg": _colour(shape.get("bg")),
        **{flag: shape.get(flag, False) for flag in _FLAGS},
    }


def _colour(shape: Mapping[str, int] | ColourName | None) -> ElementColour | None:
    return Rgb(shape["r"], shape["g"], shape["b"]) if isinstance(shape, Mapping) else shape

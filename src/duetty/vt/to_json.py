"""Screens and scrollback as JSON: the shapes that clients of `wsh` know.

A field that has its default is left out of a span; everything else is always there.
"""

from duetty.vt.values import Colour, Indexed, Line, Screen, Scrollback, Span

JsonObject = dict[str, object]

_FLAGS = ("bold", "faint", "italic", "underline", "strikethrough", "blink", "inverse")


def screen_json(screen: Screen) -> JsonObject:
    return {
        "epoch": screen.epoch,
        "first_line_index": screen.first_line_index,
        "total_lines": screen.total_lines,
        "lines": [line_json(line) for line in screen.lines],
        "cursor": {
            "row": screen.cursor.row,
            "col": screen.cursor.col,
            "visible": screen.cursor.visible,
        },
        "cols": screen.cols,
        "rows": screen.rows,
        "alternate_active": screen.alternate_active,
    }


def scrollback_json(scrollback: Scrollback) -> JsonObject:
    return {
        "epoch": scrollback.epoch,
        "lines": [line_json(line) for line in scrollback.lines],
        "total_lines": scrollback.total_lines,
        "offset": scrollback.offset,
    }


def line_json(line: Line) -> str | list[JsonObject]:
    if isinstance(line, str):
        return line
    return [_span_json(span) for span in line]


def _span_json(span: Span) -> JsonObject:
    # By place: a screen has hundreds of spans, and a name costs three times as much.
    text, fg, bg, *flags, link = span
    shape: JsonObject = {"text": text}
    if fg is not None:
        shape["fg"] = _colour_json(fg)
    if bg is not None:
        shape["bg"] = _colour_json(bg)
    if True in flags:
        shape |= {name: True for name, is_set in zip(_FLAGS, flags, strict=True) if is_set}
    if link is not None:
        shape["link"] = link
    return shape


def _colour_json(colour: Colour) -> JsonObject:
    match colour:
        case Indexed(index):
            return {"indexed": index}
        case _:
            return {"rgb": {"r": colour.r, "g": colour.g, "b": colour.b}}

"""Lines as HTML that is safe on any page, whatever the program printed."""

import re
from html import escape

from duetty.vt.palette import BACKGROUND, FOREGROUND, PALETTE
from duetty.vt.values import Colour, Indexed, Line, Span

_SAFE_LINK = re.compile(r"(?:https?|mailto):", re.IGNORECASE)
"""The program chose the address: `javascript:` must not reach a page."""

_FLAGS = {
    "bold": "font-weight:bold",
    "faint": "opacity:.5",
    "italic": "font-style:italic",
}


def html_of(lines: tuple[Line, ...]) -> str:
    """One `<pre>`. Colours of the palette are `var(--vt-palette-N)`, for the page to choose."""
    rows = ("".join(map(_element, line)) for line in lines if not isinstance(line, str))
    return f'<pre class="vt">{chr(10).join(rows).rstrip(chr(10))}</pre>'


def html_page(lines: tuple[Line, ...], *, title: str) -> str:
    """A page of its own, with the colours that pictures have."""
    chosen = "".join(f"--vt-palette-{index}:{colour};" for index, colour in enumerate(PALETTE))
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f"<title>{escape(title)}</title><style>"
        f":root{{{chosen}--vt-foreground:{FOREGROUND};--vt-background:{BACKGROUND}}}"
        "body{margin:0;background:var(--vt-background);color:var(--vt-foreground)}"
        ".vt{margin:12px;font:14px/1.2 ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace}"
        f".vt a{{color:inherit}}</style></head><body>{html_of(lines)}</body></html>\n"
    )


def _element(span: Span) -> str:
    text = escape(span.text)
    style = ";".join(_declarations(span))
    if style:
        text = f'<span style="{style}">{text}</span>'
    if span.link is not None and _SAFE_LINK.match(span.link):
        text = f'<a href="{escape(span.link)}" rel="noopener noreferrer">{text}</a>'
    return text


def _declarations(span: Span) -> list[str]:
    fg, bg = _css(span.fg), _css(span.bg)
    if span.inverse:
        fg, bg = bg or "var(--vt-background)", fg or "var(--vt-foreground)"
    found = [f"color:{fg}"] if fg else []
    if bg:
        found.append(f"background:{bg}")
    found += [declaration for flag, declaration in _FLAGS.items() if getattr(span, flag)]
    lines = [
        name
        for name, is_drawn in {
            "underline": span.underline,
            "line-through": span.strikethrough,
        }.items()
        if is_drawn
    ]
    if lines:
        found.append(f"text-decoration:{' '.join(lines)}")
    return found


def _css(colour: Colour | None) -> str | None:
    match colour:
        case None:
            return None
        case Indexed(index):
            return f"var(--vt-palette-{index})"
        case _:
            return f"rgb({colour.r},{colour.g},{colour.b})"

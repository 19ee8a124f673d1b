"""Rows as the API tells them (styled spans in JSON), printed for a person."""

from collections.abc import Mapping, Sequence
from typing import Any

from duetty.cli.show import visible

_CODES = {
    "bold": "1",
    "faint": "2",
    "italic": "3",
    "underline": "4",
    "blink": "5",
    "inverse": "7",
    "strikethrough": "9",
}

Row = str | Sequence[Mapping[str, Any]]


def text_of(row: Row) -> str:
    text = row if isinstance(row, str) else "".join(span["text"] for span in row)
    return visible(text)


def ansi_of(row: Row) -> str:
    """The row with its colours; nothing in it but text and SGR."""
    if isinstance(row, str):
        return visible(row)
    return "".join(_span(span) for span in row)


def _span(span: Mapping[str, Any]) -> str:
    codes = [code for flag, code in _CODES.items() if span.get(flag)]
    codes += _colour(span.get("fg"), 30) + _colour(span.get("bg"), 40)
    text = visible(span["text"])
    return f"\033[{';'.join(codes)}m{text}\033[m" if codes else text


def _colour(colour: Mapping[str, Any] | None, base: int) -> list[str]:
    if colour is None:
        return []
    if "rgb" in colour:
        rgb = colour["rgb"]
        return [f"{base + 8};2;{rgb['r']};{rgb['g']};{rgb['b']}"]
    index = int(colour["indexed"])
    if index < 8:
        return [str(base + index)]
    return [str(base + 52 + index)] if index < 16 else [f"{base + 8};5;{index}"]

"""The page about events names each event with its fields, as its class does."""

import re
from pathlib import Path
from typing import get_args

import pytest

from duetty.events.types import Event, KeysTyped
from duetty.ops.event_shapes import FIELDS

PAGE = (Path(__file__).parents[2] / "docs/events.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `(\w+)` \| (.*?) \|", PAGE, re.M)


@pytest.mark.parametrize("kind", get_args(Event), ids=lambda kind: kind.__name__)
def test_an_event_has_its_row_with_all_fields(kind: type[Event]) -> None:
    change = kind.WIRE.get("change")

    [fields] = [
        re.findall(r"`(\w+)\??`", cell)
        for name, cell in ROWS
        if name == kind.WIRE["event"] and (change is None or f"`{change}`" in cell)
    ]

    written = set(fields) - {"change", change}
    kept = {"raw", "keys", "mode", "target", "parsed"} if kind is KeysTyped else set(FIELDS[kind])
    assert written == kept

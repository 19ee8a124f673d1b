"""Elements as JSON and back."""

from dataclasses import replace
from typing import get_args

from hypothesis import given

from duetty.surface import (
    COLOUR_NAMES,
    Overlay,
    Panel,
    RegionWrite,
    TextSpan,
    overlay_from,
    overlay_json,
    panel_from,
    panel_json,
    with_spans,
    written,
)
from duetty.vt import Rgb
from duetty.wire.surface import ColourName
from tests.surface.strategies import overlays, panels


def test_an_overlay_leaves_out_what_has_its_default() -> None:
    bare = Overlay(id="a", x=1, y=2, z=3, width=4, height=5, spans=(TextSpan(text="t"),))
    full = replace(
        bare,
        background=Rgb(1, 2, 3),
        spans=(TextSpan(text="t", id="n", fg="red", bg="blue", bold=True),),
        region_writes=(RegionWrite(row=0, col=1, text="w", italic=True),),
        focusable=True,
        screen_mode="alt",
        owner="agent",
    )

    assert overlay_json(bare) == {
        "id": "a",
        "x": 1,
        "y": 2,
        "z": 3,
        "width": 4,
        "height": 5,
        "spans": [{"text": "t"}],
    }
    assert overlay_json(full) == overlay_json(bare) | {
        "background": {"bg": {"r": 1, "g": 2, "b": 3}},
        "spans": [{"id": "n", "text": "t", "fg": "red", "bg": "blue", "bold": True}],
        "region_writes": [{"row": 0, "col": 1, "text": "w", "italic": True}],
        "focusable": True,
        "screen_mode": "alt",
        "owner": "agent",
    }


@given(overlay=overlays, panel=panels)
def test_an_element_comes_back_as_it_went(overlay: Overlay, panel: Panel) -> None:
    assert overlay_from(overlay_json(overlay), made=overlay.made) == overlay
    assert panel_from(panel_json(panel, visible=True), made=panel.made) == panel


def test_the_boundary_knows_the_same_colours() -> None:
    assert get_args(ColourName) == COLOUR_NAMES


def test_spans_are_replaced_by_name_with_every_field() -> None:
    spans = (
        TextSpan(text="l", id="label", bold=True),
        TextSpan(text="v"),
        TextSpan(text="x", id="v"),
    )

    changed = with_spans(spans, (TextSpan(text="L", id="label"), TextSpan(text="?", id="nobody")))

    assert changed == (TextSpan(text="L", id="label"), *spans[1:])


def test_a_write_at_the_same_place_replaces_the_earlier_one_and_is_drawn_last() -> None:
    one, two = RegionWrite(row=0, col=0, text="1"), RegionWrite(row=0, col=1, text="2")
    again = RegionWrite(row=0, col=0, text="again")

    assert written((one, two), (again,)) == (two, again)

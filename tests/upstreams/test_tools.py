"""A tool as its upstream says it: told apart, made visible, never believed."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duetty.upstreams.lines import Splitter, TooLong
from duetty.upstreams.pins import Pins
from duetty.upstreams.tools import MAX_SHOWN, Tool, differences, hides, shown, tools_of

WIRE: dict[str, Any] = {
    "name": "echo",
    "title": "Echo",
    "description": "Says it back.",
    "inputSchema": {"type": "object", "properties": {"a": {"description": "what"}}},
    "annotations": {"readOnlyHint": True},
    "_meta": {"x": 1},
}


def tool(**changed: Any) -> Tool:
    return Tool(upstream="it", wire=WIRE | changed)


@pytest.mark.parametrize(
    "changed",
    [
        {"title": "Echo "},
        {"description": "Says it back. "},
        {"inputSchema": {"type": "object", "properties": {"a": {"description": "what!"}}}},
        {"outputSchema": {"type": "object"}},
        {"annotations": {"readOnlyHint": False}},
        {"_meta": {"x": True}},
        {"unheardOf": None},
    ],
)
def test_a_change_of_any_part_is_another_fingerprint_and_is_shown(changed: dict[str, Any]) -> None:
    assert tool().fingerprint != tool(**changed).fingerprint
    if changed != {"unheardOf": None} and changed != {"_meta": {"x": True}}:
        assert [each.part for each in differences(WIRE, WIRE | changed)] == list(changed)


def test_the_order_of_keys_is_no_change() -> None:
    turned = dict(reversed(WIRE.items()))

    assert Tool(upstream="it", wire=turned).fingerprint == tool().fingerprint


@pytest.mark.parametrize(
    ("annotations", "risk"),
    [
        (None, "unknown"),
        ({}, "unknown"),
        ("nonsense", "unknown"),
        ({"readOnlyHint": True}, "read"),
        ({"readOnlyHint": False}, "write"),
        ({"destructiveHint": False}, "write"),
        ({"destructiveHint": True}, "destructive"),
        ({"destructiveHint": True, "readOnlyHint": True}, "destructive"),
        ({"readOnlyHint": "true"}, "unknown"),
    ],
)
def test_of_two_words_about_its_risk_the_worse_one_counts(annotations: Any, risk: str) -> None:
    assert tool(annotations=annotations).risk == risk


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("plain\nlines", "plain\nlines"),
        ("a\u202eb", "a⟨U+202E⟩b"),
        ("a\u200bb", "a⟨U+200B⟩b"),
        ("a\U000e0041b", "a⟨U+E0041⟩b"),
        ("a\ufe01\ufe02b", "a⟨U+FE01⟩⟨U+FE02⟩b"),
        ("\u2764\ufe0f", "\u2764\ufe0f"),
        ("\u2764\ufe0f\ufe0f", "\u2764\ufe0f⟨U+FE0F⟩"),
        ("a\U000e0101b", "a⟨U+E0101⟩b"),
        ("\x1b[31mred", "⟨U+001B⟩[31mred"),
        ("ümläut 漢字", "ümläut 漢字"),
    ],
)
def test_what_hides_or_moves_is_made_visible_and_the_rest_is_left(text: str, seen: str) -> None:
    assert shown(text) == seen
    assert hides(text) is (text != seen)


@given(st.text())
def test_what_is_shown_hides_nothing(text: str) -> None:
    assert not hides(shown(text))


def test_texts_within_a_schema_are_made_visible_and_its_names_are_not_touched() -> None:
    schema = {"properties": {"a\u200b": {"description": "x\u200b", "enum": ["y\u200b"]}}}

    assert tool(inputSchema=schema).input_schema == {
        "properties": {"a\u200b": {"description": "x⟨U+200B⟩", "enum": ["y\u200b"]}}
    }


def test_a_change_far_down_a_long_text_is_seen() -> None:
    long = "x" * 50_000
    (found,) = differences(WIRE | {"description": long}, WIRE | {"description": f"{long}evil"})

    assert found.now is not None
    assert found.now.endswith("evil")
    assert len(found.now) < MAX_SHOWN


def test_a_name_that_is_listed_twice_is_marked() -> None:
    found = tools_of("it", [WIRE, {**WIRE, "description": "other"}, {**WIRE, "name": "one"}])

    assert {name: each.is_repeated for name, each in found.items()} == {"echo": True, "one": False}


def test_a_file_of_pins_that_cannot_be_read_accepts_nothing(tmp_path: Path) -> None:
    file = tmp_path / "pins.json"
    pins = Pins(file)
    pins.accept("it", "id", [tool()])
    assert Pins(file).state("id", tool()) == "known"
    assert Pins(file).state("other", tool()) == "new"
    assert Pins(file).state("id", tool(title="x")) == "changed"
    assert file.stat().st_mode & 0o777 == 0o600

    file.write_text('{"upstreams": {"it": 3}}', encoding="utf-8")

    assert Pins(file).state("id", tool()) == "new"
    assert (tmp_path / "pins.json.unreadable").exists()


@given(st.lists(st.binary(max_size=40)), st.integers(1, 7))
def test_lines_are_the_same_however_they_are_cut(parts: list[bytes], size: int) -> None:
    data = b"".join(part + b"\n" for part in parts)

    def lines(pieces: list[bytes]) -> list[bytes | TooLong]:
        splitter = Splitter(limit=20)
        return [line for piece in pieces for line in splitter.feed(piece)]

    whole = lines([data])
    cut = lines([data[at : at + size] for at in range(0, len(data), size)])

    assert [each if isinstance(each, bytes) else None for each in cut] == [
        each if isinstance(each, bytes) else None for each in whole
    ]
    assert [each for each in whole if isinstance(each, bytes)] == [
        line for line in data.split(b"\n") if 0 < len(line) <= 20
    ]


@pytest.mark.parametrize("name", ["x" * 200, "rm -rf /", "ä", "a\u202eb", "delete everything now"])
def test_an_odd_or_long_name_has_an_alias_that_models_take(name: str) -> None:
    one, other = tool(name=name), tool(name=f"{name}!")

    assert one.id == Tool(upstream="it", wire=WIRE | {"name": name}).id
    assert one.id != other.id
    assert len(Tool(upstream="u" * 32, wire={"name": name}).id) <= 64
    assert one.id.isascii()
    assert one.warnings()
    assert tool(name="plain").id == "mcp__it__plain"

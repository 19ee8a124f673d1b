"""A screen as a picture: everything in its place, and nothing in it but a picture."""

import re
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from duetty.vt import Terminal, svg_of
from duetty.vt.palette import PALETTE
from duetty.vt.to_svg import CELL_W

SVG = "{http://www.w3.org/2000/svg}"


def drawn(text: str | bytes, *, cols: int = 20, rows: int = 3) -> ElementTree.Element:
    terminal = Terminal(cols=cols, rows=rows)
    terminal.feed(text if isinstance(text, bytes) else text.encode())
    return ElementTree.fromstring(svg_of(terminal.grid(), cols=cols, cursor=terminal.cursor))


def texts(root: ElementTree.Element) -> list[tuple[str, str]]:
    return [(each.text or "", each.get("x", "")) for each in root.iter(f"{SVG}text")]


def test_every_piece_of_text_begins_at_its_column() -> None:
    root = drawn("ab  \x1b[31mred\x1b[0m")

    assert texts(root) == [("ab", "0"), ("red", f"{4 * CELL_W:.2f}")]
    assert [each.get("fill") for each in root.iter(f"{SVG}text")] == [None, PALETTE[1]]


def test_a_wide_character_takes_two_columns_and_moves_nothing_after_it() -> None:
    root = drawn("日|")

    assert texts(root) == [("日", f"{CELL_W:.2f}"), ("|", f"{2 * CELL_W:.2f}")]


def test_characters_beyond_ascii_are_each_put_in_their_place() -> None:
    [(text, places)] = texts(drawn("┌─┐"))

    assert text == "┌─┐"
    assert places.split() == ["0", f"{CELL_W:.2f}", f"{2 * CELL_W:.2f}"]


def test_backgrounds_inverse_and_decorations_are_drawn() -> None:
    root = drawn("\x1b[42mgreen\x1b[0m \x1b[7minv\x1b[0m \x1b[4;9mboth\x1b[0m")

    fills = [each.get("fill") for each in root.iter(f"{SVG}rect")]
    assert PALETTE[2] in fills
    assert len(list(root.iter(f"{SVG}path"))) == 2


def test_invisible_text_is_not_in_the_picture() -> None:
    assert texts(drawn("\x1b[8msecret")) == []


def test_the_cursor_is_drawn_while_it_is_visible() -> None:
    shown, hidden = drawn("x"), drawn("x\x1b[?25l")

    assert len(list(shown.iter(f"{SVG}rect"))) == len(list(hidden.iter(f"{SVG}rect"))) + 1


def test_what_a_program_prints_is_text_and_nothing_else() -> None:
    root = drawn("<script>x</script>&", cols=40)

    assert texts(root) == [("<script>x</script>&", "0")]
    assert {each.tag.removeprefix(SVG) for each in root.iter()} <= {"svg", "rect", "g", "text", "path"}  # fmt: skip


@given(st.binary(max_size=200))
def test_any_bytes_make_a_picture_with_no_way_out_of_it(data: bytes) -> None:
    root = drawn(data)

    assert {each.tag.removeprefix(SVG) for each in root.iter()} <= {"svg", "rect", "g", "text", "path"}  # fmt: skip
    for element in root.iter():
        assert not any(re.match(r"on|href|.*href|src|style", name) for name in element.attrib)

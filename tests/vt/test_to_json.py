from duetty.vt import Indexed, Rgb, Span, line_json, screen_json, scrollback_json
from tests.vt.drawn import fed


def test_a_plain_screen_has_the_shape_clients_know() -> None:
    terminal = fed("hello\r\n", cols=10, rows=3)

    assert screen_json(terminal.screen(styled=False)) == {
        "epoch": 1,
        "first_line_index": 0,
        "total_lines": 3,
        "lines": ["hello", "", ""],
        "cursor": {"row": 1, "col": 0, "visible": True},
        "cols": 10,
        "rows": 3,
        "alternate_active": False,
    }


def test_a_styled_line_is_always_a_list_of_spans() -> None:
    terminal = fed("a\x1b[1;31mb\x1b[m", cols=10, rows=2)

    shape = screen_json(terminal.screen(styled=True))

    assert shape["lines"] == [
        [{"text": "a"}, {"text": "b", "fg": {"indexed": 1}, "bold": True}],
        [],
    ]


def test_a_span_says_everything_that_is_set_and_nothing_else() -> None:
    span = Span(
        "x",
        fg=Indexed(7),
        bg=Rgb(1, 2, 3),
        bold=True,
        faint=True,
        italic=True,
        underline=True,
        strikethrough=True,
        blink=True,
        inverse=True,
        link="https://example.org/",
    )

    assert line_json((span,)) == [
        {
            "text": "x",
            "fg": {"indexed": 7},
            "bg": {"rgb": {"r": 1, "g": 2, "b": 3}},
            "bold": True,
            "faint": True,
            "italic": True,
            "underline": True,
            "strikethrough": True,
            "blink": True,
            "inverse": True,
            "link": "https://example.org/",
        }
    ]


def test_scrollback_has_the_shape_clients_know() -> None:
    terminal = fed("one\r\ntwo\r\nthree", cols=10, rows=2)

    assert scrollback_json(terminal.scrollback(offset=-2, limit=1, styled=False)) == {
        "epoch": 1,
        "lines": ["two"],
        "total_lines": 3,
        "offset": 1,
    }

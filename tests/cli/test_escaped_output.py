"""What programs said, on a terminal."""

import json

import pytest

from duetty.cli.show import as_json, harmless

HOSTILE = "a\x9b31mred\x9d0;title\x07 \u202etxt.exe\u2066\u2069\u200f\u2028\x7f\x1b[2J é 漢"


def test_json_holds_nothing_that_a_terminal_obeys_and_is_the_same_to_a_parser(
    capsys: pytest.CaptureFixture[str],
) -> None:
    as_json({"title": HOSTILE})

    shown = capsys.readouterr().out
    assert json.loads(shown) == {"title": HOSTILE}
    assert "é 漢" in shown
    assert not [char for char in shown if not (char.isprintable() or char == "\n")]


def test_text_of_programs_turns_no_direction() -> None:
    assert not [char for char in harmless(HOSTILE) if not char.isprintable()]

"""Recordings: parsed from a stranger's file, played in a person's terminal."""

import json
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duetty.cli.player import (
    BadRecording,
    Event,
    Recording,
    last_screen,
    markers,
    parse_recording,
)
from tests.cli.terminals import tmux, watched
from tests.engine import child_env

V2 = {"version": 2, "width": 20, "height": 4}
V3 = {"version": 3, "term": {"cols": 20, "rows": 4}}


def lines(*values: object) -> list[bytes]:
    return [json.dumps(value).encode() for value in values]


def test_version_2_counts_from_the_start_and_version_3_from_the_event_before() -> None:
    wanted = Recording(cols=20, rows=4, events=(Event(1.0, b"a"), Event(3.0, b"b")))

    assert parse_recording(lines(V2, [1, "o", "a"], [3, "o", "b"])) == wanted
    assert parse_recording(lines(V3, [1, "o", "a"], [2, "o", "b"])) == wanted


def test_pauses_are_cut_and_other_events_keep_their_time() -> None:
    made = parse_recording(lines(V3, [1, "o", "a"], [50, "i", "x"], [1, "o", "b"]), idle_s=2)

    assert made.events == (Event(1.0, b"a"), Event(4.0, b"b"))


def test_a_new_size_is_kept_within_reason() -> None:
    made = parse_recording(lines(V3, [0, "r", "100x30"], [0, "r", "999999x1"], [0, "r", "??"]))

    assert made.events == (Event(0.0, size=(100, 30)), Event(0.0, size=(1000, 1)))


@pytest.mark.parametrize(
    "wrong", [[], [b"{}"], [b"[]"], [b"\xff"], lines({"version": 1}), lines(V2, {"a": 1}), lines(V2, [1]),
              lines(V2, ["soon", "o", "x"]), [*lines(V2), b'[NaN, "o", "x"]']]
)  # fmt: skip
def test_what_is_no_recording_is_refused(wrong: list[bytes]) -> None:
    with pytest.raises(BadRecording):
        parse_recording(wrong)


@given(st.lists(st.binary(max_size=40), max_size=5))
def test_any_file_is_a_recording_or_refused(texts: list[bytes]) -> None:
    with suppress(BadRecording):
        parse_recording([*lines(V2), *texts])


def test_the_last_screen_is_what_a_player_ends_with() -> None:
    made = parse_recording(lines(V2, [0, "o", "one\r\n"], [9, "o", "two\x1b[1;1HONE"]))

    assert last_screen(made) == ["ONE", "two"]


def test_what_was_said_beside_the_terminal_is_told_with_its_time_and_harmless() -> None:
    made = parse_recording(
        lines(V3, [1, "m", "ada: fix\n it"], [2, "o", "a"], [3, "m", "agent: \x1b]0;x\x07"])
    )

    assert markers(made) == ["     1.0 s  ada: fix it", "     6.0 s  agent: \\x1b]0;x\\x07"]
    assert last_screen(made) == ["a"]


@pytest.mark.pty
@pytest.mark.tmux
def test_a_recording_is_played_paused_and_left(home: Path) -> None:
    cast = home / "some.cast"
    cast.write_bytes(
        b"\n".join(
            lines(
                V2,
                [0.1, "o", "begin "],
                [0.2, "o", "middle "],
                [0.2, "m", "ada: go"],
                [900, "o", "never"],
            )
        )
    )
    with tmux(home, child_env(home)) as terminal:
        terminal.line("echo untouched")
        terminal.duetty("replay", str(cast))
        terminal.wait_shown("begin middle")
        terminal.wait_shown("ada: go")
        terminal.press("Space")
        terminal.wait_shown("paused at")
        terminal.press(".")
        terminal.wait_shown("begin middle never")
        terminal.wait_shown("the end")
        terminal.press("r")
        terminal.wait_gone("never")
        terminal.press("q")
        terminal.wait_shown("outer>")

        assert "untouched" in terminal.screen()
        assert terminal.ask("#{alternate_on}") == "0"


@pytest.mark.pty
def test_a_hostile_recording_never_reaches_the_persons_terminal() -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as place:
        cast = Path(place) / "evil.cast"
        evil = "\x1b]52;c;ZXZpbA==\x07\x1b[21t\x1bP$qm\x1b\\shown"
        cast.write_bytes(b"\n".join(lines(V2, [0, "o", evil])))
        with watched(child_env(Path(place)), "replay", str(cast)) as terminal:
            terminal.wait_shown("shown")
            terminal.type(b"q")

            assert terminal.wait_ended() == 0
            assert b"]52" not in terminal.received
            assert b"[21t" not in terminal.received
            assert b"$q" not in terminal.received
            assert terminal.now() == terminal.before

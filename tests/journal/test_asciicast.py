import json
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from duetty.journal import Journal, asciicast
from tests.journal.fakes import HandClock


def parsed(lines: Iterable[str]) -> tuple[dict[str, Any], list[Any]]:
    header, *events = [json.loads(line) for line in lines]
    return header, events


@pytest.fixture
def journal(tmp_path: Path) -> Iterable[Journal]:
    """Two prompts a second apart, with a resize between them."""
    clock = HandClock()
    with closing(Journal.create(tmp_path / "j", clock=clock)) as journal:
        journal.note_size(cols=80, rows=24)
        journal.append(b"$ \xe2\x82")
        clock.pass_ms(1000)
        journal.append(b"\xac\r\n")
        clock.pass_ms(500)
        journal.note_size(cols=100, rows=30)
        journal.append(b"\x1b[1mbold\xff")
        yield journal


def test_version_2_tells_times_since_the_beginning(journal: Journal) -> None:
    header, events = parsed(asciicast(journal, version=2, title="demo"))

    assert header == {
        "version": 2,
        "width": 80,
        "height": 24,
        "timestamp": 1_700_000_000,
        "title": "demo",
    }
    assert events == [
        [0.0, "o", "$ "],
        [1.0, "o", "€\r\n"],
        [1.5, "r", "100x30"],
        [1.5, "o", "\x1b[1mbold\ufffd"],
    ]


def test_version_3_tells_times_since_the_event_before(journal: Journal) -> None:
    header, events = parsed(asciicast(journal, version=3, exit_code=7))

    assert header == {
        "version": 3,
        "term": {"cols": 80, "rows": 24, "type": "xterm-256color"},
        "timestamp": 1_700_000_000,
    }
    assert events == [
        [0.0, "o", "$ "],
        [1.0, "o", "€\r\n"],
        [0.5, "r", "100x30"],
        [0.0, "o", "\x1b[1mbold\ufffd"],
        [0.0, "x", "7"],
    ]


def test_each_line_of_a_recording_ends_as_one(journal: Journal) -> None:
    lines = list(asciicast(journal, version=2))

    assert all(line.endswith("\n") and line.count("\n") == 1 for line in lines)


def test_a_slice_is_recorded_with_the_size_in_force_there(journal: Journal) -> None:
    header, events = parsed(asciicast(journal, version=2, start=7, end=15))

    assert (header["width"], header["height"]) == (100, 30)
    assert events == [[0.0, "o", "\x1b[1mbold"]]


def test_a_journal_that_was_never_told_a_size_is_recorded_as_80_by_24(tmp_path: Path) -> None:
    with closing(Journal.create(tmp_path / "j")) as journal:
        header, events = parsed(asciicast(journal, version=2))

    assert (header["width"], header["height"], events) == (80, 24, [])


def test_a_recording_of_what_is_left_begins_with_the_snapshot(tmp_path: Path) -> None:
    with closing(Journal.create(tmp_path / "j", limit_bytes=8 << 10)) as journal:
        for _ in range(12):
            journal.append(b"x" * 1024)
            journal.turn_over(b"state", cols=90, rows=30)
        journal.append(b"end")

        header, events = parsed(asciicast(journal, version=2))

    output = "".join(event[2] for event in events)
    assert (header["width"], header["height"]) == (90, 30)
    assert output == "state" + "x" * (journal.end - journal.start - 3) + "end"


def test_a_recording_shows_the_snapshot_again_after_a_gap(tmp_path: Path) -> None:
    with closing(Journal.create(tmp_path / "j")) as journal:
        for piece in (b"aaaa", b"bbbb", b"cccc"):
            journal.append(piece)
            journal.turn_over(piece.upper(), cols=80, rows=24)
    (tmp_path / "j" / f"{4:020d}.segment").write_bytes(b"rubbish")

    with closing(Journal.open(tmp_path / "j")) as journal:
        _, events = parsed(asciicast(journal, version=2))

    assert [event[2] for event in events if event[1] == "o"] == ["aaaa", "BBBB", "cccc"]


@pytest.mark.parametrize("cut", range(1, 30))
def test_a_secret_is_rewritten_wherever_a_read_cut_it(tmp_path: Path, cut: int) -> None:
    clock = HandClock()
    stream = b"ok\x1b]133;A;nonce=5ec2e7\x1b\\$ \x1b]0;t\x07."
    with closing(Journal.create(tmp_path / "j", clock=clock)) as journal:
        journal.append(stream[:cut])
        clock.pass_ms(20)
        journal.append(stream[cut:])

        _, events = parsed(
            asciicast(journal, version=2, rewrite=lambda output: output.replace(b"5ec2e7", b"-"))
        )

    output = "".join(event[2] for event in events)
    assert output == "ok\x1b]133;A;nonce=-\x1b\\$ \x1b]0;t\x07."


def test_a_rewritten_recording_keeps_its_sizes(journal: Journal) -> None:
    _, events = parsed(asciicast(journal, version=2, rewrite=bytes.upper))

    assert [event[1:] for event in events] == [
        ["o", "$ "],
        ["o", "€\r\n"],
        ["r", "100x30"],
        ["o", "\x1b[1MBOLD\ufffd"],
    ]


def test_a_sequence_left_open_at_the_end_is_not_recorded(tmp_path: Path) -> None:
    with closing(Journal.create(tmp_path / "j")) as journal:
        journal.append(b"ok\x1b]133;A;nonce=5ec")

        _, events = parsed(asciicast(journal, version=2, rewrite=lambda output: output))

    assert events == [[0.0, "o", "ok"]]


def test_a_sequence_that_never_ends_does_not_hold_the_recording(tmp_path: Path) -> None:
    with closing(Journal.create(tmp_path / "j")) as journal:
        journal.append(b"\x1b]52;" + b"x" * 600_000)

        _, events = parsed(asciicast(journal, version=2, rewrite=lambda output: output))

    assert sum(len(event[2]) for event in events) > 500_000


def test_a_clock_that_went_back_stands_still_in_a_recording(tmp_path: Path) -> None:
    clock = HandClock()
    with closing(Journal.create(tmp_path / "j", clock=clock)) as journal:
        for step_ms in (0, -5000, 6000):
            clock.pass_ms(step_ms)
            journal.append(b"x")

        _, events = parsed(asciicast(journal, version=2))

    assert [event[0] for event in events] == [0.0, 0.0, 1.0]

"""A PTY read ahead of the journal's end, by another thread."""

import os
import shutil
import threading
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from duetty.journal import Intake, Journal, ReadEnd
from duetty.journal.intake import AHEAD_BYTES
from duetty.journal.source import Source
from tests.journal.fakes import pipe

KIB = 1 << 10


def opened(journal: Journal, fd: int) -> Intake:
    intake = journal.open_intake(fd)
    assert intake is not None
    return intake


def take_all(journal: Journal, limit: int = 10_000) -> bytes:
    taken = b""
    while view := journal.take(limit):
        taken += view
    return taken


def test_what_was_read_ahead_is_on_record_before_it_is_taken(tmp_path: Path) -> None:
    with closing(Journal.create(tmp_path / "j")) as journal, pipe() as (reader, writer):
        os.write(writer, b"not taken yet")

        ending = opened(journal, reader).read()
        killed = Path(shutil.copytree(journal.directory, tmp_path / "killed"))

        assert ending is ReadEnd.EMPTY
        assert (journal.end, journal.ahead_bytes) == (0, 13)
        assert journal.read(0, 13) == b""
    with closing(Journal.open(killed)) as recovered:
        assert recovered.read(0, recovered.end) == b"not taken yet"


def test_a_read_that_is_under_way_counts_as_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The PTY is empty then, and the bytes are not known yet."""
    has_read, may_return = threading.Event(), threading.Event()
    read = Source.read

    def read_slowly(source: Source, address: int, length: int) -> tuple[int, int | None]:
        outcome = read(source, address, length)
        has_read.set()
        may_return.wait(20)
        return outcome

    monkeypatch.setattr(Source, "read", read_slowly)
    with closing(Journal.create(tmp_path / "j")) as journal, pipe() as (reader, writer):
        intake = opened(journal, reader)
        os.write(writer, b"on its way")
        reading = threading.Thread(target=intake.read)
        reading.start()
        has_read.wait(20)
        threading.Timer(0.05, may_return.set).start()

        is_all_taken = journal.is_all_taken()
        reading.join()

        assert not is_all_taken
        assert take_all(journal) == b"on its way"
        assert journal.is_all_taken()


def test_bytes_are_taken_in_slices_and_in_order_while_they_are_read(tmp_path: Path) -> None:
    content = os.urandom(3000 * KIB)
    with closing(Journal.create(tmp_path / "j")) as journal, pipe() as (reader, writer):
        intake = opened(journal, reader)
        done = threading.Event()

        def read() -> None:
            while intake.read() is not ReadEnd.CLOSED:
                done.wait(0.0001)

        def print_all() -> None:
            rest = memoryview(content)
            while rest:
                rest = rest[os.write(writer, rest[:9000]) :]

        threads = [threading.Thread(target=each) for each in (read, print_all)]
        for thread in threads:
            thread.start()
        taken = b""
        while len(taken) < len(content):
            taken += journal.take(7001)
        intake.close()
        for thread in threads:
            thread.join()
        journal.close_intake()

        assert taken == content
        assert journal.read(0, journal.end) == content


def test_reading_stops_when_the_owner_is_too_far_behind(tmp_path: Path) -> None:
    with closing(Journal.create(tmp_path / "j")) as journal, pipe() as (reader, writer):
        intake = opened(journal, reader)
        ending = ReadEnd.MORE
        while ending is not ReadEnd.FULL:
            os.write(writer, b"x" * 16 * KIB)
            ending = intake.read()
        ahead = journal.ahead_bytes
        still_full = intake.has_space

        take_all(journal)

        assert AHEAD_BYTES <= ahead < AHEAD_BYTES + 64 * KIB
        assert not still_full
        assert intake.has_space
        assert intake.read() is not ReadEnd.FULL


def test_reading_ahead_stops_where_the_segment_is_to_end(tmp_path: Path) -> None:
    with (
        closing(Journal.create(tmp_path / "j", limit_bytes=8 * 32 * KIB)) as journal,
        pipe() as (reader, writer),
    ):
        os.write(writer, b"a" * 60 * KIB)
        intake = opened(journal, reader)
        endings = [intake.read() for _ in range(3)]
        wanted_early = journal.wants_snapshot

        taken = take_all(journal)
        wanted = journal.wants_snapshot
        intake.close()
        journal.close_intake()
        turned = journal.turn_over(b"snapshot", cols=80, rows=24)
        rest = b""
        while filled := bytes(journal.fill(reader).view):
            rest += filled

        assert endings[-1] is ReadEnd.FULL
        assert (wanted_early, wanted, turned) == (False, True, True)
        assert taken + rest == b"a" * 60 * KIB
        assert journal.snapshot_at(len(taken)) is not None


def test_a_journal_closed_with_bytes_read_ahead_keeps_them(tmp_path: Path) -> None:
    journal = Journal.create(tmp_path / "j")
    with pipe() as (reader, writer):
        os.write(writer, b"last words")
        opened(journal, reader).read()
        journal.close()

    with closing(Journal.open(tmp_path / "j")) as again:
        assert again.read(0, again.end) == b"last words"


def test_a_journal_is_not_turned_over_while_it_is_read_ahead(tmp_path: Path) -> None:
    with closing(Journal.create(tmp_path / "j")) as journal, pipe() as (reader, writer):
        os.write(writer, b"x")
        opened(journal, reader).read()

        with pytest.raises(ValueError, match="ahead"):
            journal.turn_over(b"too early", cols=80, rows=24)


def test_the_end_of_the_stream_is_told_after_its_last_byte(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    with closing(Journal.create(tmp_path / "j")) as journal:
        os.write(writer, b"the end")
        os.close(writer)
        intake = opened(journal, reader)

        ending = intake.read()
        taken = take_all(journal)
        intake.close()
        after = intake.read()
    os.close(reader)

    assert (ending, taken, after) == (ReadEnd.OVER, b"the end", ReadEnd.CLOSED)


def test_a_descriptor_that_is_none_is_not_read_ahead(tmp_path: Path) -> None:
    with closing(Journal.create(tmp_path / "j")) as journal:
        assert journal.open_intake(987) is None


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    steps=st.lists(
        st.one_of(
            st.binary(min_size=1, max_size=3000),
            st.sampled_from(["read", "take", "open", "close", "fill", "kill"]),
        ),
        max_size=40,
    )
)
def test_no_order_of_reading_and_taking_loses_a_byte(
    tmp_path_factory: pytest.TempPathFactory, steps: list[bytes | str]
) -> None:
    directory = tmp_path_factory.mktemp("j") / "j"
    journal = Journal.create(directory)
    printed = b""
    intake: Intake | None = None
    with pipe() as (reader, writer):
        for step in (*steps, "close", "fill"):
            match step:
                case bytes():
                    os.write(writer, step)
                    printed += step
                case "read" if intake:
                    intake.read()
                case "take":
                    journal.take(1000)
                case "open" if not intake:
                    intake = opened(journal, reader)
                case "close" if intake:
                    intake.close()
                    take_all(journal)
                    journal.close_intake()
                    intake = None
                case "fill" if not intake:
                    while journal.fill(reader).view:
                        pass
                case "kill":
                    journal.close()
                    journal, intake = Journal.open(directory), None
                case _:
                    pass
        journal.close()

    assert journal.read(0, journal.end) == printed
    shutil.rmtree(directory.parent)

import os
from contextlib import closing
from pathlib import Path

from duetty.ids import Offset
from duetty.journal import Journal, Moment, Repairs, Size
from duetty.journal.index import LIMIT_BYTES, Index, Kind
from tests.journal.fakes import HandClock

RECORD_BYTES = 32


def test_times_are_noted_at_most_every_ten_milliseconds(tmp_path: Path) -> None:
    clock = HandClock()
    began_ns = clock.now_ns
    with closing(Journal.create(tmp_path / "j", clock=clock)) as journal:
        for _ in range(20):
            journal.append(b"x")
            clock.pass_ms(4)

        moments = journal.times(0, journal.end)

    assert moments == [
        Moment(Offset(offset), began_ns + offset * 4_000_000) for offset in range(0, 20, 3)
    ]


def test_the_times_of_a_range_begin_with_the_one_in_force(tmp_path: Path) -> None:
    clock = HandClock()
    with closing(Journal.create(tmp_path / "j", clock=clock)) as journal:
        for _ in range(4):
            journal.append(b"0123456789")
            clock.pass_ms(50)

        moments = journal.times(15, 25)

    assert [moment.offset for moment in moments] == [10, 20]


def test_a_clock_that_goes_back_is_noted_at_once(tmp_path: Path) -> None:
    clock = HandClock()
    with closing(Journal.create(tmp_path / "j", clock=clock)) as journal:
        journal.append(b"a")
        clock.pass_ms(-60_000)
        journal.append(b"b")

        moments = journal.times(0, 2)

    assert moments == [
        Moment(Offset(0), clock.now_ns + 60_000_000_000),
        Moment(Offset(1), clock.now_ns),
    ]


def test_every_change_of_size_is_kept_over_a_restart(tmp_path: Path) -> None:
    clock = HandClock()
    with closing(Journal.create(tmp_path / "j", clock=clock)) as journal:
        journal.note_size(cols=80, rows=24)
        journal.append(b"abc")
        journal.note_size(cols=100, rows=30)

    with closing(Journal.open(tmp_path / "j")) as journal:
        first = Size(offset=Offset(0), wall_ns=clock.now_ns, cols=80, rows=24)
        second = Size(offset=Offset(3), wall_ns=clock.now_ns, cols=100, rows=30)
        assert journal.sizes_since(0) == (first, second)
        assert journal.sizes_since(1) == (second,)
        assert (journal.size_at(2), journal.size_at(3)) == (first, second)


def test_a_torn_record_costs_itself_only(tmp_path: Path) -> None:
    with closing(Journal.create(tmp_path / "j")) as journal:
        journal.note_size(cols=80, rows=24)
        journal.note_size(cols=81, rows=25)
    os.truncate(tmp_path / "j" / "index", RECORD_BYTES + 11)

    with closing(Journal.open(tmp_path / "j")) as journal:
        journal.note_size(cols=82, rows=26)
        repairs = journal.repairs
    with closing(Journal.open(tmp_path / "j")) as journal:
        cols = [size.cols for size in journal.sizes_since(0)]

    assert repairs == Repairs(index_bytes=11)
    assert cols == [80, 82]
    assert journal.repairs == Repairs()


def test_a_damaged_record_costs_itself_only(tmp_path: Path) -> None:
    with closing(Journal.create(tmp_path / "j")) as journal:
        for cols in (80, 81, 82):
            journal.note_size(cols=cols, rows=24)
    with (tmp_path / "j" / "index").open("r+b") as file:
        file.seek(RECORD_BYTES + 3)
        file.write(b"\xff")

    with closing(Journal.open(tmp_path / "j")) as journal:
        assert [size.cols for size in journal.sizes_since(0)] == [80, 82]
        assert journal.repairs == Repairs(index_bytes=RECORD_BYTES)


def test_a_lost_index_costs_times_and_sizes_and_no_bytes(tmp_path: Path) -> None:
    with closing(Journal.create(tmp_path / "j")) as journal:
        journal.note_size(cols=80, rows=24)
        journal.append(b"bytes")
    (tmp_path / "j" / "index").unlink()

    with closing(Journal.open(tmp_path / "j")) as journal:
        assert journal.times(0, 5) == []
        assert journal.size_at(0) is None
        assert journal.read(0, 5) == b"bytes"


def test_the_index_forgets_what_the_journal_dropped(tmp_path: Path) -> None:
    clock = HandClock()
    with closing(Journal.create(tmp_path / "j", limit_bytes=8 << 10, clock=clock)) as journal:
        journal.note_size(cols=80, rows=24)
        for _ in range(20):
            journal.append(b"x" * 1024)
            clock.pass_ms(20)
            if journal.wants_snapshot:
                journal.turn_over(b"", cols=80, rows=24)

        moments = journal.times(0, journal.end)
        size = journal.size_at(journal.start)

    assert moments[0].offset == journal.start - 1024
    assert [moment.offset for moment in moments[1:]] == list(
        range(journal.start, journal.end, 1024)
    )
    assert size is not None
    assert size.cols == 80


def test_a_window_dragged_for_hours_keeps_its_last_size_only(tmp_path: Path) -> None:
    with closing(Index(tmp_path / "index")) as index:
        index.add(Kind.RESIZE, 5, wall_ns=0, cols=70, rows=20)
        index.add(Kind.SNAPSHOT, 5, wall_ns=0, cols=70, rows=20)
        for number in range(LIMIT_BYTES // RECORD_BYTES):
            index.add(Kind.RESIZE, 5, wall_ns=number, cols=80 + number % 9, rows=24)
        index.add(Kind.RESIZE, 6, wall_ns=0, cols=90, rows=30)

        sizes = [(size.offset, size.rows) for size in index.sizes_since(5)]

        assert len(sizes) < 10
        assert sizes[-2:] == [(5, 24), (6, 30)]
        assert (tmp_path / "index").stat().st_size < 10 * RECORD_BYTES


def test_old_times_grow_coarse_and_sizes_stay(tmp_path: Path) -> None:
    with closing(Index(tmp_path / "index")) as index:
        index.add(Kind.RESIZE, 0, wall_ns=0, cols=80, rows=24)
        for offset in range(3 * LIMIT_BYTES // RECORD_BYTES):
            index.add(Kind.TIME, offset, wall_ns=offset)

        offsets = [moment.offset for moment in index.times(0, 10**9)]

        assert (tmp_path / "index").stat().st_size <= LIMIT_BYTES + RECORD_BYTES
        assert offsets == sorted(offsets)
        assert offsets[0] == 0
        assert offsets[-1] == 3 * LIMIT_BYTES // RECORD_BYTES - 1
        assert len(index.sizes_since(0)) == 1

import errno
import os
import pty
import shutil
import stat
import threading
import tty
from contextlib import closing
from pathlib import Path

import pytest

from duetty.errors import (
    Conflict,
    Exhausted,
    NotFound,
    OutputExpired,
    StateUnwritable,
    Unavailable,
)
from duetty.ids import Offset
from duetty.journal import MAX_SNAPSHOT_BYTES, Journal, Repairs, Size, Span, Tail
from tests.journal.fakes import HandClock, pipe

KIB = 1 << 10


def fill_all(journal: Journal, fd: int) -> bytes:
    taken = b""
    while (filled := journal.fill(fd)).view:
        taken += bytes(filled.view)
    return taken


def crash_image(journal: Journal, where: Path) -> Path:
    """What a server killed now would leave."""
    return Path(shutil.copytree(journal.directory, where))


def test_a_new_journal_is_empty(tmp_path: Path) -> None:
    with closing(Journal.create(tmp_path / "j")) as journal:
        tail = journal.tail()

    assert (journal.start, journal.end, journal.gaps) == (0, 0, ())
    assert journal.read(0, 100) == b""
    assert journal.repairs == Repairs()
    assert tail == Tail(
        base=Offset(0), end=Offset(0), snapshot=None, cols=None, rows=None, sizes=(), exact=True
    )


def test_only_the_owner_can_read_a_journal(tmp_path: Path) -> None:
    with closing(Journal.create(tmp_path / "j")) as journal:
        journal.append(b"secret")
        journal.turn_over(b"snapshot", cols=80, rows=24)

    modes = {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "j").iterdir()}
    assert stat.S_IMODE((tmp_path / "j").stat().st_mode) == 0o700
    assert modes == {0o600}


def test_what_is_appended_is_read_back_from_any_offset(tmp_path: Path) -> None:
    with closing(Journal.create(tmp_path / "j")) as journal:
        journal.append(b"hello ")
        journal.append(b"")
        journal.append(memoryview(b"world"))

        assert journal.end == 11
        assert journal.read(0, 11) == b"hello world"
        assert journal.read(4, 8) == b"o wo"
        assert journal.read(6, 10**9) == b"world"
        assert journal.read(11, 12) == b""
        assert list(journal.chunks(0, 11, size=4)) == [b"hell", b"o wo", b"rld"]


def test_a_fill_returns_exactly_the_new_bytes(tmp_path: Path) -> None:
    with closing(Journal.create(tmp_path / "j")) as journal, pipe() as (reader, writer):
        os.write(writer, b"one")
        one = journal.fill(reader)
        one_bytes = bytes(one.view)
        os.write(writer, b"two")
        two = journal.fill(reader)
        nothing = journal.fill(reader)

        assert (one_bytes, one.ended) == (b"one", False)
        assert (bytes(two.view), two.ended) == (b"two", False)
        assert (bytes(nothing.view), nothing.ended) == (b"", False)
        assert journal.read(0, 6) == b"onetwo"


def test_the_view_of_a_fill_cannot_change_the_journal(tmp_path: Path) -> None:
    with closing(Journal.create(tmp_path / "j")) as journal, pipe() as (reader, writer):
        os.write(writer, b"one")
        view = journal.fill(reader).view

        assert view.readonly


def test_a_fill_stops_at_its_budget(tmp_path: Path) -> None:
    with closing(Journal.create(tmp_path / "j")) as journal, pipe() as (reader, writer):
        os.write(writer, b"abcdefgh")

        assert bytes(journal.fill(reader, 3).view) == b"abc"
        assert bytes(journal.fill(reader, 0).view) == b""
        assert bytes(journal.fill(reader, 100).view) == b"defgh"


def test_a_fill_tells_when_nothing_more_will_come(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    with closing(Journal.create(tmp_path / "j")) as journal:
        os.write(writer, b"last words")
        os.close(writer)
        last = journal.fill(reader)
        after = journal.fill(reader)
    os.close(reader)

    assert bytes(last.view) == b"last words"
    assert (bytes(after.view), after.ended) == (b"", True)


@pytest.mark.pty
def test_a_pty_that_is_closed_gives_its_last_bytes_and_then_ends(tmp_path: Path) -> None:
    master, slave = pty.openpty()
    tty.setraw(slave)
    os.set_blocking(master, False)
    with closing(Journal.create(tmp_path / "j")) as journal:
        os.write(slave, b"x" * 3000)
        os.close(slave)
        taken = b""
        ended = False
        while not ended:
            filled = journal.fill(master)
            taken += filled.view
            ended = filled.ended
    os.close(master)

    assert taken == b"x" * 3000


def test_a_fill_from_something_else_than_a_descriptor_raises(tmp_path: Path) -> None:
    with closing(Journal.create(tmp_path / "j")) as journal, pytest.raises(OSError, match="Bad"):
        journal.fill(987)


def test_a_closed_journal_can_be_read_and_not_written(tmp_path: Path) -> None:
    journal = Journal.create(tmp_path / "j")
    journal.append(b"kept")
    journal.close()
    journal.close()

    assert journal.read(0, 4) == b"kept"
    with pytest.raises(ValueError, match="closed"):
        journal.append(b"more")
    with pytest.raises(ValueError, match="closed"):
        journal.turn_over(b"", cols=80, rows=24)
    with pipe() as (reader, _), pytest.raises(ValueError, match="closed"):
        journal.fill(reader)


def test_a_closed_journal_takes_no_more_disk_than_its_bytes(tmp_path: Path) -> None:
    with closing(Journal.create(tmp_path / "j")) as journal:
        journal.append(b"kept")

    (segment,) = (tmp_path / "j").glob("*.segment")
    assert segment.stat().st_size == 4096 + 4


def test_megabytes_pass_through_moving_windows_unchanged(tmp_path: Path) -> None:
    expected = os.urandom(3 << 20)
    with closing(Journal.create(tmp_path / "j")) as journal, pipe() as (reader, writer):
        sender = threading.Thread(target=_write_all, args=(writer, expected))
        sender.start()
        taken = bytearray()
        while len(taken) < len(expected):
            taken += journal.fill(reader).view
        sender.join()

        assert taken == expected
        assert journal.read(0, journal.end) == expected


def _write_all(fd: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(fd, rest) :]


def test_a_session_that_rests_goes_on_where_it_was(tmp_path: Path) -> None:
    with closing(Journal.create(tmp_path / "j")) as journal, pipe() as (reader, writer):
        os.write(writer, b"before ")
        journal.fill(reader)
        journal.rest()
        os.write(writer, b"after")
        journal.fill(reader)

        assert journal.read(0, journal.end) == b"before after"


def test_fills_and_appends_can_be_mixed(tmp_path: Path) -> None:
    with closing(Journal.create(tmp_path / "j")) as journal, pipe() as (reader, writer):
        expected = b""
        for number in range(40):
            piece = b"%d " % number * 300
            if number % 3:
                os.write(writer, piece)
                fill_all(journal, reader)
            else:
                journal.append(piece)
            expected += piece

        assert journal.read(0, journal.end) == expected


def test_a_kernel_that_cannot_populate_by_name_gives_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("duetty.journal.segment._POPULATE_WRITE", 9999)
    with closing(Journal.create(tmp_path / "j")) as journal, pipe() as (reader, writer):
        for _ in range(20):
            os.write(writer, b"x" * 3000)
            fill_all(journal, reader)

        assert journal.read(0, journal.end) == b"x" * 60_000
        assert journal.degraded is None


def test_a_file_system_that_cannot_reserve_is_written_with_zeros(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EOPNOTSUPP, "not supported")

    monkeypatch.setattr(os, "posix_fallocate", refuse)
    with closing(Journal.create(tmp_path / "j")) as journal, pipe() as (reader, writer):
        for _ in range(40):
            os.write(writer, b"x" * 3000)
            fill_all(journal, reader)

        assert journal.read(0, journal.end) == b"x" * 120_000
        assert journal.degraded is None


def test_newlines_are_counted_in_a_range(tmp_path: Path) -> None:
    with closing(Journal.create(tmp_path / "j")) as journal:
        journal.append(b"a\nb\n" * 200_000)

        assert journal.count_newlines(0, journal.end) == 400_000
        assert journal.count_newlines(2, 6) == 2


# --- opening again ------------------------------------------------------------


def test_a_closed_journal_opens_unharmed(tmp_path: Path) -> None:
    with closing(Journal.create(tmp_path / "j")) as journal:
        journal.append(b"one\0\0")

    with closing(Journal.open(tmp_path / "j")) as journal:
        journal.append(b"two")

        assert journal.repairs == Repairs()
        assert journal.read(0, journal.end) == b"one\0\0two"


def test_bytes_a_killed_server_had_read_are_there(tmp_path: Path) -> None:
    with closing(Journal.create(tmp_path / "j")) as journal, pipe() as (reader, writer):
        os.write(writer, b"read \0 not committed")
        journal.fill(reader)
        image = crash_image(journal, tmp_path / "image")

    with closing(Journal.open(image)) as found:
        assert found.repairs == Repairs(recovered_bytes=20)
        assert found.read(0, found.end) == b"read \0 not committed"


def test_nuls_at_the_end_of_a_fill_survive_a_kill(tmp_path: Path) -> None:
    with closing(Journal.create(tmp_path / "j")) as journal, pipe() as (reader, writer):
        os.write(writer, b"text\0\0\0")
        journal.fill(reader)
        image = crash_image(journal, tmp_path / "image")

    with closing(Journal.open(image)) as found:
        assert found.read(0, found.end) == b"text\0\0\0"


def test_opening_where_no_journal_is_says_so(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        Journal.open(tmp_path / "nothing")


def test_creating_over_a_journal_is_refused(tmp_path: Path) -> None:
    Journal.create(tmp_path / "j").close()

    with pytest.raises(Conflict):
        Journal.create(tmp_path / "j")


def test_a_directory_that_cannot_be_made_is_named_in_the_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(StateUnwritable) as caught:
        Journal.create(tmp_path / "file" / "j")

    assert caught.value.code == "state_unwritable"
    assert caught.value.details == {"path": str(tmp_path / "file" / "j")}
    assert caught.value.hint


@pytest.mark.parametrize(
    ("place", "content"),
    [(0, b"XXXXXXXX"), (8, b"\x63"), (12, b"\x01"), (20, b"\xff\xff")],
    ids=["magic", "version", "base", "checksum"],
)
def test_a_damaged_header_is_a_clear_error(tmp_path: Path, place: int, content: bytes) -> None:
    with closing(Journal.create(tmp_path / "j")) as journal:
        journal.append(b"bytes")
    (segment,) = (tmp_path / "j").glob("*.segment")
    with segment.open("r+b") as file:
        file.seek(place)
        file.write(content)

    with pytest.raises(Unavailable) as caught:
        Journal.open(tmp_path / "j")

    assert caught.value.details == {"path": str(segment)}


def test_a_header_cut_short_is_a_clear_error(tmp_path: Path) -> None:
    Journal.create(tmp_path / "j").close()
    (segment,) = (tmp_path / "j").glob("*.segment")
    os.truncate(segment, 17)

    with pytest.raises(Unavailable):
        Journal.open(tmp_path / "j")


def test_a_segment_under_another_name_is_a_clear_error(tmp_path: Path) -> None:
    Journal.create(tmp_path / "j").close()
    (segment,) = (tmp_path / "j").glob("*.segment")
    segment.rename(segment.with_name(f"{5:020d}.segment"))

    with pytest.raises(Unavailable):
        Journal.open(tmp_path / "j")


def test_damaged_counts_cost_nothing_but_a_scan(tmp_path: Path) -> None:
    with closing(Journal.create(tmp_path / "j")) as journal:
        journal.append(b"bytes")
    (segment,) = (tmp_path / "j").glob("*.segment")
    with segment.open("r+b") as file:
        file.seek(32)
        file.write(b"\xff" * 8)

    with closing(Journal.open(tmp_path / "j")) as journal:
        assert journal.read(0, journal.end) == b"bytes"
        assert journal.repairs == Repairs(recovered_bytes=5)


def test_a_file_that_lost_its_end_becomes_a_gap_and_keeps_its_offsets(tmp_path: Path) -> None:
    with closing(Journal.create(tmp_path / "j")) as journal:
        journal.append(b"0123456789")
    (segment,) = (tmp_path / "j").glob("*.segment")
    os.truncate(segment, 4096 + 4)

    with closing(Journal.open(tmp_path / "j")) as journal:
        assert journal.end == 10
        assert journal.gaps == (Span(Offset(4), Offset(10)),)
        assert journal.read(0, 4) == b"0123"
        assert journal.wants_snapshot


def test_a_damaged_old_segment_is_a_gap(tmp_path: Path) -> None:
    with closing(Journal.create(tmp_path / "j")) as journal:
        for piece in (b"aaaa", b"bbbb", b"cccc"):
            journal.append(piece)
            journal.turn_over(b"", cols=80, rows=24)
    middle = tmp_path / "j" / f"{4:020d}.segment"
    middle.write_bytes(b"rubbish")

    with closing(Journal.open(tmp_path / "j")) as journal:
        assert journal.repairs == Repairs(damaged=(middle,))
        assert journal.gaps == (Span(Offset(4), Offset(8)),)
        assert journal.spans(0, 12) == [
            Span(Offset(0), Offset(4)),
            Span(Offset(8), Offset(12)),
        ]
        with pytest.raises(OutputExpired):
            journal.read(0, 12)


def test_what_a_killed_server_had_begun_is_swept_away(tmp_path: Path) -> None:
    with closing(Journal.create(tmp_path / "j")) as journal:
        journal.append(b"bytes")
    for name in (f"{5:020d}.tmp", f"{5:020d}.snapshot", "x.snapshot", "index.tmp"):
        (tmp_path / "j" / name).write_bytes(b"half")

    Journal.open(tmp_path / "j").close()

    names = {path.name for path in (tmp_path / "j").iterdir()}
    assert names == {f"{0:020d}.segment", "index"}


# --- turning over -------------------------------------------------------------


def test_a_full_segment_asks_for_a_snapshot_and_goes_on_until_it_comes(tmp_path: Path) -> None:
    with closing(Journal.create(tmp_path / "j", limit_bytes=80 * KIB)) as journal:
        journal.append(b"a" * (10 * KIB - 1))
        before = journal.wants_snapshot
        journal.append(b"b" * 30 * KIB)
        wanted = journal.wants_snapshot
        turned = journal.turn_over(b"state", cols=80, rows=24)

        assert (before, wanted, turned, journal.wants_snapshot) == (False, True, True, False)
        assert journal.read(0, journal.end) == b"a" * (10 * KIB - 1) + b"b" * 30 * KIB


def test_a_journal_at_its_limit_drops_its_oldest_segments(tmp_path: Path) -> None:
    with closing(Journal.create(tmp_path / "j", limit_bytes=80 * KIB)) as journal:
        for number in range(20):
            journal.append(bytes([number]) * 10 * KIB)
            journal.turn_over(b"state", cols=80, rows=24)
            on_disk = sum(path.stat().st_size for path in (tmp_path / "j").glob("*.segment"))
            assert on_disk <= 80 * KIB + 64 * KIB + 9 * 4096

        assert journal.end == 200 * KIB
        assert journal.start > 0
        assert journal.read(journal.start, journal.start + 1) == bytes([14])
        with pytest.raises(OutputExpired) as caught:
            journal.read(journal.start - 1, journal.end)
        assert caught.value.code == "output_expired"
        assert len(list((tmp_path / "j").glob("*.snapshot"))) == 7


def test_the_tail_is_the_newest_snapshot_with_the_sizes_after_it(tmp_path: Path) -> None:
    clock = HandClock()
    with closing(Journal.create(tmp_path / "j", clock=clock)) as journal:
        journal.note_size(cols=80, rows=24)
        journal.append(b"before")
        journal.note_size(cols=90, rows=30)
        journal.turn_over(b"state", cols=90, rows=30)
        journal.note_size(cols=100, rows=40)
        journal.append(b"after")
        journal.note_size(cols=110, rows=50)

    with closing(Journal.open(tmp_path / "j")) as journal:
        assert journal.tail() == Tail(
            base=Offset(6),
            end=Offset(11),
            snapshot=b"state",
            cols=90,
            rows=30,
            sizes=(
                Size(offset=Offset(6), wall_ns=clock.now_ns, cols=100, rows=40),
                Size(offset=Offset(11), wall_ns=clock.now_ns, cols=110, rows=50),
            ),
            exact=True,
        )


def test_a_damaged_snapshot_falls_back_to_the_one_before(tmp_path: Path) -> None:
    with closing(Journal.create(tmp_path / "j")) as journal:
        journal.append(b"aaaa")
        journal.turn_over(b"first", cols=80, rows=24)
        journal.append(b"bbbb")
        journal.turn_over(b"second", cols=80, rows=24)
    newest = tmp_path / "j" / f"{8:020d}.snapshot"
    newest.write_bytes(newest.read_bytes()[:-1] + b"?")

    with closing(Journal.open(tmp_path / "j")) as journal:
        tail = journal.tail()

    assert (tail.base, tail.end, tail.snapshot, tail.exact) == (4, 8, b"first", True)


def test_a_tail_without_its_snapshot_says_that_it_is_not_exact(tmp_path: Path) -> None:
    with closing(Journal.create(tmp_path / "j", limit_bytes=8 * KIB)) as journal:
        for _ in range(12):
            journal.append(b"x" * KIB)
            journal.turn_over(b"state", cols=81, rows=25)
        for path in (tmp_path / "j").glob("*.snapshot"):
            path.write_bytes(b"short")

        tail = journal.tail()

    assert (tail.base, tail.snapshot, tail.exact) == (journal.start, None, False)
    assert (tail.cols, tail.rows) == (81, 25)


def test_turning_over_twice_at_one_offset_keeps_the_later_snapshot(tmp_path: Path) -> None:
    with closing(Journal.create(tmp_path / "j")) as journal:
        journal.turn_over(b"empty", cols=80, rows=24)
        journal.append(b"bytes")
        journal.turn_over(b"one", cols=80, rows=24)
        journal.turn_over(b"two", cols=81, rows=25)
        journal.append(b"more")

    with closing(Journal.open(tmp_path / "j")) as journal:
        tail = journal.tail()
        assert (tail.base, tail.snapshot, tail.cols, tail.rows) == (5, b"two", 81, 25)
        assert journal.read(0, 9) == b"bytesmore"


def test_a_snapshot_beyond_the_bound_is_refused_and_costs_nothing(tmp_path: Path) -> None:
    with closing(Journal.create(tmp_path / "j")) as journal:
        journal.append(b"bytes")

        with pytest.raises(Exhausted):
            journal.turn_over(bytes(MAX_SNAPSHOT_BYTES + 1), cols=80, rows=24)

        assert journal.read(0, 5) == b"bytes"


# --- threads ------------------------------------------------------------------


def test_a_thread_reads_what_is_there_while_the_owner_writes_and_drops(tmp_path: Path) -> None:
    stop = threading.Event()
    wrong: list[str] = []
    reads = 0
    journal = Journal.create(tmp_path / "j", limit_bytes=512 * KIB)

    def read() -> None:
        nonlocal reads
        while not stop.is_set():
            end = journal.end
            start = max(journal.start, end - 100 * KIB)
            try:
                content = journal.read(start, end)
            except OutputExpired:
                continue
            reads += 1
            if content != _numbered(start, end):
                wrong.append(f"{start}..{end}")

    reader = threading.Thread(target=read)
    reader.start()
    with closing(journal), pipe() as (source, writer):
        while journal.end < 4 << 20 or reads < 50:
            _write_all(writer, _numbered(journal.end, journal.end + 20 * KIB))
            fill_all(journal, source)
            if journal.wants_snapshot:
                journal.turn_over(b"state", cols=80, rows=24)
        stop.set()
        reader.join()

    assert wrong == []


def _numbered(start: int, end: int) -> bytes:
    """A stream in which every eight bytes tell their place within the period."""
    first = start % len(NUMBERED)
    return (NUMBERED * 2)[first : first + end - start]


NUMBERED = b"".join(b"%07d\n" % number for number in range(32 * KIB))


def test_what_was_printed_just_now_is_read_without_the_disk(tmp_path: Path) -> None:
    with closing(Journal.create(tmp_path / "j")) as journal, pipe() as (read_end, write_end):
        os.write(write_end, b"first ")
        fill_all(journal, read_end)
        os.write(write_end, b"second")
        fill_all(journal, read_end)
        for path in (tmp_path / "j").glob("*.segment"):
            path.unlink()

        assert journal.recent(3, 9) == journal.read(3, 9) == b"st sec"
        assert journal.recent(0, 12) == b"first second"


def test_what_is_recent_never_says_other_than_the_disk(tmp_path: Path) -> None:
    small = Journal.create(tmp_path / "j", limit_bytes=64 * KIB)
    with closing(small) as journal, pipe() as (read_end, write_end):
        compared = 0
        for number in range(40):
            piece = b"%d " % number * 200
            if number % 5 == 4:
                journal.append(piece)
            else:
                os.write(write_end, piece)
                fill_all(journal, read_end)
            if number % 7 == 6:
                journal.turn_over(b"snapshot", cols=80, rows=24)
            for start in range(journal.start, journal.end, 97):
                recent = journal.recent(start, journal.end)
                if recent is not None:
                    compared += 1
                    assert recent == b"".join(journal.chunks(start, journal.end))

        assert compared
        assert journal.recent(journal.end, journal.end) is None
        assert journal.recent(0, journal.end + 1) is None

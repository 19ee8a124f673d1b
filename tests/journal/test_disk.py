import os
import resource
import shutil
import subprocess
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from duetty.errors import OutputExpired, StateUnwritable
from duetty.ids import Offset
from duetty.journal import Journal, Span
from tests.journal.fakes import pipe

KIB = 1 << 10

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small tmpfs")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "duetty", disk], check=True)
    try:
        yield disk
    finally:
        subprocess.run(["umount", "--lazy", disk], check=True)


def fill_with(journal: Journal, content: bytes) -> bytes:
    """Send through a pipe, in pieces a pipe can hold; what the fills returned."""
    taken = b""
    with pipe() as (reader, writer):
        for at in range(0, len(content), 32 * KIB):
            os.write(writer, content[at : at + 32 * KIB])
            while (filled := journal.fill(reader)).view:
                taken += filled.view
    return taken


@needs_root
@pytest.mark.root
def test_a_full_disk_costs_a_gap_and_not_a_byte_of_what_is_shown(small_disk: Path) -> None:
    content = os.urandom(600 * KIB)
    with closing(Journal.create(small_disk / "j")) as journal:
        taken = fill_with(journal, content)

        (gap,) = journal.gaps
        assert taken == content
        assert journal.end == 600 * KIB
        assert journal.degraded == "No space left on device"
        assert gap.end == 600 * KIB
        assert journal.read(0, gap.start) == content[: gap.start]
        assert not journal.wants_snapshot
        assert not journal.tail().exact
        assert journal.tail().end == gap.start
        with pytest.raises(OutputExpired):
            journal.read(gap.start, gap.start + 1)
        with pytest.raises(OutputExpired):
            journal.read(gap.start - 10, gap.end)


@needs_root
@pytest.mark.root
def test_a_disk_with_room_again_is_used_after_a_snapshot(small_disk: Path) -> None:
    ballast = small_disk / "ballast"
    with closing(Journal.create(small_disk / "j")) as journal:
        ballast.write_bytes(bytes(140 * KIB))
        fill_with(journal, b"a" * 200 * KIB)
        refused = journal.retry()
        ballast.unlink()

        accepted = journal.retry()
        wanted = journal.wants_snapshot
        turned = journal.turn_over(b"state", cols=80, rows=24)
        fill_with(journal, b"after")

        (gap,) = journal.gaps
        assert (refused, accepted, wanted, turned) == (False, True, True, True)
        assert journal.degraded is None
        assert not journal.wants_snapshot
        assert gap.end == 200 * KIB
        assert journal.read(gap.end, journal.end) == b"after"
        assert (journal.tail().snapshot, journal.tail().exact) == (b"state", True)

    with closing(Journal.open(small_disk / "j")) as journal:
        assert journal.gaps == (gap,)
        assert journal.read(gap.end, journal.end) == b"after"


@needs_root
@pytest.mark.root
def test_a_full_disk_is_tried_again_unasked(small_disk: Path) -> None:
    ballast = small_disk / "ballast"
    with closing(Journal.create(small_disk / "j")) as journal:
        ballast.write_bytes(bytes(140 * KIB))
        fill_with(journal, b"a" * 200 * KIB)
        ballast.unlink()

        fill_with(journal, b"b" * (1100 * KIB))

        assert journal.wants_snapshot


@needs_root
@pytest.mark.root
def test_a_server_killed_while_the_disk_is_full_keeps_its_offsets(
    small_disk: Path, tmp_path: Path
) -> None:
    with closing(Journal.create(small_disk / "j")) as journal:
        fill_with(journal, b"a" * 300 * KIB)
        gaps = journal.gaps
        image = shutil.copytree(small_disk / "j", tmp_path / "image")

    with closing(Journal.open(image)) as found:
        assert found.end == 300 * KIB
        assert found.gaps == gaps
        assert found.degraded is not None
        assert found.wants_snapshot
        assert fill_with(found, b"not kept") == b"not kept"
        assert found.turn_over(b"state", cols=80, rows=24)
        assert fill_with(found, b"kept") == b"kept"
        assert found.degraded is None
        assert found.gaps == (Span(gaps[0].start, Offset(300 * KIB + 8)),)
        assert found.read(300 * KIB + 8, found.end) == b"kept"


@needs_root
@pytest.mark.root
def test_a_snapshot_that_does_not_fit_leaves_the_journal_going_on(small_disk: Path) -> None:
    with closing(Journal.create(small_disk / "j", limit_bytes=80 * KIB)) as journal:
        journal.append(b"a" * 20 * KIB)

        turned = journal.turn_over(bytes(300 * KIB), cols=80, rows=24)
        journal.append(b"b" * KIB)

        assert not turned
        assert journal.degraded is None
        assert not journal.wants_snapshot
        assert journal.read(0, journal.end) == b"a" * 20 * KIB + b"b" * KIB
        assert sorted(path.name for path in (small_disk / "j").iterdir()) == [
            f"{0:020d}.segment",
            "index",
        ]
        journal.append(b"c" * KIB)
        assert journal.wants_snapshot


@needs_root
@pytest.mark.root
def test_a_snapshot_that_does_not_fit_after_a_gap_is_asked_for_again(small_disk: Path) -> None:
    ballast = small_disk / "ballast"
    with closing(Journal.create(small_disk / "j")) as journal:
        ballast.write_bytes(bytes(140 * KIB))
        fill_with(journal, b"a" * 200 * KIB)
        ballast.unlink()
        journal.retry()

        refused = journal.turn_over(bytes(300 * KIB), cols=80, rows=24)
        wanted = journal.wants_snapshot

        assert (refused, wanted) == (False, False)
        assert journal.degraded == "No space left on device"
        assert journal.retry()
        assert journal.turn_over(b"small", cols=80, rows=24)
        assert journal.degraded is None


@needs_root
@pytest.mark.root
def test_an_append_that_does_not_fit_is_a_gap(small_disk: Path) -> None:
    with closing(Journal.create(small_disk / "j")) as journal:
        journal.append(b"a" * KIB)
        journal.append(b"b" * 300 * KIB)
        journal.append(b"c")

        assert journal.degraded == "No space left on device"
        assert journal.gaps == (Span(Offset(KIB), Offset(301 * KIB + 1)),)


@needs_root
@pytest.mark.root
def test_a_size_told_while_the_disk_is_full_is_written_later(small_disk: Path) -> None:
    ballast = small_disk / "ballast"
    with closing(Journal.create(small_disk / "j")) as journal:
        room = os.statvfs(small_disk)
        ballast.write_bytes(bytes(room.f_bavail * room.f_frsize))
        journal.note_size(cols=80, rows=24)
        journal.append(b"x")
        journal.note_size(cols=81, rows=25)
        ballast.unlink()
        journal.note_size(cols=82, rows=26)

    with closing(Journal.open(small_disk / "j")) as journal:
        assert [size.cols for size in journal.sizes_since(0)] == [80, 81, 82]


@needs_root
@pytest.mark.root
def test_a_journal_that_does_not_fit_at_all_is_not_made(small_disk: Path) -> None:
    (small_disk / "ballast").write_bytes(bytes(252 * KIB))

    with pytest.raises(StateUnwritable):
        Journal.create(small_disk / "j")

    assert list((small_disk / "j").glob("*.segment")) == []


@needs_root
@pytest.mark.root
def test_a_journal_on_a_read_only_disk_cannot_be_opened_for_writing(small_disk: Path) -> None:
    Journal.create(small_disk / "j").close()
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)

    with pytest.raises(StateUnwritable) as caught:
        Journal.open(small_disk / "j")

    assert caught.value.details == {"path": str(small_disk / "j")}


def test_a_segment_cut_by_someone_else_is_a_gap_and_not_a_crash(tmp_path: Path) -> None:
    with closing(Journal.create(tmp_path / "j")) as journal:
        fill_with(journal, b"before")
        os.truncate(tmp_path / "j" / f"{0:020d}.segment", 4096)

        with pipe() as (reader, writer):
            os.write(writer, b"shown all the same")
            failed = journal.fill(reader)
            taken = journal.fill(reader)
        more = fill_with(journal, b"x" * 40 * KIB)

        assert (bytes(failed.view), failed.ended) == (b"", False)
        assert bytes(taken.view) == b"shown all the same"
        assert more == b"x" * 40 * KIB
        assert journal.degraded is not None
        with pytest.raises(OutputExpired):
            journal.read(0, 6)


def test_a_directory_removed_by_someone_else_is_a_gap_and_not_a_crash(tmp_path: Path) -> None:
    with closing(Journal.create(tmp_path / "j", limit_bytes=80 * KIB)) as journal:
        fill_with(journal, b"a" * 20 * KIB)
        shutil.rmtree(tmp_path / "j")

        assert journal.turn_over(b"state", cols=80, rows=24) is False
        assert fill_with(journal, b"b" * 20 * KIB) == b"b" * 20 * KIB
        assert journal.times(0, 10) == []
        with pytest.raises(OutputExpired):
            journal.read(0, 6)


def test_a_process_without_descriptors_keeps_every_byte(tmp_path: Path) -> None:
    content = os.urandom(200 * KIB)
    with closing(Journal.create(tmp_path / "j")) as journal, pipe() as (reader, writer):
        taken = b""
        with no_descriptors():
            for at in range(0, len(content), 32 * KIB):
                os.write(writer, content[at : at + 32 * KIB])
                while (filled := journal.fill(reader)).view:
                    taken += filled.view
            ahead = journal.open_intake(reader)
        more = fill_with(journal, b"and after")

        assert journal.degraded is None
        assert ahead is None
        assert taken == content
        assert more == b"and after"
        assert journal.gaps == ()
        assert journal.read(0, journal.end) == content + b"and after"


@contextmanager
def no_descriptors() -> Generator[None]:
    """Nothing can be opened or duplicated."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken = [os.dup(0)]
    resource.setrlimit(resource.RLIMIT_NOFILE, (taken[0] + 64, hard))
    try:
        with suppress(OSError):
            while True:
                taken.append(os.dup(0))
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for fd in taken:
            os.close(fd)

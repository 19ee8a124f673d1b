"""Whatever is done to the files of a trail is told: while a server writes it, and after the next start."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duetty.audit import Filters, Limits, Trail, Verified, export, records, verify
from duetty.audit.files import path_of
from duetty.audit.record import GENESIS, line_of, parse_line
from duetty.clock import SystemClock
from duetty.errors import TrailUnreadable
from duetty.store import TrailAnchor
from tests.audit.remembering import RememberingStore

CLOCK = SystemClock()
LIMITS = Limits(file_bytes=1_200, files=100)
RECORDS = 21

Tamper = Callable[[list[Path]], object]


def lines_of(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


def forged(line: bytes, **fields: object) -> bytes:
    """The same place in the chain, with a hash that is its own."""
    record = parse_line(line)
    assert record is not None
    return line_of(record.seq, record.prev, record.at_ns, "call", fields)[0]


def chain(count: int) -> list[bytes]:
    made: list[bytes] = []
    prev = GENESIS
    for seq in range(1, count + 1):
        line, prev = line_of(seq, prev, 1, "call", {"operation": "session.list"})
        made.append(line)
    return made


def on_lines(at: int, change: Callable[[list[bytes]], object]) -> Tamper:
    def tamper(files: list[Path]) -> None:
        lines = lines_of(files[at])
        change(lines)
        files[at].write_bytes(b"".join(lines))

    return tamper


def edit(lines: list[bytes], at: int) -> None:
    lines[at] = lines[at].replace(b'"kind":"', b'"kind":"x')


def forge(lines: list[bytes], at: int) -> None:
    lines[at] = forged(lines[at], operation="session.list")


def swap(lines: list[bytes], at: int) -> None:
    lines[at], lines[at + 1] = lines[at + 1], lines[at]


def swap_files(files: list[Path]) -> None:
    first, second = files[1].read_bytes(), files[2].read_bytes()
    files[1].write_bytes(second)
    files[2].write_bytes(first)


def swap_with_newest(files: list[Path]) -> None:
    first, last = files[0].read_bytes(), files[-1].read_bytes()
    files[0].write_bytes(last)
    files[-1].write_bytes(first)


def delete_all(files: list[Path]) -> None:
    for path in files:
        path.unlink()


def rewrite(files: list[Path], *, more: int) -> None:
    count = sum(len(lines_of(path)) for path in files)
    delete_all(files)
    files[0].write_bytes(b"".join(chain(count + more)))


def copy_newest(files: list[Path]) -> None:
    number = int(files[-1].stem.removeprefix("trail-")) + 1
    shutil.copyfile(files[-1], files[-1].with_name(f"trail-{number:06}.jsonl"))


TAMPERINGS: dict[str, Tamper] = {
    "edit one": on_lines(1, lambda lines: edit(lines, 1)),
    "edit the first": on_lines(0, lambda lines: edit(lines, 0)),
    "edit the last": on_lines(-1, lambda lines: edit(lines, -1)),
    "forge one": on_lines(1, lambda lines: forge(lines, 1)),
    "forge the last": on_lines(-1, lambda lines: forge(lines, -1)),
    "delete one": on_lines(1, lambda lines: lines.pop(1)),
    "delete the first": on_lines(0, lambda lines: lines.pop(0)),
    "delete the last": on_lines(-1, lambda lines: lines.pop()),
    "delete before a boundary": on_lines(1, lambda lines: lines.pop()),
    "delete after a boundary": on_lines(2, lambda lines: lines.pop(0)),
    "swap two": on_lines(1, lambda lines: swap(lines, 0)),
    "duplicate one": on_lines(1, lambda lines: lines.insert(1, lines[1])),
    "duplicate the last": on_lines(-1, lambda lines: lines.append(lines[-1])),
    "insert junk": on_lines(1, lambda lines: lines.insert(1, b"junk\n")),
    "insert junk first": on_lines(0, lambda lines: lines.insert(0, b"junk\n")),
    "insert junk last": on_lines(-1, lambda lines: lines.append(b"junk\n")),
    "insert a forged one": on_lines(1, lambda lines: lines.insert(1, forged(lines[1], x=1))),
    "cut within a line": on_lines(-1, lambda lines: lines.append(lines.pop()[:40])),
    "cut within a line of an old file": on_lines(1, lambda lines: lines.append(lines.pop()[:40])),
    "cut within a line, edit the one before": on_lines(
        -1, lambda lines: (edit(lines, -2), lines.append(lines.pop()[:40]))
    ),
    "empty the newest file": on_lines(-1, lambda lines: lines.clear()),
    "empty the first file": on_lines(0, lambda lines: lines.clear()),
    "delete the first file": lambda files: files[0].unlink(),
    "delete a file": lambda files: files[2].unlink(),
    "delete the newest file": lambda files: files[-1].unlink(),
    "delete all but the first file": lambda files: delete_all(files[1:]),
    "delete all files": delete_all,
    "swap files": swap_files,
    "swap with the newest file": swap_with_newest,
    "copy the newest file": copy_newest,
    "rewrite it all": lambda files: rewrite(files, more=0),
    "rewrite it all and more": lambda files: rewrite(files, more=5),
}


@pytest.fixture
def directory() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name) / "t"


def opened(directory: Path, store: RememberingStore, limits: Limits = LIMITS) -> Trail:
    return Trail(directory, clock=CLOCK, limits=limits, store=store, sync_s=60)


def write(trail: Trail, count: int = RECORDS) -> None:
    for number in range(count):
        trail.record("call", operation="command.run", arguments={"input": f"echo {number}"})


def files(directory: Path) -> list[Path]:
    return sorted(directory.iterdir())


def problems(checked: Verified) -> list[tuple[str, int, int | None, str]]:
    return [(each.file, each.line, each.seq, each.what) for each in checked.problems]


@pytest.mark.parametrize("tamper", TAMPERINGS.values(), ids=TAMPERINGS.keys())
def test_tampering_with_a_trail_that_is_written_is_told(directory: Path, tamper: Tamper) -> None:
    store = RememberingStore()
    with opened(directory, store) as trail:
        write(trail)
        trail.sync()
        assert verify(directory, store.trail_anchor).intact
        tamper(files(directory))

        at_once = verify(directory, store.trail_anchor)
        write(trail, 1)
        trail.sync()
        later = verify(directory, store.trail_anchor)
    with opened(directory, store):
        after_a_start = verify(directory, store.trail_anchor)

    assert [each.intact for each in (at_once, later, after_a_start)] == [False] * 3


@pytest.mark.parametrize("tamper", TAMPERINGS.values(), ids=TAMPERINGS.keys())
def test_tampering_while_no_server_runs_is_told_after_every_start(
    directory: Path, tamper: Tamper
) -> None:
    store = RememberingStore()
    with opened(directory, store) as trail:
        write(trail)
    tamper(files(directory))

    told = [verify(directory, store.trail_anchor)]
    for _ in range(3):
        with opened(directory, store) as trail:
            write(trail, 2)
            told.append(verify(directory, store.trail_anchor))

    assert [each.intact for each in told] == [False] * 4


@pytest.mark.parametrize(
    ("tamper", "file", "line", "what"),
    [
        ("delete all files", 1, 1, "records 1 to 23 were missing from the end when"),
        ("delete the first file", 2, 1, "records 1 to 4 were missing from the beginning when"),
        ("delete the newest file", 6, 1, "records 21 to 23 were missing from the end when"),
        ("delete the last", 6, 3, "record 23 was missing from the end when"),
        ("cut within a line", 6, 3, "record 23 was missing from the end when"),
        ("forge the last", 6, 4, "record 23 was not the one that the database remembered when"),
        ("edit the last", 6, 3, "the record was changed: its hash is not its own"),
        ("delete before a boundary", 3, 1, "record 8 should stand here, not 9: record 8 is miss"),
        ("delete a file", 4, 1, "number 3, is gone: records 9 to 12 are missing"),
    ],
)
def test_after_a_start_the_place_and_the_missing_records_are_named_once(
    directory: Path, tamper: str, file: int, line: int, what: str
) -> None:
    store = RememberingStore()
    with opened(directory, store) as trail:
        write(trail)
    TAMPERINGS[tamper](files(directory))

    with opened(directory, store) as trail:
        [problem] = verify(directory, store.trail_anchor).problems

    assert (problem.file, problem.line) == (f"trail-{file:06}.jsonl", line)
    assert what in problem.what


@pytest.mark.parametrize(
    ("tamper", "file", "line", "what"),
    [
        ("delete all files", 1, 1, "the end is missing: the store remembers records 1 to 23"),
        ("delete the first file", 2, 1, "the beginning is missing: the store remembers records 1"),
        ("delete the newest file", 5, 5, "the end is missing: the store remembers records 21 to"),
        ("delete the last", 6, 3, "the end is missing: the store remembers record 23"),
    ],
)
def test_without_a_server_the_place_and_the_missing_records_are_named(
    directory: Path, tamper: str, file: int, line: int, what: str
) -> None:
    store = RememberingStore()
    with opened(directory, store) as trail:
        write(trail)
    TAMPERINGS[tamper](files(directory))

    [problem] = verify(directory, store.trail_anchor).problems

    assert (problem.file, problem.line) == (f"trail-{file:06}.jsonl", line)
    assert what in problem.what


@pytest.mark.parametrize("replaced", [False, True])
def test_a_file_that_is_taken_away_from_a_server_is_told_and_left(
    directory: Path, replaced: bool
) -> None:
    store = RememberingStore()
    with opened(directory, store) as trail:
        write(trail)
        trail.sync()
        newest = files(directory)[-1]
        kept = newest.read_bytes()
        newest.unlink()
        if replaced:
            newest.write_bytes(kept)
        write(trail, 1)
        trail.sync()
        write(trail, 1)

        [problem] = verify(directory, store.trail_anchor).problems
        assert "taken away with their file while the server ran" in str(trail.degraded)
    with opened(directory, store):
        [same] = verify(directory, store.trail_anchor).problems

    missing = "record 23 was" if replaced else "records 21 to 23 were"
    assert f"{missing} taken away with their file while the server ran, at" in problem.what
    assert same == problem


def test_a_first_file_taken_away_together_with_the_newest_is_told_too(directory: Path) -> None:
    store = RememberingStore()
    with opened(directory, store) as trail:
        write(trail)
        trail.sync()
        files(directory)[-1].unlink()
        files(directory)[0].unlink()
        write(trail, 1)
        trail.sync()
        live = [each[2] for each in problems(verify(directory, store.trail_anchor))]
    with opened(directory, store):
        started = [each[2] for each in problems(verify(directory, store.trail_anchor))]

    assert live == started == [1, 21]


def test_records_that_were_put_back_are_no_problem_any_more(directory: Path) -> None:
    store = RememberingStore()
    with opened(directory, store, Limits()) as trail:
        write(trail)
    [path] = files(directory)
    whole = path.read_bytes()
    path.write_bytes(b"".join(lines_of(path)[:-4]))
    cut = len(path.read_bytes())
    with opened(directory, store, Limits()):
        pass
    assert not verify(directory, store.trail_anchor).intact

    path.write_bytes(whole + path.read_bytes()[cut:])

    assert verify(directory, store.trail_anchor).intact


def test_a_server_killed_right_after_it_told_of_a_cut_does_not_tell_it_twice(
    directory: Path,
) -> None:
    store = RememberingStore()
    with opened(directory, store) as trail:
        write(trail)
    TAMPERINGS["delete the newest file"](files(directory))
    killed = RememberingStore(store.anchor)
    with opened(directory, killed):
        told = verify(directory, store.trail_anchor).problems

    with opened(directory, store):  # which knows nothing of what the killed one wrote
        pass

    assert verify(directory, store.trail_anchor).problems == told


def test_a_trail_that_the_store_forgot_is_told(directory: Path) -> None:
    with opened(directory, RememberingStore()) as trail:
        write(trail)
    store = RememberingStore()

    alone = problems(verify(directory, store.trail_anchor))
    with opened(directory, store):
        pass
    with opened(directory, store):
        [after] = problems(verify(directory, store.trail_anchor))

    assert [each[3] for each in alone] == [
        "the store remembers nothing of this trail: what is missing is unknown"
    ]
    assert "the database remembered nothing of the trail when the server started" in after[3]


def test_nothing_is_told_of_a_trail_that_never_was(directory: Path) -> None:
    store = RememberingStore()

    assert verify(directory, store.trail_anchor).intact
    with opened(directory, store) as trail:
        assert trail.degraded is None
        assert verify(directory, store.trail_anchor).intact


class Recalling(RememberingStore):
    """Everything that it was ever told."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[TrailAnchor] = []

    def anchor_trail(self, anchor: TrailAnchor) -> None:
        super().anchor_trail(anchor)
        self.told.append(anchor)


@given(st.data())
def test_a_crash_is_never_told_as_tampering(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name) / "t"
        store = Recalling()
        with opened(directory, store, Limits()) as trail:
            for _ in range(data.draw(st.integers(1, 4))):
                write(trail, data.draw(st.integers(1, 4)))
                trail.sync()
        [path] = files(directory)
        anchor = data.draw(st.sampled_from(store.told))
        on_disk = sum(len(each) for each in lines_of(path)[: anchor.head_seq])
        path.write_bytes(path.read_bytes()[: data.draw(st.integers(on_disk, path.stat().st_size))])
        after = RememberingStore(anchor)

        alone = verify(directory, after.trail_anchor)
        with opened(directory, after, Limits()) as trail:
            assert trail.degraded is None
        again = verify(directory, after.trail_anchor)

        assert (alone.problems, again.problems) == ((), ())


@given(st.data())
def test_no_change_of_bytes_goes_unnoticed(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name) / "t"
        store = RememberingStore()
        with opened(directory, store) as trail:
            write(trail, 6)
        path = data.draw(st.sampled_from(files(directory)))
        before = path.read_bytes()
        begin = data.draw(st.integers(0, len(before)))
        end = data.draw(st.integers(begin, min(len(before), begin + 400)))
        put = data.draw(st.binary(max_size=20) | st.sampled_from([b"\n", b"{}\n", before[:400]]))
        after = before[:begin] + put + before[end:]
        path.write_bytes(after)
        added = after.removeprefix(before)
        is_half_line = after.startswith(before) and b"\n" not in added
        is_newest = path == files(directory)[-1]

        with opened(directory, store):
            intact = verify(directory, store.trail_anchor).intact

        assert intact == (after == before or (is_half_line and is_newest))


def test_a_file_that_cannot_be_read_is_named_and_the_others_are_told(tmp_path: Path) -> None:
    first, second, third = (path_of(tmp_path, number) for number in (1, 2, 3))
    made = chain(3)
    first.write_bytes(made[0])
    second.mkdir()
    third.write_bytes(made[2])

    found = verify(tmp_path)
    listed = records(tmp_path, Filters(), limit=10)
    with pytest.raises(TrailUnreadable) as told:
        list(export(tmp_path))

    assert [(each.file, each.what) for each in found.problems] == [
        (second.name, "it cannot be read: Is a directory"),
        (third.name, "the file before it, number 2, cannot be read: record 2 is missing"),
    ]
    assert [each.seq for each in listed] == [3, 1]
    assert told.value.code == "trail_unreadable"

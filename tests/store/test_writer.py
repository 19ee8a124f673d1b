"""The writer when the disk refuses, when text is slow, and when the process is killed."""

import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from duetty.clock import SystemClock
from duetty.errors import StateUnwritable, StoreUnavailable
from duetty.store import Dropped, Limits, Store, blocks
from duetty.store.database import open_database
from duetty.store.writer import Writer
from tests.store.records import a_block, a_session

TEXT = "some words of output " * 400
MOST_TRIES = 20


class FullDisk:
    """A database that may not grow, by SQLite's own bound: the error is the real one."""

    def __init__(self, path: Path, *, limits: Limits) -> None:
        self.connection, _ = open_database(path, clock=SystemClock())
        self.connection.execute("PRAGMA max_page_count = 1")
        self.writer = Writer(self.connection, path, limits=limits, clock=SystemClock())

    def make_room(self) -> None:
        self.connection.execute("PRAGMA max_page_count = 1000000")


def test_writes_wait_while_the_disk_is_full_and_arrive_when_there_is_room(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    disk = FullDisk(path, limits=Limits())
    for number in range(10):
        disk.writer.put_block(a_block(number), TEXT)
    assert not disk.writer.flush(0.3)
    assert disk.writer.degraded == f"{path}: database or disk is full"

    disk.make_room()

    assert disk.writer.flush(5)
    assert (disk.writer.degraded, disk.writer.dropped) == (None, Dropped())
    assert disk.writer.close(5)
    with Store.open_readonly(path) as reader:
        assert [block.number for block in reader.blocks()] == list(range(9, -1, -1))
        assert len(reader.search("words")) == 10


def test_who_reads_while_the_disk_is_full_waits_for_one_try_only(tmp_path: Path) -> None:
    disk = FullDisk(tmp_path / "store.db", limits=Limits())
    disk.writer.put_block(a_block(1), TEXT)
    began_s = time.monotonic()

    written = disk.writer.flush(20), disk.writer.flush(20)

    assert (written, time.monotonic() - began_s < 20) == ((False, False), True)
    disk.make_room()
    assert disk.writer.close(5)


def test_text_is_given_up_before_blocks_while_the_disk_is_full(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    disk = FullDisk(path, limits=Limits(queued_blocks=10, queued_texts=3))
    for number in range(12):
        disk.writer.put_block(a_block(number), lambda: TEXT)
    assert not disk.writer.flush(0.3)

    disk.make_room()

    assert disk.writer.flush(5)
    assert disk.writer.dropped == Dropped(texts=9, blocks=2)
    assert disk.writer.close(5)
    with Store.open_readonly(path) as reader:
        texts = {block.number: reader.output_text(block.id) for block in reader.blocks()}
    assert texts == dict.fromkeys(range(2, 9)) | dict.fromkeys(range(9, 12), TEXT)


def test_closing_a_store_whose_disk_stays_full_ends_and_tells(tmp_path: Path) -> None:
    disk = FullDisk(tmp_path / "store.db", limits=Limits())
    disk.writer.put_block(a_block(1), TEXT)

    assert not disk.writer.close(5)


def test_reads_go_on_while_the_disk_is_full(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with Store.open(path) as store:
        store.save_block(a_block(1), "kept")
    disk = FullDisk(path, limits=Limits())
    disk.writer.put_block(a_block(2), TEXT)
    assert not disk.writer.flush(0.3)

    with Store.open_readonly(path) as reader:
        assert [hit.block for hit in reader.search("kept")] == [a_block(1)]

    disk.make_room()
    assert disk.writer.close(5)


def damage_index(path: Path, statement: str) -> None:
    with Store.open(path) as store:
        store.save_session(a_session())
        for number in range(50):
            store.save_block(a_block(number), f"word{number}")
    with sqlite3.connect(path) as connection:
        connection.execute(statement)
    connection.close()


def test_an_index_found_damaged_is_made_anew_at_the_next_opening(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    damage_index(path, "DELETE FROM block_index_data WHERE id > 10")
    with Store.open(path) as store, pytest.raises(StoreUnavailable):
        store.search("word7")

    with Store.open(path) as again:
        assert again.repaired is None
        assert [hit.block.number for hit in again.search("word7")] == [7]
    assert not list(tmp_path.glob("*.damaged"))


def test_damage_met_while_writing_degrades_the_store_and_is_mended_at_the_next_opening(
    tmp_path: Path,
) -> None:
    path = tmp_path / "store.db"
    damage_index(path, "DELETE FROM block_index_data")
    store = Store.open(path)
    store.save_block(a_block(50))
    assert not store.flush(within_s=0.3)
    assert store.degraded is not None
    assert len(store.blocks()) == 50
    store.close()

    with Store.open(path) as again:
        assert again.repaired is not None
        assert again.sessions() == [a_session()]
        again.save_block(a_block(50), "other")
        assert again.flush()
        assert [hit.block.number for hit in again.search("other")] == [50]


def test_blocks_saved_while_text_is_being_made_arrive_too(tmp_path: Path) -> None:
    asked, answer = threading.Event(), threading.Event()

    def slow() -> str:
        asked.set()
        assert answer.wait(60)
        return "slow"

    with Store.open(tmp_path / "store.db") as store:
        store.save_block(a_block(1), slow)
        assert asked.wait(60)
        store.save_block(a_block(2), lambda: "quick")
        answer.set()

        assert store.flush()
        assert store.output_text(a_block(1).id) == "slow"
        assert store.output_text(a_block(2).id) == "quick"


def test_text_left_for_a_later_batch_still_arrives(tmp_path: Path) -> None:
    class SlowClock:
        """Every look at it takes 30 ms, so that a batch has time for one text."""

        looks = 0

        def monotonic_s(self) -> float:
            self.looks += 1
            return self.looks * 0.03

        def wall_ns(self) -> int:
            return 0

    with Store.open(tmp_path / "store.db", clock=SlowClock()) as store:
        for number in range(20):
            store.save_block(a_block(number), lambda number=number: f"text{number}")

        assert store.flush()
        texts = [store.output_text(a_block(number).id) for number in range(20)]
        assert texts == [f"text{number}" for number in range(20)]
        assert len(store.search("text7")) == 1


def test_text_longer_than_the_index_takes_is_cut(tmp_path: Path) -> None:
    with Store.open(tmp_path / "store.db") as store:
        store.save_block(a_block(1), lambda: "x" * (blocks.MAX_OUTPUT_CHARS + 1))

        assert store.flush()
        assert len(store.output_text(a_block(1).id) or "") == blocks.MAX_OUTPUT_CHARS


_WRITE_FOR_EVER = """
import itertools, sys
from pathlib import Path
from duetty.store import Store
from tests.store.records import a_block

store = Store.open(Path(sys.argv[1]))
for number in itertools.count():
    store.save_block(a_block(number), f"text{number} " * 50)
    if number % 100 == 99:
        assert store.flush()
        print(number, flush=True)
"""


def test_a_writer_killed_while_writing_loses_nothing_that_was_on_disk(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    child = subprocess.Popen(
        [sys.executable, "-c", _WRITE_FOR_EVER, str(path)],
        stdout=subprocess.PIPE,
        env={"PYTHONPATH": ":".join(sys.path)},
    )
    assert child.stdout is not None
    with child, child.stdout:
        promised = [int(child.stdout.readline()) for _ in range(5)][-1]
        child.send_signal(signal.SIGKILL)

    with Store.open(path) as store:
        assert store.repaired is None
        assert len(store.search("text*", limit=1_000)) > promised
        assert store.output_text(a_block(promised).id) == f"text{promised} " * 50
        store.save_block(a_block(1_000_000), "afterwards")
        assert store.flush()
        assert len(store.search("afterwards")) == 1
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        connection.execute("INSERT INTO block_index (block_index) VALUES ('integrity-check')")
    connection.close()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)], capture_output=True
    )
    if mounted.returncode != 0:
        pytest.skip("needs root: cannot mount a small tmpfs")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


@pytest.mark.root
def test_a_disk_that_fills_up_degrades_the_store_until_space_returns(small_disk: Path) -> None:
    with Store.open(small_disk / "store.db") as store:
        store.save_session(a_session())
        assert store.flush()
        filler = small_disk / "filler"
        filled = subprocess.run(["dd", "if=/dev/zero", f"of={filler}"], capture_output=True)
        assert b"No space" in filled.stderr
        for number in range(20):
            store.save_block(a_block(number), TEXT)
        assert not store.flush(within_s=0.5)
        assert store.degraded is not None
        assert store.sessions() == [a_session()]

        filler.unlink()

        assert store.flush(within_s=60)
        assert (store.degraded, store.dropped) == (None, Dropped())
        assert len(store.search("words")) == 20


@pytest.mark.root
def test_a_disk_that_cannot_be_written_is_named_when_the_store_is_opened(small_disk: Path) -> None:
    path = small_disk / "store.db"
    Store.open(path).close()
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)

    with pytest.raises(StateUnwritable) as caught:
        Store.open(path)

    assert caught.value.details == {"path": str(path)}


def test_what_a_thread_hands_over_is_begun_when_that_thread_says_so(tmp_path: Path) -> None:
    asked: list[Callable[[], None]] = []
    path = tmp_path / "store.db"
    with Store.open(path) as store, Store.open_readonly(path) as reader:
        store.wake_later(asked.append)
        number = 0
        before: set[int] = set()
        # It begins by itself what it is handed while it is awake.
        while len(before) == number < MOST_TRIES:
            assert store.flush()
            time.sleep(0.1)
            number += 1
            store.save_block(a_block(number))
            time.sleep(0.1)
            before = {block.number for block in reader.blocks()}
        asked[-1]()
        deadline_s = time.monotonic() + 60
        while {block.number for block in reader.blocks()} == before:
            assert time.monotonic() < deadline_s
            time.sleep(0.01)
        after = {block.number for block in reader.blocks()}

    assert before == set(range(1, number))
    assert after == {*before, number}


def test_what_another_thread_hands_over_is_begun_at_once(tmp_path: Path) -> None:
    asked: list[Callable[[], None]] = []
    path = tmp_path / "store.db"
    with Store.open(path) as store:
        store.wake_later(asked.append)
        other = threading.Thread(target=lambda: store.save_block(a_block(1)))
        other.start()
        other.join()
        deadline_s = time.monotonic() + 60
        with Store.open_readonly(path) as reader:
            while not reader.blocks():
                assert time.monotonic() < deadline_s
                time.sleep(0.01)

    assert asked == []

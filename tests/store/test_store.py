"""The store as its callers see it."""

import os
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from duetty.errors import BlockNotFound, StateUnwritable, StoreUnavailable
from duetty.ids import BlockId, SessionId
from duetty.store import Dropped, Limits, Store
from tests.store.records import SESSION, a_block, a_session


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "store.db") as store:
        yield store


def test_a_session_comes_back_as_it_was_saved(store: Store) -> None:
    store.save_session(a_session())

    assert store.flush()
    assert store.sessions() == [a_session()]


def test_a_session_saved_again_is_changed_not_doubled(store: Store) -> None:
    exited = replace(a_session(), exited_at_ns=2_000, exit_code=None, exit_signal=9)
    store.save_session(a_session())
    assert store.flush()

    store.save_session(exited)

    assert store.flush()
    assert store.sessions() == [exited]


def test_a_deleted_session_leaves_its_blocks_in_the_history(store: Store) -> None:
    store.save_session(a_session())
    store.save_block(a_block(1))
    assert store.flush()

    store.delete_session(SESSION)

    assert store.flush()
    assert store.sessions() == []
    assert store.blocks(SESSION) == [a_block(1)]


def test_a_session_saved_and_deleted_in_one_breath_is_gone(store: Store) -> None:
    store.save_session(a_session())
    store.delete_session(SESSION)

    assert store.flush()
    assert store.sessions() == []


def test_an_argument_that_is_no_utf8_comes_back_unchanged(store: Store) -> None:
    odd = replace(a_session(), command=("cat", os.fsdecode(b"\xe9t\xe9.txt")))
    store.save_session(odd)

    assert store.flush()
    assert store.sessions() == [odd]


def test_a_nonce_is_never_shown() -> None:
    assert "0123456789abcdef" not in repr(a_session())


def test_blocks_come_back_newest_first_and_page_on(store: Store) -> None:
    for number in range(1, 6):
        store.save_block(a_block(number))
    assert store.flush()

    first = store.blocks(limit=2)
    second = store.blocks(before=first[-1].id, limit=2)

    assert first == [a_block(5), a_block(4)]
    assert second == [a_block(3), a_block(2)]


def test_the_blocks_of_one_session_are_only_its_own(store: Store) -> None:
    other = a_block(1, session=SessionId("0ther"))
    store.save_block(a_block(1))
    store.save_block(other)

    assert store.flush()
    assert store.blocks(SessionId("0ther")) == [other]


def test_a_page_before_an_unknown_block_is_refused(store: Store) -> None:
    with pytest.raises(BlockNotFound):
        store.blocks(before=BlockId("nothing-1"))


def test_a_limit_below_zero_gives_nothing_rather_than_everything(store: Store) -> None:
    store.save_block(a_block(1))
    assert store.flush()

    assert store.blocks(limit=-1) == []
    assert store.search("make", limit=-1) == []


def test_a_running_block_is_completed_in_place(store: Store) -> None:
    running = replace(a_block(1), exit_code=None, finished_at_ns=None, state="running")
    store.save_block(running)
    assert store.flush()
    assert store.block(running.id) == running

    store.save_block(a_block(1), "12 passed")

    assert store.flush()
    assert store.blocks() == [a_block(1)]
    assert store.output_text(running.id) == "12 passed"


def test_a_block_saved_again_without_text_keeps_the_text_it_has(store: Store) -> None:
    store.save_block(a_block(1), "12 passed")
    assert store.flush()

    store.save_block(a_block(1, "make check"))

    assert store.flush()
    assert store.output_text(a_block(1).id) == "12 passed"
    assert [hit.block for hit in store.search("check passed")] == [a_block(1, "make check")]
    assert store.search("test") == []


def test_an_unknown_block_is_not_found(store: Store) -> None:
    with pytest.raises(BlockNotFound):
        store.block(BlockId("nothing-1"))
    with pytest.raises(BlockNotFound):
        store.output_text(BlockId("nothing-1"))


def test_text_is_made_in_the_writer_thread_and_found(store: Store) -> None:
    store.save_block(a_block(1), lambda: "made later")

    assert store.flush()
    assert store.output_text(a_block(1).id) == "made later"


def test_text_that_cannot_be_made_costs_the_text_not_the_block(store: Store) -> None:
    def broken() -> str:
        raise RuntimeError("the journal turned over")

    store.save_block(a_block(1), broken)

    assert store.flush()
    assert store.block(a_block(1).id) == a_block(1)
    assert store.output_text(a_block(1).id) is None
    assert store.dropped == Dropped(texts=1)


def test_text_with_bytes_that_were_no_utf8_is_kept(store: Store) -> None:
    store.save_block(a_block(1, "cat \udcff x"), "\udce9t\udce9 x\0end")

    assert store.flush()
    assert store.block(a_block(1).id) == a_block(1, "cat ? x")
    assert store.output_text(a_block(1).id) == "?t? x\0end"
    assert store.dropped == Dropped()


def test_a_write_the_database_cannot_take_costs_only_itself(store: Store) -> None:
    store.save_block(a_block(1))
    store.save_block(replace(a_block(2), exit_code=2**70))
    store.save_block(a_block(3))

    assert store.flush()
    assert store.blocks() == [a_block(3), a_block(1)]
    assert store.dropped == Dropped(refused=1)
    assert store.degraded is None


def test_a_thousand_blocks_are_all_there_after_a_flush(store: Store) -> None:
    for number in range(1_000):
        store.save_block(a_block(number), f"line {number}")

    assert store.flush()
    assert len(store.blocks(limit=1_000)) == 1_000
    assert store.dropped == Dropped()


def test_reads_from_many_threads_pass_while_blocks_are_written(store: Store) -> None:
    with ThreadPoolExecutor(8) as threads:
        found = [threads.submit(store.search, "line") for _ in range(50)]
        for number in range(500):
            store.save_block(a_block(number), f"line {number}")
        found += [threads.submit(store.search, "line") for _ in range(50)]

    assert all(len(hits.result()) <= 20 for hits in found)


def test_everything_handed_over_is_on_disk_after_closing(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with Store.open(path) as store:
        for number in range(100):
            store.save_block(a_block(number))

    with Store.open(path) as again:
        assert len(again.blocks(limit=1_000)) == 100


def test_a_closed_store_says_so(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "store.db")
    store.close()

    with pytest.raises(StoreUnavailable):
        store.sessions()


def test_only_the_newest_blocks_are_kept(tmp_path: Path) -> None:
    with Store.open(tmp_path / "store.db", limits=Limits(blocks=10)) as store:
        for number in range(1, 501):
            store.save_block(a_block(number, f"echo number{number}"))

        assert store.flush()
        assert [block.number for block in store.blocks()] == list(range(500, 490, -1))
        assert store.search("number490") == []
        assert len(store.search("number491")) == 1


def test_the_oldest_text_goes_first_and_leaves_its_command_line(tmp_path: Path) -> None:
    with Store.open(tmp_path / "store.db", limits=Limits(text_bytes=3_000)) as store:
        for number in range(1, 6):
            store.save_block(a_block(number, f"echo {number}"), f"word{number} " * 140)

        assert store.flush()
        kept = [store.output_text(a_block(number).id) is not None for number in range(1, 6)]
        assert kept == [False, False, True, True, True]
        assert store.search("word1") == []
        assert [hit.block.number for hit in store.search("echo")] == [5, 4, 3, 2, 1]


def test_blocks_go_when_their_command_lines_alone_are_too_much(tmp_path: Path) -> None:
    with Store.open(tmp_path / "store.db", limits=Limits(text_bytes=1_000)) as store:
        for number in range(1, 6):
            store.save_block(a_block(number, f"echo {number} " + "x" * 393))

        assert store.flush()
        assert [block.number for block in store.blocks()] == [5, 4]


def test_lower_limits_take_hold_when_the_store_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with Store.open(path) as store:
        for number in range(1, 6):
            store.save_block(a_block(number))

    with Store.open(path, limits=Limits(blocks=2)) as again:
        assert again.flush()
        assert again.blocks() == [a_block(5), a_block(4)]


def test_the_count_of_kept_text_stays_exact(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with Store.open(path, limits=Limits(blocks=3)) as store:
        for number in range(6):
            store.save_block(a_block(number, "é"), "ü" * number)
            assert store.flush()
            store.save_block(a_block(number, "éé"))
        assert store.flush()

    with sqlite3.connect(path) as connection:
        [counted] = connection.execute("SELECT blocks, text_bytes FROM totals")
        [found] = connection.execute(
            "SELECT count(*), sum(length(CAST(command_line AS BLOB))"
            " + length(CAST(output AS BLOB))) FROM texts"
        )
        connection.execute("INSERT INTO block_index (block_index) VALUES ('integrity-check')")
    connection.close()
    assert counted == found == (3, 3 * 4 + 2 * (3 + 4 + 5))


def test_another_reader_sees_what_is_committed(store: Store, tmp_path: Path) -> None:
    store.save_block(a_block(1), "12 passed")
    assert store.flush()

    with Store.open_readonly(tmp_path / "store.db") as reader:
        assert reader.blocks() == [a_block(1)]
        assert [hit.block for hit in reader.search("passed")] == [a_block(1)]


def test_a_reader_works_when_no_server_does(tmp_path: Path) -> None:
    with Store.open(tmp_path / "store.db") as store:
        store.save_block(a_block(1))

    with Store.open_readonly(tmp_path / "store.db") as reader:
        assert reader.blocks() == [a_block(1)]


def test_a_reader_without_a_file_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable):
        Store.open_readonly(tmp_path / "store.db")

    assert list(tmp_path.iterdir()) == []


def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "store.db"

    with pytest.raises(StateUnwritable) as caught:
        Store.open(path)

    assert caught.value.details == {"path": str(path)}
    assert str(path.parent) in (caught.value.hint or "")


def test_a_directory_in_place_of_the_file_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.mkdir(mode=0o755)

    with pytest.raises(StateUnwritable):
        Store.open(path)

    assert path.stat().st_mode & 0o777 == 0o755


def test_only_the_owner_can_read_the_files(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.touch(mode=0o644)

    with Store.open(path) as store:
        store.save_block(a_block(1))
        assert store.flush()
        modes = {file.name: file.stat().st_mode & 0o777 for file in tmp_path.iterdir()}

    assert modes == dict.fromkeys(
        ("store.db", "store.db-wal", "store.db-shm", "store.db.count"), 0o600
    )

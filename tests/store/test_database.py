"""The file: brought up to date, refused, or moved aside."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from duetty.clock import SystemClock
from duetty.errors import StoreUnavailable
from duetty.store import Repair, Store, new_token
from duetty.store.database import migrate, open_database
from duetty.store.schema import MIGRATIONS
from tests.store.records import a_block, a_session


class FixedClock(SystemClock):
    def wall_ns(self) -> int:
        return 1_800_000_000 * 10**9


STAMP = "20270115T080000Z"


def version(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        [found] = connection.execute("PRAGMA user_version").fetchone()
    return found


def test_an_empty_file_gets_every_migration(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.touch()

    Store.open(path).close()

    assert version(path) == len(MIGRATIONS)


def test_a_file_gets_only_the_migrations_it_has_not_seen() -> None:
    first, second = "CREATE TABLE one (x)", "CREATE TABLE two (x); INSERT INTO one VALUES (1)"
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        migrate(connection, [first])
        migrate(connection, [first, second])
        migrate(connection, [first, second])

        assert connection.execute("PRAGMA user_version").fetchone() == (2,)
        assert connection.execute("SELECT * FROM one").fetchall() == [(1,)]


def test_a_migration_that_fails_leaves_no_half_of_itself() -> None:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        with pytest.raises(sqlite3.OperationalError):
            migrate(connection, ["CREATE TABLE one (x); INSERT INTO nothing VALUES (1)"])

        assert connection.execute("PRAGMA user_version").fetchone() == (0,)
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == []


def test_a_file_of_a_newer_duetty_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    before = path.read_bytes()

    with pytest.raises(StoreUnavailable):
        Store.open(path)
    with pytest.raises(StoreUnavailable):
        Store.open_readonly(path)

    assert path.read_bytes() == before


def test_a_reader_refuses_a_file_that_was_not_brought_up_to_date(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    sqlite3.connect(path).close()
    path.touch()

    with pytest.raises(StoreUnavailable):
        Store.open_readonly(path)


def test_a_file_that_is_no_database_is_moved_aside(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.write_bytes(b"this is no database " * 1_000)

    with Store.open(path, clock=FixedClock()) as store:
        assert store.repaired == Repair(
            moved_to=tmp_path / f"store.db.broken-{STAMP}",
            reason="file is not a database",
            sessions_kept=0,
            tokens_kept=0,
        )
        store.save_block(a_block(1))
        assert store.flush()
        assert store.blocks() == [a_block(1)]
    assert (tmp_path / f"store.db.broken-{STAMP}").read_bytes() == b"this is no database " * 1_000


def test_a_damaged_file_is_moved_aside_and_its_sessions_and_tokens_carried_over(
    tmp_path: Path,
) -> None:
    path = tmp_path / "store.db"
    token, record = new_token("laptop", scopes=["read"], created_at_ns=1)
    with Store.open(path) as store:
        store.save_session(a_session())
        store.add_token(record)
        assert store.flush()
        for number in range(200):
            store.save_block(a_block(number), f"word{number} " * 100)
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2)
        file.write(b"\xff" * 40_960)

    with Store.open(path, clock=FixedClock()) as again:
        assert again.repaired is not None
        assert (again.repaired.sessions_kept, again.repaired.tokens_kept) == (1, 1)
        assert again.sessions() == [a_session()]
        assert again.valid_token(token) == record
        assert again.blocks() == []


def test_two_broken_files_of_one_second_are_both_kept(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    for text in (b"first " * 500, b"second " * 500):
        path.write_bytes(text)
        Store.open(path, clock=FixedClock()).close()

    assert {file.name for file in tmp_path.glob("store.db.broken*")} == {
        f"store.db.broken-{STAMP}",
        f"store.db.broken-{STAMP}-2",
    }


def test_the_database_runs_with_the_pragmas_it_counts_on(tmp_path: Path) -> None:
    connection, _ = open_database(tmp_path / "store.db", clock=SystemClock())

    with closing(connection):
        found = {
            name: connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        }

    assert found == {
        "journal_mode": "wal",
        "synchronous": 1,
        "foreign_keys": 1,
        "busy_timeout": 5_000,
    }

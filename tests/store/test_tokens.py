"""Tokens: valid at once, refused at once, never kept in the clear."""

import sqlite3
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from duetty.errors import NotFound
from duetty.store import Store, new_token
from duetty.store.database import migrate
from duetty.store.schema import MIGRATIONS


@dataclass
class FakeClock:
    now_ns: int = 1_000

    def monotonic_s(self) -> float:
        return self.now_ns / 1e9

    def wall_ns(self) -> int:
        return self.now_ns


def test_a_token_is_valid_at_once_and_after_a_restart(tmp_path: Path) -> None:
    token, record = new_token("laptop", scopes=["read"], created_at_ns=1, session="build")
    with Store.open(tmp_path / "store.db") as store:
        store.add_token(record)
        assert store.valid_token(token) == record

    with Store.open(tmp_path / "store.db") as again:
        assert again.valid_token(token) == record
        assert again.tokens() == [record]


def test_a_revoked_token_is_refused_at_once_and_after_a_restart(tmp_path: Path) -> None:
    token, record = new_token("laptop", scopes=["read"], created_at_ns=1)
    revoked = replace(record, revoked_at_ns=1_000)
    with Store.open(tmp_path / "store.db", clock=FakeClock()) as store:
        store.add_token(record)
        store.revoke_token(record.id)
        assert store.valid_token(token) is None

    with Store.open(tmp_path / "store.db", clock=FakeClock(2_000)) as again:
        again.revoke_token(record.id)
        assert again.valid_token(token) is None
        assert again.tokens() == [revoked]


def test_a_token_expires(tmp_path: Path) -> None:
    clock = FakeClock(1_000)
    token, record = new_token("ci", scopes=["read"], created_at_ns=1, expires_at_ns=1_500)
    with Store.open(tmp_path / "store.db", clock=clock) as store:
        store.add_token(record)
        assert store.valid_token(token) == record

        clock.now_ns = 1_500

        assert store.valid_token(token) is None


@pytest.mark.parametrize("token", ["", "x", "\ud800", "0" * 100_000])
def test_a_made_up_token_is_refused(tmp_path: Path, token: str) -> None:
    with Store.open(tmp_path / "store.db") as store:
        assert store.valid_token(token) is None


def test_revoking_what_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with Store.open(tmp_path / "store.db") as store, pytest.raises(NotFound):
        store.revoke_token("nothing")


def test_no_file_and_no_repr_contains_a_token(tmp_path: Path) -> None:
    token, record = new_token("laptop", scopes=["read"], created_at_ns=1)
    with Store.open(tmp_path / "store.db") as store:
        store.add_token(record)
        assert store.flush()
        files = b"".join(file.read_bytes() for file in tmp_path.iterdir())

    assert token.encode() not in files
    assert record.hash not in repr(record)


def test_a_reader_lists_tokens(tmp_path: Path) -> None:
    _, record = new_token("laptop", scopes=["read", "input"], created_at_ns=1)
    with Store.open(tmp_path / "store.db") as store:
        store.add_token(record)

    with Store.open_readonly(tmp_path / "store.db") as reader:
        assert reader.tokens() == [record]


def test_a_browsers_secret_is_no_token_and_a_token_no_browsers_secret(tmp_path: Path) -> None:
    token, record = new_token("ci", scopes=["read"], created_at_ns=1)
    cookie, browser = new_token("browser", kind="browser", scopes=["read"], created_at_ns=1)
    with Store.open(tmp_path / "store.db") as store:
        store.add_token(record)
        store.add_token(browser)

        assert store.valid_token(cookie) is None
        assert store.valid_token(token, kinds=("browser",)) is None
        assert store.valid_token(cookie, kinds=("browser",)) == browser


def test_the_last_use_is_kept_to_the_minute(tmp_path: Path) -> None:
    minute_ns = 60 * 10**9
    clock = FakeClock(minute_ns)
    token, record = new_token("ci", scopes=["read"], created_at_ns=1)

    def last_use(store: Store) -> int | None:
        return store.tokens()[0].last_used_at_ns

    with Store.open(tmp_path / "store.db", clock=clock) as store:
        store.add_token(record)
        assert last_use(store) is None
        store.valid_token(token)
        clock.now_ns += minute_ns - 1
        store.valid_token(token)
        assert last_use(store) == minute_ns
        clock.now_ns += 1
        store.valid_token(token)
        assert last_use(store) == 2 * minute_ns

    with Store.open(tmp_path / "store.db", clock=clock) as again:
        assert last_use(again) == 2 * minute_ns


def test_a_forgotten_token_is_neither_valid_nor_listed_after_a_restart(tmp_path: Path) -> None:
    token, record = new_token("ci", scopes=["read"], created_at_ns=1)
    with Store.open(tmp_path / "store.db") as store:
        store.add_token(record)
        store.forget_token(record.id)
        assert (store.valid_token(token), store.tokens()) == (None, [])

    with Store.open(tmp_path / "store.db") as again:
        assert (again.valid_token(token), again.tokens()) == (None, [])


def test_tokens_of_a_file_from_before_browsers_are_still_valid(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    token, record = new_token("old", scopes=["read"], created_at_ns=1)
    with closing(sqlite3.connect(path)) as connection:
        migrate(connection, MIGRATIONS[:1])
        connection.execute(
            "INSERT INTO tokens (id, name, hash, scopes, created_at_ns) VALUES (?,?,?,?,?)",
            (record.id, record.name, record.hash, '["read"]', 1),
        )
        connection.commit()

    with Store.open(path) as store:
        assert store.valid_token(token) == record

"""Tokens: who may call, kept as hashes.

A token is 256 bits from the system's generator. A slow hash (argon2, scrypt)
protects secrets that can be guessed; no attacker tries 2^256 values, so one SHA-256
is as strong and costs a microsecond on every request instead of a tenth of a
second.
"""

import hashlib
import secrets
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from duetty.store.rows import from_strings, storable, storable_or_none, to_strings

Kind = Literal["token", "login", "browser"]
"""A token is shown by a client in a header, `login` is a person's own; a browser's is a cookie, and
works nowhere else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRecord:
    id: str
    kind: Kind = "token"
    name: str
    hash: str = field(repr=False)
    scopes: tuple[str, ...]
    session: str | None = None
    """The only session it reaches; None means all of them."""

    user: str | None = None
    """Of a hub: whose it is; None is who runs the server."""

    created_at_ns: int
    expires_at_ns: int | None = None
    revoked_at_ns: int | None = None
    key: str | None = None
    """Of a browser: by which its page shows that it is the one that signed in."""

    last_used_at_ns: int | None = field(default=None, compare=False)
    """To the minute, or better: writing each use would be a write for each request."""

    def is_valid(self, now_ns: int) -> bool:
        return self.revoked_at_ns is None and (
            self.expires_at_ns is None or now_ns < self.expires_at_ns
        )


def new_token(
    name: str,
    *,
    scopes: Iterable[str],
    created_at_ns: int,
    session: str | None = None,
    expires_at_ns: int | None = None,
    kind: Kind = "token",
    user: str | None = None,
) -> tuple[str, TokenRecord]:
    """A token to hand out once, and the record to keep."""
    token = secrets.token_urlsafe(32)
    return token, TokenRecord(
        id=secrets.token_hex(8),
        kind=kind,
        name=name,
        hash=hash_token(token),
        scopes=tuple(scopes),
        session=session,
        user=user,
        created_at_ns=created_at_ns,
        expires_at_ns=expires_at_ns,
    )


def hash_token(token: str) -> str:
    return hashlib.sha256(token.encode(errors="replace")).hexdigest()


_COLUMNS = (
    "id, name, hash, scopes, session, created_at_ns, expires_at_ns, revoked_at_ns,"
    " kind, last_used_at_ns, key, user"
)


def save(connection: sqlite3.Connection, record: TokenRecord) -> None:
    connection.execute(
        f"INSERT INTO tokens ({_COLUMNS}) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)"  # noqa: S608 - constant
        " ON CONFLICT (id) DO UPDATE SET revoked_at_ns = excluded.revoked_at_ns,"
        " last_used_at_ns = excluded.last_used_at_ns, key = excluded.key",
        (
            record.id,
            storable(record.name),
            record.hash,
            from_strings(record.scopes),
            storable_or_none(record.session),
            record.created_at_ns,
            record.expires_at_ns,
            record.revoked_at_ns,
            record.kind,
            record.last_used_at_ns,
            record.key,
            record.user,
        ),
    )


def delete(connection: sqlite3.Connection, token_id: str) -> None:
    connection.execute("DELETE FROM tokens WHERE id = ?", (token_id,))


def tokens(connection: sqlite3.Connection) -> list[TokenRecord]:
    """All of them, revoked ones too, oldest first; from a file of an earlier version too."""
    found = connection.execute("SELECT * FROM tokens ORDER BY created_at_ns, id")
    names = [column[0] for column in found.description]
    return [_record(dict(zip(names, row, strict=True))) for row in found]


def _record(row: dict[str, Any]) -> TokenRecord:
    return TokenRecord(
        id=row["id"],
        kind=row.get("kind", "token"),
        name=row["name"],
        hash=row["hash"],
        scopes=to_strings(row["scopes"]),
        session=row["session"],
        created_at_ns=row["created_at_ns"],
        expires_at_ns=row["expires_at_ns"],
        revoked_at_ns=row["revoked_at_ns"],
        last_used_at_ns=row.get("last_used_at_ns"),
        key=row.get("key"),
        user=row.get("user"),
    )

"""What the store remembers of the audit trail: where it begins and how far it goes.

The trail itself is a chain of lines in files of its own. A chain shows a changed
record; only a copy elsewhere can show that its end or its beginning was cut off.
"""

import sqlite3
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TrailAnchor:
    first_seq: int
    """The oldest record that rotation left."""

    head_seq: int
    head_hash: str
    """The newest one that was on disk when this was written."""


def save(connection: sqlite3.Connection, anchor: TrailAnchor) -> None:
    connection.execute(
        "INSERT OR REPLACE INTO trail (id, first_seq, head_seq, head_hash) VALUES (1,?,?,?)",
        (anchor.first_seq, anchor.head_seq, anchor.head_hash),
    )


def anchor(connection: sqlite3.Connection) -> TrailAnchor | None:
    row = connection.execute("SELECT first_seq, head_seq, head_hash FROM trail").fetchone()
    return None if row is None else TrailAnchor(first_seq=row[0], head_seq=row[1], head_hash=row[2])

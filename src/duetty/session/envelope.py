"""A session's snapshot as one value: the terminal, and what the scanner and tracker remember.

It opens each journal segment, so that restoring is: the newest envelope, then
the bytes after it.
"""

import json
from dataclasses import asdict, dataclass, replace
from typing import Any

from duetty.blocks import Phase, Progress
from duetty.calls import Actor
from duetty.session.block import Block
from duetty.vt import Terminal

_MAGIC = b"DUETTY1\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    terminal: bytes
    carry: bytes
    """Bytes of a mark that had begun and not ended."""

    progress: Progress
    open_block: Block | None = None
    """The command line that runs: who typed it, when and where, no mark tells again."""

    def pack(self) -> bytes:
        head = json.dumps(
            {
                "progress": self.progress._asdict(),
                "carry": self.carry.decode("latin-1"),
                "open_block": _packed(self.open_block) if self.open_block else None,
            }
        ).encode()
        return b"".join((_MAGIC, len(head).to_bytes(4, "big"), head, self.terminal))


def pack_within(envelope: Envelope, shown: Terminal, *, limit_bytes: int) -> bytes:
    """The envelope of this terminal, with less scrollback where all of it would be too much."""
    packed = envelope.pack()
    if len(packed) > limit_bytes:
        rows = shown.total_rows * limit_bytes // len(packed) // 2
        packed = replace(envelope, terminal=_shorter(shown, rows)).pack()
    if len(packed) > limit_bytes:
        packed = replace(envelope, terminal=_shorter(shown, 0)).pack()
    return packed


def _shorter(shown: Terminal, rows: int) -> bytes:
    """A snapshot with this much scrollback."""
    terminal = Terminal(cols=shown.cols, rows=shown.rows, scrollback_rows=shown.scrollback_rows)
    terminal.silent = True
    try:
        terminal.feed(shown.dump(scrollback_rows=rows))
        return terminal.snapshot()
    finally:
        terminal.close()


def parse_envelope(data: bytes) -> Envelope | None:
    """None when the bytes are not an envelope of this version."""
    body = len(_MAGIC) + 4
    if not data.startswith(_MAGIC) or len(data) < body:
        return None
    size = int.from_bytes(data[len(_MAGIC) : body], "big")
    try:
        head = json.loads(data[body : body + size])
        progress = dict(head["progress"])
        progress["phase"] = Phase(progress["phase"])
        return Envelope(
            terminal=data[body + size :],
            carry=str(head["carry"]).encode("latin-1"),
            progress=Progress(**progress),
            open_block=Block(**fields) if (fields := _unpacked(head, "open_block")) else None,
        )
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _packed(made: Block) -> dict[str, Any]:
    """With the actor who ran it, and without the scopes of their credential: those are no history."""
    return {**asdict(made), "actor": {"kind": made.actor.kind, "name": made.actor.name}}


def _unpacked(head: dict[str, Any], name: str) -> dict[str, Any] | None:
    fields = head.get(name)
    return {**fields, "actor": Actor(**fields["actor"])} if fields else None

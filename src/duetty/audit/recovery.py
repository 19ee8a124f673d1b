"""The trail as it is found: where it goes on, and whether both ends are what the store remembers.

Records are on disk before the store notes them, and old files go only after it
has. So a crash leaves a trail that is longer than what the store remembers, or
as long, with half a line more at the most; never a shorter one. What is missing was
taken away, and is reported.

Only the ends are looked at: what was changed between them stays in the chain, where
`verify` finds it.
"""

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from duetty.audit.files import numbered
from duetty.audit.record import GENESIS, claimed_seq, parse_line
from duetty.store import TrailAnchor

TAIL_BYTES = 1024 * 1024
"""How far back the last sound record is looked for, before all of a file is read."""

LOOK_BACK = 5_000
"""Records in which calls are looked for that a server did not live to tell the outcome of."""

What = Literal[
    "end_missing", "end_taken", "end_differs", "beginning_missing", "unanchored", "held_lost"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """The last record, and the file that the next one goes to."""

    number: int = 0
    """0: there is no file."""

    size: int = 0
    """Bytes of its whole lines."""

    cut_bytes: int = 0
    """Half a line behind them."""

    seq: int = 0
    hash: str = GENESIS


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """What an opening found wrong: a record of the trail, from then on."""

    what: What
    first: int = 0
    last: int = 0
    """Numbers of the records that it is about."""

    def fields(self) -> dict[str, object]:
        return {"event": "damaged", "what": self.what, "first": self.first, "last": self.last}

    @property
    def when(self) -> str:
        return (
            "while the server ran, at" if self.what == "end_taken" else "when the server started at"
        )

    def explains(self, lowest: int, highest: int, found: int) -> bool:
        """Whether it tells why this record stands where one of those should."""
        starts = lowest <= self.first <= highest
        return (
            self.what in ("end_missing", "end_taken", "held_lost")
            and starts
            and self.last == found - 1
        )

    def sentence(self) -> str:
        one = self.first == self.last
        those = f"record {self.first} was" if one else f"records {self.first} to {self.last} were"
        match self.what:
            case "end_missing":
                return f"{those} missing from the end"
            case "held_lost":
                return f"{those} held for a disk that refused them, and lost with the server"
            case "end_taken":
                return f"{those} taken away with their file"
            case "beginning_missing":
                return f"{those} missing from the beginning"
            case "end_differs":
                return f"record {self.last} was not the one that the database remembered"
            case "unanchored":
                return "the database remembered nothing of the trail"


def find_end(directory: Path, anchor: TrailAnchor | None) -> End:
    """Where the chain goes on.

    Behind lines that are no records it goes on as if they were not there, or, where the
    last one says that it is the record that should stand there, behind that.
    """
    files = numbered(directory)
    if not files:
        return End()
    newest = files[-1][1]
    size = newest.stat().st_size
    cut_bytes = _half_line(newest, size)
    seq, digest = _last_record(directory, anchor)
    return End(
        number=files[-1][0], size=size - cut_bytes, cut_bytes=cut_bytes, seq=seq, hash=digest
    )


def first_seq(directory: Path, *, skip: int = 0) -> int | None:
    """The number of the oldest record, but for some files; None if there is no sound one."""
    for _, path in numbered(directory)[skip:]:
        with contextlib.suppress(OSError), path.open("rb") as file:
            for place, line in enumerate(file):
                if (record := parse_line(line)) is not None:
                    return record.seq - place  # what was changed before it stood there too
    return None


def cut_off(directory: Path) -> list[Mapping[str, Any]]:
    """Calls of a server that was killed which have no outcome, the oldest first.

    A server that closed its trail has recorded them all; none is looked for behind that.
    """
    ended = set[object]()
    found: list[Mapping[str, Any]] = []
    for line in islice(_lines_backwards(directory), LOOK_BACK):
        record = parse_line(line)
        if record is None:
            continue
        fields = record.fields
        if record.kind == "trail" and fields.get("event") in ("opened", "closed"):
            break
        if "outcome" in fields:  # its own, or that of a call which was refused at once
            ended.add(fields.get("call"))
        elif record.kind == "call" and "call" in fields and fields["call"] not in ended:
            found.append(fields)
    return found[::-1]


def compare(directory: Path, end: End, anchor: TrailAnchor | None) -> list[Damage]:
    """Differences from the store's record of the trail; a missing end first."""
    if anchor is None:
        return [Damage(what="unanchored", first=1, last=end.seq)] if end.seq else []
    found: list[Damage] = []
    oldest = max(anchor.first_seq, 1)
    first = first_seq(directory)
    if end.seq < anchor.head_seq:
        missing = max(end.seq + 1, oldest)
        found.append(Damage(what="end_missing", first=missing, last=anchor.head_seq))
    elif (first or 0) <= anchor.head_seq and not _has_head(directory, end, anchor):
        found.append(Damage(what="end_differs", first=anchor.head_seq, last=anchor.head_seq))
    if first is not None and first > oldest:
        found.append(Damage(what="beginning_missing", first=oldest, last=first - 1))
    return found


def _has_head(directory: Path, end: End, anchor: TrailAnchor) -> bool:
    """Whether the record that the store remembers is there, or one that followed it.

    The second is what a server wrote that had found the first one missing, and was killed
    before the store knew.
    """
    if anchor.head_seq == 0:
        return True
    if end.seq == anchor.head_seq:
        return end.hash == anchor.head_hash
    followed = False
    for _, path in reversed(numbered(directory)):
        lines = path.read_bytes().split(b"\n")
        for line in lines:
            claimed = claimed_seq(line)
            if claimed == anchor.head_seq:
                record = parse_line(line)
                # One that was changed is named by its own hash.
                return record is None or record.hash == anchor.head_hash
            if claimed == anchor.head_seq + 1 and (record := parse_line(line)) is not None:
                followed = followed or record.prev == anchor.head_hash
        # The newest file may have nothing yet: its writer was killed between the two.
        if 0 < claimed_seq(lines[0]) <= anchor.head_seq:
            break
    return followed


def _half_line(path: Path, size: int) -> int:
    for tail in (min(TAIL_BYTES, size), size):
        with path.open("rb") as file:
            file.seek(size - tail)
            whole = file.read(tail).rfind(b"\n") + 1
        if whole or tail == size:
            return tail - whole
    raise AssertionError("all of the file was read")


def _last_record(directory: Path, anchor: TrailAnchor | None) -> tuple[int, str]:
    unsound = 0
    claimed = 0
    for line in _lines_backwards(directory):
        record = parse_line(line)
        if record is None:
            if not unsound:
                claimed = claimed_seq(line)
            unsound += 1
            continue
        if not record.seq < claimed <= record.seq + unsound:
            return record.seq, record.hash
        break
    if anchor is not None and claimed == anchor.head_seq:
        return claimed, anchor.head_hash
    return claimed, GENESIS


def _lines_backwards(directory: Path) -> Iterator[bytes]:
    for _, path in reversed(numbered(directory)):
        size = path.stat().st_size
        begin = max(0, size - TAIL_BYTES)
        with path.open("rb") as file:
            file.seek(begin)
            lines = file.read(size - begin).split(b"\n")[:-1]
            if begin:
                del lines[:1]  # its head may be missing
            yield from reversed(lines)
            if begin:
                file.seek(0)
                rest = file.read(size).split(b"\n")[:-1]
                yield from reversed(rest[: len(rest) - len(lines)])

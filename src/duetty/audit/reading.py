"""The trail as it is read: found by filters, verified, exported. For worker threads."""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from duetty.audit.files import numbered
from duetty.audit.record import GENESIS, Record, parse_line
from duetty.store import TrailAnchor

MAX_PROBLEMS = 20
CHUNK_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """None is no filter."""

    kind: str | None = None
    actor: str | None = None
    """By name, or `kind:name`."""

    operation: str | None = None
    session: str | None = None
    call: str | None = None
    decision: str | None = None
    outcome: str | None = None
    text: str | None = None
    """Anywhere in the record."""

    since_ns: int | None = None
    until_ns: int | None = None
    before: int | None = None
    """Only records with a smaller number, to page on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Where the chain is broken, and how."""

    file: str
    line: int
    seq: int | None
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    records: int
    first_seq: int | None
    last_seq: int | None
    last_hash: str | None
    files: int
    anchored: bool
    """Whether the store knew a head to compare with: without one, an end that was cut off shows nowhere."""

    problems: tuple[Problem, ...]

    @property
    def intact(self) -> bool:
        return not self.problems


def records(directory: Path, filters: Filters, *, limit: int) -> list[Record]:
    """Newest first. Lines that are not sound are left out; `verify` names them."""
    wanted = _matcher(filters)
    found: list[Record] = []
    for _, path in reversed(numbered(directory)):
        for line in reversed(path.read_bytes().split(b"\n")):
            record = parse_line(line) if line else None
            if record is None:
                continue
            if filters.since_ns is not None and record.at_ns < filters.since_ns:
                return found
            if wanted(record):
                found.append(record)
                if len(found) >= limit:
                    return found
    return found


def export(directory: Path) -> Generator[bytes]:
    """Every line as it stands, oldest first, in pieces."""
    for _, path in numbered(directory):
        with path.open("rb") as file:
            while chunk := file.read(CHUNK_BYTES):
                yield chunk


def verify(directory: Path, anchor: TrailAnchor | None = None) -> Verified:
    """Read everything, and name what does not fit."""
    reading = _Reading()
    files = numbered(directory)
    for at, (number, path) in enumerate(files):
        if at and number != files[at - 1][0] + 1:
            reading.complain(
                path.name, 1, None, f"the file before it, number {number - 1}, is gone"
            )
            reading.lose()
        lines = path.read_bytes().split(b"\n")
        for place, line in enumerate(lines[:-1], start=1):
            reading.take(path.name, place, line, anchor)
        if lines[-1]:
            reading.complain(path.name, len(lines), None, "the last line is not whole")
    _compare(reading, anchor, files[-1][1].name if files else "")
    return Verified(
        records=reading.count,
        first_seq=reading.first_seq,
        last_seq=reading.seq,
        last_hash=reading.hash,
        files=len(files),
        anchored=anchor is not None,
        problems=tuple(reading.problems),
    )


class _Reading:
    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.count = 0
        self.first_seq: int | None = None
        self.seq: int | None = None
        self.hash: str | None = None
        self.met_anchor = False
        self._sound = True

    def complain(self, file: str, line: int, seq: int | None, what: str) -> None:
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(Problem(file=file, line=line, seq=seq, what=what))

    def lose(self) -> None:
        """What was before is not known: the next record is taken as it is."""
        self._sound = False

    def take(self, file: str, place: int, line: bytes, anchor: TrailAnchor | None) -> None:
        self.count += 1
        record = parse_line(line)
        expected = None if self.seq is None else self.seq + 1
        if record is None:
            self.complain(file, place, expected, "the record was changed: its hash is not its own")
            self.seq = expected
            self.lose()
            return
        if self.first_seq is None:
            self.first_seq = record.seq
            if record.seq == 1 and record.prev != GENESIS:
                self.complain(file, place, 1, "the first record has one before it")
        elif self._sound and record.seq != expected:
            what = f"record {expected} should stand here, not {record.seq}"
            self.complain(file, place, record.seq, what)
        elif self._sound and record.prev != self.hash:
            self.complain(file, place, record.seq, "it does not follow from the record before it")
        self.seq, self.hash, self._sound = record.seq, record.hash, True
        if anchor is not None and record.seq == anchor.head_seq:
            self.met_anchor = True
            if record.hash != anchor.head_hash:
                what = "it is not the record that the store remembers: all may be rewritten"
                self.complain(file, place, record.seq, what)


def _compare(reading: _Reading, anchor: TrailAnchor | None, file: str) -> None:
    """Whether what the store remembers of both ends is there."""
    if anchor is None:
        return
    if not reading.met_anchor and (reading.seq or 0) < anchor.head_seq:
        what = f"the end is missing: the store remembers record {anchor.head_seq}"
        reading.complain(file, reading.count, anchor.head_seq, what)
    if reading.first_seq is not None and reading.first_seq > max(anchor.first_seq, 1):
        # Rotation moves the anchor along with the files, a second later at most.
        if reading.first_seq > anchor.head_seq:
            return
        what = f"the beginning is missing: the store remembers record {anchor.first_seq}"
        reading.complain(file, 1, anchor.first_seq, what)


def _matcher(filters: Filters) -> Callable[[Record], bool]:
    def matches(record: Record) -> bool:
        fields = record.fields
        return (
            (filters.before is None or record.seq < filters.before)
            and (filters.until_ns is None or record.at_ns <= filters.until_ns)
            and _same(filters.kind, record.kind)
            and _same(filters.operation, fields.get("operation"))
            and _same(filters.session, fields.get("session"))
            and _same(filters.call, fields.get("call"))
            and _same(filters.outcome, fields.get("outcome"))
            and _same(filters.decision, _within(fields, "decision", "decision"))
            and _is_actor(filters.actor, fields)
            and (filters.text is None or _holds(filters.text, fields))
        )

    return matches


def _same(wanted: str | None, found: object) -> bool:
    return wanted is None or wanted == found


def _within(fields: Any, part: str, name: str) -> object:
    inner = fields.get(part)
    return inner.get(name) if isinstance(inner, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - of whatever a line holds


def _is_actor(wanted: str | None, fields: Any) -> bool:
    if wanted is None:
        return True
    name, kind = _within(fields, "actor", "name"), _within(fields, "actor", "kind")
    return wanted in (name, f"{kind}:{name}")


def _holds(text: str, value: object) -> bool:
    if isinstance(value, str):
        return text.casefold() in value.casefold()
    if isinstance(value, dict):
        return any(_holds(text, each) for each in value.values())  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - of whatever a line holds
    if isinstance(value, list):
        return any(_holds(text, each) for each in value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return False

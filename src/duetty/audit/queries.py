"""The trail as it is read: found by filters, verified, exported. For worker threads."""

import contextlib
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast, get_args

from duetty.audit.files import numbered, path_of
from duetty.audit.record import GENESIS, Record, claimed_seq, parse_line
from duetty.audit.recovery import Damage, What
from duetty.errors import ApprovalUnanswered, DuettyError, Refused, TrailUnreadable
from duetty.store import TrailAnchor

MAX_PROBLEMS = 20
LISTINGS = 5
"""How often the files are listed anew when the oldest one goes while they are read."""

CHUNK_BYTES = 256 * 1024


Remembered = Callable[[], TrailAnchor | None]
"""What the store remembers of the ends, at the moment of the call."""


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
    """The decision, or `refused` for calls that did not run: by a rule or by a person."""

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

    half_line_bytes: int
    """Behind the last record: what is being written, or what a crash left and the next start cuts off."""

    problems: tuple[Problem, ...]

    @property
    def intact(self) -> bool:
        return not self.problems


def records(directory: Path, filters: Filters, *, limit: int) -> list[Record]:
    """Newest first. Lines and files that are not sound are left out; `verify` names them."""
    wanted = _matcher(filters)
    found: list[Record] = []
    for _, path in reversed(numbered(directory)):
        try:
            content = path.read_bytes()
        except OSError:  # the oldest went meanwhile; or it is none that can be read
            continue
        for line in reversed(content.split(b"\n")):
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
    """Every line as it stands, oldest first, in pieces.

    Raises:
        TrailUnreadable: where a file is none that can be read.
    """
    for _, path in numbered(directory):
        try:
            with path.open("rb") as file:
                while chunk := file.read(CHUNK_BYTES):
                    yield chunk
        except FileNotFoundError:
            continue
        except OSError as error:
            raise TrailUnreadable(
                f"{path.name} cannot be read: {error.strerror}",
                hint="`duetty audit verify` says which records the trail has",
            ) from error


def verify(directory: Path, remembered: Remembered | None = None) -> Verified:
    """Read everything, and name what does not fit; without `remembered`, the ends are not compared."""
    for _ in range(LISTINGS - 1):
        with contextlib.suppress(FileNotFoundError):
            return _verify(directory, remembered)
    return _verify(directory, remembered)


def _verify(directory: Path, remembered: Remembered | None) -> Verified:
    # The end is looked up before and the beginning after: the trail grows while it is read,
    # and the oldest file goes only when the store knows.
    before = remembered() if remembered is not None else None
    reading = _Reading(before)
    files = numbered(directory)
    half_line = 0
    for at, (number, path) in enumerate(files):
        if at and number != files[at - 1][0] + 1:
            reading.miss(f"the file before it, number {number - 1}, is gone")
        try:
            lines = path.read_bytes().split(b"\n")
        except FileNotFoundError:
            raise
        except OSError as error:
            reading.complain(path.name, 1, None, f"it cannot be read: {error.strerror}")
            reading.miss(f"the file before it, number {number}, cannot be read")
            continue
        for place, line in enumerate(lines[:-1], start=1):
            reading.take(path.name, place, line)
        reading.file, reading.next_line = path.name, len(lines)
        half_line = len(lines[-1])
        if half_line and at < len(files) - 1:
            reading.complain(path.name, len(lines), None, "the last line is not whole")
    reading.finish(
        files[0][1].name if files else path_of(directory, 1).name,
        remembered() if remembered is not None else None,
        expected=remembered is not None,
    )
    return Verified(
        records=reading.count,
        first_seq=reading.first_seq,
        last_seq=reading.seq,
        last_hash=reading.hash,
        files=len(files),
        anchored=before is not None,
        half_line_bytes=half_line,
        problems=tuple(sorted(reading.problems, key=lambda each: (each.file, each.line))),
    )


class _Reading:
    def __init__(self, anchor: TrailAnchor | None) -> None:
        self.problems: list[Problem] = []
        self.count = 0
        self.first_seq: int | None = None
        self.seq: int | None = None
        self.hash: str | None = None
        self.file, self.next_line = path_of(Path(), 1).name, 1
        """Where the record after the last one would stand."""

        self._anchor = anchor
        self._unsound = 0
        """Lines since the last record."""

        self._missed: str | None = None
        self._beginnings: list[tuple[Damage, str]] = []

    def complain(self, file: str, line: int, seq: int | None, what: str) -> None:
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(Problem(file=file, line=line, seq=seq, what=what))

    def miss(self, why: str) -> None:
        """The next record does not follow, and this is why."""
        self._missed = why

    def take(self, file: str, place: int, line: bytes) -> None:
        self.count += 1
        record = parse_line(line)
        if record is None:
            seq = claimed_seq(line) or None if self.seq is None else self.seq + 1
            self.complain(file, place, seq, "the record was changed: its hash is not its own")
            self.seq = seq
            self._unsound += 1
            return
        damage = _damage_of(record)
        follows = self._follow(file, place, record, damage)
        self.seq, self.hash, self._unsound, self._missed = record.seq, record.hash, 0, None
        head = self._anchor
        if head is not None and record.seq == head.head_seq and record.hash != head.head_hash:
            what = "it is not the record that the store remembers: all may be rewritten"
            self.complain(file, place, record.seq, what)
        if damage is None:
            return
        sentence = f"{damage.sentence()} {damage.when} {_at(record)}"
        if damage.what == "beginning_missing":
            self._beginnings.append((damage, sentence))
        elif damage.what not in ("end_missing", "end_taken") or not follows:
            # A missing end that was put back fits on both sides, and is no problem any more.
            self.complain(file, place, damage.first, sentence)

    def _follow(self, file: str, place: int, record: Record, damage: Damage | None) -> bool:
        """Whether the record fits the one before it; where it does not, a problem is noted."""
        if self.first_seq is None:
            self.first_seq = record.seq - self._unsound
            if record.seq == 1 and record.prev != GENESIS:
                self.complain(file, place, 1, "the first record has one before it")
            return record.seq == 1
        highest = (self.seq or 0) + 1
        lowest = highest - self._unsound
        # Each line that is no record may stand where one was, or between two.
        if record.seq > highest and damage and damage.explains(lowest, highest, record.seq):
            return False
        if self._missed is not None:
            self.complain(file, place, record.seq, f"{self._missed}{_missing(highest, record.seq)}")
        elif not lowest <= record.seq <= highest:
            what = f"record {highest} should stand here, not {record.seq}"
            self.complain(file, place, record.seq, f"{what}{_missing(highest, record.seq)}")
        elif record.seq == lowest and record.prev != self.hash:
            self.complain(file, place, record.seq, "it does not follow from the record before it")
        else:
            return True
        return False

    def finish(self, first_file: str, anchor: TrailAnchor | None, *, expected: bool) -> None:
        """Whether what the store remembers of both ends is there."""
        oldest = max(anchor.first_seq, 1) if anchor is not None else None
        for damage, sentence in self._beginnings:
            rotated = oldest is not None and oldest > damage.last + 1
            if (self.first_seq or 0) > damage.first and not rotated:
                self.complain(first_file, 1, damage.first, sentence)
        if expected and anchor is None and self.count:
            what = "the store remembers nothing of this trail: what is missing is unknown"
            self.complain(self.file, self.next_line, None, what)
        head = self._anchor
        if head is not None and (self.seq or 0) < head.head_seq:
            first = max((self.seq or 0) + 1, oldest or 1)
            what = f"the end is missing: the store remembers {_range(first, head.head_seq)}"
            self.complain(self.file, self.next_line, first, what)
        if self.first_seq is not None and oldest is not None and self.first_seq > oldest:
            is_known = any(each.last >= self.first_seq - 1 for each, _ in self._beginnings)
            if not is_known:
                missing = _range(oldest, self.first_seq - 1)
                what = f"the beginning is missing: the store remembers {missing}"
                self.complain(first_file, 1, oldest, what)


def _damage_of(record: Record) -> Damage | None:
    fields = record.fields
    if record.kind != "trail" or fields.get("event") != "damaged":
        return None
    what, first, last = fields.get("what"), fields.get("first"), fields.get("last")
    if what not in get_args(What) or not (isinstance(first, int) and isinstance(last, int)):
        return None
    return Damage(what=cast("What", what), first=first, last=last)


def _range(first: int, last: int) -> str:
    return f"record {first}" if first == last else f"records {first} to {last}"


def _missing(expected: int, found: int) -> str:
    if found <= expected:
        return ""
    return f": {_range(expected, found - 1)} {'is' if found == expected + 1 else 'are'} missing"


def _at(record: Record) -> str:
    seconds = min(max(record.at_ns // 10**9, 0), 2**37)
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


REFUSED = "refused"
"""As a decision to filter by: calls that did not run, by a rule, a person's no, or for want of an answer."""


def _refusals(error: type[DuettyError] = Refused) -> set[str]:
    """Codes of the errors that say so, by which outcomes are called."""
    return {error.code}.union(*map(_refusals, error.__subclasses__()))


class _Refused:
    """Whether a call was refused: by its own record, or by that of its outcome, which comes later and is read before it."""

    def __init__(self) -> None:
        self._calls: set[object] = set()
        self._codes = _refusals() | {ApprovalUnanswered.code}

    def __call__(self, record: Record) -> bool:
        fields = record.fields
        refused = fields.get("outcome") in self._codes
        if record.kind == "outcome" and refused:
            self._calls.add(fields.get("call"))
        if record.kind != "call":
            return False
        call = fields.get("call")
        return refused or call in self._calls or _within(fields, "decision", "decision") == "deny"


def _matcher(filters: Filters) -> Callable[[Record], bool]:
    was_refused = None
    if filters.decision == REFUSED:
        was_refused, filters = _Refused(), replace(filters, decision=None)

    def matches(record: Record) -> bool:
        fields = record.fields
        if was_refused is not None and not was_refused(record):
            return False
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

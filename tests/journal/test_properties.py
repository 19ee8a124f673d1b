"""Any sequence of writing, turning over and opening again gives the bytes of a model."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from duetty.errors import OutputExpired
from duetty.journal import Journal

LIMIT_BYTES = 64 << 10


def repeated(unit: bytes, count: int) -> bytes:
    return unit * count


pieces = st.one_of(
    st.binary(max_size=40),
    st.builds(repeated, st.binary(min_size=1, max_size=3), st.integers(1, 3000)),
    st.builds(repeated, st.just(b"\0"), st.integers(0, 6000)),
)
sides = st.integers(1, 500)


class JournalMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.place = Path(tempfile.mkdtemp(prefix="duetty-journal-"))
        self.lives = 0
        self.printed = b""
        self.snapshot: bytes | None = None
        self.base = 0
        self.sizes: list[tuple[int, int, int]] = []
        self.reader, self.writer = os.pipe()
        os.set_blocking(self.reader, False)

    @initialize()
    def create(self) -> None:
        self.journal = Journal.create(self.place / "0", limit_bytes=LIMIT_BYTES)

    def teardown(self) -> None:
        self.journal.close()
        os.close(self.reader)
        os.close(self.writer)
        shutil.rmtree(self.place)

    @rule(piece=pieces)
    def append(self, piece: bytes) -> None:
        self.journal.append(piece)
        self.printed += piece

    @rule(piece=pieces, budget=st.integers(1, 70_000))
    def fill(self, piece: bytes, budget: int) -> None:
        os.write(self.writer, piece)
        taken = b""
        while len(taken) < len(piece):
            filled = self.journal.fill(self.reader, budget)
            assert 0 < len(filled.view) <= budget
            taken += filled.view
        assert taken == piece
        self.printed += piece

    @rule(cols=sides, rows=sides)
    def resize(self, cols: int, rows: int) -> None:
        self.journal.note_size(cols=cols, rows=rows)
        self.sizes.append((len(self.printed), cols, rows))

    @rule(snapshot=st.binary(max_size=3000), cols=sides, rows=sides)
    def turn_over(self, snapshot: bytes, cols: int, rows: int) -> None:
        assert self.journal.turn_over(snapshot, cols=cols, rows=rows)
        self.snapshot = snapshot
        self.base = len(self.printed)
        self.sizes = []

    @rule()
    def rest(self) -> None:
        self.journal.rest()

    @rule()
    def restart(self) -> None:
        self.journal.close()
        self.journal = Journal.open(self.journal.directory, limit_bytes=LIMIT_BYTES)

    @rule()
    def crash(self) -> None:
        """Go on with what a killed server would have left."""
        self.lives += 1
        image = shutil.copytree(self.journal.directory, self.place / str(self.lives))
        self.journal.close()
        self.journal = Journal.open(image, limit_bytes=LIMIT_BYTES)

    @rule(ends=st.tuples(st.floats(0, 1), st.floats(0, 1)), size=st.integers(1, 10_000))
    def read(self, ends: tuple[float, float], size: int) -> None:
        start, end = sorted(int(end * len(self.printed)) for end in ends)
        expected = self.printed[start:end]
        if start >= self.journal.start:
            assert b"".join(self.journal.chunks(start, end, size)) == expected
            assert self.journal.count_newlines(start, end) == expected.count(b"\n")
        elif start < end:
            with pytest.raises(OutputExpired):
                self.journal.read(start, end)

    @invariant()
    def everything_from_the_start_on_is_there(self) -> None:
        journal = self.journal
        assert journal.end == len(self.printed)
        assert journal.degraded is None
        assert journal.gaps == ()
        assert journal.read(journal.start, journal.end) == self.printed[journal.start :]

    @invariant()
    def the_tail_restores(self) -> None:
        tail = self.journal.tail()
        assert (tail.base, tail.snapshot, tail.exact) == (self.base, self.snapshot, True)
        assert [(size.offset, size.cols, size.rows) for size in tail.sizes] == self.sizes

    @invariant()
    def the_disk_is_bounded(self) -> None:
        current = len(self.printed) - self.base
        old = self.base - self.journal.start
        assert old + max(current, LIMIT_BYTES // 8) <= max(LIMIT_BYTES, current)


TestJournal = JournalMachine.TestCase
TestJournal.settings = settings(
    max_examples=60,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)

"""A clock that only moves when told, and a descriptor that never blocks."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass
class HandClock:
    now_ns: int = 1_700_000_000_000_000_000

    def monotonic_s(self) -> float:
        return self.now_ns / 1e9

    def wall_ns(self) -> int:
        return self.now_ns

    def pass_ms(self, count: int) -> None:
        self.now_ns += count * 1_000_000


@contextmanager
def pipe() -> Generator[tuple[int, int]]:
    """Read end (non-blocking) and write end."""
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    try:
        yield reader, writer
    finally:
        os.close(reader)
        os.close(writer)

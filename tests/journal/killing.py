"""A program of its own: kill the filler again and again, and check every byte after each.

A producer writes numbered lines into a PTY or a pipe without a pause. A filler
takes them into the journal until it is killed with SIGKILL; the next one goes on
from the same descriptor. Forks, so it must not share a process with pytest.

    python -m tests.journal.killing <directory> <pty|pipe> <kills> <seed>
"""

import json
import os
import pty
import random
import select
import signal
import sys
import time
import tty
from pathlib import Path
from typing import NoReturn

from duetty.journal import Journal

LINE_BYTES = 16
LIMIT_BYTES = 16 << 20
LIFE_BYTES = 8 << 20
"""A filler that is not killed in time waits for it, so that nothing is dropped unchecked."""


def lines(first: int, count: int) -> bytes:
    return b"".join(b"%015d\n" % number for number in range(first, first + count))


def expected(start: int, end: int) -> bytes:
    first = start // LINE_BYTES
    stream = lines(first, -(-end // LINE_BYTES) - first)
    return stream[start - first * LINE_BYTES : end - first * LINE_BYTES]


def produce(fd: int) -> NoReturn:
    stopping = False

    def stop(*_: object) -> None:
        nonlocal stopping
        stopping = True

    signal.signal(signal.SIGTERM, stop)
    number = 0
    while not stopping:
        rest = memoryview(lines(number, 256))
        while rest:
            rest = rest[os.write(fd, rest) :]
        number += 256
    os._exit(0)


def fill(directory: Path, fd: int) -> None:
    """Fill until the stream ends."""
    journal = Journal.open(directory, limit_bytes=LIMIT_BYTES)
    stop_at = journal.end + LIFE_BYTES
    while journal.end < stop_at:
        select.select([fd], [], [])
        filled = journal.fill(fd)
        if journal.wants_snapshot:
            journal.turn_over(b"%d" % journal.end, cols=80, rows=24)
        if filled.ended:
            journal.close()
            return
    signal.pause()


def fork_filler(directory: Path, fd: int) -> int:
    pid = os.fork()
    if pid == 0:
        fill(directory, fd)
        os._exit(0)
    return pid


def check(directory: Path, verified: int) -> tuple[int, int]:
    """The new end, and how many bytes the killed filler had not committed."""
    journal = Journal.open(directory, limit_bytes=LIMIT_BYTES)
    end = journal.end
    tail = journal.tail()
    journal.close()
    assert end >= verified, f"the journal went back from {verified} to {end}"
    assert journal.gaps == (), journal.gaps
    assert journal.read(verified, end) == expected(verified, end), f"in {verified}..{end}"
    assert tail.exact
    assert tail.snapshot in (b"%d" % tail.base, None), tail
    return end, journal.repairs.recovered_bytes


def main(directory: Path, kind: str, *, kills: int, seed: int) -> dict[str, int]:
    chance = random.Random(seed)
    reader, writer = pty.openpty() if kind == "pty" else os.pipe()
    if kind == "pty":
        tty.setraw(writer)
    os.set_blocking(reader, False)
    producer = os.fork()
    if producer == 0:
        os.close(reader)
        produce(writer)
    os.close(writer)

    Journal.create(directory, limit_bytes=LIMIT_BYTES).close()
    verified = uncommitted = fruitful = 0
    for _ in range(kills):
        filler = fork_filler(directory, reader)
        time.sleep(chance.uniform(0, 0.02))
        os.kill(filler, signal.SIGKILL)
        os.waitpid(filler, 0)
        before = verified
        verified, recovered = check(directory, before)
        uncommitted += recovered > 0
        fruitful += verified > before

    os.kill(producer, signal.SIGTERM)
    os.waitpid(fork_filler(directory, reader), 0)
    os.waitpid(producer, 0)
    verified, _ = check(directory, verified)
    assert verified % (256 * LINE_BYTES) == 0, "the end of the stream is missing"
    return {"bytes": verified, "kills": kills, "fruitful": fruitful, "uncommitted": uncommitted}


if __name__ == "__main__":
    outcome = main(Path(sys.argv[1]), sys.argv[2], kills=int(sys.argv[3]), seed=int(sys.argv[4]))
    sys.stdout.write(json.dumps(outcome))

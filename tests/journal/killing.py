"""A program of its own: kill the filler again and again, and check every byte after each.

A producer writes numbered lines into a PTY or a pipe without a pause. A filler
takes them into the journal until it is killed with SIGKILL; the next one goes on
from the same descriptor. Forks, so it must not share a process with pytest.

    python -m tests.journal.killing <directory> <pty|pipe|ahead> <kills> <seed>

`ahead`: a PTY that another thread reads ahead of the journal's end.
"""

import json
import os
import pty
import random
import select
import signal
import sys
import threading
import time
import tty
from pathlib import Path
from typing import NoReturn

from duetty.journal import Intake, Journal, ReadEnd

LINE_BYTES = 16
LIMIT_BYTES = 16 << 20
LIFE_BYTES = 8 << 20
"""A filler that is not killed in time waits for it, so that nothing is dropped unchecked."""

BEGIN_S = 60.0


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


def fill(directory: Path, fd: int, begun: int) -> None:
    """Fill until the stream ends."""
    journal = Journal.open(directory, limit_bytes=LIMIT_BYTES)
    first = journal.end
    stop_at = first + LIFE_BYTES
    while journal.end < stop_at:
        select.select([fd], [], [])
        was_first = journal.end == first
        filled = journal.fill(fd)
        if was_first and journal.end > first:
            os.write(begun, b".")
        if journal.wants_snapshot:
            journal.turn_over(b"%d" % journal.end, cols=80, rows=24)
        if filled.ended:
            journal.close()
            return
    signal.pause()


def fill_ahead(directory: Path, fd: int, begun: int) -> None:
    """The same with an intake, whose thread is killed wherever it is."""
    journal = Journal.open(directory, limit_bytes=LIMIT_BYTES)
    first = journal.end
    stop_at = first + LIFE_BYTES
    ended = False
    while journal.end < stop_at and not ended:
        if journal.wants_snapshot:  # the one before may have been killed when its segment was full
            journal.turn_over(b"%d" % journal.end, cols=80, rows=24)
        intake = journal.open_intake(fd)
        assert intake is not None
        reading = threading.Thread(target=read_all, args=(intake, fd), daemon=True)
        reading.start()
        while reading.is_alive() or journal.ahead_bytes:
            was_first = journal.end == first
            journal.take(10_000)
            if was_first and journal.end > first:
                os.write(begun, b".")
        ended = intake.last is ReadEnd.OVER
        journal.close_intake()
    if ended:
        journal.close()
    else:
        signal.pause()


def read_all(intake: Intake, fd: int) -> None:
    """Until the end of the stream, or of the segment."""
    while True:
        match intake.read():
            case ReadEnd.OVER | ReadEnd.FAILED | ReadEnd.CLOSED:
                return
            case ReadEnd.FULL if not intake.has_space and intake.end == intake.taken:
                return
            case _:
                select.select([fd], [], [], 0.01)


def fork_filler(directory: Path, fd: int, kind: str, *, begun: int) -> int:
    """Its pid. It tells `begun` when it has filled something."""
    pid = os.fork()
    if pid == 0:
        fill_ahead(directory, fd, begun) if kind == "ahead" else fill(directory, fd, begun)
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
    reader, writer = os.pipe() if kind == "pipe" else pty.openpty()
    if kind != "pipe":
        tty.setraw(writer)
    os.set_blocking(reader, False)
    producer = os.fork()
    if producer == 0:
        os.close(reader)
        produce(writer)
    os.close(writer)
    try:
        return kill_again_and_again(directory, kind, reader, producer, kills=kills, chance=chance)
    except BaseException:
        os.kill(producer, signal.SIGKILL)  # else it would wait for a reader, with our stderr open
        raise


def kill_again_and_again(
    directory: Path, kind: str, reader: int, producer: int, *, kills: int, chance: random.Random
) -> dict[str, int]:
    Journal.create(directory, limit_bytes=LIMIT_BYTES).close()
    verified = uncommitted = fruitful = 0
    begun, beginning = os.pipe()
    for number in range(kills):
        filler = fork_filler(directory, reader, kind, begun=beginning)
        if number % 2:  # else it may be killed while it opens the journal
            assert select.select([begun], [], [], BEGIN_S)[0], "the filler did not begin"
        time.sleep(chance.uniform(0, 0.02))
        os.kill(filler, signal.SIGKILL)
        os.waitpid(filler, 0)
        while select.select([begun], [], [], 0)[0]:
            os.read(begun, 1)
        before = verified
        verified, recovered = check(directory, before)
        uncommitted += recovered > 0
        fruitful += verified > before

    os.kill(producer, signal.SIGTERM)
    _, status = os.waitpid(fork_filler(directory, reader, kind, begun=beginning), 0)
    assert status == 0, f"the last filler ended with {status}"
    os.waitpid(producer, 0)
    verified, _ = check(directory, verified)
    assert verified % (256 * LINE_BYTES) == 0, "the end of the stream is missing"
    return {"bytes": verified, "kills": kills, "fruitful": fruitful, "uncommitted": uncommitted}


if __name__ == "__main__":
    outcome = main(Path(sys.argv[1]), sys.argv[2], kills=int(sys.argv[3]), seed=int(sys.argv[4]))
    sys.stdout.write(json.dumps(outcome))

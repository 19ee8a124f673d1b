"""What every benchmark needs: places, percentiles, turns, progress, memory."""

import gc
import os
import resource
import statistics
import sys
import tempfile
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio

from duetty.blocks import Phase
from duetty.config import Settings
from duetty.session import Session
from tests.engine import Engine, running_engine

READY_S = 30.0
"""For a shell's prompt on a machine that is busy with something else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How much to measure: `quick` only shows that the harness works."""

    name: str
    quick: bool

    def times(self, full: int, *, quick: int) -> int:
        return quick if self.quick else full

    def say(self, text: str) -> None:
        print(f"  {self.name}: {text}", file=sys.stderr, flush=True)


def median(samples: Sequence[float]) -> float:
    return statistics.median(samples)


def percentile(samples: Sequence[float], percent: float) -> float:
    """The smallest sample that at least this share of them does not exceed."""
    ordered = sorted(samples)
    rank = -(-len(ordered) * percent // 100)
    return ordered[max(0, min(len(ordered), int(rank)) - 1)]


@contextmanager
def temporary_home() -> Generator[Path]:
    """A short private directory: unix sockets do not fit in a long one."""
    with tempfile.TemporaryDirectory(prefix="db-", dir="/tmp", ignore_cleanup_errors=True) as path:
        yield Path(path)


@asynccontextmanager
async def engine() -> AsyncGenerator[Engine]:
    """The engine in this process, with the settings people get."""
    raise_descriptor_limit()
    with temporary_home() as home:
        async with running_engine(home, settings=Settings(session_grace_ms=300)) as running:
            yield running


async def wait_prompt(session: Session) -> None:
    """Until the shell is ready for a line; costs no turn of the loop when it is."""
    with anyio.fail_after(READY_S):
        while session.prompt.phase is not Phase.INPUT:
            await session.pulse.wait()


async def settle(running: Engine, *, quiet_s: float = 0.5) -> None:
    """Until what goes on behind a call has ended: store, worker threads, garbage."""
    await anyio.sleep(quiet_s)
    await anyio.to_thread.run_sync(lambda: running.store.flush(within_s=10))
    gc.collect()


def raise_descriptor_limit() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Bytes of one process, as the kernel counts them in `smaps`."""

    own: int
    """Its own pages and its share of those it shares (`Pss`), in every mapping but
    those of program files: how many other processes run the same interpreter
    would move these by megabytes. Files under its home, the journals, count."""
    rss: int
    """Every page it has mapped, shared or not."""


def memory_of(pid: int | None, home: Path) -> Memory:
    own_kb = rss_kb = 0
    counts = False
    for line in Path(f"/proc/{pid or os.getpid()}/smaps").read_text().splitlines():
        words = line.split(maxsplit=5)
        if words[0].endswith(":"):
            if words[0] == "Rss:":
                rss_kb += int(words[1])
            elif counts and words[0] == "Pss:":
                own_kb += int(words[1])
        else:
            path = words[5] if len(words) == 6 else ""
            counts = not path.startswith("/") or path.startswith(str(home))
    return Memory(own=own_kb * 1024, rss=rss_kb * 1024)

"""How fast one session takes what a program prints, with everything behind it."""

import shutil
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import anyio

from benchmarks.bare import BareShell, running_bare
from benchmarks.files import coloured_log, plain_log
from benchmarks.measure import Effort, engine, median, wait_prompt
from benchmarks.report import Line, Table, mb_s
from benchmarks.tmux import Tmux, running_tmux
from duetty.events import BlockFinished, Entry
from duetty.session import Session
from tests.engine import AGENT, Engine

FILE_BYTES = 100_000_000
ROUNDS = 5
RATIO = 0.7


@dataclass(slots=True, kw_only=True)
class Rates:
    """Bytes of the file per second, one for each round."""

    ours: list[float] = field(default_factory=list[float])
    bare: list[float] = field(default_factory=list[float])
    tmux: list[float] = field(default_factory=list[float])


async def run(effort: Effort) -> list[Table]:
    size_bytes = effort.times(FILE_BYTES, quick=10_000_000)
    rounds = effort.times(ROUNDS, quick=2)
    rates = {"plain": Rates(), "coloured": Rates()}
    async with engine() as running:
        state = running.paths.state
        files = {
            "plain": plain_log(state / "plain.log", size_bytes=size_bytes),
            "coloured": coloured_log(state / "coloured.log", size_bytes=size_bytes // 4),
        }
        session = await running.open(command="bash")
        await wait_prompt(session)
        with ExitStack() as stack:
            bare, _ = stack.enter_context(running_bare(state)).start("bash")
            tmux = stack.enter_context(running_tmux(state)) if shutil.which("tmux") else None
            for turn in range(rounds):
                for kind, path in files.items():
                    effort.say(f"{kind} file, round {turn + 1} of {rounds}")
                    await _round(
                        rates[kind], path, running=running, session=session, bare=bare, tmux=tmux
                    )
            bare.end()
    return [_table(rates, size_bytes=size_bytes, rounds=rounds)]


async def _round(
    rates: Rates,
    path: Path,
    *,
    running: Engine,
    session: Session,
    bare: BareShell,
    tmux: Tmux | None,
) -> None:
    size = path.stat().st_size
    path.read_bytes()  # in the page cache, for all three
    taken_s, received = bare.flood(f"cat {path}")
    if received < size:
        raise RuntimeError(f"the bare PTY gave {received} bytes of {size}")
    rates.bare.append(size / taken_s)
    rates.ours.append(size / await _flood(running, session, path))
    if tmux is not None:
        rates.tmux.append(size / tmux.print_file(path))


async def _flood(running: Engine, session: Session, path: Path) -> float:
    """Seconds until a follower has every byte and the end of the command."""
    await wait_prompt(session)
    start = session.journal.end
    received = 0
    with running.dispatcher.follow(AGENT, session.name) as follower:
        started_s = time.perf_counter()
        session.write(f"cat {path}\r".encode(), actor=AGENT)
        is_done = False
        while not is_done:
            await follower.wait()
            while (entry := follower.take()) is not None:
                is_done = is_done or (
                    isinstance(entry, Entry) and isinstance(entry.event, BlockFinished)
                )
            while start + received < follower.end:
                read = follower.read(start + received, 1 << 20)
                if read is None:
                    raise RuntimeError("the follower fell behind: not every byte was read")
                received += len(read)
        taken_s = time.perf_counter() - started_s
    if received < path.stat().st_size or received > session.journal.end - start:
        raise RuntimeError(f"the follower has {received} bytes")
    await anyio.sleep(0.2)  # the store takes the block's text
    return taken_s


def _table(rates: dict[str, Rates], *, size_bytes: int, rounds: int) -> Table:
    lines: list[Line] = []
    for kind, rate in rates.items():
        ours = median(rate.ours)
        is_target = kind == "plain"
        for name, others, least in (("bare PTY", rate.bare, RATIO), ("tmux", rate.tmux, 1.0)):
            if not others:
                continue
            beside = median(others)
            lines.append(
                Line(
                    what=f"{kind} file, beside {name}",
                    measured=mb_s(ours),
                    beside=f"{mb_s(beside)} {name}",
                    ratio=ours / beside,
                    target=(f"ratio ≥ {least:.1f}" if least < 1 else "ratio > 1")
                    if is_target
                    else "",
                    met=(ours / beside >= least if least < 1 else ours > beside)
                    if is_target
                    else None,
                )
            )
    return Table(
        name="throughput",
        title="Throughput of one session",
        lines=lines,
        notes=[
            f"`cat` of a file in a bash session of 80 by 24, {rounds} rounds in turns, medians. Plain: "
            f"{size_bytes / 1e6:.0f} MB of log lines. Coloured: {size_bytes / 4e6:.0f} MB with SGR and "
            "characters beyond ASCII.",
            "Duetty: journal on disk, marks, emulator with 10,000 rows of scrollback, and one follower "
            "that reads every byte and then the end of the block; none was dropped.",
            "Bare: the same bash in a process of its own, `read` in a loop, bytes thrown away. "
            "tmux: detached session, its default history limit (2,000 rows), timed by the pane's own shell.",
        ],
    )

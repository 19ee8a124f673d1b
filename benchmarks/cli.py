"""How long the command line itself takes, beside the interpreter that runs it."""

import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import anyio.to_thread

from benchmarks.measure import Effort, median, temporary_home
from benchmarks.report import Line, Table, ms
from tests.server_process import running_server

ROUNDS = 30


async def run(effort: Effort) -> list[Table]:
    return await anyio.to_thread.run_sync(_run, effort)


def _run(effort: Effort) -> list[Table]:
    rounds = effort.times(ROUNDS, quick=5)
    duetty = str(Path(sys.executable).with_name("duetty"))
    commands = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "`duetty --version`": [duetty, "--version"],
        "`duetty list`": [duetty, "list"],
        "`duetty run -s s -- true`": [duetty, "run", "-s", "s", "--", "true"],
    }
    taken: dict[str, list[float]] = {what: [] for what in commands}
    with temporary_home() as home, running_server(home) as server:
        server.client.post("/sessions", {"name": "s", "command": "bash"})
        for turn in range(1 + rounds):
            if turn % 10 == 1:
                effort.say(f"round {turn} of {rounds}")
            for what, argv in commands.items():
                taken_s = _time(argv, server.env)
                if turn:  # the first warms the page cache
                    taken[what].append(taken_s)
    python_s = median(taken.pop("python -c pass"))
    return [
        Table(
            name="cli",
            title="The command line",
            lines=[
                Line(
                    what=what,
                    measured=ms(median(samples)),
                    beside=f"{ms(python_s)} `python -c pass`",
                    ratio=median(samples) / python_s,
                )
                for what, samples in taken.items()
            ],
            notes=[
                f"From start to end of the process, {rounds} rounds in turns, medians. "
                "`list` and `run` speak to a running server.",
            ],
        )
    ]


def _time(argv: Sequence[str], env: Mapping[str, str]) -> float:
    started_s = time.perf_counter()
    subprocess.run(argv, env=env, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started_s

"""How soon it is told that a program waits for a person, and that one which works is never said to.

Each program writes down the time just before it reads. Beside it: the same program on a bare PTY, and
the kernel asked in a tight loop, which is the earliest that anybody could know.
"""

import os
import pty
import shlex
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import anyio

from benchmarks.measure import Effort, engine, median, wait_prompt
from benchmarks.report import Line, Table, ms
from duetty.platform.terminal_probe import probe
from tests.engine import Engine, child_env

ROUNDS = 15
TOLD_S = 0.200
NEVER_S = 2.0
WAIT_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """`argv` with the path of a file in it, into which it writes the time before it reads."""

    what: str
    state: str
    script: str
    interpreter: tuple[str, ...]

    def argv(self, times: Path) -> list[str]:
        return [*self.interpreter, self.script.replace("TIMES", str(times))]


BASH = ("bash", "-c")
PYTHON = (sys.executable, "-c")
NOTE = "import time, sys; open('TIMES', 'w').write(str(time.time())); "
PROGRAMS = (
    Program(
        what="`read x`",
        state="awaiting_input",
        script="echo $EPOCHREALTIME >TIMES; read x",
        interpreter=BASH,
    ),
    Program(
        what="`python3 -c 'input()'`",
        state="awaiting_input",
        script=NOTE + "input()",
        interpreter=PYTHON,
    ),
    Program(
        what="a question like apt's, `[Y/n]`",
        state="awaiting_input",
        script=NOTE + "sys.stdout.write('Continue? [Y/n] '); sys.stdout.flush(); "
        "sys.stdin.readline()",
        interpreter=PYTHON,
    ),
    Program(
        what="`read -s x`",
        state="awaiting_password",
        script="echo $EPOCHREALTIME >TIMES; read -s x",
        interpreter=BASH,
    ),
    Program(
        what="a password like ssh's and sudo's (`/dev/tty`, echo off)",
        state="awaiting_password",
        script=NOTE + "import getpass; getpass.getpass('Password: ')",
        interpreter=PYTHON,
    ),
)
WORKING = ("sleep 30", "yes > /dev/null", "sleep 30 | cat", f"{sys.executable} -c 'while 1: pass'")


async def run(effort: Effort) -> list[Table]:
    rounds = effort.times(ROUNDS, quick=2)
    lines: list[Line] = []
    async with engine() as running:
        for program in PROGRAMS:
            effort.say(program.what)
            lines.append(await _told(running, program, rounds))
        effort.say("programs that work")
        lines.append(await _never(running, effort))
    return [
        Table(
            name="states",
            title="A program that waits for a person",
            lines=lines,
            notes=[
                f"From the time that the program itself took just before it read, to the answer of "
                f"`session.wait` for that state; {rounds} rounds in turns, the slowest counts.",
                "Beside it: the same program on a bare PTY, until the kernel first says that it reads "
                "the terminal, asked in a tight loop; median.",
            ],
        )
    ]


async def _told(running: Engine, program: Program, rounds: int) -> Line:
    session = await running.open(name="asker", command="bash")
    await wait_prompt(session)
    times = running.paths.state.parent.parent / "times"
    ours: list[float] = []
    bare: list[float] = []
    for _ in range(rounds):
        bare.append(_bare(program.argv(times), times, running.paths.state))
        line = shlex.join(program.argv(times))
        await running.call("input.write", session="asker", data=line + "\r")
        await running.call("session.wait", session="asker", state=[program.state])
        ours.append(time.time() - float(times.read_text()))
        await running.call("input.write", session="asker", data="answer\r")
        await running.call("session.wait", session="asker", state=["prompt"])
    await running.call("session.remove", session="asker", signal="KILL")
    return Line(
        what=f"{program.what}: known after, at most",
        measured=ms(max(ours)),
        beside=f"{ms(median(ours))} median, {ms(median(bare))} in the kernel",
        target=f"≤ {ms(TOLD_S)}",
        met=max(ours) <= TOLD_S,
    )


def _bare(argv: list[str], times: Path, home: Path) -> float:
    """Seconds until the kernel says that it reads."""
    times.unlink(missing_ok=True)
    pid, master = pty.fork()
    if pid == 0:
        os.execvpe(argv[0], argv, child_env(home))
    deadline_s = time.monotonic() + WAIT_S
    try:
        while not _reads(pid, master, times):
            if time.monotonic() > deadline_s:
                raise RuntimeError(f"{argv} never read")
        return time.time() - float(times.read_text())
    finally:
        os.kill(pid, signal.SIGKILL)
        os.close(master)
        os.waitpid(pid, 0)


def _reads(pid: int, master: int, times: Path) -> bool:
    if not times.exists() or not times.stat().st_size:
        return False
    terminal = str(Path(f"/proc/{pid}/fd/0").readlink())
    return probe(pid, terminal, os.tcgetpgrp(master)).reader is not None


async def _never(running: Engine, effort: Effort) -> Line:
    looks = wrong = 0
    for number, line in enumerate(WORKING):
        name = f"worker{number}"
        await wait_prompt(await running.open(name=name, command="bash"))
        await running.call("input.write", session=name, data=line + "\r")
        await running.call("session.wait", session=name, state=["running"])
        with anyio.move_on_after(effort.times(int(NEVER_S * 10), quick=2) / 10):
            while True:
                looks += 1
                state = (await running.call("session.get", session=name)).state
                wrong += state.startswith("awaiting")
                await anyio.sleep(0.01)
        await running.call("session.remove", session=name, signal="KILL")
    return Line(
        what="`sleep`, a pipe into `cat`, programs that compute: found waiting",
        measured=f"{wrong} times",
        beside=f"{looks} looks",
        target="never",
        met=wrong == 0,
    )

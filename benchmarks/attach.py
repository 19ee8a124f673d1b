"""How long a key takes to its echo on a person's terminal, and `duetty attach` to its first picture.

A PTY runs `duetty attach`; beside it the same program (`cat` with the terminal's own echo) on a bare
PTY. Each key waits for its echo, in turns with the bare one.
"""

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping, Sequence

import anyio.to_thread

from benchmarks.measure import Effort, median, percentile, temporary_home
from benchmarks.report import Line, Table, ms
from tests.server_process import ServerProcess, running_server

KEYS = 400
STARTS = 15
ADDED_MEDIAN_S, ADDED_P99_S, FIRST_S = 0.002, 0.010, 0.250
COMMAND = ["cat"]


async def run(effort: Effort) -> list[Table]:
    return await anyio.to_thread.run_sync(_run, effort)


def _run(effort: Effort) -> list[Table]:
    keys, starts = effort.times(KEYS, quick=60), effort.times(STARTS, quick=4)
    with temporary_home() as home, running_server(home) as server:
        effort.say("first picture")
        first_s = [_first_picture(server) for _ in range(1 + starts)][1:]
        effort.say("echo")
        quiet = _echoes(server, keys)
        effort.say("echo while another session floods")
        flooding = server.client.post("/sessions", {"command": "yes 0123456789"})["name"]
        busy = _echoes(server, keys)
        server.client.delete(f"/sessions/{flooding}?signal=KILL")
    lines = [
        line
        for what, (ours, bare) in (("", quiet), (", while another session floods", busy))
        for line in _lines(what, ours, bare)
    ]
    lines.append(
        Line(
            what="`duetty attach` to its first picture",
            measured=ms(median(first_s)),
            beside="-",
            ratio=None,
            target=f"≤ {ms(FIRST_S)}",
            met=median(first_s) <= FIRST_S,
        )
    )
    return [
        Table(
            name="attach",
            title="A terminal attached to a session",
            lines=lines,
            notes=[
                f"{keys} keys, one at a time, each until its echo was painted; in turns with a bare PTY "
                "that runs the same program. “Added” is the difference of the two.",
                f"First picture: from the start of the process to the session's rows, median of {starts}.",
            ],
        )
    ]


def _lines(what: str, ours: Sequence[float], bare: Sequence[float]) -> list[Line]:
    added, added_p99 = median(ours) - median(bare), percentile(ours, 99) - percentile(bare, 99)
    return [
        Line(
            what=f"echo of a key{what}: added, median",
            measured=ms(added),
            beside=f"{ms(median(bare))} bare PTY",
            ratio=None,
            target=f"≤ {ms(ADDED_MEDIAN_S)}",
            met=added <= ADDED_MEDIAN_S,
        ),
        Line(
            what=f"echo of a key{what}: added, p99",
            measured=ms(added_p99),
            beside=f"{ms(percentile(bare, 99))} bare PTY",
            ratio=None,
            target=f"≤ {ms(ADDED_P99_S)}",
            met=added_p99 <= ADDED_P99_S,
        ),
    ]


class Person:
    """A program on a PTY, typed at one key at a time."""

    def __init__(self, argv: Sequence[str], env: Mapping[str, str]) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("4H", 24, 80, 0, 0))
        self._process = subprocess.Popen(
            argv, env=dict(env), stdin=slave, stdout=slave, stderr=slave, start_new_session=True
        )
        os.close(slave)

    def wait(self, wanted: bytes) -> None:
        received = b""
        until_s = time.monotonic() + 20
        while wanted not in received:
            ready = select.select([self._master], [], [], until_s - time.monotonic())[0]
            assert ready, f"{wanted!r} never came: {received[-200:]!r}"
            received += os.read(self._master, 65_536)

    def settle(self) -> None:
        while select.select([self._master], [], [], 0.3)[0]:
            os.read(self._master, 65_536)

    def echo_s(self, key: bytes) -> float:
        while select.select([self._master], [], [], 0)[0]:
            os.read(self._master, 65_536)  # painted late, for another key: not what is measured
        started_s = time.perf_counter()
        os.write(self._master, key)
        self.wait(key)
        return time.perf_counter() - started_s

    def press(self, key: bytes) -> None:
        os.write(self._master, key)
        self.settle()

    def end(self) -> None:
        self._process.kill()
        self._process.wait(10)
        os.close(self._master)


def _attach(server: ServerProcess, name: str) -> Person:
    env = {**server.env, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
    return Person([sys.executable, "-m", "duetty", "attach", name, "--no-hints"], env)


def _first_picture(server: ServerProcess) -> float:
    name = server.client.post("/sessions", {"command": "sh -c 'echo picture; exec cat'"})["name"]
    server.client.post(f"/sessions/{name}/wait", {"text": "picture"})
    started_s = time.perf_counter()
    person = _attach(server, name)
    person.wait(b"picture")
    taken_s = time.perf_counter() - started_s
    person.end()
    server.client.delete(f"/sessions/{name}?signal=KILL")
    return taken_s


def _echoes(server: ServerProcess, keys: int) -> tuple[list[float], list[float]]:
    name = server.client.post("/sessions", {"command": "cat"})["name"]
    ours, bare = _attach(server, name), Person(COMMAND, server.env)
    ours.settle()
    taken: tuple[list[float], list[float]] = ([], [])
    for at in range(keys + 10):
        key = bytes([ord("a") + at % 26])
        for person, samples in zip((ours, bare), taken, strict=True):
            if at % 60 == 59:
                # A new row, as people's lines end; the text that cat gives back is not measured.
                person.press(b"\r")
            took_s = person.echo_s(key)
            if at >= 10:
                samples.append(took_s)
            time.sleep(0.005)
    ours.end()
    bare.end()
    server.client.delete(f"/sessions/{name}?signal=KILL")
    return taken

"""A person beside a greedy client: what the tests and `benchmarks/hostile.py` both measure."""

import hashlib
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.viewing import View
from tests.edges.http.asking import client_of, new_token
from tests.faults.server_facts import MIB, resident_bytes
from tests.hostile.greedy import Credential
from tests.server_process import ServerProcess

ROOT = Path(__file__).parent.parent.parent
ECHO_P95_S, LIST_P95_S, GROWN_BYTES = 0.050, 0.100, 128 * MIB
KEY_PAUSE_S = 0.01
WORK_BYTES, WORK_S = 500_000, 0.002
"""A piece of work, and what it takes at most on a machine that has nothing else to do."""

ENDS_S = 30.0

COLS, ROWS = 400, 200
PAINT = f"""
import sys, time
cells = ("\\x1b[38;2;%d;%d;%dm%c" % (n % 256, n * 7 % 256, n * 13 % 256, 65 + n % 26) for n in range({COLS * (ROWS - 1)}))
sys.stdout.write("".join(cells))
sys.stdout.flush()
time.sleep(10000)
"""


def prepare(server: ServerProcess) -> None:
    """A session for the person's keys, and a large one in which every cell has a colour of its own."""
    server.client.post("/sessions", {"name": "echo", "command": "cat"})
    server.client.post("/sessions/echo/wait", {"state": ["awaiting_input"]})
    paint = server.home / "paint.py"
    paint.write_text(PAINT)
    large = {"name": "large", "command": f"{sys.executable} {paint}", "cols": COLS, "rows": ROWS}
    server.client.post("/sessions", large)
    waited = server.client.post("/sessions/large/wait", {"idle_ms": 500, "max_wait_ms": 60_000})
    assert waited, "the large session is painted"


def coloured_cells(server: ServerProcess) -> int:
    """Cells of the large session that have a colour of their own, as the server's own snapshot has them."""
    with client_of(server) as http:
        dumped = http.get("/sessions/large/snapshot", params={"format": "vt"}).content
    return dumped.count(b"38;2;")


def token_of(server: ServerProcess, credential: Credential) -> str:
    """A new one; those of earlier attacks end, and with them what they hold for so long as half an hour."""
    for earlier in server.client.get("/tokens"):
        if earlier["kind"] == "token" and earlier["valid"]:
            server.client.delete(f"/tokens/{earlier['id']}")
    if credential in ("none", "user"):
        return ""
    if credential == "node":
        users = {each["name"] for each in server.client.get("/users")}
        if "machine" not in users:
            server.client.post("/users", {"name": "machine"})
        made: dict[str, Any] = server.client.post("/users/machine/tokens", {"scopes": ["join"]})
        return made["token"]
    with client_of(server) as http:
        one = {"session": "large"} if credential == "session" else {}
        return new_token(http, "read", **one)


@dataclass(frozen=True, kw_only=True)
class Measured:
    echo_p95_s: float
    list_p95_s: float
    grown_bytes: int
    crowded_s: float
    """How much later than on an idle machine a process gets to run, 95 of 100."""


def measured(server: ServerProcess, person: View, seconds: float) -> Measured:
    before = resident_bytes(server)
    highest = before
    echoes: list[float] = []
    lists: list[float] = []
    worked: list[float] = []
    until_s = time.monotonic() + seconds
    with client_of(server) as http:
        http.get("/sessions")
        while time.monotonic() < until_s or len(echoes) < 40:
            number = len(echoes)
            key = b"abcdefghij"[number % 10 : number % 10 + 1]
            began_s = time.perf_counter()
            person.type(key)
            person.until(key)
            echoes.append(time.perf_counter() - began_s)
            if number % 60 == 59:  # a line of the terminal is not for ever
                person.type(b"\r")
                person.until(b"\n")
            if number % 4 == 0:
                began_s = time.perf_counter()
                http.get("/sessions").raise_for_status()
                lists.append(time.perf_counter() - began_s)
                highest = max(highest, resident_bytes(server))
            began_s = time.perf_counter()
            time.sleep(KEY_PAUSE_S)
            hashlib.sha256(bytes(WORK_BYTES)).digest()
            worked.append(time.perf_counter() - began_s)
    return Measured(
        echo_p95_s=_p95(echoes),
        list_p95_s=_p95(lists),
        grown_bytes=highest - before,
        crowded_s=max(0.0, _p95(worked) - KEY_PAUSE_S - WORK_S),
    )


def _p95(values: list[float]) -> float:
    return sorted(values)[math.ceil(len(values) * 0.95) - 1]


class Client:
    """A greedy client in a process of its own."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self.seen: dict[str, int] = {}
        """What became of it, from when it has ended."""

    def begun(self) -> None:
        """Wait until it has loaded what it needs, and is at it."""
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"begun\n"

    def end(self) -> None:
        try:
            out, _ = self._process.communicate(timeout=ENDS_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            out, _ = self._process.communicate()
        self.seen = json.loads(out or b"{}")


@contextmanager
def attacked(server: ServerProcess, attack: str, token: str, seconds: float) -> Generator[Client]:
    command = [sys.executable, "-m", "tests.hostile.greedy", attack, server.url(), token]
    process = subprocess.Popen(
        [*command, str(server.paths.runtime), str(seconds)],
        cwd=ROOT,
        env={**os.environ, "DUETTY_HOME": str(server.home)},
        stdout=subprocess.PIPE,
    )
    client = Client(process)
    try:
        yield client
        client.end()
    finally:
        process.kill()
        process.wait()

"""A person beside a hostile client: the echo of a key, the list of sessions, memory."""

import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import anyio.to_thread

from benchmarks.measure import Effort, percentile, temporary_home
from benchmarks.report import Line, Table, ms
from benchmarks.viewing import View
from tests.edges.http.asking import client_of, new_token
from tests.faults.server_facts import MIB, resident_bytes
from tests.hostile.greedy import ATTACKS, STRANGERS
from tests.server_process import ServerProcess, running_server

ROOT = Path(__file__).parent.parent
ECHO_P95_S, LIST_P95_S, GROWN_BYTES = 0.050, 0.100, 128 * MIB
KEY_PAUSE_S = 0.01


async def run(effort: Effort) -> list[Table]:
    lines = await anyio.to_thread.run_sync(_lines, effort)
    return [
        Table(
            name="hostile",
            title="Beside a hostile client",
            lines=lines,
            notes=[
                "Each client attacks for some seconds from a process of its own (`tests/hostile/greedy.py`): strangers without a credential, the others with "
                "a token that only reads. Meanwhile a person, signed in as at the page, types to `cat` and asks for `GET /sessions`: 95 of 100.",
                "Beside it: the same before the attack. Memory: the server's own pages after it, above those before.",
            ],
        )
    ]


def _lines(effort: Effort) -> list[Line]:
    seconds = 1.5 if effort.quick else 5.0
    found: list[Line] = []
    with temporary_home() as home, running_server(home) as server:
        server.client.post("/sessions", {"name": "echo", "command": "cat"})
        server.client.post("/sessions/echo/wait", {"state": ["awaiting_input"]})
        server.client.post(
            "/sessions", {"name": "large", "command": "bash", "cols": 400, "rows": 200}
        )
        line = "yes $'\\e[31mx\\e[0m' | head -c 200000\r"
        server.client.post("/sessions/large/input", {"data": line})
        person = View(server, "echo", is_person=True)
        calm = _measured(server, person, seconds)
        for attack in ATTACKS:
            effort.say(attack)
            with client_of(server) as http:
                token = "" if attack in STRANGERS else new_token(http, "read")
            before = resident_bytes(server)
            with _attacked(server, attack, token, seconds + 1):
                time.sleep(0.5)
                echo_s, list_s = _measured(server, person, seconds)
            grown = resident_bytes(server) - before
            found += _told(attack.replace("_", " "), (echo_s, list_s), calm, grown)
        person.close()
    return found


def _told(
    what: str, measured: tuple[float, float], calm: tuple[float, float], grown: int
) -> list[Line]:
    bounds = (("echo of a key", ECHO_P95_S), ("`GET /sessions`", LIST_P95_S))
    lines = [
        Line(
            what=f"{what}: {name}",
            measured=ms(took_s),
            beside=f"{ms(calm_s)} before",
            ratio=took_s / calm_s,
            target=f"≤ {ms(most_s)}",
            met=took_s <= most_s,
        )
        for (name, most_s), took_s, calm_s in zip(bounds, measured, calm, strict=True)
    ]
    memory = Line(
        what=f"{what}: memory",
        measured=f"{grown / MIB:+.0f} MiB",
        target=f"≤ {GROWN_BYTES // MIB} MiB",
        met=grown <= GROWN_BYTES,
    )
    return [*lines, memory]


def _measured(server: ServerProcess, person: View, seconds: float) -> tuple[float, float]:
    echoes: list[float] = []
    lists: list[float] = []
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
            time.sleep(KEY_PAUSE_S)
    return percentile(echoes, 95), percentile(lists, 95)


@contextmanager
def _attacked(server: ServerProcess, attack: str, token: str, seconds: float) -> Generator[None]:
    command = [sys.executable, "-m", "tests.hostile.greedy", attack, server.url(), token]
    process = subprocess.Popen([*command, str(seconds)], cwd=ROOT, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.kill()
        process.wait()

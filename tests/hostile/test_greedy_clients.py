"""Each greedy client beside a person: slower, perhaps, and never stopped. Figures: benchmarks/hostile.py."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.edges.http.asking import client_of, new_token
from tests.faults.server_facts import MIB, answers, resident_bytes
from tests.hostile.greedy import ATTACKS, STRANGERS
from tests.server_process import ServerProcess, running_server

pytestmark = pytest.mark.pty

ATTACK_S = 3.0
WAITED_S = 2.0
"""A tenth of it on a machine that has nothing else to do; it was up to a minute."""

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    with (
        tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as home,
        running_server(Path(home)) as server,
    ):
        server.client.post("/sessions", {"name": "s", "command": "bash"})
        large = {"name": "large", "command": "bash", "cols": 400, "rows": 200}
        server.client.post("/sessions", large)
        server.client.post(
            "/sessions/large/input", {"data": "yes $'\\e[31mx\\e[0m' | head -c 200000\r"}
        )
        assert answers(server, "s")
        yield server


@contextmanager
def attacked(server: ServerProcess, attack: str, token: str) -> Generator[None]:
    command = [sys.executable, "-m", "tests.hostile.greedy", attack, server.url(), token]
    process = subprocess.Popen([*command, str(ATTACK_S)], cwd=ROOT, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.sampled(3)
def test_a_person_works_on_beside_a_greedy_client(server: ServerProcess, attack: str) -> None:
    with client_of(server) as http:
        token = "" if attack in STRANGERS else new_token(http, "read")
    before = resident_bytes(server)
    waited: list[float] = []
    with attacked(server, attack, token):
        until_s = time.monotonic() + ATTACK_S
        while time.monotonic() < until_s:
            began_s = time.monotonic()
            assert server.client.get("/sessions")
            waited.append(time.monotonic() - began_s)
            time.sleep(0.02)
        assert answers(server, "s")
    grown = resident_bytes(server) - before

    assert max(waited) < WAITED_S
    assert grown < 128 * MIB
    assert server.process is not None
    assert server.process.poll() is None

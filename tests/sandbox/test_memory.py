"""The processes of a sandboxed session together take no more than they may."""

import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from duetty.client import session_path
from duetty.errors import DuettyError
from duetty.platform.memory import memory_bytes
from tests.faults.server_facts import eventually, run
from tests.server_process import running_server

pytestmark = pytest.mark.pty

MIB = 1024 * 1024
EATER = 'python3 -c \'import time; kept = b"x" * (90 << 20); print("ready", flush=True); time.sleep(60)\' &'


@pytest.mark.parametrize("sandbox", ["bubblewrap", "landlock"])
def test_a_session_whose_processes_together_take_too_much_is_ended_with_the_reason(
    home: Path, sandbox: str
) -> None:
    (home / "config.toml").write_text("[sandbox]\ntotal_memory_mib = 200\n")
    with running_server(home) as server:
        server.client.post("/sessions", {"name": "plain", "command": "bash"})
        server.client.post("/sessions", {"name": "s", "command": "bash", "sandbox": sandbox})
        run(server, EATER, session="s")
        before = server.client.get(session_path("s"))["state"]
        with suppress(DuettyError):  # which may end it
            run(server, f"{EATER} {EATER}", session="s")

        eventually(lambda: server.client.get(session_path("s"))["state"] == "exited")
        told = server.client.get(session_path("s"))["degraded"]
        plain = server.client.get(session_path("plain"))["state"]

    assert before != "exited"
    assert "sandbox.total_memory_mib" in told
    assert plain != "exited"


FORKS = """
import os, sys
kept = bytearray(os.urandom(1 << 20) * 60)
for _ in range(3):
    if not os.fork():
        break
print("ready", flush=True)
sys.stdin.read()
"""


def test_pages_that_processes_share_are_counted_once() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", FORKS], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for _ in range(4):
            process.stdout.readline()
        roughly = memory_bytes([process.pid], above=1 << 60)[process.pid]
        fairly = memory_bytes([process.pid])[process.pid]
        process.stdin.close()

    assert roughly > 4 * 60 * MIB
    assert fairly < 2 * 60 * MIB

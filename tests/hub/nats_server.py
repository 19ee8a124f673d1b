"""A real NATS server for one test or one file: at a free port, killed by its process id."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import AbstractAsyncContextManager, contextmanager
from pathlib import Path

import pytest

from duetty.hub.bus import Bus

Join = Callable[[str], AbstractAsyncContextManager[Bus]]
"""A new member of one hub, by its name; whichever engine it has."""


class NatsServer:
    def __init__(self, program: str, directory: Path, *, jetstream: bool = True) -> None:
        self._kept = ("-js", "-sd", str(directory / "kept")) if jetstream else ()
        self._program = program
        self._directory = directory
        self._port = -1
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self._port}"

    def start(self) -> None:
        """At the same port as before, with what it kept on disk."""
        for each in self._directory.glob("*.ports"):
            each.unlink()
        self._process = subprocess.Popen(
            [
                *(self._program, "-a", "127.0.0.1", "-p", str(self._port)),
                *("--ports_file_dir", str(self._directory)),
                *self._kept,
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        end_s = time.monotonic() + 10
        while not (ports := list(self._directory.glob("*.ports"))) or not ports[0].read_bytes():
            assert time.monotonic() < end_s, "nats-server does not start"
            time.sleep(0.01)
        self._port = int(json.loads(ports[0].read_text())["nats"][0].rpartition(":")[2])

    def freeze(self) -> None:
        """All of its threads, and not only soon."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)
        threads = Path(f"/proc/{self._process.pid}/task")
        end_s = time.monotonic() + 10
        while any(
            (each / "stat").read_text().rpartition(")")[2].split()[0] != "T"
            for each in threads.iterdir()
        ):
            assert time.monotonic() < end_s, "nats-server does not stop"
            time.sleep(0.001)

    def thaw(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def forget(self) -> None:
        """Lose the disk; it is not running."""
        shutil.rmtree(self._directory / "kept")


def _program() -> str | None:
    beside = Path(sys.executable).with_name("nats-server")
    given = os.environ.get("HUB_TEST_NATS")
    return given or (str(beside) if beside.exists() else shutil.which("nats-server"))


@contextmanager
def nats_server(*, jetstream: bool = True) -> Generator[NatsServer]:
    program = _program()
    if program is None:
        assert not os.environ.get("CI"), "nats-server is not installed (make install-dev)"
        pytest.skip("not installed: nats-server (make install-dev)")
    with tempfile.TemporaryDirectory(prefix="nats-", ignore_cleanup_errors=True) as directory:
        server = NatsServer(program, Path(directory), jetstream=jetstream)
        server.start()
        try:
            yield server
        finally:
            server.kill()

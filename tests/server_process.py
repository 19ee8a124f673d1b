"""A real server in a process of its own, on a free loopback port."""

import signal
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from duetty.client import Client
from duetty.config import find_paths
from duetty.errors import DuettyError
from tests.engine import child_env
from tests.warm import Forked
from tests.warm import shared as warm_processes

START_S = 180
"""How long a program of ours may take to start or end: half a second alone, minutes at a load of 30."""


class ServerProcess:
    def __init__(self, home: Path, **env: str) -> None:
        self.home = home
        self.env = {**child_env(home), "DUETTY_HOME": str(home), **env}
        self.paths = find_paths(self.env)
        self.client = Client(self.paths.server_socket)
        self.process: subprocess.Popen[bytes] | Forked | None = None
        self.program = [sys.executable, "-m", "duetty"]
        self.bind: tuple[str, ...] = ("--bind", "127.0.0.1:0")

    def start(self, *arguments: str, change: str = "") -> None:
        argv = ["server", *self.bind, *arguments]
        self.process = self._begin(argv, change)
        deadline_s = time.monotonic() + START_S
        while not (self.paths.address_file.exists() and self._pid() == self.process.pid):
            if self.process.poll() is not None or time.monotonic() > deadline_s:
                self.process.kill()  # one that is merely late would be listened to for ever
                raise AssertionError(f"the server did not start: {self.process.communicate()[1]!r}")
            time.sleep(0.01)

    def start_with(self, change: str, *arguments: str) -> None:
        """Start it with a bound of its own made short or long: `MODULE.NAME = VALUE`."""
        module = change.partition("=")[0].rpartition(".")[0]
        self.start(*arguments, change=f"import {module}; {change}")

    def _begin(self, argv: list[str], change: str) -> subprocess.Popen[bytes] | Forked:
        if (warm := warm_processes()) is not None:
            return warm.fork(change, argv, self.env)
        program = self.program
        if change:
            code = f"{change}; import sys; from duetty.cli.main import main; sys.exit(main())"
            program = [sys.executable, "-c", code]
        return subprocess.Popen(
            [*program, *argv], env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )

    def _pid(self) -> int | None:
        try:
            return int(self.client.get("/server/info")["pid"])
        except Exception:  # noqa: BLE001 - not up yet, whatever the reason
            return None

    def kill(self) -> None:
        """SIGKILL: the server gets no chance to do anything."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(START_S)
        self._close_pipe()
        self.paths.address_file.unlink(missing_ok=True)

    def command(self, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "duetty", *arguments],
            env=self.env,
            capture_output=True,
            text=True,
            timeout=START_S,
            check=False,
            **options,
        )

    def wait_ended(self) -> int:
        assert self.process is not None
        code = self.process.wait(START_S)
        self._close_pipe()
        return code

    def _close_pipe(self) -> None:
        assert self.process is not None
        if self.process.stderr is not None:
            self.process.stderr.close()

    def end(self) -> None:
        self._stop()
        if self.process is not None and self.process.poll() is None:
            self.kill()
        elif self.process is not None:
            self._close_pipe()

    def _stop(self) -> None:
        """As `duetty stop` does it, without a process of its own for each of hundreds of servers."""
        try:
            self.client.post("/server/stop", {})
        except DuettyError:
            self.command("stop")  # no server: ends what outlived a killed one
            return
        if self.process is not None:
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(START_S)
        deadline_s = time.monotonic() + START_S
        # The one that answered may have taken the place of the one that was started here.
        while self.paths.server_socket.exists() and time.monotonic() < deadline_s:
            time.sleep(0.01)

    def url(self) -> str:
        return self.paths.address_file.read_text().strip()

    def token(self) -> str:
        return self.paths.token_file.read_text().strip()


@contextmanager
def running_server(home: Path, **env: str) -> Generator[ServerProcess]:
    server = ServerProcess(home, **env)
    server.start()
    try:
        yield server
    finally:
        server.end()


def is_alive(pid: int) -> bool:
    """Whether it runs; one that only waits to be reaped does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"

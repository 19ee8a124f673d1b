"""A real keeper on a socket of its own, and patient ways to look at it."""

import os
import select
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from duetty.errors import DuettyError
from duetty.keeper.client import (
    KeeperClient,
    KeptSession,
    Opened,
    OpenOrder,
    parse_opened,
    parse_sessions,
    start_keeper,
)

T = TypeVar("T")

PATIENCE_S = 60


HOPPING = """
import os, signal, sys, time
for each in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
    signal.signal(each, signal.SIG_IGN)
for _ in range(3):
    if os.fork() == 0:
        os.setpgid(0, 0)
        until = time.monotonic() + 20
        while time.monotonic() < until:
            if os.fork():
                os._exit(0)
        os._exit(0)
print('hopping', flush=True)
if len(sys.argv) < 2:
    time.sleep(1000)
"""
"""A program that starts another and ends, all the time: by the time a signal comes, it is elsewhere."""


class RunningKeeper:
    def __init__(self, directory: Path, *, orphan_s: float | None = None) -> None:
        self.socket = directory / "keeper.sock"
        self.log = directory / "keeper.log"
        self._clients: list[KeeperClient] = []
        self._masters: list[int] = []
        self.pid = start_keeper(self.socket, self.log, orphan_s=orphan_s)

    def connect(self) -> KeeperClient:
        client = KeeperClient.connect(self.socket)
        self._clients.append(client)
        return client

    def open(
        self,
        client: KeeperClient,
        argv: Sequence[str],
        *,
        session: str = "s",
        cwd: str = "/",
        env: dict[str, str] | None = None,
        handed: dict[int, str] | None = None,
    ) -> Opened:
        order = order_of(argv, session=session, cwd=cwd, env=env, handed=handed)
        return self.hold(parse_opened(client.call("open", order.fields())))

    def adopt(self, client: KeeperClient, session: str = "s") -> Opened:
        return self.hold(parse_opened(client.call("adopt", {"session": session})))

    def hold(self, opened: Opened) -> Opened:
        """Close its master at the end of the test."""
        self._masters.append(opened.master)
        return opened

    def drop_masters(self) -> None:
        for master in self._masters:
            os.close(master)
        self._masters.clear()

    def start_again(self) -> None:
        self.pid = start_keeper(self.socket, self.log)

    def __enter__(self) -> "RunningKeeper":
        return self

    def __exit__(self, *_: object) -> None:
        for client in self._clients:
            client.close()
        try:
            last = KeeperClient.connect(self.socket)
            last.call("stop", {"grace_s": 0})
            last.close()
        except DuettyError:
            pass  # the test has ended it
        wait_gone(self.pid)
        self.drop_masters()


def order_of(
    argv: Sequence[str],
    *,
    session: str = "s",
    cwd: str = "/",
    env: dict[str, str] | None = None,
    handed: dict[int, str] | None = None,
) -> OpenOrder:
    return OpenOrder(
        session=session,
        argv=argv,
        cwd=cwd,
        env={"PATH": "/usr/bin:/bin"} if env is None else env,
        cols=80,
        rows=24,
        handed=handed or {},
    )


def eventually(ask: Callable[[], T], holds: Callable[[T], bool] = bool) -> T:
    """The answer, once it holds; fails when patience ends."""
    end_s = time.monotonic() + PATIENCE_S
    while not holds(answer := ask()):
        assert time.monotonic() < end_s, f"still {answer!r}"
        select.select([], [], [], 0.005)
    return answer


def wait_gone(pid: int) -> None:
    """Until the process has ended; whose child it is does not matter."""
    try:
        pidfd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        assert select.select([pidfd], [], [], PATIENCE_S)[0], f"process {pid} is still there"
    finally:
        os.close(pidfd)


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    wait_gone(pid)


def halt(pid: int) -> None:
    """Stop the process until SIGCONT, and see that it has stopped."""
    os.kill(pid, signal.SIGSTOP)
    wait_state(pid, "T")


def wait_state(pid: int, state: str) -> None:
    stat = Path(f"/proc/{pid}/stat")
    eventually(lambda: stat.read_text().rpartition(")")[2].split()[0], lambda found: found == state)


def read_until(master: int, text: bytes) -> bytes:
    end_s = time.monotonic() + PATIENCE_S
    content = b""
    while text not in content:
        ready, _, _ = select.select([master], [], [], max(0.0, end_s - time.monotonic()))
        assert ready, f"no {text!r} in {content!r}"
        content += os.read(master, 65536)
    return content


def read_all(master: int) -> bytes:
    """Everything up to the moment nobody has the terminal open any more."""
    end_s = time.monotonic() + PATIENCE_S
    content = b""
    while True:
        ready, _, _ = select.select([master], [], [], max(0.0, end_s - time.monotonic()))
        assert ready, f"no end after {content!r}"
        try:
            content += os.read(master, 65536)
        except OSError:
            return content


def text_of(master: int) -> str:
    return read_all(master).decode().replace("\r\n", "\n")


def children_of(pid: int) -> list[int]:
    """Zombies included."""
    found: list[int] = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                stat = Path(f"/proc/{name}/stat").read_text()
            except OSError:
                continue
            if int(stat.rpartition(")")[2].split()[1]) == pid:
                found.append(int(name))
    return found


def wait_exited(client: KeeperClient, session: str = "s") -> KeptSession:
    """The session, once the keeper knows that it has exited."""

    def kept() -> KeptSession:
        found = {each.session: each for each in parse_sessions(client.call("list"))}
        return found[session]

    return eventually(kept, lambda found: found.exited)

"""What is measured of a real server, and waits with a bound."""

import os
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from duetty.client import session_path
from duetty.client.client import RemoteError
from tests.server_process import ServerProcess

MIB = 1 << 20
WAIT_S = 60


def eventually(condition: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline_s, "it did not come true in time"
        time.sleep(0.02)


@contextmanager
def refused(code: str) -> Generator[None]:
    """The call inside ends with this coded error."""
    with pytest.raises(RemoteError) as caught:
        yield
    assert caught.value.code == code


def run(server: ServerProcess, line: str, *, session: str = "s", **options: object) -> Any:
    """`command.run` over HTTP."""
    body: dict[str, object] = {"input": line, **options}
    wait_s = 60 + int(str(options.get("max_wait_ms", 60_000))) / 1000
    return server.client.post(session_path(session, "/run"), body, wait_s=wait_s)


def answers(server: ServerProcess, session: str) -> bool:
    answer = run(server, "echo alive; (exit 3)", session=session)
    return (answer["output"], answer["exit_code"], answer["completed_by"]) == ("alive", 3, "mark")


def resident_bytes(server: ServerProcess) -> int:
    assert server.process is not None
    return psutil.Process(server.process.pid).memory_info().rss


def cpu_s(server: ServerProcess) -> float:
    assert server.process is not None
    times = psutil.Process(server.process.pid).cpu_times()
    return times.user + times.system


def descriptors(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


def journal_directories(state: Path) -> set[str]:
    return {path.name for path in (state / "journals").iterdir()}

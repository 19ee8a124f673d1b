"""What a program finds open, its standard streams only, and what is left open of it: nothing.

The loop is uvloop, as the server's is: it closes nothing of what a child inherits.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from duetty.sandbox import RequestedLevel, SandboxRequest, support
from duetty.upstreams import Program, Surroundings
from duetty.upstreams.child import started
from tests.sandbox.inside import settled_sockets

FILL = """
import os, time
os.set_blocking(1, False)
refused = 0
while refused < 5:
    try:
        os.write(1, bytes(65536))
        refused = 0
    except BlockingIOError:
        refused += 1
        time.sleep(0.02)
"""
"""Prints until nobody reads on, and ends."""


@pytest.fixture
def inherited(tmp_path: Path) -> Iterator[Path]:
    """As after `exec 7<file`, in the shell that the server was started by."""
    path = tmp_path / "of-the-person"
    path.write_text("secret", encoding="utf-8")
    fds = [os.open(path, os.O_RDONLY), os.open(tmp_path, os.O_RDONLY)]
    for fd in fds:
        os.set_inheritable(fd, True)
    yield path
    for fd in fds:
        os.close(fd)


@pytest.mark.parametrize("level", ["none", "bubblewrap", "landlock"])
async def test_a_program_inherits_no_descriptor_of_the_server(
    tmp_path: Path, inherited: Path, level: RequestedLevel
) -> None:
    offered = support()
    if (level == "bubblewrap" and offered.bubblewrap is None) or (
        level == "landlock" and not offered.has_landlock
    ):
        pytest.skip(f"no {level} here")
    workspace = tmp_path / "ws"
    workspace.mkdir()
    around = Surroundings(
        environment={"PATH": "/usr/bin:/bin", "HOME": "/"},
        logs=tmp_path / "logs",
        sandbox=lambda _: SandboxRequest(asked=level, workspaces=(str(workspace),)),
    )
    looking = "ls -l /proc/self/fd | sed -n 's/.* \\([0-9]* -> .*\\)/\\1/p'"
    program = Program(command="/bin/sh", args=("-c", looking), cwd=str(workspace))

    said = b""
    with settled_sockets(), anyio.fail_after(30):
        async with started("it", program, around) as child:
            assert child.process.stdout is not None
            async for chunk in child.process.stdout:
                said += chunk

    found = [line.split(" -> ") for line in said.decode().splitlines()]
    own = [target for _, target in found if "/fd" in target]
    assert sorted(number for number, _ in found) == ["0", "1", "2", "3"], found
    assert len(own) == 1  # what `ls` itself opened to look


async def test_a_program_that_ends_with_much_unread_leaves_no_pipe_open(tmp_path: Path) -> None:
    around = Surroundings(
        environment={"PATH": "/usr/bin:/bin", "HOME": "/"},
        logs=tmp_path / "logs",
        sandbox=lambda _: SandboxRequest(asked="none"),
    )
    program = Program(command=sys.executable, args=("-I", "-S", "-c", FILL))

    before = pipes()
    with anyio.fail_after(30):
        async with started("it", program, around) as child:
            await child.process.wait()
    await anyio.wait_all_tasks_blocked()  # a pipe is closed in the loop's next turn

    assert pipes() == before


def pipes() -> set[str]:
    """The loop makes a pair of sockets for each."""
    links = (Path("/proc/self/fd", fd) for fd in os.listdir("/proc/self/fd"))
    return {to for link in links if "socket:" in (to := os.path.realpath(link))}

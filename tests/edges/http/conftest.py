"""A real server for each file, and a session for each test that wants one."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from zlib import crc32

import httpx
import pytest

from tests.edges.http.asking import client_of
from tests.server_process import ServerProcess, running_server


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    with (
        tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as home,
        running_server(Path(home)) as server,
    ):
        yield server


@pytest.fixture
def http(server: ServerProcess) -> Iterator[httpx.Client]:
    with client_of(server) as client:
        yield client


@pytest.fixture
def session(http: httpx.Client, request: pytest.FixtureRequest) -> Iterator[str]:
    """A bash at its prompt."""
    name = f"t{crc32(request.node.nodeid.encode())}"
    assert http.post("/sessions", json={"name": name, "command": "bash"}).status_code == 201
    http.post(f"/sessions/{name}/wait", json={"state": ["prompt"]})
    yield name
    http.delete(f"/sessions/{name}", params={"grace_ms": 0})


@pytest.fixture
def quiet(http: httpx.Client, request: pytest.FixtureRequest) -> Iterator[str]:
    """A session whose program prints nothing, echoes nothing and reads nothing."""
    name = f"q{crc32(request.node.nodeid.encode())}"
    http.post(
        "/sessions",
        json={"name": name, "command": "sh -c 'stty -echo; echo ready; exec sleep 1000'"},
    )
    assert http.post(f"/sessions/{name}/wait", json={"text": "ready"}).status_code == 200
    yield name
    http.delete(f"/sessions/{name}", params={"grace_ms": 0, "signal": "KILL"})

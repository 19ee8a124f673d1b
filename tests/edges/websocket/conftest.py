import tempfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.server_process import ServerProcess, running_server


@pytest.fixture(scope="package")
def server() -> Iterator[ServerProcess]:
    with (
        tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as home,
        running_server(Path(home)) as server,
    ):
        yield server


@pytest.fixture
def http(server: ServerProcess) -> Iterator[httpx.Client]:
    headers = {"Authorization": f"Bearer {server.token()}"}
    with httpx.Client(base_url=server.url(), headers=headers, timeout=60) as client:
        yield client


@pytest.fixture
def session(http: httpx.Client, request: pytest.FixtureRequest) -> Iterator[str]:
    name = f"t{abs(hash(request.node.name)) % 10**9}"
    assert http.post("/sessions", json={"name": name, "command": "bash"}).status_code == 201
    assert http.post(f"/sessions/{name}/wait", json={"state": ["prompt"]}).status_code == 200
    yield name
    http.delete(f"/sessions/{name}", params={"grace_ms": 0})

"""One real server for all tests of a file: each test opens sessions of its own."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server_process import ServerProcess, running_server


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    with (
        tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as home,
        running_server(Path(home)) as server,
    ):
        yield server

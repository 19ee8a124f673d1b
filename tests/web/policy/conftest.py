"""A server with rules of its own, the same for every test."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.homes import settle_home
from tests.server_process import ServerProcess, running_server
from tests.web.browsing import written_home
from tests.web.policy.ruling import OTHER, RULES, put_rules


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    with tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as path:
        home = settle_home(Path(path))
        written_home(home)
        (home / "config.toml").write_text(OTHER + RULES)
        with running_server(home) as started:
            yield started


@pytest.fixture(autouse=True)
def rules_as_they_were(server: ServerProcess) -> None:
    """Each test begins with the same rules, in the file and in force."""
    put_rules(server, RULES)

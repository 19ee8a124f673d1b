"""Servers whose rules make every outcome of policy happen."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server_process import ServerProcess, running_server

RULES = """
[[policy.rules]]
name = "asks-to-touch"
decide = "ask"
command = ["touch **"]
why = "it makes a file"

[[policy.rules]]
name = "no-uname"
decide = "deny"
command = ["uname **"]
why = "nobody needs to know"
"""

CLOSED = """
[[policy.rules]]
name = "hands-off"
decide = "deny"
dialect = ["terminal"]
operation = ["session.get", "session.list", "session.close", "process.list", "process.read", "process.stop"]
why = "look elsewhere"
"""


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    yield from _serving(RULES)


@pytest.fixture(scope="module")
def closed_server() -> Iterator[ServerProcess]:
    """Where rules deny everything but execute."""
    yield from _serving(CLOSED)


def _serving(rules: str) -> Iterator[ServerProcess]:
    with tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as path:
        home = Path(path)
        (home / "config.toml").write_text(rules)
        env = {"DUETTY_APPROVAL_WAIT_S": "1", "DUETTY_SERVER_PING_S": "3600"}
        with running_server(home, **env) as server:
            yield server

"""Who may be the server of a keeper: nobody whom the keeper keeps, and nobody out of a sandbox."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from duetty.keeper.client import KeeperClient
from duetty.sandbox import support
from tests.keeper.harness import RunningKeeper, read_until

ASKS = """
import sys
from duetty.errors import DuettyError
from duetty.keeper.client import KeeperClient
try:
    KeeperClient.connect(sys.argv[1])
    print("is the server")
except DuettyError as error:
    print("refused:", error.code)
"""
APART = ["bwrap", "--unshare-user", "--unshare-pid", "--bind", "/", "/", "--proc", "/proc", "--"]


def events(keeper: RunningKeeper) -> list[str]:
    return [json.loads(line)["event"] for line in keeper.log.read_text().splitlines()]


def asked_by(*before: str, socket: Path) -> str:
    argv = [*before, sys.executable, "-c", ASKS, str(socket)]
    return subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60).stdout


@pytest.mark.skipif(support().bubblewrap is None, reason="bubblewrap makes no namespaces here")
def test_a_keeper_without_a_server_takes_none_out_of_a_namespace(keeper: RunningKeeper) -> None:
    refused = asked_by(*APART, socket=keeper.socket)
    taken = asked_by(socket=keeper.socket)

    assert refused == "refused: keeper_unavailable\n"
    assert taken == "is the server\n"
    assert "connection_refused" in events(keeper)


@pytest.mark.pty
def test_a_program_that_the_keeper_keeps_cannot_be_its_server(keeper: RunningKeeper) -> None:
    server = keeper.connect()
    waits = f"read -r _; exec {sys.executable} -c '{ASKS}' {keeper.socket}"
    opened = keeper.open(server, ["/bin/sh", "-c", waits])
    server.close()

    with open(opened.master, "wb", buffering=0, closefd=False) as typing:
        typing.write(b"go\n")
    said = read_until(opened.master, b"refused: not_a_person")

    assert b"is the server" not in said
    assert isinstance(keeper.connect(), KeeperClient)

"""Who is at the other end of the unix socket: real processes, in and out of a namespace of their own."""

import os
import socket
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from duetty.edges.http.peer import Peer, peer_of
from duetty.sandbox import support

CLIENT = """
import os, socket, sys
connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1])
if sys.argv[2] == "forked" and os.fork():
    os._exit(0)
connection.recv(1)
"""

APART = ["bwrap", "--unshare-user", "--unshare-pid", "--ro-bind", "/", "/", "--proc", "/proc", "--"]


@contextmanager
def peer(place: Path, *, before: Sequence[str] = (), how: str = "plain") -> Generator[Peer]:
    path = str(place / "socket")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        listener.settimeout(30)
        client = subprocess.Popen([*before, sys.executable, "-I", "-S", "-c", CLIENT, path, how])
        if how == "forked":
            client.wait()
        connection, _ = listener.accept()
        with connection:
            yield peer_of(connection)
        client.wait()


def test_a_process_next_to_the_server_is_the_persons_own(tmp_path: Path) -> None:
    with peer(tmp_path) as found:
        assert not found.descends_from(set())


def test_a_process_that_the_server_started_is_not(tmp_path: Path) -> None:
    with peer(tmp_path) as found:
        assert found.descends_from({os.getpid()})


@pytest.mark.skipif(support().bubblewrap is None, reason="bubblewrap makes no namespaces here")
def test_a_process_in_a_namespace_of_its_own_is_not_whoever_started_it(tmp_path: Path) -> None:
    with peer(tmp_path, before=APART) as found:
        assert found.descends_from(set())


def test_a_process_that_is_gone_counts_for_nobody(tmp_path: Path) -> None:
    with peer(tmp_path, how="forked") as found:
        assert found.descends_from(set())

"""Doors that parse, with bytes that nobody meant: a coded error or an answer, no traceback, no 5xx, no hang.

A short run; the last test makes a long one of it (`make test-all`). HTTP by its own document is fuzzed in
tests/edges/http/test_conformance.py.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from duetty.audit.backlog import left_note
from duetty.audit.record import claimed_seq, line_of, parse_line
from duetty.cli.player import parse_recording
from duetty.config import find_paths, load_settings
from duetty.edges.http.websocket.frames import parse_frame
from duetty.errors import DuettyError
from duetty.hub.addresses import parse_address
from duetty.journal.journal import Journal
from duetty.journal.segment import recover
from duetty.journal.snapshot import read_snapshot
from duetty.keeper.wire import parse_message
from duetty.ops import page_keys
from duetty.session.envelope import parse_envelope
from duetty.session.matcher import Needle
from duetty.upstreams.projects import read_offer
from tests.edges.http.asking import address_of
from tests.server_process import ServerProcess, running_server

EXAMPLES = int(os.environ.get("DUETTY_FUZZ_EXAMPLES", "60"))
SHORT = settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def changed(sound: bytes) -> st.SearchStrategy[bytes]:
    """Sound bytes with some of them replaced, left out or doubled; or any bytes at all."""

    def apply(edits: list[tuple[int, int, bytes]]) -> bytes:
        found = sound
        for at, length, new in edits:
            place = at % (len(found) + 1)
            found = found[:place] + new + found[place + length :]
        return found

    edit = st.tuples(st.integers(0, 1 << 20), st.integers(0, 40), st.binary(max_size=12))
    return st.binary(max_size=300) | st.lists(edit, max_size=5).map(apply)


# --- in this process ----------------------------------------------------------

LINE, _ = line_of(1, "0" * 64, 1, "call", {"call": "x", "actor": {"kind": "agent"}})
CAST = b'{"version": 2, "width": 80, "height": 24}\n[0.1, "o", "x"]\n[0.2, "r", "80x24"]\n'
CONFIG = b'[server]\nbind = "127.0.0.1:1"\n[[policy.rules]]\nname = "x"\ndecide = "ask"\ncommand = ["a **"]\n'


@SHORT
@given(changed(LINE))
def test_a_line_of_the_trail(line: bytes) -> None:
    parse_line(line)
    claimed_seq(line)


@SHORT
@given(changed(CAST))
def test_a_recording(recording: bytes) -> None:
    with suppress(DuettyError):
        parse_recording(recording.splitlines(keepends=True))


@SHORT
@given(changed(CONFIG))
def test_settings(tmp_path: Path, config: bytes) -> None:
    paths = find_paths({"DUETTY_HOME": str(tmp_path)})
    paths.config_file.write_bytes(config)
    with suppress(DuettyError):
        load_settings(paths, {})


PROJECT = (
    b'{"mcpServers": {"x": {"command": "y", "args": ["-a"], "env": {"K": "v"}, "url": "http://z"}}}'
)


@SHORT
@given(changed(PROJECT), st.sampled_from([".mcp.json", "duetty.toml"]))
def test_a_projects_file(tmp_path: Path, project: bytes, name: str) -> None:
    file = tmp_path / name
    file.write_bytes(project)
    with suppress(DuettyError):
        read_offer(file)


@SHORT
@given(st.data())
def test_a_journal(tmp_path: Path, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory(dir=tmp_path) as place:
        journal = Journal.create(Path(place) / "j")
        journal.append(b"hello\r\n" * 100)
        journal.close()
        [segment] = (Path(place) / "j").glob("*.segment")
        segment.write_bytes(data.draw(changed(segment.read_bytes())))
        with suppress(DuettyError):
            recover(segment, check=True)
        with suppress(DuettyError):
            Journal.open(Path(place) / "j").close()


@SHORT
@given(st.binary(max_size=300))
def test_small_parsers(tmp_path: Path, data: bytes) -> None:
    parse_frame(data)
    parse_envelope(data)
    parse_message(data)
    (tmp_path / "x.held").write_bytes(data)
    left_note(tmp_path / "x")
    (tmp_path / "x.snapshot").write_bytes(data)
    read_snapshot(tmp_path / "x.snapshot")


@SHORT
@given(st.text(max_size=80))
def test_texts(text: str) -> None:
    for parse in (parse_address, page_keys.kept):
        with suppress(DuettyError):
            parse(text)
    with suppress(DuettyError):
        Needle(pattern=text).find("some output\n" * 10)
    assert page_keys.is_proof("p256:" + "A" * 88, "challenge", text) is False


# --- at a real server ---------------------------------------------------------


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    with (
        tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as home,
        running_server(Path(home)) as server,
    ):
        yield server
        log = server.paths.log_file
        entries = (
            [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
        )
        crashed = [each for each in entries if "trace" in each or each["level"] == "error"]
        assert not crashed, str(crashed[0].get("trace", crashed[0]))[-1_500:]


def said(connection: socket.socket, data: bytes) -> bytes:
    """What comes back to these bytes and an end."""
    connection.settimeout(20)
    heard = b""
    with suppress(ConnectionError, BrokenPipeError):
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        while part := connection.recv(65536):
            heard += part
    return heard


REQUEST = (
    b"POST /sessions/x/wait?a=b HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b'Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n5\r\n{"a":\r\n2\r\n1}\r\n0\r\n\r\n'
)


@pytest.mark.pty
@SHORT
@given(changed(REQUEST), st.sampled_from(["tcp", "unix"]))
def test_http(server: ServerProcess, data: bytes, door: str) -> None:
    with socket.socket(socket.AF_INET if door == "tcp" else socket.AF_UNIX) as connection:
        where = address_of(server) if door == "tcp" else str(server.paths.server_socket)
        connection.connect(where)
        heard = said(connection, data)

    assert not [part for part in heard.split(b"HTTP/1.1 ")[1:] if part[:1] == b"5"], heard[:300]


FRAMES = (
    b"\x81\x82\0\0\0\0{}"
    + b"\x82\x85\0\0\0\0\x03\0\0\0\1"
    + b"\x89\x80\0\0\0\0"
    + b"\x88\x80\0\0\0\0"
)


@pytest.mark.pty
@SHORT
@given(changed(FRAMES), st.sampled_from(["/ws/view", "/ws/json"]))
@example(b"\x81\x81\0\0\0\0\xff\x88\x80\0\0\0\0", "/ws/view")  # no text, and a close behind it
def test_websockets(server: ServerProcess, data: bytes, path: str) -> None:
    upgrade = (
        f"GET {path} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(server.paths.server_socket))
        connection.sendall(upgrade.encode())
        assert b" 101 " in connection.recv(4096)
        said(connection, data)

    assert server.client.is_up()


CALL = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{}}}\n'


@pytest.mark.pty
@SHORT
@given(changed(CALL))
def test_lines_of_mcp(server: ServerProcess, data: bytes) -> None:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(server.paths.mcp_socket))
        heard = said(connection, data)

    for line in heard.splitlines():
        json.loads(line)
    assert server.client.is_up()


MESSAGE = b'{"type":"open","id":"x","argv":["bash"],"env":{},"cols":80,"rows":24}'


@pytest.mark.pty
@SHORT
@given(changed(len(MESSAGE).to_bytes(4, "big") + MESSAGE))
def test_the_keepers_protocol(server: ServerProcess, data: bytes) -> None:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(server.paths.keeper_socket))
        connection.settimeout(0.2)
        with suppress(OSError):
            connection.sendall(data)
            connection.recv(65536)

    info = server.client.get("/server/info")
    assert info["keeper_pid"] is not None
    assert "keeper" not in info["degraded"]


@pytest.mark.slow  # fifty times as many examples
def test_every_door_for_long() -> None:
    """All of the above with fifty times as many examples, new ones each time."""
    env = {**os.environ, "DUETTY_FUZZ_EXAMPLES": "3000", "HYPOTHESIS_PROFILE": "default"}
    again = [sys.executable, "-m", "pytest", "-q", "-n", "2", "-m", "not slow", __file__]

    done = subprocess.run(again, env=env, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout[-3_000:]

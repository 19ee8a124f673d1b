"""Doors that parse, with bytes that nobody meant: a coded error or an answer, no traceback, no 5xx, no hang.

A short run; the last test makes a long one of it (`make test-all`). HTTP by its own document is fuzzed in
tests/edges/http/test_conformance.py.
"""

import base64
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import anyio
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from jwt.algorithms import OKPAlgorithm

from duetty.audit.backlog import left_note
from duetty.audit.record import claimed_seq, line_of, parse_line
from duetty.cli.player import parse_recording
from duetty.clock import SystemClock
from duetty.config import find_paths, load_settings
from duetty.edges.http.websocket.frames import parse_frame
from duetty.edges.http.websocket.socket import parsed
from duetty.errors import DuettyError
from duetty.hub.addresses import IpRules, parse_address
from duetty.hub.joined_node import JoinRefused, greet
from duetty.hub.jwt_tokens import JwtTokens, Provider, parse_keys
from duetty.hub.network import Network
from duetty.hub.rooms import Rooms, parse_announcement
from duetty.hub.streams import LinkBroken, Streams
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


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
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


ANNOUNCED = (
    b'{"type": "announce", "protocol": 1, "title": "x", "sessionId": "r", "key": "k", "tools": [{"name": "t", '
    b'"description": "d", "inputSchema": {"type": "object", "properties": {"a": {"type": ["string", "null"], "enum": [1]}}, '
    b'"required": ["a"], "additionalProperties": false}}]}'
)


@SHORT
@given(changed(ANNOUNCED), st.dictionaries(st.text(max_size=3), JSON, max_size=3))
def test_an_announcement_of_a_room(message: bytes, arguments: dict[str, object]) -> None:
    try:
        announced = parse_announcement(parsed(message))
    except DuettyError:
        return
    for tool in announced.tools.values():
        tool.problem(arguments)


HOST = b'{"type": "result", "commandId": "c", "result": {"a": [1]}, "progress": 1, "total": 2, "error": {}}'


@pytest.mark.anyio
async def test_messages_of_a_room() -> None:
    async def nowhere(*_: object) -> None: ...

    async with anyio.create_task_group() as tasks:
        for message in drawn(changed(HOST)):
            room = Rooms().join(parse_announcement(json.loads(ANNOUNCED)), None, nowhere)
            call = partial(room.call, "c", "t", {"a": None}, within_s=5, progress=nowhere)
            tasks.start_soon(_refused, call)
            await anyio.wait_all_tasks_blocked()
            with suppress(DuettyError):
                await room.take(parsed(message), len(message))
            room.leave()


async def _refused(call: Callable[[], Awaitable[object]]) -> None:
    with suppress(DuettyError):
        await call()


def drawn(strategy: st.SearchStrategy[bytes]) -> list[bytes]:
    """Examples for a test that is a coroutine."""
    found: list[bytes] = []

    @SHORT
    @given(strategy)
    def draw(example: bytes) -> None:
        found.append(example)

    draw()
    return found


FRAME = b"\x02\x02\0\0\0\1" + b'{"status": 200, "headers": []}'


@pytest.mark.anyio
async def test_frames_of_a_machines_link() -> None:
    async def nowhere(*_: object) -> None: ...

    for message in drawn(changed(FRAME)):
        streams = Streams(nowhere, opened=lambda stream, frame: None)
        stream = streams.open()
        with suppress(LinkBroken):
            for _ in range(3):
                streams.take(message)
        with suppress(LinkBroken, DuettyError), anyio.move_on_after(0.001):
            while True:
                (await stream.receive()).json()


HELLO = b'{"node": "AAAA", "signature": "AAAA", "protocols": [1], "hostname": "x", "sessions": [["s", "n"]], "epoch": 1}'


@pytest.mark.anyio
async def test_the_hello_of_a_machine() -> None:
    for message in drawn(changed(HELLO)):
        with suppress(JoinRefused):
            await greet(Said(message.decode("utf-8", "replace")), hub={})


@dataclass
class Said:
    message: str | bytes

    async def send(self, message: str | bytes) -> None: ...

    async def receive(self) -> str | bytes | None:
        return self.message


SIGNER = Ed25519PrivateKey.generate()
PUBLISHED = json.dumps(
    {
        "keys": [
            {**OKPAlgorithm.to_jwk(SIGNER.public_key(), as_dict=True), "kid": "k", "use": "sig"},
            {"kty": "RSA", "kid": "r", "n": "AQAB", "e": "AQAB", "alg": "RS256"},
            {"kty": "EC", "kid": "e", "crv": "P-256", "x": "AQAB", "y": "AQAB"},
        ]
    }
).encode()
PROVIDER = Provider(issuer="i", audience="a", jwks="http://127.0.0.1:1/keys")
SHOWN = jwt.encode(
    {"iss": "i", "aud": "a", "sub": "ann", "exp": 4_000_000_000},
    SIGNER,
    "EdDSA",
    headers={"kid": "k"},
).encode()


@SHORT
@given(changed(PUBLISHED))
def test_the_keys_of_a_provider(body: bytes) -> None:
    parse_keys(body)


@SHORT
@given(changed(SHOWN))
@example(SHOWN)
def test_a_token_of_a_provider(token: bytes) -> None:
    tokens = JwtTokens(PROVIDER, Network(IpRules()), SystemClock())
    tokens.learn(PUBLISHED)
    text = token.decode("latin-1")
    claims = tokens.claims(text) if tokens.looks_like_one(text) else None

    assert claims is None or claims.user == "ann"
    assert claims is not None or token != SHOWN


CLAIMS = st.fixed_dictionaries(
    {"iss": st.just("i"), "aud": st.just("a"), "sub": JSON, "exp": JSON, "scope": JSON}
)


@SHORT
@given(CLAIMS)
@example({"iss": "i", "aud": "a", "sub": "x", "exp": float("inf"), "scope": ""})
def test_claims_of_a_provider(claims: dict[str, object]) -> None:
    """The provider signed them, and may be mistaken."""
    tokens = JwtTokens(PROVIDER, Network(IpRules()), SystemClock())
    tokens.learn(PUBLISHED)
    body = json.dumps(claims).encode()
    head = json.dumps({"alg": "EdDSA", "kid": "k"}).encode()
    signed = b".".join(base64.urlsafe_b64encode(part).rstrip(b"=") for part in (head, body))
    signature = base64.urlsafe_b64encode(SIGNER.sign(signed)).rstrip(b"=")

    tokens.claims(b".".join((signed, signature)).decode())


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
@given(changed(FRAMES), st.sampled_from(["/ws/view", "/ws/json", "/ws/node", "/ws/room"]))
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

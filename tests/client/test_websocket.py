"""Our WebSocket client against a server that is not ours: the `websockets` package's."""

import socket
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.sync.server import ServerConnection, unix_serve

from duetty.client import RemoteError
from duetty.client.view_protocol import Output, Snapshot, Viewing
from duetty.client.websocket import ConnectionLost, Message, WebSocket
from duetty.errors import ServerUnreachable
from tests.cli.terminals import wait_for


@contextmanager
def serving(home: Path, talk: Callable[[ServerConnection], None]) -> Generator[Path]:
    path = home / "s.sock"
    with unix_serve(talk, str(path), max_size=None) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield path
        finally:
            server.shutdown()
            thread.join(60)


def received(client: WebSocket, count: int) -> list[Message]:
    messages: list[Message] = []

    def is_enough() -> bool:
        messages.extend(client.receive())
        client.flush()
        return len(messages) >= count

    wait_for(is_enough, lambda: f"only {len(messages)} of {count} messages came")
    return messages


def echo(connection: ServerConnection) -> None:
    for message in connection:
        connection.send(message)


@pytest.mark.parametrize("size", [0, 1, 125, 126, 65_535, 65_536, 3_000_000])
def test_messages_of_any_size_pass_both_ways(home: Path, size: int) -> None:
    with serving(home, echo) as path:
        client = WebSocket.connect(path, "/")
        client.send(b"\x00\xff" * (size // 2) + b"!")
        client.send("é" * (size // 2))

        assert received(client, 2) == [b"\x00\xff" * (size // 2) + b"!", "é" * (size // 2)]
        client.close()


def test_a_message_in_fragments_is_one_message(home: Path) -> None:
    def talk(connection: ServerConnection) -> None:
        connection.send(iter(["in ", "three ", "parts"]))
        connection.send(iter([b"a", b"b"]))
        connection.recv()

    with serving(home, talk) as path:
        client = WebSocket.connect(path, "/")

        assert received(client, 2) == ["in three parts", b"ab"]
        client.send("done")
        client.close()


def test_a_ping_is_answered(home: Path) -> None:
    answered = threading.Event()

    def talk(connection: ServerConnection) -> None:
        connection.ping().wait(60)
        answered.set()
        connection.send("thanks")
        connection.recv()

    with serving(home, talk) as path:
        client = WebSocket.connect(path, "/")

        assert received(client, 1) == ["thanks"]
        assert answered.is_set()
        client.send("bye")
        client.close()


def test_what_came_before_the_end_is_told_before_the_end(home: Path) -> None:
    with serving(home, lambda connection: connection.send("last words")) as path:
        client = WebSocket.connect(path, "/")

        assert received(client, 1) == ["last words"]
        with pytest.raises(ConnectionLost):
            received(client, 1)
        client.close()


def test_nobody_at_the_socket_is_unreachable(home: Path) -> None:
    with pytest.raises(ServerUnreachable):
        WebSocket.connect(home / "nobody.sock", "/")


def answering(home: Path, answer: bytes) -> Path:
    """A socket whose owner says this to whoever comes first."""
    path = home / "a.sock"
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen(1)

    def talk() -> None:
        connection, _ = listener.accept()
        connection.recv(65_536)
        connection.sendall(answer)
        connection.close()
        listener.close()

    threading.Thread(target=talk, daemon=True).start()
    return path


def test_a_refusal_has_the_servers_own_code(home: Path) -> None:
    body = b'{"error": {"code": "auth_required", "message": "no", "hint": "sign in"}}'
    head = b"HTTP/1.1 401 Unauthorized\r\nContent-Length: %d\r\n\r\n" % len(body)

    with pytest.raises(RemoteError) as told:
        WebSocket.connect(answering(home, head + body), "/")

    assert (told.value.status, told.value.code, told.value.hint) == (
        401,
        "auth_required",
        "sign in",
    )


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 200 OK\r\n\r\nhello",
        b"HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: wrong\r\n\r\n",
        b"SSH-2.0-x\r\n\r\n",
    ],
)
def test_what_is_no_websocket_is_unreachable(home: Path, answer: bytes) -> None:
    with pytest.raises(ServerUnreachable):
        WebSocket.connect(answering(home, answer), "/")


@given(st.lists(st.binary(max_size=30)))
def test_no_bytes_from_a_server_raise_anything_else(chunks: list[bytes]) -> None:
    ours, theirs = socket.socketpair()
    client = WebSocket(ours, b"")
    try:
        for chunk in chunks:
            theirs.sendall(chunk)
            client.receive()
    except ConnectionLost:
        pass
    finally:
        client.close()
        theirs.close()


def test_a_viewer_reads_frames_and_skips_what_it_does_not_know(home: Path) -> None:
    def talk(connection: ServerConnection) -> None:
        connection.send('{"type": "hello", "version": "1"}')
        connection.send(b"\x01\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x05abc")
        connection.send(b"\x02\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x08scr")
        connection.send(b"\x63\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x08new kind")
        connection.send('["no", "object"]')
        connection.send('{"type": "later"}')
        connection.recv()

    with serving(home, talk) as path:
        viewer = Viewing.connect(path)
        told: list[object] = []

        def is_enough() -> bool:
            told.extend(viewer.receive())
            return len(told) >= 4

        wait_for(is_enough, lambda: str(told))
        viewer.type(b"x")
        viewer.close()

    assert told == [
        {"type": "hello", "version": "1"},
        Output(5, b"abc"),
        Snapshot(8, b"scr"),
        {"type": "later"},
    ]

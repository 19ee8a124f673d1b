"""Frames, without a keeper: two channels on a socket pair."""

import os
import socket
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duetty.errors import BadArguments, KeeperUnavailable
from duetty.keeper.wire import (
    MAX_BACKLOG_BYTES,
    MAX_FDS,
    MAX_FRAME_BYTES,
    Channel,
    Frame,
    Message,
    parse_message,
)


@pytest.fixture
def ends() -> Iterator[tuple[Channel, socket.socket]]:
    left, right = socket.socketpair()
    right.settimeout(5)
    channel = Channel(left)
    yield channel, right
    channel.close()
    right.close()


def framed(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body


def test_frames_arrive_whole_and_in_order_however_the_bytes_were_cut(
    ends: tuple[Channel, socket.socket],
) -> None:
    channel, raw = ends
    stream = framed(b'{"id":1}') + framed(b'{"id":2,"text":"\xc3\xa9"}')

    frames: list[Frame] = []
    for place in range(len(stream)):
        raw.send(stream[place : place + 1])
        frames += channel.receive()

    assert frames == [Frame({"id": 1}, ()), Frame({"id": 2, "text": "é"}, ())]
    assert channel.lost is None


def test_a_large_frame_waits_for_a_slow_peer_and_arrives_whole() -> None:
    left, right = socket.socketpair()
    sender, receiver = Channel(left), Channel(right)
    message: Message = {"text": "x" * (5 * 1024 * 1024)}

    sender.send(message)
    waited = sender.has_backlog
    frames: list[Frame] = []
    while not frames:
        frames = receiver.receive()
        sender.flush()

    assert waited
    assert frames == [Frame(message, ())]
    assert not sender.has_backlog
    sender.close()
    receiver.close()


def test_descriptors_arrive_with_the_frame_that_brought_them() -> None:
    left, right = socket.socketpair()
    sender, receiver = Channel(left), Channel(right)
    first, first_end = os.pipe()
    second, second_end = os.pipe()
    os.write(first_end, b"first")
    os.write(second_end, b"second")

    sender.send({"id": 1})
    sender.send({"id": 2}, [first])
    sender.send({"id": 3})
    sender.send({"id": 4}, [second])
    frames: list[Frame] = []
    while len(frames) < 4:
        frames += receiver.receive()

    contents = [[os.read(fd, 10) for fd in frame.fds] for frame in frames]
    assert contents == [[], [b"first"], [], [b"second"]]
    assert all(not os.get_inheritable(fd) for frame in frames for fd in frame.fds)
    for fd in (first, first_end, second, second_end, *(fd for frame in frames for fd in frame.fds)):
        os.close(fd)
    sender.close()
    receiver.close()


def test_a_queued_descriptor_may_be_closed_by_its_owner_before_it_is_sent() -> None:
    left, right = socket.socketpair()
    sender, receiver = Channel(left), Channel(right)
    fd, other_end = os.pipe()
    os.write(other_end, b"kept")

    sender.send({"text": "x" * (1024 * 1024)})
    sender.send({"id": 2}, [fd])
    os.close(fd)
    frames: list[Frame] = []
    while len(frames) < 2:
        frames += receiver.receive()
        sender.flush()

    assert os.read(frames[1].fds[0], 10) == b"kept"
    os.close(frames[1].fds[0])
    os.close(other_end)
    sender.close()
    receiver.close()


@pytest.mark.parametrize(
    "stream",
    [
        (MAX_FRAME_BYTES + 1).to_bytes(4, "big"),
        framed(b"not json"),
        framed(b"[1,2]"),
        framed(b"\xff\xfe"),
        framed(b"[" * 100_000),
        framed(b'{"fds":1}'),
        framed(b'{"fds":"many"}'),
    ],
    ids=["oversize", "no json", "no object", "no text", "too deep", "no descriptor", "no count"],
)
def test_a_malformed_frame_ends_the_connection_and_keeps_what_came_before(
    ends: tuple[Channel, socket.socket], stream: bytes
) -> None:
    channel, raw = ends
    raw.sendall(framed(b'{"id":1}') + stream)

    frames = channel.receive()

    assert frames == [Frame({"id": 1}, ())]
    assert channel.lost is not None
    assert channel.receive() == []


def test_descriptors_that_no_frame_claims_end_the_connection_and_are_closed(
    ends: tuple[Channel, socket.socket],
) -> None:
    channel, raw = ends
    fd, other_end = os.pipe()

    for _ in range(MAX_FDS + 1):
        socket.send_fds(raw, [framed(b"{}")], [fd])
    os.close(fd)
    while channel.lost is None:
        channel.receive()
    channel.close()

    assert channel.lost == "too many descriptors"
    with pytest.raises(BrokenPipeError):
        os.write(other_end, b"nobody has the other end")
    os.close(other_end)


def test_a_peer_that_closes_is_noticed(ends: tuple[Channel, socket.socket]) -> None:
    channel, raw = ends
    raw.sendall(framed(b'{"id":1}'))
    raw.close()

    frames = channel.receive()

    assert frames == [Frame({"id": 1}, ())]
    assert channel.lost == "closed by the peer"


def test_sending_to_a_peer_that_is_gone_is_noticed(ends: tuple[Channel, socket.socket]) -> None:
    channel, raw = ends
    raw.close()

    channel.send({"id": 1})

    assert channel.lost is not None


def test_a_message_larger_than_a_frame_is_refused(ends: tuple[Channel, socket.socket]) -> None:
    channel, _ = ends

    with pytest.raises(BadArguments):
        channel.send({"text": "x" * MAX_FRAME_BYTES})

    assert not channel.has_backlog


def test_a_peer_that_does_not_read_is_given_up(ends: tuple[Channel, socket.socket]) -> None:
    channel, _ = ends
    text = "x" * (MAX_FRAME_BYTES - 100)

    for _ in range(MAX_BACKLOG_BYTES // MAX_FRAME_BYTES):
        channel.send({"text": text})

    with pytest.raises(KeeperUnavailable):
        channel.send({"text": text})


@given(st.binary())
def test_no_bytes_raise(body: bytes) -> None:
    parse_message(body)

"""What a viewer gets and when, without a network: offsets and seconds in, steps out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duetty.edges.http.websocket.flow import (
    BACKLOG_BYTES,
    CALM_S,
    CHUNK_BYTES,
    COALESCE_S,
    SNAPSHOT_S,
    WINDOW_BYTES,
    Bytes,
    Flow,
    Pause,
    Snap,
)


def flooded() -> tuple[Flow, int]:
    """A viewer that got a window full and acknowledged nothing, and where the program is."""
    flow = Flow(0)
    while isinstance(step := flow.next(10**9, 1.0), Bytes):
        flow.sent_bytes(step.limit, 1.0)
    return flow, 10**9


def test_the_first_bytes_after_a_pause_go_at_once_and_the_next_are_gathered() -> None:
    flow = Flow(0)

    assert flow.next(10, 1.0) == Bytes(0, 10)
    flow.sent_bytes(10, 1.0)
    assert flow.next(10, 1.0) == Pause(output=True)
    gathering = flow.next(20, 1.0)
    assert isinstance(gathering, Pause)
    assert gathering.seconds == pytest.approx(COALESCE_S)
    assert flow.next(20, 1.0 + COALESCE_S) == Bytes(10, 10)


def test_an_echo_is_not_gathered() -> None:
    flow = Flow(0)
    flow.sent_bytes(10, 1.0)
    flow.key(1.001)

    assert flow.next(11, 1.001) == Bytes(10, 1)


def test_a_full_window_waits_for_the_viewer_and_leaves_nothing_out() -> None:
    flow = Flow(0)
    end = WINDOW_BYTES + BACKLOG_BYTES
    while isinstance(step := flow.next(end, 1.0), Bytes):
        flow.sent_bytes(step.limit, 1.0)

    assert (flow.in_flight, flow.flooded) == (WINDOW_BYTES, False)
    assert step == Pause()
    flow.ack(CHUNK_BYTES)
    assert flow.next(end, 1.0) == Bytes(WINDOW_BYTES, CHUNK_BYTES)


def test_in_a_flood_a_snapshot_waits_until_the_viewer_has_parsed_the_last() -> None:
    flow, end = flooded()

    assert flow.flooded
    assert flow.next(end, 2.0) == Pause()
    flow.ack(WINDOW_BYTES)
    assert flow.next(end, 1.0 + SNAPSHOT_S) == Snap(final=False)
    flow.sent_snapshot(end, 1.04, final=False)
    assert flow.next(end + 10**6, 1.1) == Pause()
    flow.ack(end)
    assert isinstance(flow.next(end + 10**6, 1.05), Pause)  # thirty a second
    assert flow.next(end + 10**6, 1.1) == Snap(final=False)


def test_a_flood_ends_with_a_snapshot_when_the_program_is_calm() -> None:
    flow, end = flooded()
    flow.ack(WINDOW_BYTES)

    step = flow.next(end + 1_000, 1.0 + CALM_S)

    assert step == Snap(final=True)
    flow.sent_snapshot(end + 1_000, 2.0, final=True)
    flow.ack(end + 1_000)
    assert flow.next(end + 1_005, 3.0) == Bytes(end + 1_000, 5)


def test_what_was_never_sent_cannot_be_acknowledged() -> None:
    flow = Flow(100)
    flow.sent_bytes(10, 1.0)

    flow.ack(10**15)
    flow.ack(3)

    assert (flow.acked, flow.in_flight) == (110, 0)


@given(
    st.lists(
        st.tuples(st.integers(0, 10**6), st.floats(0.0, 0.1), st.integers(0, 10**7)), max_size=200
    )
)
def test_nothing_is_sent_twice_and_no_more_than_the_window_is_under_way(
    turns: list[tuple[int, float, int]],
) -> None:
    flow = Flow(0)
    end, now_s = 0, 0.0
    for printed, passed_s, acked in turns:
        end, now_s = end + printed, now_s + passed_s
        flow.ack(acked)
        match flow.next(end, now_s):
            case Bytes(start, limit):
                assert start == flow.sent
                assert start + limit <= end
                flow.sent_bytes(limit, now_s)
                assert flow.in_flight <= WINDOW_BYTES
            case Snap(final=final):
                flow.sent_snapshot(end, now_s, final=final)
            case Pause(seconds=seconds):
                assert seconds is None or seconds > 0

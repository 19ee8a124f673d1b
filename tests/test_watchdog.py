"""Turns of the loop that are too long."""

import asyncio
import logging
import time
from contextlib import closing

import anyio
import pytest

from duetty.watchdog import HELD_S, Watchdog

pytestmark = pytest.mark.anyio


def held_up(seconds: float) -> None:
    until_s = time.monotonic() + seconds
    while time.monotonic() < until_s:
        pass


async def test_a_long_turn_is_counted_and_logged_with_what_ran(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING, "duetty.watchdog")
    with closing(Watchdog(asyncio.get_running_loop().call_soon_threadsafe)) as watchdog:
        await anyio.sleep(3 * HELD_S)
        held_up(6 * HELD_S)
        with anyio.fail_after(10):
            while not watchdog.held:
                await anyio.sleep(0.01)

        assert watchdog.longest_s >= HELD_S
        assert "held_up" in watchdog.what

    [told] = [each for each in caplog.records if each.getMessage() == "loop_held"]
    assert told.__dict__["took_ms"] >= 1000 * HELD_S


async def test_a_watchdog_ends_with_its_loop() -> None:
    watchdog = Watchdog(asyncio.get_running_loop().call_soon_threadsafe)
    watchdog.close()

    assert not watchdog._thread.is_alive()  # pyright: ignore[reportPrivateUsage]

"""A program made with the official SDK, of the modern era, over its standard streams."""

from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from duetty.errors import UpstreamFault
from tests.upstreams.running import WAIT_S, Home, official, trusted, until, until_true


async def test_it_is_met_in_the_modern_era_and_its_changes_are_heard(tmp_path: Path) -> None:
    async with Home(tmp_path).running(it=official()) as upstreams:
        upstream = await trusted(upstreams)
        assert upstream.link is not None
        told: list[tuple[float, float | None, str | None]] = []

        async def progress(done: float, total: float | None, message: str | None) -> None:
            told.append((done, total, message))

        with anyio.fail_after(WAIT_S):
            with pytest.raises(UpstreamFault) as asked:
                await upstreams.call("it", "asks", {})
            async with anyio.create_task_group() as tasks:
                nothing = dict[str, Any]()
                tasks.start_soon(
                    partial(upstreams.call, "it", "slowly", nothing, progress=progress)
                )
                await until_true(lambda: len(told) == 3)
                tasks.cancel_scope.cancel()
            await upstreams.call("it", "change", {"to": "Says more.\u200b"})
        await until(upstreams, lambda: upstream.pin(upstream.tools["echo"]) == "changed")

        assert upstream.link.protocol == "2026-07-28"
        assert upstream.link.implementation == "tester 1.0"
        assert asked.value.details["asks_for"] == "elicitation/create"
        assert [done for done, _, _ in told] == [1, 2, 3]
        (difference,) = upstreams.differences(upstream, upstream.tools["echo"])
        assert difference.now == "Says more.⟨U+200B⟩"

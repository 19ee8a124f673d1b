"""Output without end: memory stays bounded, answers stay right, others are not held up."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
import pytest

from duetty.client import session_path
from duetty.errors import WaitTimeout
from tests.engine import AGENT, running_engine
from tests.faults.server_facts import MIB, answers, resident_bytes, run
from tests.server_process import ServerProcess, running_server

pytestmark = [pytest.mark.pty]

GROWTH_BYTES = 80 * MIB
"""A journal's window, a screen with its scrollback, one answer, and room to breathe."""

LINE_BYTES = (200_000_000, pytest.param(1_000_000_000, marks=pytest.mark.slow))
"""Three times, and sixteen times, what the journal keeps."""

SEQUENCE_BYTES = 50_000_000

FOREVER = 900_000

FLOOD_TURNS = 5_000
"""Turns of the loop that a flood lasts: some seconds, where the deadline is 20 ms."""


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    with (
        TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as home,
        running_server(Path(home)) as server,
    ):
        for name in ("s", "other"):
            server.client.post("/sessions", {"name": name, "command": "bash"})
            run(server, "true", session=name)
        yield server


@pytest.mark.parametrize("line_bytes", LINE_BYTES)
def test_a_line_that_hardly_ends_is_answered_with_bounded_output(
    server: ServerProcess, line_bytes: int
) -> None:
    before_bytes = resident_bytes(server)

    answer = run(
        server, f"head -c {line_bytes} /dev/zero | tr '\\0' x; (exit 5)", max_wait_ms=FOREVER
    )

    assert (answer["exit_code"], answer["completed_by"]) == (5, "mark")
    assert answer["output_bytes"] == line_bytes
    assert 0 < len(answer["output"]) < 40_000
    assert answer["omitted_bytes"] > line_bytes - 40_000
    assert resident_bytes(server) - before_bytes < GROWTH_BYTES
    assert answers(server, "s")
    assert answers(server, "other")


@pytest.mark.parametrize(
    ("introducer", "terminator"),
    [
        pytest.param("\\033]0;", "\\033\\\\", id="OSC ended by ST"),
        pytest.param("\\033]8;;", "\\030", id="OSC cancelled"),
        pytest.param("\\033]133;D;", "\\007", id="a mark without end"),
        pytest.param("\\033P", "\\033\\\\", id="DCS"),
        pytest.param("\\033_", "\\030", id="APC"),
        pytest.param("\\033_G", "\\033\\\\", id="kitty graphics"),
        pytest.param("\\033[", "m", id="CSI"),
    ],
)
@pytest.mark.sampled(3)
def test_a_sequence_that_does_not_end_is_bounded_and_later_text_is_seen(
    server: ServerProcess, introducer: str, terminator: str
) -> None:
    before_bytes = resident_bytes(server)
    flood = f"head -c {SEQUENCE_BYTES} /dev/zero | tr '\\0' 1"

    answer = run(
        server,
        f"clear; printf '{introducer}'; {flood}; printf '{terminator}'; echo; echo visible; (exit 6)",
        max_wait_ms=FOREVER,
    )

    assert (answer["exit_code"], answer["completed_by"]) == (6, "mark")
    assert "visible" in answer["screen"]["lines"]
    assert resident_bytes(server) - before_bytes < GROWTH_BYTES
    assert answers(server, "s")
    assert answers(server, "other")


def test_marks_work_after_a_program_ended_inside_a_sequence(server: ServerProcess) -> None:
    before_bytes = resident_bytes(server)

    answer = run(
        server,
        f"printf '\\033]2;'; head -c {SEQUENCE_BYTES} /dev/zero | tr '\\0' t; (exit 7)",
        max_wait_ms=FOREVER,
    )

    title = server.client.get(session_path("s"))["title"]
    assert (answer["exit_code"], answer["completed_by"]) == (7, "mark")
    assert len(title) < 64 * 1024
    assert resident_bytes(server) - before_bytes < GROWTH_BYTES
    assert answers(server, "s")


@pytest.mark.anyio
async def test_a_follower_that_never_reads_holds_nobody_up_and_misses_nothing(home: Path) -> None:
    flood = "head -c 30000000 /dev/zero | tr '\\0' x; echo"
    async with running_engine(home) as engine:
        await engine.open(command="bash")
        await engine.open("other", command="bash")
        with anyio.fail_after(60), engine.dispatcher.follow(AGENT, "s") as sleeping:
            await engine.run("true")
            start = sleeping.end
            await engine.call("input.write", session="s", data=f"{flood}\r")
            meanwhile = [await engine.run("echo alive", session="other") for _ in range(5)]
            await engine.call("session.wait", session="s", block=1)
            after = await engine.run("echo done")
            read = 0
            while start + read < sleeping.end:
                chunk = sleeping.read(start + read, 1 << 20)
                assert chunk
                read += len(chunk)

    assert read > 30_000_000
    assert {answer.output for answer in meanwhile} == {"alive"}
    assert after.output == "done"


@pytest.mark.anyio
async def test_a_deadline_is_kept_while_a_flood_wakes_the_waiter_in_every_turn(home: Path) -> None:
    async with running_engine(home) as engine:
        session = await engine.open(command="bash")
        loop = asyncio.get_running_loop()
        turns = 0

        def flood() -> None:
            nonlocal turns
            turns += 1
            session.pulse.fire()
            if turns < FLOOD_TURNS:
                loop.call_soon(flood)

        flood()
        with anyio.fail_after(60), pytest.raises(WaitTimeout):
            await engine.call("session.wait", session="s", text="never", max_wait_ms=20)
        told_after, turns = turns, FLOOD_TURNS

    assert told_after < FLOOD_TURNS


def test_a_flood_that_nobody_follows_leaves_the_server_small(server: ServerProcess) -> None:
    before_bytes = resident_bytes(server)
    begun = run(server, f"yes {'x' * 70}", max_wait_ms=300)

    meanwhile = [answers(server, "other") for _ in range(3)]
    grown_bytes = resident_bytes(server) - before_bytes
    server.client.post(session_path("s", "/interrupt"))
    server.client.post(session_path("s", "/wait"), {"state": ["prompt"]})

    assert begun["completed_by"] == "deadline"
    assert all(meanwhile)
    assert grown_bytes < GROWTH_BYTES
    assert answers(server, "s")

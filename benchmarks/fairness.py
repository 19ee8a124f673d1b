"""Whether a flood in one session is felt in another."""

import time

import anyio

from benchmarks.files import plain_log
from benchmarks.measure import Effort, engine, median, percentile, wait_prompt
from benchmarks.report import Line, Table, ms
from tests.engine import AGENT, Engine

CALLS = 300
P95_S = 0.020


async def run(effort: Effort) -> list[Table]:
    calls = effort.times(CALLS, quick=40)
    async with engine() as running:
        file = plain_log(running.paths.state.parent.parent / "plain.log", size_bytes=20_000_000)
        quiet = await running.open(name="quiet", command="bash")
        await wait_prompt(quiet)
        floods = {
            "a file printed again and again": f"while :; do cat {file}; done",
            "`yes`": "yes",
            "the file without a newline in it": f"while :; do tr '\\n' ' ' <{file}; done",
        }
        lines: list[Line] = []
        for what, line in floods.items():
            effort.say(what)
            lines += await _under_flood(running, line, what=what, calls=calls)
    return [
        Table(
            name="fairness",
            title="One session beside a flood",
            lines=lines,
            notes=[
                f"`run('echo')` {calls} times in one bash session, while another prints as fast as it can "
                "and a follower reads all of it.",
                "Beside it: the same calls in the same session just before the flood, at the same percentile.",
            ],
        )
    ]


async def _calls(running: Engine, count: int) -> list[float]:
    taken: list[float] = []
    for _ in range(count):
        started_s = time.perf_counter()
        await running.run("echo", session="quiet")
        taken.append(time.perf_counter() - started_s)
    return taken


async def _under_flood(running: Engine, line: str, *, what: str, calls: int) -> list[Line]:
    calm = await _calls(running, calls)
    flood = await running.open(name="flood", command="bash")
    await wait_prompt(flood)
    taken: list[float] = []
    rate = 0.0
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_subscribe, running, flood.name)
        flood.write(line.encode() + b"\r", actor=AGENT)
        await anyio.sleep(1)
        before, begun_s = flood.journal.end, time.perf_counter()
        taken = await _calls(running, calls)
        rate = (flood.journal.end - before) / (time.perf_counter() - begun_s)
        tasks.cancel_scope.cancel()
    await running.call("session.remove", session="flood", signal="KILL")
    if rate < 1e6:
        raise RuntimeError(f"that was no flood: {rate:.0f} bytes a second")
    flooded = f"{what} ({rate / 1e6:.0f} MB/s)"
    p95_s, median_s = percentile(taken, 95), median(taken)
    return [
        Line(
            what=f"{flooded}: 95 of 100 within",
            measured=ms(p95_s),
            beside=f"{ms(percentile(calm, 95))} calm",
            ratio=p95_s / percentile(calm, 95),
            target=f"≤ {ms(P95_S)}",
            met=p95_s <= P95_S,
        ),
        Line(
            what=f"{flooded}: median",
            measured=ms(median_s),
            beside=f"{ms(median(calm))} calm",
            ratio=median_s / median(calm),
        ),
    ]


async def _subscribe(running: Engine, session: str) -> None:
    with running.dispatcher.follow(AGENT, session) as follower:
        offset = int(follower.end)
        while True:
            await follower.wait()
            while offset < follower.end:
                read = follower.read(offset, 1 << 20)
                if read is None:
                    raise RuntimeError("the follower fell behind: not every byte was read")
                offset += len(read)

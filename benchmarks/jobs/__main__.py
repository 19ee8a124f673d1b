"""`python -m benchmarks.jobs`: does every job in both eras of the protocol; writes its part of docs/benchmarks.md."""

import sys
import tempfile
from pathlib import Path

import anyio

from benchmarks.jobs.every import EVERY
from benchmarks.jobs.job import Job, Spent, done
from benchmarks.measure import temporary_home
from benchmarks.sections import put
from tests.edges.mcp.connect import connected
from tests.server_process import running_server

REPORT = Path(__file__).parent.parent.parent / "docs" / "benchmarks.md"
WAYS = ("stdio-2025", "stdio-2026")

HEAD = """\
## Jobs

Made by `python -m benchmarks.jobs`; do not edit. Ordinary jobs, done by a script with nothing but MCP tools, in the
`guarded` profile, with no person to ask. Each checks its result. Calls include opening the session; errors are answers
that are errors, all of them in jobs about errors; tokens are the bytes of text that a model is given, divided by four;
seconds are what the calls took together. Calls, errors and tokens of the first line of the protocol (2025), seconds of both.

| job | stands for | calls | errors | tokens | s (2025) | s (2026) |
|---|---|---|---|---|---|---|
"""


async def main() -> int:
    jobs = [job for job in EVERY if job.missing is None]
    found: dict[str, list[Spent]] = {job.name: [] for job in jobs}
    with temporary_home() as home, running_server(home) as server:
        for way in WAYS:
            for job in jobs:
                with tempfile.TemporaryDirectory(dir=home) as place:
                    async with connected(way, server, dialect=job.dialect) as client:
                        found[job.name].append(await done(client, job, Path(place)))
    put(REPORT, "jobs", HEAD + "\n".join(_row(job, found[job.name]) for job in jobs) + _sum(found))
    late = [job.name for job in jobs for each in found[job.name] if each.calls > job.calls]
    sys.stdout.write(f"{len(jobs)} jobs; more calls than before: {', '.join(late) or 'none'}\n")
    return 1 if late else 0


def _row(job: Job, spent: list[Spent]) -> str:
    first, last = spent[0], spent[-1]
    cost = f"{first.calls} | {first.errors} | {first.bytes // 4:,} | {first.wall_s:.2f} | {last.wall_s:.2f}"
    return f"| {job.name} | {job.about} | {cost} |"


def _sum(found: dict[str, list[Spent]]) -> str:
    every = [spent[0] for spent in found.values()]
    seconds = [sum(spent[era].wall_s for spent in found.values()) for era in range(len(WAYS))]
    calls, errors = sum(each.calls for each in every), sum(each.errors for each in every)
    tokens = sum(each.bytes for each in every) // 4
    return f"\n| **{len(every)} jobs** | | {calls} | {errors} | {tokens:,} | {seconds[0]:.1f} | {seconds[1]:.1f} |\n"


if __name__ == "__main__":
    sys.exit(anyio.run(main))

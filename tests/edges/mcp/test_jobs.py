"""Ordinary jobs through the tools, in both eras: none may come to need one more call."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.jobs.every import EVERY
from benchmarks.jobs.job import Job, done
from tests.edges.mcp.connect import connected
from tests.server_process import ServerProcess

pytestmark = [pytest.mark.anyio, pytest.mark.pty]


def _ways(job: Job) -> Iterator[object]:
    """Each in one era in every run; in the other, and long ones, when there is time."""
    eras = ["2025", "2026"] if len(job.name) % 2 else ["2026", "2025"]
    for place, era in enumerate(eras):
        marks = [pytest.mark.slow] if place or job.is_long else []
        yield pytest.param(job, f"stdio-{era}", id=f"{job.name}, {era}", marks=marks)


@pytest.mark.parametrize(("job", "way"), [each for job in EVERY for each in _ways(job)])
@pytest.mark.sampled(2)
async def test_a_job_is_done_in_so_many_calls_without_an_error(
    server: ServerProcess, job: Job, way: str, tmp_path: Path
) -> None:
    if job.missing is not None:
        pytest.skip(f"{job.missing} is not installed")

    async with connected(way, server, dialect=job.dialect) as client:
        spent = await done(client, job, tmp_path)

    assert (spent.errors, spent.calls) == (job.errors, job.calls)

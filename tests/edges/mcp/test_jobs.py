"""Ordinary jobs through the tools, in both eras: none may come to need one more call."""

from pathlib import Path

import pytest

from benchmarks.jobs.job import Job, done
from benchmarks.jobs.others import JOBS as OTHERS
from benchmarks.jobs.wsh import JOBS
from tests.edges.mcp.connect import connected
from tests.server_process import ServerProcess

pytestmark = [pytest.mark.anyio, pytest.mark.pty]


@pytest.mark.parametrize("job", [*JOBS, *OTHERS], ids=lambda job: job.name)
@pytest.mark.sampled(2)
async def test_a_job_is_done_in_so_many_calls_without_an_error(
    server: ServerProcess, job: Job, tmp_path: Path
) -> None:
    if job.missing is not None:
        pytest.skip(f"{job.missing} is not installed")
    way = "stdio-2025" if len(job.name) % 2 else "stdio-2026"

    async with connected(way, server, dialect=job.dialect) as client:
        spent = await done(client, job, tmp_path)

    assert (spent.errors, spent.calls) == (job.errors, job.calls)

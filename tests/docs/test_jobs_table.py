"""The figures of the jobs in docs/benchmarks.md: none may come to need one more call than they say."""

import re
from pathlib import Path

import pytest

from benchmarks.jobs.every import EVERY
from benchmarks.jobs.job import Job

PAGE = Path(__file__).parent.parent.parent / "docs" / "benchmarks.md"
ROWS = {
    name: (int(calls), int(errors))
    for name, calls, errors in re.findall(
        r"^\| ([^|]+?) \| [^|]+ \| (\d+) \| (\d+) \|",
        PAGE.read_text(encoding="utf-8"),
        re.MULTILINE,
    )
}


@pytest.mark.parametrize("job", EVERY, ids=lambda job: job.name)
def test_a_job_needs_no_more_calls_and_errors_than_the_published_table_says(job: Job) -> None:
    assert job.name in ROWS, "`python -m benchmarks.jobs` writes its row"
    calls, errors = ROWS[job.name]

    assert job.calls <= calls
    assert job.errors <= errors


def test_no_job_has_the_name_of_another() -> None:
    names = [job.name for job in EVERY]

    assert len(names) == len(set(names))

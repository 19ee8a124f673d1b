"""Every job, in the order of the report."""

from benchmarks.jobs import projects
from benchmarks.jobs.others import JOBS as OTHERS
from benchmarks.jobs.wsh import JOBS

assert projects.job, "it adds its jobs to those of `wsh` when it is imported"

EVERY = (*JOBS, *OTHERS)

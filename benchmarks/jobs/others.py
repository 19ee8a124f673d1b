"""Jobs of the dialects `command` and `terminal`."""

from benchmarks.jobs.job import Job, Tools
from benchmarks.jobs.wsh import AWKWARD


async def _write(tools: Tools) -> None:
    text = AWKWARD * 120
    given = {"command": "cat > file.txt", "stdin": text, "workdir": str(tools.place)}
    ran = await tools.use("run_command", **given)
    assert ran["exit_code"] == 0
    assert (tools.place / "file.txt").read_text() == text


async def _background(tools: Tools) -> None:
    line = "echo begun; sleep 0.3; echo ended; exit 3"
    begun = await tools.use("run_command", command=line, background=True)
    read = await tools.use("poll_command", process=begun["process"], wait_ms=10_000, wait_for="end")
    assert (read["stdout"], read["exit_code"], read["running"]) == ("begun\nended\n", 3, False)


async def _headless(tools: Tools) -> None:
    answer = await tools.use(
        "terminal",
        action="execute",
        invocation={"mode": "headless"},
        execution={"command": "cat", "stdin": AWKWARD},
    )
    assert answer["result"]["stdout"] == AWKWARD


JOBS = [
    Job(
        name="command: write a file of 12 KB",
        about="as above",
        do=_write,
        calls=1,
        dialect="command",
    ),
    Job(
        name="command: a job in the background",
        about="handles",
        do=_background,
        calls=2,
        dialect="command",
    ),
    Job(
        name="terminal: a command with stdin",
        about="as above",
        do=_headless,
        calls=1,
        dialect="terminal",
    ),
]

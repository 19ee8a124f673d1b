"""Jobs of the dialects `command`, `terminal` and `elwood`."""

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


async def _stopped(tools: Tools) -> None:
    line = "echo up; exec sleep 600"
    begun = await tools.use("run_command", command=line, background=True)
    read = await tools.use("poll_command", process=begun["process"], wait_ms=10_000)
    stopped = await tools.use("stop_command", process=begun["process"])
    assert (read["stdout"], read["running"]) == ("up\n", True)
    assert (stopped["running"], stopped["signal"]) == (False, "TERM")


async def _silent(tools: Tools) -> None:
    await tools.use("run_command", command="true")
    told = await tools.use("run_command", command="ls /nowhere; exit 3")
    assert (told["exit_code"], "nowhere" in told["stderr"]) == (3, True)


async def _proven(tools: Tools) -> None:
    given = {"action": "execute", "invocation": {"mode": "headless"}}
    told = await tools.use("terminal", **given, execution={"command": "make install"})
    ran = await tools.use("terminal", **given, execution={"command": "ls /"})
    assert "destr" not in told["error"]["message"]
    assert ran["result"]["exit_code"] == 0


async def _elwood(tools: Tools) -> None:
    """In a pane of its own, which the first call opens."""
    place = str(tools.place)
    pane = await tools.use("terminal_execute", command=f"cd {place}")
    at = {"pane_id": pane["pane_id"]}
    text = AWKWARD * 120
    await tools.use("terminal_execute", command="cat > file.txt", stdin=text, **at)
    tested = await tools.use(
        "terminal_execute", command="wc -c < file.txt; exit_() { false; }", **at
    )
    assert (tools.place / "file.txt").read_text() == text
    assert (tested["output"].strip(), tested["exit_code"]) == (str(len(text.encode())), 0)
    await tools.use("terminal_execute", command="exit", **at)


async def _elwood_asks(tools: Tools) -> None:
    asked = await tools.use("terminal_execute", command="read -rp 'Continue? [y/n] ' a; echo $a")
    at = {"pane_id": asked["pane_id"]}
    done = await tools.use("terminal_execute", command="y", **at)
    await tools.use("terminal_execute", command="exit", **at)
    assert (asked["state"], done["output"].split("\n")[-1]) == ("awaiting_input", "y")


JOBS = [
    Job(
        name="command: write a file of 12 KB",
        about="files had to be written in pieces, with escapes",
        do=_write,
        calls=1,
        dialect="command",
    ),
    Job(
        name="command: a job in the background",
        about="a background job has no handle",
        do=_background,
        calls=2,
        dialect="command",
    ),
    Job(
        name="command: a server, stopped",
        about="no way to end what was started",
        do=_stopped,
        calls=3,
        dialect="command",
    ),
    Job(
        name="command: silence and a failure",
        about="an empty answer says nothing",
        do=_silent,
        calls=2,
        errors=1,
        dialect="command",
    ),
    Job(
        name="terminal: what is not on the list, and what is",
        about="`not_allowlisted` was called destructive",
        do=_proven,
        calls=2,
        errors=1,
        dialect="terminal",
    ),
    Job(
        name="elwood: write a file of 12 KB and look at it",
        about="files had to be written in pieces, with escapes",
        do=_elwood,
        calls=4,
        dialect="elwood",
    ),
    Job(
        name="elwood: a question of a program",
        about="yes/no prompts hang",
        do=_elwood_asks,
        calls=3,
        dialect="elwood",
    ),
    Job(
        name="terminal: a command with stdin",
        about="quoting of a script on the command line",
        do=_headless,
        calls=1,
        dialect="terminal",
    ),
]

"""A server killed by SIGKILL, and how soon the next one has every session back."""

import time

import anyio.to_thread

from benchmarks.files import plain_log
from benchmarks.measure import Effort, median, temporary_home
from benchmarks.report import Line, Table, ms
from duetty.client import session_path
from tests.server_process import ServerProcess, is_alive

SESSIONS = 50
ROUNDS = 3
PRINTED_BYTES = 1_000_000


async def run(effort: Effort) -> list[Table]:
    return await anyio.to_thread.run_sync(_run, effort)


def _run(effort: Effort) -> list[Table]:
    count = effort.times(SESSIONS, quick=5)
    rounds = effort.times(ROUNDS, quick=1)
    with temporary_home() as home, temporary_home() as empty_home:
        server, empty = ServerProcess(home), ServerProcess(empty_home)
        try:
            server.start()
            empty.start()
            pids = _open(server, count)
            effort.say(f"{count} sessions at their prompts")
            idle_s, empty_s = _restarts(server, empty, pids, rounds)
            effort.say(f"{count} sessions that printed {PRINTED_BYTES} bytes each")
            file = plain_log(home / "printed", size_bytes=PRINTED_BYTES)
            for name in pids:
                server.client.post(session_path(name, "/run"), {"input": f"cat {file}"})
            printed_s, empty_again_s = _restarts(server, empty, pids, rounds)
        finally:
            server.end()
            empty.end()
    return [
        Table(
            name="restart",
            title="Restart after SIGKILL",
            lines=[
                _line(f"{count} idle sessions taken back", idle_s, empty_s),
                _line(
                    f"{count} sessions with {PRINTED_BYTES / 1e6:.0f} MB in their journals",
                    printed_s,
                    empty_again_s,
                ),
            ],
            notes=[
                "A real server process, killed and started again; from its start until `GET /sessions` "
                f"lists every session, alive, with the same pid. Median of {rounds}.",
                "Beside it, in turns: the same with a server that has no session (mostly the import of Python modules).",
            ],
        )
    ]


def _line(what: str, ours: list[float], beside: list[float]) -> Line:
    return Line(
        what=what,
        measured=ms(median(ours)),
        beside=f"{ms(median(beside))} without sessions",
        ratio=median(ours) / median(beside),
    )


def _open(server: ServerProcess, count: int) -> dict[str, int]:
    pids: dict[str, int] = {}
    for number in range(count):
        opened = server.client.post("/sessions", {"name": f"s-{number}", "command": "bash"})
        pids[opened["name"]] = opened["pid"]
        server.client.post(session_path(opened["name"], "/run"), {"input": "true"})
    return pids


def _restarts(
    server: ServerProcess, empty: ServerProcess, pids: dict[str, int], rounds: int
) -> tuple[list[float], list[float]]:
    ours: list[float] = []
    beside: list[float] = []
    for _ in range(rounds):
        beside.append(_restart(empty, {}))
        ours.append(_restart(server, pids))
    return ours, beside


def _restart(server: ServerProcess, pids: dict[str, int]) -> float:
    server.kill()
    started_s = time.perf_counter()
    server.start()
    listed = {each["name"]: each for each in server.client.get("/sessions")}
    taken_s = time.perf_counter() - started_s
    for name, pid in pids.items():
        if listed[name]["pid"] != pid or listed[name]["state"] == "exited" or not is_alive(pid):
            raise RuntimeError(f"session {name} did not come back: {listed[name]!r}")
    return taken_s

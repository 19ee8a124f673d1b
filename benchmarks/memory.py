"""What a session takes in the server's memory."""

from benchmarks.files import wide_rows
from benchmarks.measure import Effort, Memory, engine, memory_of, settle, wait_prompt
from benchmarks.report import Line, Table, kb, mb
from tests.engine import Engine

WARM = 20
SESSIONS = 100
FULL_SESSIONS = 5
SCROLLBACK_ROWS = 10_000
COLS, ROWS = 80, 24
IDLE_BYTES = 150 * 1024
FULL_BYTES = 12 << 20


async def run(effort: Effort) -> list[Table]:
    count = effort.times(SESSIONS, quick=20)
    async with engine() as running:
        await _open(running, "warm", WARM)
        await _run_everywhere(running, "warm", WARM)
        empty, keeper_empty = await _settled(running)
        effort.say(f"{count} sessions at their prompts")
        await _open(running, "idle", count)
        idle, keeper_idle = await _settled(running)
        effort.say("a command in each")
        await _run_everywhere(running, "idle", count)
        used, _ = await _settled(running)
        effort.say(f"{SCROLLBACK_ROWS} rows of scrollback in {FULL_SESSIONS}")
        await _open(running, "full", FULL_SESSIONS)
        await _fill(running)
        full, _ = await _settled(running)
    per_idle = (idle.own - empty.own) / count
    per_full = (full.own - used.own) / FULL_SESSIONS
    return [
        Table(
            name="memory",
            title="Memory of the server",
            lines=[
                Line(
                    what="idle session: bash at its first prompt",
                    measured=kb(per_idle),
                    beside=f"{kb((idle.rss - empty.rss) / count)} RSS",
                    target=f"≤ {kb(IDLE_BYTES)}",
                    met=per_idle <= IDLE_BYTES,
                ),
                Line(
                    what="the same, after five commands",
                    measured=kb((used.own - empty.own) / count),
                    beside=f"{kb((used.rss - empty.rss) / count)} RSS",
                ),
                Line(
                    what=f"session with {SCROLLBACK_ROWS:,} rows of {COLS} columns above its screen",
                    measured=mb(per_full),
                    beside=f"{mb((full.rss - used.rss) / FULL_SESSIONS)} RSS",
                    target=f"≤ {mb(FULL_BYTES)}",
                    met=per_full <= FULL_BYTES,
                ),
                Line(
                    what="idle session, in the keeper",
                    measured=kb((keeper_idle.own - keeper_empty.own) / count),
                    beside=f"{kb((keeper_idle.rss - keeper_empty.rss) / count)} RSS",
                ),
                Line(
                    what=f"server with {WARM} sessions",
                    measured=f"{mb(empty.own)} ({mb(empty.rss)} RSS)",
                    beside=f"{mb(keeper_empty.own)} ({mb(keeper_empty.rss)} RSS) keeper",
                ),
            ],
            notes=[
                f"Growth of the server's process from {WARM} to {WARM + count} sessions, divided by {count}; "
                f"for the full ones by {FULL_SESSIONS}. After garbage collection, nothing else running.",
                "Counted: `Pss` of `/proc/<pid>/smaps`: the process's own pages, those of the journals that "
                "it has mapped, and its share of what it shares; not the files of the interpreter and its "
                "libraries, which every process that runs them shares (RSS has these too), and not the shells' own memory.",
            ],
        )
    ]


async def _open(running: Engine, prefix: str, count: int) -> None:
    for number in range(count):
        session = await running.open(
            name=f"{prefix}-{number}", command="bash", cols=COLS, rows=ROWS
        )
        await wait_prompt(session)


async def _run_everywhere(running: Engine, prefix: str, count: int) -> None:
    for number in range(count):
        for _ in range(5):
            await running.run("echo hello", session=f"{prefix}-{number}")


async def _fill(running: Engine) -> None:
    path = wide_rows(running.paths.state / "rows", rows=SCROLLBACK_ROWS + 2_000, cols=COLS)
    for number in range(FULL_SESSIONS):
        name = f"full-{number}"
        await running.run(f"cat {path}", session=name)
        await wait_prompt(running.registry.find(name))
        if (total := running.registry.find(name).total_rows) != SCROLLBACK_ROWS + ROWS:
            raise RuntimeError(f"{total} rows are not {SCROLLBACK_ROWS} above the screen")


async def _settled(running: Engine) -> tuple[Memory, Memory]:
    """Of the server (this process) and the keeper, when nothing goes on any more."""
    await settle(running, quiet_s=1.5)
    home = running.paths.config_file.parent
    return memory_of(None, home), memory_of(running.registry.keeper_pid, home)

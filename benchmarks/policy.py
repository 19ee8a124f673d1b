"""The guardrail: how often it asks, what it misses, how fast it decides, what a typed line costs.

python -m benchmarks.policy README.md     # write the table between its marks, measure no times
"""

import json
import re
import secrets
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import anyio.to_thread
import httpx

from benchmarks.measure import Effort, median, temporary_home
from benchmarks.report import Line, Table, ms
from duetty.calls import Actor, Effect
from duetty.policy import Allow, Judged, Mode, Profile, RuleSet, analysis, decide
from tests.edges.mcp.connect import call as use
from tests.edges.mcp.connect import connected
from tests.server_process import ServerProcess, running_server

ROUNDS = 40
TARGET = 30_000
ROUND_TRIPS, TRIPS = 10, 25
SETTLE_S = 0.01
ASKS, ASKS_CONFINED = 2.5, 0.5
SAFE, NEEDS_APPROVAL, SAFE_STRICT = 97.0, 80.0, 85.0

CORPORA = Path(__file__).parent.parent / "tests" / "policy"
WORKSPACE = "/app"
"""Where the agents' tasks ran."""

BEGIN, END = "<!-- guardrail -->", "<!-- /guardrail -->"

_AGENT = Actor(kind="agent", name="bench")
_NO_RULES = RuleSet()


class Way(NamedTuple):
    """How lines are judged."""

    name: str
    profile: Profile
    sandbox: str = ""


GUARDED = Way("`guarded`", Profile.GUARDED)
CONFINED = Way("`guarded` in a sandbox", Profile.GUARDED, "closed")
STRICT = Way("`strict`", Profile.STRICT)
WAYS = (GUARDED, CONFINED, STRICT)


async def run(effort: Effort) -> list[Table]:
    effort.say("asks and misses")
    tables = [guardrail(), await anyio.to_thread.run_sync(_speed, effort)]
    with temporary_home() as home, running_server(home) as server:
        tables.append(await _typed(server, effort))
    return tables


# --- asks and misses ------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What one way of judging did with every line of both corpora."""

    lines: int
    asks: int
    documents: int
    """Lines that only write a file from a quoted here-document."""

    document_asks: int
    ran: Counter[str]
    """Labelled lines that ran unasked, by label."""

    labelled: Counter[str]

    @property
    def asks_per_100(self) -> float:
        return 100 * self.asks / self.lines

    def share(self, label: str) -> float:
        return 100 * self.ran[label] / self.labelled[label]


def figures(way: Way, *, workspace: str = WORKSPACE) -> Figures:
    lines = [each["command"] for each in json.loads((CORPORA / "agent_commands.json").read_text())]
    documents = [line for line in lines if only_writes_a_document(line)]
    labelled = json.loads((CORPORA / "commands.json").read_text())

    def unasked(commands: Iterable[str]) -> list[bool]:
        calls = [_judged(each, way.sandbox, workspace) for each in commands]
        decided = (decide(each, _NO_RULES, way.profile, can_ask=True) for each in calls)
        return [isinstance(decision, Allow) for decision in decided]

    ran = zip(labelled, unasked(each["command"] for each in labelled), strict=True)
    return Figures(
        lines=len(lines),
        asks=unasked(lines).count(False),
        documents=len(documents),
        document_asks=unasked(documents).count(False),
        ran=Counter(each["label"] for each, did_run in ran if did_run),
        labelled=Counter(each["label"] for each in labelled),
    )


_DOCUMENT = re.compile(
    r"""cat[ ]+(?:
        <<[ ]*(?P<q1>['"])(?P<end1>\w+)(?P=q1)[ ]*>>?[ ]*[\w./-]+
      | >>?[ ]*[\w./-]+[ ]*<<[ ]*(?P<q2>['"])(?P<end2>\w+)(?P=q2)
    )[ ]*\n(?P<body>.*)\n(?P<last>\w+)\s*""",
    re.VERBOSE | re.DOTALL,
)


def only_writes_a_document(line: str) -> bool:
    found = _DOCUMENT.fullmatch(line.strip())
    if found is None:
        return False
    end = found["end1"] or found["end2"]
    return found["last"] == end and end not in found["body"].split("\n")


def guardrail() -> Table:
    """Both sides of the figure, with what was promised of each."""
    of = {way: figures(way) for way in WAYS}
    guarded, confined, strict = (of[way] for way in WAYS)
    nowhere = figures(GUARDED, workspace="")
    safe, approval, destructive = (
        guarded.labelled[each] for each in ("safe", "needs_approval", "destructive")
    )
    lines = [
        _asks("asks per 100 lines, `guarded`", guarded, ASKS),
        _asks("the same where no workspace is known", nowhere, ASKS),
        _asks("asks per 100 lines, `guarded` in a sandbox", confined, ASKS_CONFINED),
        _asks("asks per 100 lines, `strict`", strict, None),
        Line(
            what="files written from a quoted here-document, `guarded`: asks",
            measured=f"{guarded.document_asks}",
            beside=f"of {guarded.documents} lines",
            target="none",
            met=guarded.document_asks == 0,
        ),
        *(
            Line(
                what=f"labelled destructive, run unasked, {way.name}",
                measured=f"{of[way].ran['destructive']}",
                beside=f"of {destructive} lines",
                target="" if way is CONFINED else "none",
                met=None if way is CONFINED else of[way].ran["destructive"] == 0,
            )
            for way in WAYS
        ),
        _share("labelled safe, run unasked, `guarded`", guarded.share("safe"), safe, SAFE),
        _share("labelled safe, run unasked, `strict`", strict.share("safe"), safe, SAFE_STRICT),
        _share(
            "labelled needs_approval, run unasked, `guarded`",
            guarded.share("needs_approval"),
            approval,
            NEEDS_APPROVAL,
        ),
        Line(
            what="labelled needs_approval, run unasked, `strict`",
            measured=f"{strict.share('needs_approval'):.1f} %",
            beside=f"of {approval} lines",
        ),
    ]
    return Table(
        name="guardrail",
        title="What the guardrail asks and misses",
        lines=lines,
        notes=[
            f"{guarded.lines:,} lines that agents ran in benchmark tasks (`tests/policy/agent_commands.json`), judged in "
            f"the workspace {WORKSPACE}, and {guarded.labelled.total()} labelled lines (`tests/policy/commands.json`).",
            "In a sandbox without a network what it contains does not ask, so destructive lines run there: the "
            "sandbox holds them, not the guardrail.",
        ],
    )


def _asks(what: str, found: Figures, most: float | None) -> Line:
    return Line(
        what=what,
        measured=f"{found.asks_per_100:.1f}",
        beside=f"{found.asks} of {found.lines:,} lines",
        target="" if most is None else f"≤ {most}",
        met=None if most is None else found.asks_per_100 <= most,
    )


def _share(what: str, share: float, lines: int, least: float) -> Line:
    return Line(
        what=what,
        measured=f"{share:.1f} %",
        beside=f"of {lines} lines",
        target=f"≥ {least:.0f} %",
        met=share >= least,
    )


def readme_table() -> str:
    """The same figures, one column for each way: for the README."""
    of = [figures(way) for way in WAYS]
    first = of[0]
    rows: list[tuple[str, list[str]]] = [
        (f"asks per 100 of {first.lines:,} lines that agents ran", [f"{each.asks_per_100:.1f}" for each in of]),
        (
            f"… of the {first.documents} that only write a file from a here-document",
            [f"{100 * each.document_asks / each.documents:.1f}" for each in of],
        ),
    ]  # fmt: skip
    for label, name in (
        ("destructive", "destructive lines"),
        ("safe", "safe lines"),
        ("needs_approval", "lines that need a look"),
    ):
        total = first.labelled[label]
        values = [
            f"{each.ran[label]}" if label == "destructive" else f"{each.share(label):.0f} %"
            for each in of
        ]
        rows.append((f"{name} run unasked (of {total})", values))
    head = ["", *(way.name for way in WAYS)]
    drawn = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    drawn += [f"| {' | '.join([what, *values])} |" for what, values in rows]
    return "\n".join(drawn)


def write_into(path: Path) -> bool:
    """Put the table between its marks; whether there are any."""
    text = path.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        return False
    path.write_text(f"{before}{BEGIN}\n{readme_table()}\n{END}{after}", encoding="utf-8")
    return True


# --- decisions a second ---------------------------------------------------------------


def _speed(effort: Effort) -> Table:
    kept = json.loads((CORPORA / "commands.json").read_text())
    short = [each["command"] for each in kept if len(each["command"]) <= 80]
    safe = [each["command"] for each in kept if each["label"] == "safe"]
    rounds = effort.times(ROUNDS, quick=2)
    made = [f"git log --oneline -{number} -- src/file{number}.py" for number in range(1_000)]
    cases: list[tuple[str, Sequence[str], bool]] = [
        ("lines that read, each for the first time", made, False),
        ("the corpus' safe lines, each for the first time", safe, False),
        ("the whole corpus' short lines, each for the first time", short, False),
        ("the same, as they come again", short, True),
    ]
    lines: list[Line] = []
    for what, texts, again in cases:
        effort.say(what)
        rates = [_rate(texts, again=again) for _ in range(rounds)]
        lines.append(
            Line(
                what=what,
                measured=f"{median(rates):,.0f}/s",
                beside=f"{max(rates):,.0f}/s best round",
                target=f"≥ {TARGET:,}/s",
                met=median(rates) >= TARGET,
            )
        )
    return Table(
        name="policy",
        title="Decisions",
        lines=lines,
        notes=[
            f"`policy.decide`, profile `guarded`, processor time of one thread, median of {rounds} rounds. "
            "What is remembered is bounded (4,096 lines of up to 1 KiB).",
        ],
    )


def _rate(texts: Sequence[str], *, again: bool) -> float:
    calls = [_judged(text) for text in texts]
    analysis.forget()
    if again:
        _decide_all(calls)
    return len(calls) / _time(lambda: _decide_all(calls))


def _judged(text: str, sandbox: str = "", workspace: str = WORKSPACE) -> Judged:
    return Judged(
        operation="command.run",
        effect=Effect.INPUT,
        actor=_AGENT,
        mode=Mode.INTERACTIVE,
        cwd=workspace,
        command_line=text,
        workspace=workspace,
        sandbox=sandbox,
    )


def _decide_all(calls: Sequence[Judged]) -> None:
    for call in calls:
        decide(call, _NO_RULES, Profile.GUARDED, can_ask=True)


def _time(work: Callable[[], None]) -> float:
    began = time.thread_time()
    work()
    return time.thread_time() - began


# --- a typed line beside a run --------------------------------------------------------


async def _typed(server: ServerProcess, effort: Effort) -> Table:
    """Both by an agent, from outside the server's process, in turns at one shell."""
    rounds = effort.times(ROUND_TRIPS, quick=2)
    lines: list[Line] = []
    for way, measure in (("HTTP", _typed_http), ("MCP", _typed_mcp)):
        effort.say(f"typed and run, {way}")
        typed, ended, ran = await measure(server, rounds)
        lines += [
            Line(
                what=f"`echo hello` and Enter typed, {way}: until it is answered",
                measured=ms(median(typed)),
                beside=f"{ms(median(ran))} run",
            ),
            Line(
                what=f"… until the command has ended, {way}",
                measured=ms(median(ended)),
                beside=f"{ms(median(ran))} run",
                ratio=median(ended) / median(ran),
            ),
        ]
    return Table(
        name="typed",
        title="A line that an agent types",
        lines=lines,
        notes=[
            f"bash, profile `guarded`, median of {rounds * TRIPS} calls, in turns of {TRIPS} with `run('echo hello')` "
            "in the same session. The end of a typed command is asked for in a second call, which run does not need.",
        ],
    )


_Taken = tuple[list[float], list[float], list[float]]
"""Seconds until a typed line was answered, until its command had ended, and of a run."""


async def _typed_http(server: ServerProcess, rounds: int) -> _Taken:
    headers = {"Authorization": f"Bearer {server.token()}"}
    async with httpx.AsyncClient(base_url=server.url(), headers=headers, timeout=60) as client:
        name = f"s{secrets.token_hex(4)}"
        (await client.post("/sessions", json={"name": name, "command": "bash"})).raise_for_status()
        place = f"/sessions/{name}"

        async def run_line() -> None:
            line = {"input": "echo hello"}
            (await client.post(f"{place}/run", json=line)).raise_for_status()

        async def type_line() -> None:
            (await client.post(f"{place}/input", content=b"echo hello\r")).raise_for_status()

        async def wait_ended(block: int) -> None:
            answer = await client.post(f"{place}/wait", json={"block": block})
            answer.raise_for_status()

        return await _in_turns(run_line, type_line, wait_ended, rounds)


async def _typed_mcp(server: ServerProcess, rounds: int) -> _Taken:
    async with connected("stdio-2025", server) as client:
        name = f"s{secrets.token_hex(4)}"
        await use(client, "wsh_create_session", name=name, command="bash")

        async def run_line() -> None:
            await use(client, "wsh_run_command", session=name, input="echo hello", view="output")

        async def type_line() -> None:
            await use(client, "wsh_send_input", session=name, input="echo hello", keys=["Enter"])

        async def wait_ended(block: int) -> None:
            await anyio.to_thread.run_sync(
                lambda: server.client.post(f"/sessions/{name}/wait", {"block": block})
            )

        return await _in_turns(run_line, type_line, wait_ended, rounds)


async def _in_turns(
    run_line: Callable[[], Awaitable[None]],
    type_line: Callable[[], Awaitable[None]],
    wait_ended: Callable[[int], Awaitable[None]],
    rounds: int,
) -> _Taken:
    typed: list[float] = []
    ended: list[float] = []
    ran: list[float] = []
    block = 0
    """Number of the newest command: each line makes one."""
    for turn in range(1 + rounds):
        for _ in range(TRIPS):
            await anyio.sleep(SETTLE_S)  # at a prompt that is ready, as an agent finds it
            began_s = time.perf_counter()
            await run_line()
            block += 1
            if turn:  # the first warms everything
                ran.append(time.perf_counter() - began_s)
        for _ in range(TRIPS):
            await anyio.sleep(SETTLE_S)
            began_s = time.perf_counter()
            await type_line()
            answered_s = time.perf_counter()
            await wait_ended(block)
            block += 1
            if turn:
                typed.append(answered_s - began_s)
                ended.append(time.perf_counter() - began_s)
    return typed, ended, ran


def main(paths: Sequence[str]) -> int:
    """Write the README's table into these files."""
    without = [path for path in paths if not write_into(Path(path))]
    for path in without:
        print(f"{path} has no {BEGIN} … {END}", file=sys.stderr)
    return 1 if without or not paths else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

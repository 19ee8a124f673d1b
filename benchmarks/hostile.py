"""A person beside a hostile client: the echo of a key, the list of sessions, memory.

`python -m benchmarks.hostile "mcp-batches" "lines-plain calls"` measures these alone.
"""

import sys
from collections.abc import Collection
from dataclasses import replace

import anyio
import anyio.to_thread

from benchmarks.measure import Effort, temporary_home
from benchmarks.report import Line, Table, ms, table_markdown
from benchmarks.viewing import View
from tests.faults.server_facts import MIB
from tests.hostile.beside import (
    ECHO_P95_S,
    GROWN_BYTES,
    LIST_P95_S,
    Measured,
    attacked,
    coloured_cells,
    measured,
    prepare,
    token_of,
)
from tests.hostile.greedy import ATTACKS, Attack, Credential
from tests.server_process import running_server


async def run(effort: Effort, only: Collection[str] = ()) -> list[Table]:
    """`only`: attacks by name, all of them when there is none."""
    lines, cells = await anyio.to_thread.run_sync(_lines, effort, only)
    return [
        Table(
            name="hostile",
            title="Beside a hostile client",
            lines=lines,
            notes=[
                "Each client attacks for some seconds from a process of its own (`tests/hostile/greedy.py`), with the credential in brackets: the one that gets furthest. "
                "Meanwhile a person, signed in as at the page, types to `cat` and asks for `GET /sessions`: 95 of 100.",
                f"Screens and snapshots are those of a session of 400 by 200 in which {cells:,} cells have a colour of their own.",
                "An attack that was refused throughout shows that refusals are cheap, and nothing of what it meant to do: its rows count for no target.",
                "Beside it: the same before the attack. Memory: the server's own pages at their most, above those before.",
            ],
        )
    ]


def _lines(effort: Effort, only: Collection[str]) -> tuple[list[Line], int]:
    seconds = 1.5 if effort.quick else 5.0
    found: list[Line] = []
    with temporary_home() as home, running_server(home) as server:
        prepare(server)
        cells = coloured_cells(server)
        person = View(server, "echo", is_person=True)
        calm = measured(server, person, seconds)
        for attack in ATTACKS.values():
            if only and attack.name not in only:
                continue
            credential = _furthest(attack)
            what = f"{attack.edge}, {attack.bound} ({credential})"
            effort.say(what)
            with attacked(server, attack.name, token_of(server, credential), seconds + 1) as client:
                client.begun()
                beside = measured(server, person, seconds)
            if not client.seen.get("tried"):
                raise RuntimeError(f"{what}: it did nothing: {client.seen}")
            if credential in attack.admits and not client.seen.get("taken"):
                lines = _told(f"{what}, refused throughout", beside, calm)
                found += [replace(each, target="", met=None) for each in lines]
            else:
                found += _told(what, beside, calm)
        person.close()
    return found, cells


def _furthest(attack: Attack) -> Credential:
    for each in ("user", "none", "read", "node"):
        if each in attack.admits:
            return each
    return "none"


def _told(what: str, beside: Measured, calm: Measured) -> list[Line]:
    rows = (
        ("echo of a key", beside.echo_p95_s, calm.echo_p95_s, ECHO_P95_S),
        ("`GET /sessions`", beside.list_p95_s, calm.list_p95_s, LIST_P95_S),
    )
    lines = [
        Line(
            what=f"{what}: {name}",
            measured=ms(took_s),
            beside=f"{ms(calm_s)} before",
            ratio=took_s / calm_s,
            target=f"≤ {ms(most_s)}",
            met=took_s <= most_s,
        )
        for name, took_s, calm_s, most_s in rows
    ]
    memory = Line(
        what=f"{what}: memory",
        measured=f"{beside.grown_bytes / MIB:+.0f} MiB",
        target=f"≤ {GROWN_BYTES // MIB} MiB",
        met=beside.grown_bytes <= GROWN_BYTES,
    )
    return [*lines, memory]


if __name__ == "__main__":
    if unknown := set(sys.argv[1:]) - set(ATTACKS):
        raise SystemExit(f"no attack {', '.join(sorted(unknown))}; there are {', '.join(ATTACKS)}")
    for table in anyio.run(run, Effort(name="hostile", quick=False), sys.argv[1:]):
        sys.stdout.write(table_markdown(table) + "\n")

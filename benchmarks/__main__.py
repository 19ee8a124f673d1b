"""`python -m benchmarks [NAME…]`: each benchmark in a process of its own, then one report."""

import argparse
import cProfile
import json
import os
import pstats
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import asdict
from importlib import import_module
from pathlib import Path

import anyio

from benchmarks.guardrail import write_into
from benchmarks.machine import describe
from benchmarks.measure import Effort
from benchmarks.report import Line, Table, table_markdown
from benchmarks.sections import kept

NAMES = (
    "latency",
    "throughput",
    "fairness",
    "hostile",
    "states",
    "viewing",
    "memory",
    "many",
    "restart",
    "cli",
    "attach",
    "mcp",
    "policy",
    "sandbox",
    "hub",
    "agent",
    "upstreams",
    "finding",
)
REPORT = Path(__file__).parent.parent / "docs" / "benchmarks.md"
README = Path(__file__).parent.parent / "README.md"

HEAD = """\
# Benchmarks

Made by `make bench`; do not edit. Every figure is of one run on the machine named here, and what it is
compared with was measured in the same run, in turns with it. Figures of other machines differ; ratios
differ less. Lines without a target are for information.
"""

PROFILE_LINES = 40


def main() -> int:
    arguments = _arguments()
    if arguments.worker:
        _work(arguments)
        return 0
    load_before = os.getloadavg()[0]
    tables: list[Table] = []
    failed: list[str] = []
    for name in arguments.names or NAMES:
        found = _measure(name, arguments)
        if found is None:
            failed.append(name)
            continue
        tables += found
        print("\n" + "\n".join(table_markdown(table) for table in found), flush=True)
    _report(tables, failed, arguments, load_before)
    return 1 if failed else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Measure side by side."
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}; all when left out"
    )
    parser.add_argument(
        "--output",
        type=Path,
        help="where the report goes (all benchmarks: docs/benchmarks.md; some: nowhere)",
    )
    parser.add_argument(
        "--quick", action="store_true", help="few rounds: shows that it works, no more"
    )
    parser.add_argument(
        "--profile", action="store_true", help="run under cProfile; figures mean nothing then"
    )
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if wrong := [name for name in arguments.names if name not in NAMES]:
        parser.error(f"no benchmark {wrong[0]!r}; there are {', '.join(NAMES)}")
    return arguments


def _measure(name: str, arguments: argparse.Namespace) -> list[Table] | None:
    """The tables of one benchmark, or None if it failed; what it says goes to stderr."""
    print(f"{name} …", file=sys.stderr, flush=True)
    begun_s = time.monotonic()
    flags = [f"--{flag}" for flag in ("quick", "profile") if getattr(arguments, flag)]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", name, "--worker", *flags],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    print(f"  {name}: {time.monotonic() - begun_s:.0f} s", file=sys.stderr, flush=True)
    if done.returncode:
        print(f"  {name}: FAILED with exit code {done.returncode}", file=sys.stderr, flush=True)
        return None
    return [
        Table(**table | {"lines": [Line(**line) for line in table["lines"]]})
        for table in json.loads(done.stdout)
    ]


def _work(arguments: argparse.Namespace) -> None:
    """In a process of its own: measure, and print the tables as JSON."""
    name: str = arguments.names[0]
    run: Callable[[Effort], Coroutine[None, None, list[Table]]]
    run = import_module(f"benchmarks.{name}").run
    effort = Effort(name=name, quick=arguments.quick)

    def measure() -> list[Table]:
        # As the server runs it.
        return anyio.run(run, effort, backend_options={"use_uvloop": True})

    tables = _profiled(measure) if arguments.profile else measure()
    print(json.dumps([asdict(table) for table in tables]))


def _profiled(measure: Callable[[], list[Table]]) -> list[Table]:
    profile = cProfile.Profile()
    tables = profile.runcall(measure)
    pstats.Stats(profile, stream=sys.stderr).sort_stats("tottime").print_stats(PROFILE_LINES)
    return tables


def _report(
    tables: Sequence[Table],
    failed: Sequence[str],
    arguments: argparse.Namespace,
    load_before: float,
) -> None:
    missed = [
        f"{table.name}: {line.what}"
        for table in tables
        for line in table.lines
        if line.met is False
    ]
    for each in missed:
        print(f"missed: {each}")
    path: Path | None = arguments.output or (None if arguments.names else REPORT)
    if path is None:
        return
    parts = [HEAD, "\n".join(describe(load_before)) + "\n", _summary(tables, missed, failed)]
    if arguments.quick or arguments.profile:
        parts.append("**A quick or profiled run: it shows that the harness works, and no more.**\n")
    parts += [table_markdown(table) for table in tables]
    if sections := kept(path):
        parts.append(sections)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(parts), encoding="utf-8")
    print(f"written: {path}")
    if path == REPORT and "policy" not in failed and write_into(README):
        print(f"written: {README}")


def _summary(tables: Sequence[Table], missed: Sequence[str], failed: Sequence[str]) -> str:
    targets = sum(line.met is not None for table in tables for line in table.lines)
    said = [f"{targets - len(missed)} of {targets} targets met.\n"]
    said += [f"Missed: {each}\n" for each in missed]
    said += [f"Failed to run: {each}\n" for each in failed]
    return "\n".join(said)


if __name__ == "__main__":
    sys.exit(main())

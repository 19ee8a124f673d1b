"""Break what a test watches over, on purpose, and see that the test fails.

    make mutants                        every file of tests/mutants
    tools/mutants.py tests/mutants/mcp.toml [-k WORD]

A mutant is one edit of the source that makes one promise untrue, beside the tests that should say
so. It is *caught* when at least one of them fails in its body. It has *survived* when they pass,
is *unclear* when they only break on the way (a server that no longer starts proves nothing about a
promise), and *stale* when the text it replaces is no longer there exactly once.

The edit is made in this checkout and taken back at once, so a file with changes of yours is refused.
"""

import argparse
import os
import re
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parent.parent
TABLES = ROOT / "tests" / "mutants"
DEADLINE_S = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One promise, the edit that breaks it, and the tests that should notice."""

    promise: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What happened to a mutant: a word, and what the first failing test said."""

    mutant: Mutant
    outcome: str
    said: str = ""
    seconds: float = 0.0


def read(table: Path) -> list[Mutant]:
    """The mutants of one table; an unknown or missing field is an error that names the promise."""
    made: list[Mutant] = []
    for entry in tomllib.loads(table.read_text())["mutant"]:
        try:
            made.append(Mutant(**{**entry, "tests": tuple(entry["tests"])}))
        except (KeyError, TypeError) as wrong:
            raise SystemExit(f"{table.name}: {entry.get('promise', '?')!r}: {wrong}") from None
    return made


@contextmanager
def broken(mutant: Mutant) -> Iterator[None]:
    """The checkout with the mutant's edit in it, the page built anew where it is the page's."""
    path = ROOT / mutant.file
    text = path.read_text()
    path.write_text(text.replace(mutant.old, mutant.new))
    try:
        build_page_of(mutant)
        yield
    finally:
        path.write_text(text)
        build_page_of(mutant)


def build_page_of(mutant: Mutant) -> None:
    if mutant.file.startswith("web/"):
        subprocess.run(
            [sys.executable, "hatch_build.py"], cwd=ROOT, check=True, capture_output=True
        )


def run_tests(tests: tuple[str, ...], report: Path) -> tuple[int, str, list[tuple[str, str]]]:
    """Pytest's exit code, its last words, and (failure or error, message) of each unhappy test."""
    report.unlink(missing_ok=True)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "--no-header",
        "--tb=short",
        "-p",
        "no:cacheprovider",
    ]
    ran = subprocess.run(
        [*command, f"--junitxml={report}", *tests],
        cwd=ROOT,
        # A mutant's bytecode must not outlive it: mtime and size may be the original's.
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
    )
    unhappy: list[tuple[str, str]] = []
    if report.exists():
        for case in ElementTree.parse(report).iter("testcase"):
            unhappy += [
                (part.tag, part.get("message", ""))
                for part in case
                if part.tag in ("failure", "error")
            ]
    return ran.returncode, ran.stdout[-2000:], unhappy


def look(mutant: Mutant, report: Path) -> Seen:
    path = ROOT / mutant.file
    if not path.exists() or path.read_text().count(mutant.old) != 1 or mutant.old == mutant.new:
        return Seen(mutant=mutant, outcome="stale")
    if subprocess.run(["git", "diff", "--quiet", "HEAD", "--", mutant.file], cwd=ROOT).returncode:
        raise SystemExit(
            f"{mutant.file} has changes of yours: commit them first, the mutant would take them along"
        )
    started = time.monotonic()
    with broken(mutant):
        code, words, unhappy = run_tests(mutant.tests, report)
    failures = [message for kind, message in unhappy if kind == "failure"]
    outcome = "survived" if code == 0 else "caught" if failures else "unclear"
    said = failures[0] if failures else words if outcome == "unclear" else ""
    return Seen(mutant=mutant, outcome=outcome, said=said, seconds=time.monotonic() - started)


def short(text: str, width: int = 110) -> str:
    """A message as one line, however long it was."""
    line = re.sub(r"\s+", " ", text).strip()
    return line if len(line) <= width else line[: width - 1] + "…"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "tables", nargs="*", type=Path, help="tables of mutants (all of tests/mutants)"
    )
    parser.add_argument("-k", default="", metavar="WORD", help="only promises that contain this")
    options = parser.parse_args()
    seen: dict[str, list[Seen]] = {}
    for table in options.tables or sorted(TABLES.glob("*.toml")):
        rows = seen.setdefault(table.stem, [])
        for mutant in [
            mutant for mutant in read(table) if options.k.lower() in mutant.promise.lower()
        ]:
            rows.append(look(mutant, ROOT / ".pytest_cache" / f"mutant-{os.getpid()}.xml"))
            print(f"{rows[-1].outcome:9} {rows[-1].seconds:5.1f} s  {mutant.promise}", flush=True)
            if rows[-1].outcome != "stale":
                print(f"{'':19}{short(rows[-1].said)}", flush=True)
    for table, rows in seen.items():
        print(f"{table}: {sum(row.outcome == 'caught' for row in rows)} of {len(rows)} caught")
    return int(any(row.outcome != "caught" for rows in seen.values() for row in rows))


if __name__ == "__main__":
    sys.exit(main())

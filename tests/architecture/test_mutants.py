"""The tables of mutants keep up with the source they break and the tests they name."""

import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TABLES = sorted((ROOT / "tests" / "mutants").glob("*.toml"))


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.stem)
def test_each_mutant_finds_what_it_breaks_and_the_test_that_notices(table: Path) -> None:
    stale: list[str] = []
    for mutant in tomllib.loads(table.read_text())["mutant"]:
        source = ROOT / mutant["file"]
        if not source.exists() or source.read_text().count(mutant["old"]) != 1:
            stale.append(f"{mutant['promise']}: not once in {mutant['file']}")
        for test in mutant["tests"]:
            path, _, name = test.partition("::")
            named = f"def {name.partition('[')[0]}(" if name else ""
            if not (ROOT / path).exists() or named not in (ROOT / path).read_text():
                stale.append(f"{mutant['promise']}: no {test}")

    assert stale == []


def test_each_promise_is_made_once() -> None:
    promises = [
        mutant["promise"]
        for table in TABLES
        for mutant in tomllib.loads(table.read_text())["mutant"]
    ]

    assert len(promises) > 100
    assert sorted({each for each in promises if promises.count(each) > 1}) == []

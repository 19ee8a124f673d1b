"""SECURITY.md names tests that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_test_that_the_threat_model_names_exists() -> None:
    named: list[Path] = []
    folder = Path()
    for name in re.findall(r"`([\w/.]+\.(?:py|toml))`", (ROOT / "SECURITY.md").read_text()):
        if name.startswith("tests/"):
            folder = Path(name).parent
            named.append(Path(name))
        elif name.startswith("test_"):
            named.append(folder / name)  # beside the one before

    assert len(named) > 30
    assert [str(each) for each in named if not (ROOT / each).exists()] == []


def test_every_row_of_the_threat_model_names_a_test() -> None:
    text = (ROOT / "SECURITY.md").read_text()
    table = text.partition("| shown by |\n|---|---|---|---|---|\n")[2].partition("\n\n")[0]
    rows = table.splitlines()

    assert len(rows) > 10
    assert [row[:60] for row in rows if "`test" not in row.rsplit("|", 2)[1]] == []

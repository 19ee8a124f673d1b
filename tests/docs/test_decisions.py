"""docs/adr/README.md lists every decision, and a superseded one says so on its first line."""

import re
from pathlib import Path

import pytest

ADR = Path(__file__).parents[2] / "docs/adr"
DECISIONS = sorted(ADR.glob("[0-9]*.md"))
ROW = re.compile(r"^\| \[(\d+)\]\(([^)]+)\) \| (.+) \| (.+) \|$", re.M)
ROWS = {
    name: (int(number), status)
    for number, name, _, status in ROW.findall((ADR / "README.md").read_text(encoding="utf-8"))
}


def test_the_index_has_every_decision_in_order() -> None:
    assert list(ROWS) == [path.name for path in DECISIONS]
    assert [number for number, _ in ROWS.values()] == [int(path.name[:4]) for path in DECISIONS]


@pytest.mark.parametrize("path", DECISIONS, ids=lambda path: path.name[:4])
def test_the_first_line_and_the_index_agree_on_what_is_superseded(path: Path) -> None:
    first = path.read_text(encoding="utf-8").splitlines()[0]
    _, status = ROWS[path.name]
    by = re.search(r"\((superseded(?: in part)? by) \[(\d+)\]\((\d{4})-[^)]+\)\)$", first)

    assert first.startswith(f"# {int(path.name[:4])}. ")
    assert ("superseded" in status) == (by is not None)
    if by is not None:
        assert status == f"{by[1]} {by[2]}"
        assert list(ADR.glob(f"{by[3]}-*.md"))


@pytest.mark.parametrize("path", DECISIONS, ids=lambda path: path.name[:4])
def test_a_decision_that_supersedes_others_is_named_by_them(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for sentence in re.findall(r"^Supersedes .*$", text, re.M):
        for name in re.findall(r"\]\(([^)]+)\)", sentence):
            assert f"({path.name})" in (ADR / name).read_text(encoding="utf-8").splitlines()[0]

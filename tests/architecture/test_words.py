"""The source does not get more of the words that hide who does what (docs/glossary.md)."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HIDING = ("told", "said", "somebody", "nobody", "whoever")
_HIDING = re.compile(rf"\b(?:{'|'.join(HIDING)})\b", re.I)
GENERATED = {"first_answers.tsv", "operations.ts", "messages.ts"}

CEILINGS = {"src/duetty": 15, "web/src": 6}
"""Uses that are left. Lower a number when you remove some; a published field (`said`, kind `told`) is one."""


def uses(folder: Path) -> list[str]:
    """Each as `file:line: text`."""
    return [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in sorted(folder.rglob("*"))
        if path.suffix in {".py", ".md", ".bash", ".zsh", ".fish", ".dash", ".ts", ".tsx", ".css"}
        and path.name not in GENERATED
        and "node_modules" not in path.parts
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        for _ in _HIDING.findall(line)
    ]


@pytest.mark.parametrize("folder", CEILINGS)
def test_words_that_hide_who_does_what_do_not_come_back(folder: str) -> None:
    found = uses(ROOT / folder)

    assert len(found) <= CEILINGS[folder], "\n".join(found)


def test_the_glossary_names_these_words() -> None:
    glossary = (ROOT / "docs/glossary.md").read_text(encoding="utf-8")

    assert all(f"**{word}**" in glossary for word in HIDING)


HIDING_NAMES = """
    asking beginning deciding doing follow_up gate going hearing judging keeping knowing later lean
    looking making meaning mounted obeyed order own own_files reading saying seeing showing speaking
    telling things told turning watching waiting writing helpers manager utils misc common
"""


def test_no_module_has_a_name_that_hides_what_it_holds() -> None:
    named = frozenset(HIDING_NAMES.split())
    modules = (ROOT / "src/duetty").rglob("*.py")

    assert [str(path.relative_to(ROOT)) for path in modules if path.stem in named] == []

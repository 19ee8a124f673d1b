"""CONTRIBUTING.md and AGENTS.md name files that exist, and every package."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
RECIPES = dict(re.findall(r"^### (.+?)\n(.*?)(?=^##)", CONTRIBUTING, re.M | re.S))
_PLACE = re.compile(r"`((?:src|tests|docs|web|tools|benchmarks)(?:/[\w./-]+)?|\w+\.md)`")


def places(text: str) -> list[str]:
    return _PLACE.findall(text)


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "AGENTS.md"])
def test_every_place_that_is_named_exists(page: str) -> None:
    named = places((ROOT / page).read_text(encoding="utf-8"))

    assert named
    assert [each for each in named if not (ROOT / each).exists()] == []


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_names_source_tests_and_is_numbered(recipe: str) -> None:
    named = places(RECIPES[recipe])

    assert any(each.startswith(("src/", "web/")) for each in named)
    assert any(each.startswith("tests") for each in named)
    assert RECIPES[recipe].strip().startswith("1. ")


def test_there_are_ten_recipes() -> None:
    assert len(RECIPES) == 10


def test_the_tree_names_every_package() -> None:
    tree = CONTRIBUTING.partition("## The tree")[2].partition("\n## ")[0]
    packages = {path.parent.name for path in (ROOT / "src/duetty").glob("*/__init__.py")}

    assert {name for name in packages if f"`src/duetty/{name}" not in tree} == set()


def test_every_package_says_what_it_is() -> None:
    silent = [
        str(path.relative_to(ROOT))
        for path in (ROOT / "src/duetty").rglob("__init__.py")
        if not path.read_text(encoding="utf-8").startswith('"""')
    ]

    assert silent == []

"""Docs and help use the words of docs/glossary.md, and not those that it names as wrong."""

import re
from pathlib import Path

import pytest
from tools.sentences import LONGEST_AVERAGE, average, pages

from duetty.calls import DIALECTS
from duetty.cli.main import COMMANDS, load, make_parser, overview

ROOT = Path(__file__).parents[2]
GLOSSARY = ROOT / "docs/glossary.md"
WRONG = re.findall(r"\*\*([^*]+)\*\*", GLOSSARY.read_text(encoding="utf-8").partition("##")[2])
PAGES = [path for path in pages() if path != GLOSSARY]
GENERATED = [ROOT / "docs" / name for name in ("operations.md", "errors.md", "settings.md")]


def wrong_words(text: str) -> list[str]:
    """Those in plain text; code and names of others' fields are as they are."""
    text = re.sub(r"^```.*?^```|`[^`\n]*`|\]\([^)]*\)", " ", text, flags=re.M | re.S)
    return [word for word in WRONG if re.search(rf"\b{re.escape(word)}s?\b", text, re.I)]


@pytest.mark.parametrize("page", [*PAGES, *GENERATED], ids=lambda path: path.name)
def test_a_page_uses_the_words_of_the_glossary(page: Path) -> None:
    assert wrong_words(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("name", COMMANDS)
def test_a_commands_help_uses_the_words_of_the_glossary(name: str) -> None:
    assert wrong_words(make_parser(name, load(name)).format_help()) == []


def test_the_overview_uses_the_words_of_the_glossary() -> None:
    assert wrong_words(overview()) == []


def test_a_wrong_word_is_found() -> None:
    assert wrong_words("It shows a popup with the verdict.\n") == ["popup", "verdict"]


@pytest.mark.parametrize("page", pages(), ids=lambda path: path.name)
def test_sentences_are_short(page: Path) -> None:
    assert average(page.read_text(encoding="utf-8")) <= LONGEST_AVERAGE


def test_help_names_every_dialect() -> None:
    told = make_parser("mcp", load("mcp")).format_help()

    assert [dialect for dialect in DIALECTS if dialect not in told] == []


def test_the_changelog_of_a_version_is_short_and_has_the_usual_sections() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = re.split(r"^## ", text, flags=re.M)[1:]

    sections = set(re.findall(r"^### (.+)$", text, re.M))

    assert sections <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    assert all(len(version.strip().splitlines()) <= 80 for version in versions)

"""docs/policy.md says what the code does."""

import re
import tomllib
from pathlib import Path
from typing import get_args

from duetty.policy import CATALOGUE, Profile, Reason, load_rules

PAGE = Path(__file__).parents[2] / "docs" / "policy.md"


def class_table() -> str:
    rows = ["| class | why it is asked about | instead |", "|---|---|---|"]
    rows += [
        f"| `{each.name}`{' †' if each.grave else ''} | {each.reason} | {each.instead} |"
        for each in CATALOGUE
    ]
    return "\n".join(rows)


def test_the_page_lists_every_destructive_class() -> None:
    found = re.search(r"<!-- classes -->\n(.*?)\n<!-- /classes -->", PAGE.read_text(), re.DOTALL)

    assert found is not None
    assert found[1] == class_table(), f"put this between the marks:\n{class_table()}"


def test_the_page_names_every_profile_and_reason() -> None:
    text = PAGE.read_text()

    missing = [each for each in (*Profile, *get_args(Reason)) if f"`{each}`" not in text]
    assert missing == []


def test_the_rules_on_the_page_load() -> None:
    found = re.search(r"```toml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert found is not None

    rules = load_rules(tomllib.loads(found[1])["policy"], "docs/policy.md")

    assert len(rules.rules) == 3

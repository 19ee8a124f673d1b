"""docs/policy.md says what the code does."""

import re
import tomllib
from pathlib import Path
from typing import get_args

from tools.policy_classes import class_table, with_table

from duetty.policy import Profile, Reason, load_rules

PAGE = Path(__file__).parents[2] / "docs" / "policy.md"


def test_the_page_lists_every_destructive_class() -> None:
    text = PAGE.read_text(encoding="utf-8")

    assert class_table() in text
    assert with_table(text) == text, "run `make docs`"


def test_the_page_names_every_profile_and_reason() -> None:
    text = PAGE.read_text()

    missing = [each for each in (*Profile, *get_args(Reason)) if f"`{each}`" not in text]
    assert missing == []


def test_the_rules_on_the_page_load() -> None:
    text = PAGE.read_text(encoding="utf-8").partition("\n## Rules\n")[2]
    [found] = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)

    rules = load_rules(tomllib.loads(found)["policy"], "docs/policy.md")

    assert len(rules.rules) == 3

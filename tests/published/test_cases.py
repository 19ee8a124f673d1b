"""Every case of the published contract has a test that shows it."""

import ast
from functools import cache
from pathlib import Path

import pytest

from tests.published.cases import CASES, NUMBERS, PAGE, page

TESTS = Path(__file__).parents[1]


@cache
def names_in(file: str) -> frozenset[str]:
    tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return frozenset(node.name for node in tree.body if isinstance(node, kinds))


def test_every_published_case_is_here_in_order_and_no_other() -> None:
    assert list(CASES) == [int(number) for number in NUMBERS.split()]


@pytest.mark.parametrize("number", CASES)
def test_a_case_is_shown_by_tests_that_exist(number: int) -> None:
    shown_by = [test.partition("::") for test in CASES[number].shown_by]

    assert shown_by
    assert all(name.startswith("test_") and name in names_in(file) for file, _, name in shown_by)


def test_the_page_about_the_cases_is_current() -> None:
    assert (TESTS.parent / PAGE).read_text(encoding="utf-8") == page(), (
        f"run: python -m tests.published.cases > {PAGE}"
    )

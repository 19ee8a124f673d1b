"""Regular expressions keep to what every supported Python reads alike.

Debian's Python 3.11.2 misreads possessive quantifiers around a group (a line of plain
words was refused there, and accepted everywhere else), so none are written.
"""

import ast
import re
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCES = sorted((Path(__file__).parents[2] / "src").rglob("*.py"))

_CONSTRUCT = re.compile(
    r"\\. | \[\^?\]?(?:\\.|[^\]\\])*\] | (?P<found> \(\?> | (?:[*+?]|\{[0-9]*,?[0-9]*\})\+ )",
    re.VERBOSE | re.DOTALL,
)
"""Escapes and sets are stepped over: a `+` after a `*` within them is a letter."""


def constructs(pattern: str) -> list[str]:
    """Possessive quantifiers and atomic groups in this text, were it an expression."""
    return [found[0] for found in _CONSTRUCT.finditer(pattern) if found["found"]]


def literals(source: str) -> Iterator[tuple[int, str]]:
    """Every text and bytes literal of a module that imports `re`, parts of f-strings included."""
    tree = ast.parse(source)
    imported = {
        name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names
    } | {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    if "re" not in imported:
        return
    prose = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    parts = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for part in node.values
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in prose:
            text = node.value.decode("latin-1") if isinstance(node.value, bytes) else node.value
            if isinstance(text, str) and (id(node) in parts or is_expression(text)):
                yield node.lineno, text


def is_expression(text: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # most of these texts are none, and odd as such
        try:
            re.compile(text, re.VERBOSE)
        except re.error:
            return False
    return True


def test_no_expression_is_possessive_or_atomic() -> None:
    found = [
        (str(path), line, construct)
        for path in SOURCES
        for line, text in literals(path.read_text())
        for construct in constructs(text)
    ]

    assert SOURCES
    assert found == []


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (r"a*+", ["*+"]),
        (r"(?:a|b)++", ["++"]),
        (r"a?+b", ["?+"]),
        (r"a{2,3}+", ["{2,3}+"]),
        (r"(?>a)", ["(?>"]),
        (r"[*+]+", []),
        (r"\*+", []),
        (r"\++?", []),
        (r"[]*+]", []),
        (r"(?P<a>b)+", []),
    ],
)
def test_what_is_looked_for_is_found(pattern: str, expected: list[str]) -> None:
    assert constructs(pattern) == expected


@pytest.mark.parametrize(
    "source",
    [
        'import re\nX = re.compile(r"a*+")',
        "import re\nX = rb'a++'",
        'from re import compile\nY = f"{1}++"',
    ],
)
def test_a_pattern_is_found_however_it_is_written(source: str) -> None:
    assert [construct for _, text in literals(source) for construct in constructs(text)]

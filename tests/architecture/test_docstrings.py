"""Every package says what it is and what it does not know."""

import ast
import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src/duetty"
PACKAGES = sorted(SOURCE.rglob("__init__.py"))
NOT_KNOWN = re.compile(r"\b[Kk]nows?\b[^.]*\b(nothing|no|none|neither|what)\b")


@pytest.mark.parametrize("path", PACKAGES, ids=lambda path: path.parent.name)
def test_a_package_says_what_it_is_and_what_it_does_not_know(path: Path) -> None:
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""

    assert docstring.partition("\n\n")[0].endswith((".", ":"))
    assert NOT_KNOWN.search(" ".join(docstring.split())), path.parent

"""No function is long or branches much without a reason beside its name here."""

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src/duetty"
MAX_LINES = 80
MAX_COMPLEXITY = 20

REASONS = {
    "blocks/state.py derive_state": "one table of states; each branch is a row",
    "edges/mcp/exchange.py exchange": "one ladder of checks on one request, in order",
    "ops/elements.py operations_of": "nine declarations of operations for one kind of element",
    "sandbox/wrap.py wrap": "one list of steps in an order that matters",
    "session/registry.py _open": "one transaction: each step undoes the ones before it on failure",
}

_BRANCHES = (
    ast.If, ast.For, ast.While, ast.AsyncFor, ast.ExceptHandler, ast.IfExp, ast.comprehension,
    ast.match_case,
)  # fmt: skip


def complexity(function: ast.AST) -> int:
    nodes = list(ast.walk(function))
    words = sum(len(node.values) - 1 for node in nodes if isinstance(node, ast.BoolOp))
    return 1 + sum(isinstance(node, _BRANCHES) for node in nodes) + words


def large() -> Iterator[str]:
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            lines = (node.end_lineno or node.lineno) - node.lineno
            if lines > MAX_LINES or complexity(node) > MAX_COMPLEXITY:
                yield f"{path.relative_to(SOURCE)} {node.name}"


def test_a_large_function_has_a_reason_and_a_reason_has_a_large_function() -> None:
    assert set(large()) == set(REASONS)

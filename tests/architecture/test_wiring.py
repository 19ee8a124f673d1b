"""Objects are given their parts when they are made, or listen by a method: nobody assigns a function onto another."""

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src/duetty"


def _trees() -> dict[str, ast.Module]:
    return {
        file.relative_to(SOURCE).as_posix(): ast.parse(file.read_text(encoding="utf-8"))
        for file in sorted(SOURCE.rglob("*.py"))
    }


def _functions(tree: ast.Module) -> Iterator[str]:
    """Public attributes that hold a function."""
    for node in ast.walk(tree):
        match node:
            case ast.AnnAssign(
                target=ast.Attribute(value=ast.Name(id="self"), attr=name), annotation=kind
            ) if not name.startswith("_") and "Callable[" in ast.unparse(kind):
                if not ast.unparse(kind).startswith(("list[", "dict[", "deque[", "set[")):
                    yield name
            case _:
                pass


def _assigned(tree: ast.Module, functions: set[str]) -> Iterator[str]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Assign):
            continue
        for target in node.targets:
            match target:
                case ast.Attribute(value=ast.Name(id="self")):
                    pass
                case ast.Attribute(attr=name) if (
                    name in functions
                    or name.startswith("on_")
                    or isinstance(node.value, ast.Lambda)
                ):
                    yield f"{node.lineno}: {ast.unparse(target)}"
                case _:
                    pass


def test_no_function_is_assigned_onto_another_object() -> None:
    trees = _trees()
    functions = {name for tree in trees.values() for name in _functions(tree)}

    found = [
        f"{file}:{each}" for file, tree in trees.items() for each in _assigned(tree, functions)
    ]

    assert found == []


def test_the_test_above_would_notice() -> None:
    made = (
        "class A:\n    def __init__(self):\n        self.fetch: Callable[[], None] | None = None\n"
    )
    wired = "a.fetch = b.fetch\nself.a.on_end = c\na.name = lambda: 1\nself.on_end = on_end\n"
    functions = set(_functions(ast.parse(made)))

    assert functions == {"fetch"}
    assert [each.partition(":")[0] for each in _assigned(ast.parse(wired), functions)] == [
        "1",
        "2",
        "3",
    ]

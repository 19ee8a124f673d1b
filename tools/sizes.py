"""The sizes of the house, for ADR 28's table: `python tools/sizes.py [DIRECTORY OF A CHECKOUT]`."""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[1])
SOURCE = ROOT / "src/duetty"
SHELLS = {"bash", "zsh", "fish", "dash", "ash"}
OLD_WORDS = re.compile(r"\b(?:told|said|somebody|nobody|whoever)\b", re.IGNORECASE)
BRANCHES = (
    ast.If, ast.For, ast.While, ast.AsyncFor, ast.ExceptHandler, ast.IfExp, ast.comprehension,
    ast.match_case,
)  # fmt: skip


def files(directory: Path) -> list[Path]:
    return [each for each in directory.rglob("*.py") if "node_modules" not in each.parts]


def lines(file: Path) -> int:
    return len(file.read_text(encoding="utf-8").splitlines())


def complexity(function: ast.AST) -> int:
    nodes = list(ast.walk(function))
    words = sum(len(node.values) - 1 for node in nodes if isinstance(node, ast.BoolOp))
    return 1 + sum(isinstance(node, BRANCHES) for node in nodes) + words


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def imported(tree: ast.Module) -> set[str]:
    """Modules of ours that a module names."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("duetty"):
            found.add(node.module or "")
    return found


def names_a_shell(tree: ast.Module) -> bool:
    return any(isinstance(node, ast.Constant) and node.value in SHELLS for node in ast.walk(tree))


def spread(values: list[int]) -> str:
    ordered = sorted(values)
    return f"{ordered[len(ordered) // 2]} / {ordered[len(ordered) * 9 // 10]} / {ordered[-1]}"


def attributes_and_methods(tree: ast.Module, name: str) -> str:
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and node.name == name:
            methods = [
                each
                for each in node.body
                if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)
            ]
            own = {
                each.attr
                for each in ast.walk(node)
                if isinstance(each, ast.Attribute)
                and isinstance(each.ctx, ast.Store)
                and isinstance(each.value, ast.Name)
                and each.value.id == "self"
            }
            return f"{len(own)} / {len(methods)}"
    return "-"


def main() -> None:
    sources = files(SOURCE)
    trees = {each: ast.parse(each.read_text(encoding="utf-8")) for each in sources}
    every = [each for tree in trees.values() for each in functions(tree)]
    lengths = [(each.end_lineno or each.lineno) - each.lineno + 1 for each in every]
    branching = [complexity(each) for each in every]
    largest = sorted(sources, key=lines, reverse=True)[:10]
    test_lines = sum(map(lines, files(ROOT / "tests")))
    rows = {
        "lines of source / tests": f"{sum(map(lines, sources)):,} / {test_lines:,}",
        "modules": f"{len(sources)}",
        "lines of a file, p50 / p90 / max": spread([*map(lines, sources)]),
        "lines of a function, p50 / p90 / max": spread(lengths),
        "complexity, p50 / p90 / max": spread(branching),
        "functions above 80 lines / above 20": (
            f"{sum(each > 81 for each in lengths)} / {sum(each > 20 for each in branching)}"
        ),
        "attributes / methods of Session": attributes_and_methods(
            trees[SOURCE / "session/session.py"], "Session"
        ),
        "attributes / methods of Registry": attributes_and_methods(
            trees[SOURCE / "session/registry.py"], "Registry"
        ),
        "imports of ours in the ten largest": ", ".join(
            f"{each.relative_to(SOURCE)} {len(imported(trees[each]))}" for each in largest
        ),
        "modules with a shell's name as a value": f"{sum(map(names_a_shell, trees.values()))}",
        "modules in -ing": f"{sum(each.stem.endswith('ing') for each in sources)}",
        "told, said, somebody, nobody, whoever": (
            f"{sum(len(OLD_WORDS.findall(each.read_text(encoding='utf-8'))) for each in sources):,}"
        ),
        "words in CHANGELOG": f"{len((ROOT / 'CHANGELOG.md').read_text(encoding='utf-8').split()):,}",
    }
    for name, value in rows.items():
        print(f"| {name} | {value} |")  # noqa: T201 - that is what it is for


if __name__ == "__main__":
    main()

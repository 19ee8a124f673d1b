"""docs/map.md: pictures of the packages, from the import graph, and of the operations, from the table."""

import tomllib
from collections import defaultdict
from pathlib import Path

import grimp

from duetty.ops import OPERATIONS

ROOT = Path(__file__).parent.parent
MARK = {"read": "", "display": "", "input": "⌨", "control": "⚠"}


def layers() -> list[list[str]]:
    """As the contract of the imports has them, the highest first."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contracts = settings["tool"]["importlinter"]["contracts"]
    [wanted] = [each for each in contracts if each["id"] == "layers"]
    return [[name.strip(" ()") for name in layer.split("|")] for layer in wanted["layers"]]


def imports(packages: set[str]) -> dict[str, set[str]]:
    """Which top-level packages a package imports itself."""
    graph = grimp.build_graph("duetty", cache_dir=None)
    found: dict[str, set[str]] = defaultdict(set)
    for module in sorted(graph.modules):
        importer = module.split(".")[1:2]
        for imported in graph.find_modules_directly_imported_by(module):
            name = imported.split(".")[1:2]
            if importer and name and importer != name and {*importer, *name} <= packages:
                found[importer[0]].add(name[0])
    return found


def reduced(found: dict[str, set[str]]) -> dict[str, set[str]]:
    """Without what follows from the rest: an arrow is drawn only where no longer way leads there."""

    def reaches(start: str, goal: str) -> bool:
        return any(step == goal or reaches(step, goal) for step in found.get(start, ()))

    return {
        name: {
            goal for goal in goals if not any(reaches(step, goal) for step in goals if step != goal)
        }
        for name, goals in found.items()
    }


def packages_picture() -> str:
    here = {path.stem for path in (ROOT / "src/duetty").iterdir() if not path.stem.startswith("_")}
    rows = [[name for name in layer if name in here] for layer in layers()]
    rows = [row for row in rows if row]
    lines = ["```mermaid", "flowchart TD"]
    for number, row in enumerate(rows):
        lines += [f"    subgraph L{number} [ ]", *(f"        {name}" for name in row), "    end"]
    arrows = reduced(imports({name for row in rows for name in row}))
    lines += [f"    {name} --> {goal}" for name in sorted(arrows) for goal in sorted(arrows[name])]
    return "\n".join([*lines, "```"])


def operations_picture() -> str:
    verbs: dict[tuple[str, str], list[str]] = defaultdict(list)
    for each in OPERATIONS.values():
        module = each.function.__module__.removeprefix("duetty.")
        noun, _, verb = each.name.partition(".")
        verbs[module, noun].append(f"{verb}{MARK[each.effect.value]}")
    lines = ["```mermaid", "flowchart LR", "    dispatch([ops.dispatch])"]
    for module in sorted({module for module, _ in verbs}):
        lines.append(f'    dispatch --> {module.replace(".", "_")}["{module}"]')
    for number, ((module, noun), words) in enumerate(sorted(verbs.items())):
        lines.append(
            f'    {module.replace(".", "_")} --> n{number}["<b>{noun}</b><br/>{"<br/>".join(words)}"]'
        )
    return "\n".join([*lines, "```"])


def page() -> str:
    return "\n".join(
        [
            "# A map of the code\n",
            "## Packages\n",
            "Made from the import graph. A package imports only what is below it; boxes are the layers of the contract in `pyproject.toml`.",
            "An arrow is drawn where no longer way leads to the same package. What each package is: [ARCHITECTURE.md](ARCHITECTURE.md#rooms).\n",
            packages_picture(),
            "",
            "## Operations\n",
            "Made from the operation table. Every call goes through `ops/dispatch.py` to the module that runs its operation. ⌨ types, ⚠ controls; the others read or draw.",
            "Each operation: [operations.md](operations.md).\n",
            operations_picture(),
            "",
        ]
    )

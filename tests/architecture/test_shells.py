"""A shell is one value in one module; everything else asks the value and names no shell."""

import ast
from pathlib import Path

from duetty.shell import SHELL_KINDS

SOURCE = Path(__file__).parents[2] / "src/duetty"

NAMES = {kind.name for kind in SHELL_KINDS} | {"dash"} - {"sh"}

MAY_NAME = {
    "shell": "the values themselves",
    "policy": "grammars: what a text says to which shell",
    "cli/completion_scripts.py": "writes programs in their languages",
    "cli/commands/completion.py": "says for which there are such programs",
    "cli/commands/policy.py": "its default",
    "sandbox/protected_names.py": "names of their start-up files",
}


def test_no_other_module_names_a_shell() -> None:
    naming = [
        f"{path.relative_to(SOURCE)}:{node.lineno} {node.value!r}"
        for path in SOURCE.rglob("*.py")
        if not any(path.is_relative_to(SOURCE / allowed) for allowed in MAY_NAME)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and node.value in NAMES - {"sh"}
    ]

    assert naming == []


def test_each_shell_has_its_module_and_a_name_of_its_own() -> None:
    programs = [program for kind in SHELL_KINDS for program in kind.programs]

    assert len(set(programs)) == len(programs)
    assert {"bash", "zsh", "fish", "dash", "ash"} <= {
        path.stem for path in (SOURCE / "shell").glob("*.py")
    }

"""What only Linux has stands in `platform/`: a port is a second set of those modules."""

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src/duetty"

ONLY_LINUX = frozenset(
    {
        "SO_PEERCRED",
        "ioctl",
        "memfd_create",
        "pidfd_open",
        "pidfd_send_signal",
        "prctl",
        "sched_setattr",
        "syscall",
    }
)
"""Names that nothing but `platform/` calls or asks for."""

READERS = frozenset({"Path", "access", "listdir", "open", "readlink", "scandir", "stat", "lstat"})
"""What is given a path to look at. Rules and sandboxes name paths in `/proc` too, and look at none."""

KERNEL = ("/proc", "/sys/")


def _modules() -> Iterator[tuple[str, ast.Module]]:
    for file in sorted(SOURCE.rglob("*.py")):
        name = file.relative_to(SOURCE).as_posix()
        if not name.startswith("platform/"):
            yield name, ast.parse(file.read_text(encoding="utf-8"))


def _called(node: ast.Call) -> str:
    match node.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def _beginning(node: ast.expr) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=[first, *_]):
            return _beginning(first)
        case _:
            return ""


def _found(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in ONLY_LINUX:
            yield f"{node.lineno}: {node.attr}"
        if isinstance(node, ast.Call) and _called(node) in READERS and node.args:
            path = _beginning(node.args[0])
            if path.startswith(KERNEL):
                yield f"{node.lineno}: {_called(node)}({path!r})"


def test_nothing_but_platform_asks_what_only_linux_has() -> None:
    found = [f"{name}:{each}" for name, tree in _modules() for each in _found(tree)]

    assert found == []


def test_the_test_above_would_notice() -> None:
    seen = (
        "import os\nopen(f'/proc/{pid}/stat')\nPath('/sys/fs')\nos.pidfd_open(1)\nlibc.prctl(1)\n"
    )
    unseen = "RULES = ['/proc/self/fd/0']\nopen('/etc/hosts')\n"

    assert [each.partition(":")[0] for each in _found(ast.parse(seen))] == ["2", "3", "4", "5"]
    assert list(_found(ast.parse(unseen))) == []

"""What the README and the pages for newcomers tell people to type works as written."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from duetty.cli.main import COMMANDS, load, make_parser

ROOT = Path(__file__).parents[2]
PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    "docs/howto.md",
    "docs/sandbox.md",
    "docs/policy.md",
    "docs/approvals.md",
    "docs/shells.md",
]


def commands(page: str) -> list[str]:
    """Lines of `duetty` in blocks of shell."""
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = re.findall(r"^```(?:sh|console)\n(.*?)^```", text, re.M | re.S)
    return [
        part.strip().removeprefix("$ ")
        for block in blocks
        for line in block.splitlines()
        for part in re.split(r"; (?=duetty)", line.partition("  #")[0])
        if part.strip().removeprefix("$ ").startswith("duetty ")
    ]


@pytest.mark.parametrize("line", sorted({line for page in PAGES for line in commands(page)}))
def test_a_command_of_the_docs_is_understood(line: str) -> None:
    _, *words = shlex.split(line, comments=True)
    if words[0].startswith("-"):
        words = ["new", *words]
    assert words[0] in COMMANDS

    make_parser(words[0], load(words[0])).parse_args(words[1:])  # exits where it is wrong


def test_the_line_of_the_readme_puts_duetty_on_the_path() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    [line] = [line for line in lines if line.startswith("export PATH=")]

    found = subprocess.run(
        ["sh", "-c", f"{line}\ncommand -v duetty && duetty --version"],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )

    assert found.stdout.splitlines()[0] == f"{ROOT}/.venv/bin/duetty"
    assert found.stdout.splitlines()[1].startswith("duetty ")

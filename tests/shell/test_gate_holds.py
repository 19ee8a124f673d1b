"""A gate that was damaged refuses: what asks is missing, hidden or cannot end the line, and nothing runs."""

import os
from contextlib import suppress
from pathlib import Path

import pytest

from duetty.shell import MarkKind
from tests.shell.test_gate import Gatekeeper, gated

pytestmark = [pytest.mark.pty, pytest.mark.shells]


def damage(keeper: Gatekeeper, line: str) -> bool:
    """Run a line, which is allowed here; whether the prompt behind it says that the gate is whole."""
    since = len(keeper.shell.trusted)
    keeper.shell.write(line + "\r")
    keeper.shell.wait_mark(MarkKind.DONE, since=since)
    keeper.shell.read_until_quiet()
    prompts = [each for each in keeper.shell.trusted[since:] if each.kind is MarkKind.PROMPT]
    return bool(prompts) and prompts[-1].gated


def type_line(keeper: Gatekeeper, line: str) -> None:
    keeper.shell.write(line + "\r")
    with suppress(AssertionError):  # a shell that ends runs nothing either
        keeper.shell.read_until_quiet()


@pytest.mark.parametrize(
    "line",
    [
        "FUNCNEST=0",
        "typeset -gi FUNCNEST=0",
        "typeset +r FUNCNEST; FUNCNEST=0",
        "foo() { return 0; }; functions -c foo builtin",
        "function foo builtin { return 0 }",
        "kill() { true; }; trap() { true; }; print() { true; }",
        "unfunction _duetty_ask",
        "disable -f _duetty_ask",
        "_duetty_ask() { return 0; }",
        "disable kill trap exit",
        "disable read",
        "disable builtin",
        "trap '' INT",
        "TRAPINT() { return 0; }",
        "typeset -r _duetty_yes=yes",
        "typeset -r answer=x; typeset -ri id=3",
        "sleep 100 & TRAPINT() { true; }; disable kill",
    ],
)
def test_a_zsh_whose_gate_was_damaged_runs_nothing_that_is_forbidden(
    tmp_path: Path, line: str
) -> None:
    with gated(tmp_path, "zsh") as keeper:
        damage(keeper, line)
        type_line(keeper, "touch forbidden")

        assert "forbidden" not in os.listdir(tmp_path)


@pytest.mark.parametrize(
    ("line", "whole"),
    [
        ("true", True),
        ("FUNCNEST=0", True),
        ("kill() { true; }", True),
        ("precmd_functions=() preexec_functions=()", True),
        ("unfunction _duetty_ask", False),
        ("unfunction -m '_duett*_ask'", False),
        ("_duetty_ask() { return 0; }", False),
        ("functions[_duetty_ask]=:", False),
        ("disable -f _duetty_ask", False),
        ("disable read", False),
        ("foo() { return 0; }; functions -c foo builtin", False),
        ("typeset -r TRY_BLOCK_INTERRUPT", False),
        ("typeset -r _duetty_yes=yes", False),
    ],
)
def test_a_prompt_of_zsh_says_whether_its_gate_is_whole(
    tmp_path: Path, line: str, whole: bool
) -> None:
    with gated(tmp_path, "zsh") as keeper:
        assert damage(keeper, line) is whole

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


@pytest.mark.parametrize(
    "line",
    [
        "functions -e (functions -a | string match '*y_ask')",
        "functions -e (functions -a | string match '*y_passes')",
        "functions -e (functions -a | string match '*y_told')",
        "functions -e (functions -a | string match '*y_abbr')",
        "function _duetty_ask; return 0; end",
        "alias kill=true; function printf; end; function commandline; end; function random; end",
        "function functions; end; function contains; return 1; end; function abbr; end",
    ],
)
def test_a_fish_whose_gate_was_damaged_runs_nothing_that_is_forbidden(
    tmp_path: Path, line: str
) -> None:
    with gated(tmp_path, "fish", rc="abbr -a harmless touch\n") as keeper:
        damage(keeper, line)
        type_line(keeper, "touch forbidden")
        type_line(keeper, "harmless forbidden\x01")

        assert "forbidden" not in os.listdir(tmp_path)


@pytest.mark.parametrize(
    ("line", "whole"),
    [
        ("true", True),
        ("alias kill=true", True),
        ("function fish_prompt; echo '> '; end", True),
        ("functions -e (functions -a | string match '*y_ask')", False),
        ("function _duetty_ask; return 0; end", False),
        ("functions -e (functions -a | string match '*y_preexec')", False),
    ],
)
def test_a_prompt_of_fish_says_whether_its_gate_is_whole(
    tmp_path: Path, line: str, whole: bool
) -> None:
    with gated(tmp_path, "fish") as keeper:
        assert damage(keeper, line) is whole


ABBREVIATIONS = """
abbr -a harmless 'touch "forbidden"'
abbr -a zz touch
abbr -a --position anywhere any forbidden
abbr -a letters --regex '^t+$' --function longer
function longer; echo touch forbidden; end
"""


@pytest.mark.parametrize(
    ("keys", "asked"),
    [
        ("harmless", 'touch "forbidden"'),
        ("\x1b[200~zz forbidden\x1b[201~\x01", "touch forbidden"),
        ("touch any", "touch forbidden"),
        ("tt", "tt"),
        ("echo zz", "echo zz"),
    ],
)
def test_what_fish_runs_is_what_was_asked_about_whatever_is_abbreviated(
    tmp_path: Path, keys: str, asked: str
) -> None:
    with gated(tmp_path, "fish", rc=ABBREVIATIONS) as keeper:
        type_line(keeper, keys)

        assert keeper.lines == [asked]
        assert "forbidden" not in os.listdir(tmp_path)


STRANGE_KEY = "bind \\cg 'commandline -f execute'\n"


@pytest.mark.parametrize("key", ["\x03", "\x1c", "\x1a"], ids=["Ctrl-C", "Ctrl-\\", "Ctrl-Z"])
def test_no_key_gets_a_line_past_a_question_that_fish_cannot_take_back(
    tmp_path: Path, key: str
) -> None:
    with gated(tmp_path, "fish", rc=STRANGE_KEY) as keeper:
        keeper.answers = False
        keeper.shell.write("touch made\x07")
        keeper.shell.wait(lambda: len(keeper.asked) == 1, "question")
        for _ in range(3):
            keeper.shell.write(key)
            keeper.shell.read_until_quiet()

        assert not (tmp_path / "made").exists()
        keeper.answer(keeper.asked[0])
        keeper.shell.wait_prompt(since=len(keeper.shell.trusted))
        assert (tmp_path / "made").exists()


def test_fish_ends_where_a_line_was_refused_that_it_cannot_take_back(tmp_path: Path) -> None:
    with gated(tmp_path, "fish", rc=STRANGE_KEY) as keeper:
        keeper.shell.write("touch forbidden\x07")
        keeper.shell.wait_text("this shell ends")
        with pytest.raises(AssertionError, match="the shell ended"):
            keeper.shell.wait_text("nothing more")

        assert "forbidden" not in os.listdir(tmp_path)

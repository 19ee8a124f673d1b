"""Words become a line, and every shell reads the same words back, with whatever options it has."""

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from duetty.ops.contract.words import line_of
from duetty.shell import kind_of_program

pytestmark = [pytest.mark.shells]

SHELLS = {
    "bash": ["bash", "--norc", "-O", "extglob", "-O", "failglob", "-c"],
    "zsh": ["zsh", "-f", "-o", "extendedglob", "-o", "magicequalsubst", "-o", "rcquotes", "-c"],
    "fish": ["fish", "--no-config", "-c"],
    "dash": ["dash", "-c"],
}

ODD = [
    "", " ", "=ls", "==ls", "a=b", "a==ls", "--to==ls", "p=x:=ls", "=", "~", "~root", "a=~", "x:~", "^a", "a^b", "#a",
    "a#b", "*", "?", "[a]", "{a,b}", "{1..3}", "%self", "%1", "!x", "a!b", "$HOME", "`id`", "$(id)", "'", "''", "it's",
    '"', "\\", "\\'", "a\\", "a\nb", "a\tb", "&", "|", ";", "<x", ">x", "(a)", "-n", "--", "-", "+x", "@x", "a,b", "é",
    "\u2028", "\x7f", "if", "end", "<(id)", "=(id)", "(#i)x", "x~y", "a(N)", "{", "}", "!", "!!", ":", ".",
]  # fmt: skip

PROGRAMS = ["if", "for", "end", "time", "function", "begin", "repeat", "A=b", "=x", "a b", "it's", "^x", "#x", "x~y"]  # fmt: skip


def read_back(shell: str, line: str, home: Path) -> list[str]:
    program, *options = SHELLS[shell]
    done = subprocess.run(
        [shutil.which(program) or program, *options, line],
        capture_output=True,
        check=True,
        env={"PATH": f"{home}:/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": str(home)},
        timeout=60,
    )
    return done.stdout.decode().split("\0")[:-1]


def shown(home: Path) -> str:
    """A program that writes each of its words with a NUL behind it."""
    program = home / "shown"
    program.write_text("#!/bin/sh\nprintf '%s\\0' \"$@\"\n")
    program.chmod(0o755)
    return str(program)


@pytest.mark.parametrize("shell", SHELLS)
def test_every_odd_word_comes_back_as_it_was(shell: str, tmp_path: Path) -> None:
    line = line_of([shown(tmp_path), *ODD], kind_of_program(shell))

    assert read_back(shell, line, tmp_path) == ODD


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_of_any_name_is_run_and_nothing_else(
    shell: str, name: str, tmp_path: Path
) -> None:
    Path(shown(tmp_path)).rename(tmp_path / name)

    assert read_back(shell, line_of([name, "one"], kind_of_program(shell)), tmp_path) == ["one"]


@pytest.mark.parametrize("shell", SHELLS)
def test_any_words_of_what_shells_read_otherwise_come_back(shell: str, tmp_path: Path) -> None:
    program = shown(tmp_path)

    @settings(max_examples=20, deadline=None)
    @given(
        words=st.lists(st.text("=~^#*?[]{}()!$`'\"\\%:, \n-ax@+|&;<>/.", max_size=8), max_size=30)
    )
    def come_back(words: list[str]) -> None:
        words = ["first", *words]  # with no words at all printf writes an empty one
        assert (
            read_back(shell, line_of([program, *words], kind_of_program(shell)), tmp_path) == words
        )

    come_back()

"""The shells that are known, one line each. Everybody else asks the value and names no shell."""

from collections.abc import Sequence

from duetty.shell.ash import ASH
from duetty.shell.bash import BASH
from duetty.shell.dash import DASH
from duetty.shell.fish import FISH
from duetty.shell.kind import ShellKind
from duetty.shell.zsh import ZSH

SHELL_KINDS: tuple[ShellKind, ...] = (
    BASH,
    ZSH,
    FISH,
    DASH,
    ASH,
)

OTHER_SHELL = ShellKind(name="none")
"""A shell, or another program, of which nothing is known."""

_BY_NAME = {kind.name: kind for kind in SHELL_KINDS}
_BY_PROGRAM = {program: kind for kind in SHELL_KINDS for program in kind.programs}
_BEHIND_SH = {program: kind for kind in SHELL_KINDS for program in kind.behind_sh}


def shell_kind(name: str | None) -> ShellKind:
    """The kind that a session's `integration` names."""
    return _BY_NAME.get(name or "", OTHER_SHELL)


def kind_of_program(program: str) -> ShellKind:
    """By its file's name."""
    return _BY_PROGRAM.get(program.rpartition("/")[2], OTHER_SHELL)


def kind_behind_sh(program: str) -> ShellKind:
    """By the name of the file that a link like `sh` leads to."""
    return _BEHIND_SH.get(program, OTHER_SHELL)


def confined(argv: Sequence[str]) -> list[str]:
    """The same command, for the inside of a sandbox."""
    return kind_of_program(argv[0]).confine(argv) if argv else []

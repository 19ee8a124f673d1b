"""What comes to a program besides its command line and can make it run other code.

Policy judges lines. Where only what is proven runs, variables that programs take code from count
too; and text that is fed to a shell is a line wherever it comes from.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote
from shutil import which
from typing import NamedTuple, cast

from duetty.policy import analyse
from duetty.policy.scanning.wrappers import reads_commands_from_stdin
from duetty.shell import SHELL_KINDS
from duetty.wire.base import Params
from duetty.wire.params import StdinParams
from duetty.wire.processes import StartProcessParams

CODE_VARIABLES = frozenset(
    {"BASH_ENV", "ENV", "PROMPT_COMMAND", "ZDOTDIR", "SHELLOPTS", "BASHOPTS",
     "IFS", "CDPATH", "GLOBIGNORE", "FPATH",
     "NODE_OPTIONS", "NODE_PATH", "RUBYOPT", "RUBYLIB", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS",
     "PAGER", "MANPAGER", "LESSOPEN", "LESSCLOSE", "EDITOR", "VISUAL", "BROWSER", "SUDO_ASKPASS",
     "SSH_ASKPASS", "VIMINIT", "EXINIT", "INPUTRC", "MAKEFLAGS", "TAR_OPTIONS", "RIPGREP_CONFIG_PATH",
     "PS0", "PS1", "PS2", "PS3", "PS4", "PROMPT", "RPROMPT"}
)  # fmt: skip
_CODE = re.compile(r"(LD_|DYLD_|BASH_FUNC_|GIT_|PYTHON|PERL|_DUETTY_|npm_config_|CARGO_)")

HARMLESS_VARIABLES = frozenset(
    {"LANG", "LANGUAGE", "TZ", "TERM", "COLORTERM", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CI", "COLUMNS", "LINES"}
)  # fmt: skip
"""All that is let pass unasked where only what is proven runs; and LC_*."""

SHELLS = frozenset({"ksh"}.union(*(kind.programs for kind in SHELL_KINDS)))
STDIN_PATHS = frozenset({"/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})

READING_SHELLS = frozenset(
    program for kind in SHELL_KINDS if kind.proven_as for program in kind.programs
)
"""Those that read a line as it is judged."""

SHELL_PLACES = ("/bin", "/usr/bin")
"""Where they are the system's own. Elsewhere a program of such a name may be any user's."""


def other_shell(params: Params, own: str) -> str | None:
    """The shell that a call names to read its line, if it is not the one of the settings."""
    if not isinstance(params, StartProcessParams) or params.shell in (None, own):
        return None
    return params.shell


def known_shell(shell: str) -> str | None:
    """Its name, if it is one of the system's own that reads lines as they are judged."""
    place, _, name = shell.rpartition("/")
    if name not in READING_SHELLS:
        return None
    if not place and "/" not in shell:
        return name if _system_shell(name) is not None else None
    return name if place in SHELL_PLACES else None


def shell_name(shell: str) -> str:
    """By its file's name, one that reads lines as they are judged, wherever it is; else nothing."""
    name = shell.rpartition("/")[2]
    return name if name in READING_SHELLS else ""


def found_shell(shell: str, path: str | None) -> str:
    """Which file it is: never one that the call's own variables lead to."""
    if "/" in shell:
        return shell
    return (known_shell(shell) and _system_shell(shell)) or which(shell, path=path) or shell


def _system_shell(name: str) -> str | None:
    found = (f"{place}/{name}" for place in SHELL_PLACES)
    return next((each for each in found if Path(each).exists()), None)


def line_for(shell: str, line: str) -> str:
    """The command line that a shell of this name is started with."""
    return f"{quote(shell)} -c {quote(line)}"


def unknown_variables(params: Params) -> dict[str, str]:
    """Those given that are not known to change only how things are shown: where only what is proven
    runs, any other may make a program run other code than its command line says.
    """
    given: object = getattr(params, "env", None)
    if not isinstance(given, Mapping) or not given:
        return {}
    return {
        name: value
        for name, value in cast("Mapping[str, str]", given).items()
        if name not in HARMLESS_VARIABLES and not name.startswith("LC_")
    }


def runs_code(name: str) -> bool:
    """Whether programs take code, programs or options from a variable of this name."""
    return name in CODE_VARIABLES or _CODE.match(name) is not None


class Fed(NamedTuple):
    """Text that is run by what it is fed to."""

    text: str
    readers: tuple[str, ...]
    """The shells that read it, as policy names them."""


def fed_text(params: Params, line: str, shell: str = "") -> Fed | None:
    """What is piped to a shell as its program by this call; None where it is data for another one.

    `shell`: who reads the line itself.
    """
    if not isinstance(params, StdinParams) or not params.stdin:
        return None
    takers = [each for each in analyse(line, shell=shell).commands if each and _takes_program(each)]
    if not takers:
        return None
    text = params.stdin_bytes().decode("utf-8", "replace")
    names = (words[0].rpartition("/")[2] for words in takers)
    readers = [shell if name in ("eval", ".", "source") else shell_name(name) for name in names]
    return Fed(text, tuple(dict.fromkeys(readers)))


def _takes_program(words: Sequence[str]) -> bool:
    """Whether a command reads what it runs from its standard input: `bash`, not `bash -c cat`."""
    name = words[0].rpartition("/")[2]
    if name == "eval":
        return True  # what it runs may have been read before
    if name in (".", "source"):
        return any(word in STDIN_PATHS for word in words[1:])
    return name in SHELLS and reads_commands_from_stdin([name, *words[1:]])

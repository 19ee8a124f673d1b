"""What differs between shells, as one value of each: the module of a shell holds its value, and its
script stands in `scripts/`.

The defaults describe a POSIX shell that announces nothing. Knows no processes, no terminals and no
sessions: it says what a shell does, and never asks one.
"""

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

EXACT_LINE = b"\x1b[133;9~"
"""The key that makes a shell take the next line as it stands; no keyboard sends it.

bash and zsh let history expansion change a line after Enter, and zsh reads no comments at its
prompt. A run is exactly its text, so where that matters the run presses this key first. The
integration scripts bind it, and give the options back at the next prompt.
"""

Announced = Literal["lines", "ends", "nothing"]
"""`lines`: where each command line begins and ends. `ends`: only its end, with the next prompt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """What a shell is to be started with."""

    program: str
    flags: Sequence[str]
    env: Mapping[str, str]
    is_login: bool
    scripts: Path
    scratch: Path | None
    """A file on a memory file system that belongs to this session alone."""


Starter = Callable[[Started], tuple[list[str], dict[str, str]]]
"""The command line and environment with the shell's script in them."""


def quote_posix(word: str) -> str:
    escaped = word.replace("'", "'\"'\"'")
    return f"'{escaped}'"


def read_from_posix(line: str, path: Path) -> str:
    """One group, so that all of the line reads from there. The line end before the bracket ends a comment, too."""
    return f"{{ {line}\n}} < {shlex.quote(str(path))}"


RESERVED_WORDS = frozenset(
    {"if", "then", "elif", "else", "fi", "do", "done", "case", "esac", "while", "until", "for", "in",
     "select", "function", "time", "coproc", "repeat", "foreach", "end", "nocorrect", "noglob"}
)  # fmt: skip
"""Words that mean something else where a command stands; quoted they are programs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellKind:
    """Everything that differs. See `shell/table.py` for the list."""

    name: str
    """As `integration` of a session says it."""

    programs: tuple[str, ...] = ()
    """File names by which it is started."""

    behind_sh: tuple[str, ...] = ()
    """File names that may stand behind the link `sh`."""

    start: Starter | None = None
    """None: it is started as it is, and announces nothing."""

    start_as_sh: Starter | None = None
    oldest: tuple[int, int] | None = None
    """The oldest version whose integration is tested; None where it does not say its version."""

    announces: Announced = "nothing"
    has_line_editor: bool = False
    """It edits the line itself, and may want more of it after Enter."""

    terminal_assembles_lines: bool = False
    """It has no editor: the terminal hands over whole lines, and cuts long ones."""

    continues_silently: bool = False
    """It asks for the rest of a line without a mark."""

    keeps_refused_line: bool = False
    """A line that does not parse stays in its editor, and would be part of the next one."""

    reads_keys_between_programs: bool = False
    """Between two programs of one line it leaves the terminal as its editor has it."""

    changes_lines: re.Pattern[str] | None = None
    """Text that it would expand into another line after Enter, unless we switch that off."""

    quote: Callable[[str], str] = quote_posix
    reserved_words: frozenset[str] = RESERVED_WORDS
    before_reserved: str | None = None
    """What makes a reserved word a program; None where quotes do."""

    changes_words: re.Pattern[str] | None = None
    """Plain words of which it makes another one."""

    read_from: Callable[[str, Path], str] = read_from_posix
    """A line whose standard input is a file."""

    confine: Callable[[Sequence[str]], list[str]] = list
    """The same command for the inside of a sandbox."""

    proven_as: str | None = None
    """The grammar by which policy can prove a line of it; None where it proves none."""

    def may_change(self, text: str) -> bool:
        """Whether it may make another line of the text, unless `EXACT_LINE` comes first."""
        return self.changes_lines is not None and self.changes_lines.search(text) is not None

    @property
    def is_integrated(self) -> bool:
        return self.announces != "nothing"


def moved(env: Mapping[str, str], name: str, value: str) -> dict[str, str]:
    """The environment with `name` set, and the user's value where the script finds it."""
    changed = {key: text for key, text in env.items() if key != f"_DUETTY_{name}"}
    if name in env:
        changed[f"_DUETTY_{name}"] = env[name]
    changed[name] = value
    return changed


def by_env_file(script: str) -> Starter:
    """For shells that read the file named by ENV when they are interactive."""

    def start(how: Started) -> tuple[list[str], dict[str, str]]:
        return [how.program, *how.flags], moved(how.env, "ENV", str(how.scripts / script))

    return start

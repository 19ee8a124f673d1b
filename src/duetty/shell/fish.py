"""fish. It has a grammar of its own, and reads keys whenever no program of its line does."""

from collections.abc import Sequence
from pathlib import Path

from duetty.shell.kind import ShellKind, Started

_CONFINED = Path(__file__).parent / "scripts" / "fish-confined.sh"
_WITHOUT_CONFIGURATION = frozenset({"-N", "--no-config"})


def _quote(word: str) -> str:
    """Fish alone reads backslashes between single quotes."""
    escaped = word.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _start(how: Started) -> tuple[list[str], dict[str, str]]:
    script = _quote(str(how.scripts / "duetty.fish"))
    return [how.program, *how.flags, "--init-command", f"source {script}"], dict(how.env)


def _read_from(line: str, path: Path) -> str:
    return f"begin\n{line}\nend < {_quote(str(path))}"


def _confine(argv: Sequence[str]) -> list[str]:
    """It writes its universal variables next to its configuration, and complains into commands'
    output where it cannot.
    """
    if _WITHOUT_CONFIGURATION.intersection(argv):
        return list(argv)
    return ["/bin/sh", str(_CONFINED), *argv]


FISH = ShellKind(
    name="fish",
    programs=("fish",),
    start=_start,
    oldest=(3, 4),
    announces="lines",
    has_line_editor=True,
    continues_silently=True,
    keeps_refused_line=True,
    reads_keys_between_programs=True,
    quote=_quote,
    reserved_words=frozenset(
        {"if", "else", "end", "while", "for", "in", "function", "begin", "switch", "case", "and",
         "or", "not", "time"}
    ),
    before_reserved="command",
    read_from=_read_from,
    confine=_confine,
    proven_as="fish",
)  # fmt: skip

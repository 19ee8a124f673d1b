"""zsh. It reads no comments at its prompt, and takes `=ls` for the path of ls."""

import re

from duetty.shell.kind import ShellKind, Started, moved


def _start(how: Started) -> tuple[list[str], dict[str, str]]:
    return [how.program, *how.flags], moved(how.env, "ZDOTDIR", str(how.scripts / "zsh"))


ZSH = ShellKind(
    name="zsh",
    programs=("zsh",),
    start=_start,
    oldest=(5, 3),
    announces="lines",
    has_line_editor=True,
    changes_lines=re.compile(r"[!#]|^\s*\^", re.MULTILINE),
    # With MAGIC_EQUAL_SUBST so it is behind `=` and `:`, too.
    changes_words=re.compile(r"(?:^|[=:])="),
    proven_as="zsh",
)

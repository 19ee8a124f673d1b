"""bash. It tells the text of a line through a file of ours, and expands history after Enter."""

import re

from duetty.shell.kind import ShellKind, Started, moved


def _start(how: Started) -> tuple[list[str], dict[str, str]]:
    # Long options come first. A login shell has no --rcfile; in posix mode it
    # reads ENV and nothing else, and the script reads the profile files for it.
    script = str(how.scripts / "duetty.bash")
    if how.is_login:
        argv, env = [how.program, "--posix", *how.flags], moved(how.env, "ENV", script)
    else:
        argv, env = [how.program, "--rcfile", script, *how.flags], dict(how.env)
    return argv, _with_scratch(how, env)


def _start_as_sh(how: Started) -> tuple[list[str], dict[str, str]]:
    env = moved(how.env, "ENV", str(how.scripts / "duetty.sh"))
    return [how.program, *how.flags], _with_scratch(how, env)


def _with_scratch(how: Started, env: dict[str, str]) -> dict[str, str]:
    return env if how.scratch is None else env | {"_DUETTY_SCRATCH": str(how.scratch)}


BASH = ShellKind(
    name="bash",
    programs=("bash",),
    behind_sh=("bash",),
    start=_start,
    start_as_sh=_start_as_sh,
    oldest=(4, 4),
    announces="lines",
    has_line_editor=True,
    changes_lines=re.compile(r"!|^\s*\^", re.MULTILINE),
    proven_as="bash",
)

"""Injection: how a shell is started so that it announces its marks.

Command line and environment in, the same with our script in them out. Reads
the file system only to learn which shell `sh` is. The user's own files are
read by every shell as ever and never written.

The nonce goes by descriptor `NONCE_FD`, not by the environment, which any
child can read in `/proc/<pid>/environ`: the script reads one line from it and
closes it. The scripts unset every other variable that we pass them.
"""

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from duetty.shell.kind import Started
from duetty.shell.table import kind_behind_sh, kind_of_program

NONCE_FD = 9

_SCRIPTS = Path(__file__).parent / "scripts"

_FLAGS = re.compile(r"-[il]+|--login|--interactive")

_NONCE = re.compile(r"[0-9A-Za-z]+")

_EXPANDED = frozenset('$`\\"')
"""Shells expand the value of ENV before they read the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Injection:
    """What to start, and what to hand it."""

    argv: Sequence[str]
    env: Mapping[str, str]
    handed: Mapping[int, str] = field(default_factory=dict[int, str])
    """Descriptors the child finds open for reading, and what they contain."""
    shell: str | None = None
    """Name of the kind whose marks to expect; None if there will be none."""
    reason: str | None = None
    """Why there will be none."""


def integrate(
    argv: Sequence[str],
    env: Mapping[str, str],
    *,
    nonce: str,
    scripts: Path | None = None,
    scratch: Path | None = None,
) -> Injection:
    """Start the same shell, with marks; or, if it is not a plain interactive shell, start it as it is.

    `scratch` names a file on a memory file system that belongs to this
    session alone, made and removed by the caller. bash needs it to tell the
    text of a command line: without it, marks of bash carry none.

    Raises:
        ValueError: the nonce is not of letters and digits.
    """
    if not _NONCE.fullmatch(nonce):
        raise ValueError("a nonce is made of letters and digits")
    if not argv:
        return Injection(argv=argv, env=env, reason="there is no program")
    program = argv[0].removeprefix("-")
    flags = ["-l", *argv[1:]] if argv[0].startswith("-") else list(argv[1:])
    for flag in flags:
        if not _FLAGS.fullmatch(flag):
            return Injection(argv=argv, env=env, reason="it is started with arguments of its own")
    kind = kind_of_program(program)
    start = kind.start
    if start is None and kind.is_integrated:  # a name that may lead to any of several shells
        resolved = _resolved(program, env)
        kind = kind_behind_sh(resolved or "")
        start = kind.start_as_sh
        if start is None:
            return Injection(argv=argv, env=env, reason=f"sh is {resolved or 'missing'} here")
    if start is None:
        name = Path(program).name or program
        return Injection(argv=argv, env=env, reason=f"{name!r} is not a known shell")
    new_argv, new_env = start(
        Started(
            program=program,
            flags=flags,
            env=env,
            is_login=any("l" in flag if flag[1] != "-" else flag == "--login" for flag in flags),
            scripts=scripts or _SCRIPTS,
            scratch=scratch,
        )
    )
    if _EXPANDED.intersection(new_env.get("ENV", "")) and new_env.get("ENV") != env.get("ENV"):
        return Injection(argv=argv, env=env, reason="the path of the scripts would be expanded")
    return Injection(argv=new_argv, env=new_env, handed={NONCE_FD: nonce + "\n"}, shell=kind.name)


def _resolved(program: str, env: Mapping[str, str]) -> str | None:
    found = shutil.which(program, path=env.get("PATH", os.defpath))
    return Path(found).resolve().name if found else None

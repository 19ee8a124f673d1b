"""Injection: how a shell is started so that it announces its marks.

Command line and environment in, the same with our script in them out. Reads
the file system only to learn which shell `sh` is. The user's own files are
read by every shell as ever and never written.

The nonce goes by descriptor `NONCE_FD`, not by the environment, which any
child can read in `/proc/<pid>/environ`: the script reads one line from it and
closes it. Whatever else the scripts are told by the environment they unset.
"""

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

NONCE_FD = 9

Shell = Literal["bash", "zsh", "fish", "sh"]

_SCRIPTS = Path(__file__).parent / "scripts"

_FLAGS = re.compile(r"-[il]+|--login|--interactive")

_NONCE = re.compile(r"[0-9A-Za-z]+")

_EXPANDED = frozenset('$`\\"')
"""Shells expand the value of ENV before they read the file."""

_SH = {"dash": "sh", "ash": "sh", "busybox": "sh", "bash": "bash"}
"""What may stand behind the name `sh`, and which marks it can announce."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Injection:
    """What to start, and what to hand it."""

    argv: Sequence[str]
    env: Mapping[str, str]
    handed: Mapping[int, str] = field(default_factory=dict[int, str])
    """Descriptors the child finds open for reading, and what they contain."""
    shell: Shell | None = None
    """Whose marks to expect; None if there will be none."""
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
    login = any("l" in flag if flag[1] != "-" else flag == "--login" for flag in flags)
    home = scripts or _SCRIPTS
    match Path(program).name:
        case "bash":
            started = _bash(program, flags, env, home=home, login=login)
            shell: Shell = "bash"
        case "zsh":
            started = [program, *flags], _moved(env, "ZDOTDIR", str(home / "zsh"))
            shell = "zsh"
        case "fish":
            script = _fish_quoted(str(home / "duetty.fish"))
            started = [program, *flags, "--init-command", f"source {script}"], dict(env)
            shell = "fish"
        case "sh" | "dash" | "ash":
            resolved = _resolved(program, env)
            if resolved not in _SH:
                return Injection(argv=argv, env=env, reason=f"sh is {resolved or 'missing'} here")
            started = [program, *flags], _moved(env, "ENV", str(home / "duetty.sh"))
            shell = "bash" if _SH[resolved] == "bash" else "sh"
        case name:
            return Injection(argv=argv, env=env, reason=f"{name or program!r} is not a known shell")
    new_argv, new_env = started
    if _EXPANDED.intersection(new_env.get("ENV", "")) and new_env.get("ENV") != env.get("ENV"):
        return Injection(argv=argv, env=env, reason="the path of the scripts would be expanded")
    if shell == "bash" and scratch is not None:
        new_env["_DUETTY_SCRATCH"] = str(scratch)
    return Injection(argv=new_argv, env=new_env, handed={NONCE_FD: nonce + "\n"}, shell=shell)


def _bash(
    program: str, flags: Sequence[str], env: Mapping[str, str], *, home: Path, login: bool
) -> tuple[list[str], dict[str, str]]:
    # Long options come first. A login shell has no --rcfile; in posix mode it
    # reads ENV and nothing else, and the script reads the profile files for it.
    script = str(home / "duetty.bash")
    if login:
        return [program, "--posix", *flags], _moved(env, "ENV", script)
    return [program, "--rcfile", script, *flags], dict(env)


def _moved(env: Mapping[str, str], name: str, value: str) -> dict[str, str]:
    """The environment with `name` set, and the user's value where the script finds it."""
    moved = {key: text for key, text in env.items() if key != f"_DUETTY_{name}"}
    if name in env:
        moved[f"_DUETTY_{name}"] = env[name]
    moved[name] = value
    return moved


def _resolved(program: str, env: Mapping[str, str]) -> str | None:
    found = shutil.which(program, path=env.get("PATH", os.defpath))
    return Path(found).resolve().name if found else None


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"

"""What a new session is asked to be, and the process that makes it so."""

import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from duetty.config import OWN_PLACE, is_directory
from duetty.errors import BadCommand, BadWorkingDirectory
from duetty.sandbox import SandboxRequest
from duetty.session.bounds import NO_BOUNDS, Bounds
from duetty.shell import Injection, integrate

SECRET_PREFIXES = ("DUETTY_",)
"""Tokens, nonces and settings of the server are nothing for a child."""

OUTER_TERMINAL = frozenset(
    {"COLUMNS", "LINES", "TERMCAP", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "TMUX", "TMUX_PANE", "STY",
     "WINDOWID", "VTE_VERSION", "KITTY_WINDOW_ID", "GHOSTTY_RESOURCES_DIR", "COLORTERM"}
)  # fmt: skip
"""Facts about the terminal the server was started in, which is not the child's."""

_PLAIN_COMMAND = re.compile(r"[\w@%+=:,./\- \"'~]+\Z")
"""No character in it makes a shell do more than split words and expand a leading tilde."""


NO_SANDBOX = SandboxRequest(asked="none")


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenRequest:
    name: str | None = None
    command: str | None = None
    cols: int = 80
    rows: int = 24
    cwd: str | None = None
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    inherit_env: bool = True
    tags: frozenset[str] = frozenset()
    integration: bool = True
    sandbox: SandboxRequest = NO_SANDBOX
    owner: str | None = None
    keeps_name: bool = False
    bounds: Bounds = NO_BOUNDS
    left_by: str | None = None
    """The caller that does not wait for it, and gets its end in a later answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """Everything the keeper needs, and what lists say about it."""

    argv: tuple[str, ...]
    """As asked for; `injection` has what really runs."""

    command: str
    cwd: str
    injection: Injection
    is_shell: bool


def child_environment(
    request: OpenRequest, base: Mapping[str, str], *, session: str, url: str
) -> dict[str, str]:
    """The child's whole environment: clean, with the terminal's own facts."""
    env: dict[str, str] = {}
    if request.inherit_env:
        env = {
            key: value
            for key, value in base.items()
            if key not in OUTER_TERMINAL and not key.startswith(SECRET_PREFIXES)
        }
    env |= {key: value for key, value in request.env.items() if not key.startswith(SECRET_PREFIXES)}
    env |= {"TERM": "xterm-256color", "COLORTERM": "truecolor"} | {
        key: request.env[key]
        for key in ("TERM", "COLORTERM")
        if key in request.env and request.inherit_env
    }
    env |= {key: base[key] for key in OWN_PLACE if key in base}
    env |= {"DUETTY_SESSION": session, "DUETTY_URL": url}
    return env


def plan(
    request: OpenRequest,
    env: dict[str, str],
    *,
    default_shell: str,
    nonce: str,
    scratch: Path,
) -> Launch:
    """Which process to start for this request.

    Raises:
        BadCommand: if the command has no words or unmatched quotes.
    """
    cwd = _expanded(request.cwd or env.get("HOME") or "/", env)
    argv = _argv(request.command, env, default_shell)
    injection = integrate(argv, env, nonce=nonce, scratch=scratch)
    is_shell = injection.shell is not None
    if not request.integration:
        injection = Injection(argv=argv, env=env, shell=None, reason="turned off by a setting")
    return Launch(
        argv=argv,
        command=command_text(argv),
        cwd=cwd,
        injection=injection,
        is_shell=is_shell,
    )


def check_launch(request: OpenRequest, env: Mapping[str, str], *, default_shell: str) -> None:
    """Find what is wrong before anything is started; looks at the disk.

    Raises:
        BadCommand, BadWorkingDirectory: as `plan` and the start itself would.
    """
    _argv(request.command, env, default_shell)
    check_directory(request.cwd or env.get("HOME") or "/", env)


def check_directory(place: str, env: Mapping[str, str]) -> None:
    """Raises:
    BadWorkingDirectory: if no session of this environment could begin there; looks at the disk.
    """
    cwd = _expanded(place, env)
    if not cwd.startswith("/") or not is_directory(cwd) or not os.access(cwd, os.X_OK):
        raise BadWorkingDirectory(
            f"cannot enter {cwd!r}",
            hint="give an absolute directory that exists and that this user may enter",
        )


def _expanded(cwd: str, env: Mapping[str, str]) -> str:
    """`~` is the child's home, not the server's; anything else stays as it is."""
    if cwd == "~" or cwd.startswith("~/"):
        return (env.get("HOME") or "/") + cwd[1:]
    return cwd


def is_shell(argv: tuple[str, ...]) -> bool:
    return integrate(argv, {}, nonce="0").shell is not None


_BUILTINS = frozenset(
    [
        ".",
        ":",
        "alias",
        "bg",
        "break",
        "cd",
        "command",
        "continue",
        "eval",
        "exec",
        "exit",
        "export",
        "fc",
        "fg",
        "getopts",
        "hash",
        "jobs",
        "read",
        "readonly",
        "return",
        "set",
        "shift",
        "times",
        "trap",
        "type",
        "ulimit",
        "umask",
        "unalias",
        "unset",
        "wait",
    ]
)
"""What only a shell can do, as POSIX names it; no program of that name would do."""


def _argv(command: str | None, env: Mapping[str, str], default_shell: str) -> tuple[str, ...]:
    if command is None:
        shell = default_shell or env.get("SHELL") or "/bin/sh"
        if not os.access(shell, os.X_OK):
            shell = "/bin/sh"
        return (shell,)
    if not command.strip():
        raise BadCommand("the command is empty", hint="leave it out for the user's shell")
    if not _PLAIN_COMMAND.match(command) or re.match(r"\s*\w+=", command):
        return ("/bin/sh", "-c", command)
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise BadCommand(f"the command cannot be read: {error}", hint="close the quotes") from error
    if "~" in command or words[0] in _BUILTINS:
        return ("/bin/sh", "-c", command)
    return tuple(words)


def command_text(argv: tuple[str, ...]) -> str:
    if argv[:2] == ("/bin/sh", "-c") and len(argv) == 3:
        return argv[2]
    return shlex.join(argv)

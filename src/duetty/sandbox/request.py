"""A request for a sandbox, and its result: a command to start in place of another."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Level = Literal["none", "landlock", "bubblewrap"]
"""What a session has, from nothing to most."""

RequestedLevel = Literal["none", "any", "landlock", "bubblewrap"]
"""The requested level; `any` is the best that this machine can give, and never none."""

REQUESTED_LEVELS: tuple[RequestedLevel, ...] = ("none", "any", "landlock", "bubblewrap")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Of each process, but for `processes`, which is of all together; 0 is no limit."""

    cpu_s: int = 0
    memory_mib: int = 0
    processes: int = 0
    file_mib: int = 0
    open_files: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxRequest:
    asked: RequestedLevel
    workspaces: tuple[str, ...] = ()
    """What may be written. Chosen by a person: the directory a call asks for widens nothing."""

    protect: bool = True
    """Hooks and start-up files in the workspaces stay read-only."""

    whole_git: bool = False
    """All that git keeps stays read-only, not only what it runs."""

    network: bool = False
    home: str = ""
    """The person's, where credentials are; what a call says of it shows nothing more."""

    hidden: tuple[str, ...] = ()
    caches: Path | None = None
    """Where each workspace has its caches of package managers; without it they go with the sandbox."""

    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """This server's own directories, which no program inside may see."""

    hidden: tuple[Path, ...]
    """State with its tokens, runtime directory with its sockets, the settings file."""

    shown: tuple[Path, ...] = ()
    """Single files in there that the shell needs, for its marks."""

    private: Path | None = None
    """A directory of this session alone, where /tmp cannot be replaced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrapped:
    level: Level
    argv: tuple[str, ...]
    env: Mapping[str, str]
    handed: Mapping[int, bytes] = field(default_factory=dict[int, bytes])
    """Descriptors that the command must find open for reading, and what they contain."""

    workspaces: tuple[Path, ...] = ()
    """What can be written inside, and is worth a look when it has ended (`disorders`)."""

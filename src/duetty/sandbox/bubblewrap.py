"""The words for bubblewrap: what is shown, hidden, covered and protected, in this order.

Beside the words goes a list of the mounts that they mean, by file and not by name: names can be
made to lead elsewhere while bubblewrap reads them, and `sandbox_launch.py` compares.
"""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from duetty.errors import BadArguments, BadWorkingDirectory
from duetty.platform.sandbox_launch import open_plain
from duetty.sandbox import hidden_files as known
from duetty.sandbox.hidden_files import is_within
from duetty.sandbox.mounts import MountTable
from duetty.sandbox.protected_paths import Hidden, guarded
from duetty.sandbox.request import Places, SandboxRequest
from duetty.sandbox.stat_checks import is_directory, stat_of

PROC_READONLY = ("sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi", "pressure")
"""Settings of the whole machine: they belong to root, who may be running this server, or to all users."""


OF_INIT = "/proc/1"
"""bubblewrap's own process inside. It has no system call filter, and memory that the others could write."""


@dataclass(slots=True)
class Mounts:
    """The words so far, and what they should lead to."""

    words: list[str] = field(default_factory=list[str])
    expected: dict[str, list[int] | None] = field(default_factory=dict[str, "list[int] | None"])
    kept: list[Path] = field(default_factory=list[Path])

    def bind(self, path: Path, *, writable: bool) -> None:
        """Raises:
        BadArguments: if it is gone, or a link leads to it by now.
        """
        self.words += ["--bind" if writable else "--ro-bind", str(path), str(path)]
        self.expected[str(path)] = identity(path)

    def cover(self, path: Path) -> None:
        """With nothing: a directory by an empty one, a file by one without an end."""
        if is_directory(path):
            self.empty(path)
        else:
            self.words += ["--ro-bind", "/dev/null", str(path)]
            self.expected[str(path)] = None

    def empty(self, path: Path, *, size_mib: int = 0) -> None:
        if size_mib:
            self.words += ["--size", str(size_mib << 20)]
        self.words += ["--tmpfs", str(path)]
        self.expected[str(path)] = None

    def keep(self, path: Path) -> None:
        """Read-only, in a workspace."""
        self.bind(path, writable=False)
        self.kept.append(path)

    def pin(self, path: Path, workspace: Path) -> None:
        """What leads there from the workspace: a directory that is a mount cannot be renamed away."""
        for parent in reversed(path.relative_to(workspace).parents):
            above = workspace / parent
            if is_within(above, self.kept):
                return  # it cannot be anyway, and a mount of its own could be written
            if above != workspace and str(above) not in self.expected:
                self.bind(above, writable=True)


def identity(path: Path) -> list[int]:
    """Device and number of a file, by a path without a link in it.

    Raises:
        BadArguments: if it is gone, or a link leads to it.
    """
    try:
        fd = open_plain(str(path))
    except OSError as error:
        raise BadArguments(
            f"{str(path)!r} cannot be shown in a sandbox: {error.strerror}",
            hint="it was moved, or exchanged for a link, a moment ago",
        ) from error
    try:
        found = os.fstat(fd)
    finally:
        os.close(fd)
    return [found.st_dev, found.st_ino]


def mounts_of(
    order: SandboxRequest,
    places: Places,
    table: MountTable,
    *,
    cwd: Path,
    hidden: Hidden,
    workspaces: Sequence[Path],
    shown: Sequence[Path],
    homes: Sequence[Path],
) -> Mounts:
    """`shown`: what stands in a place that is replaced, and is needed all the same.

    Raises:
        BadArguments: if a file that matters was exchanged meanwhile, or a workspace holds what cannot be hidden.
        BadWorkingDirectory: if the directory does not exist inside.
        SandboxUnavailable: if there is too much to protect or to cover.
    """
    private = known.private_places()
    _check_cwd(cwd, private, (*workspaces, *shown))
    made = Mounts()
    made.words += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    for part in PROC_READONLY:
        made.words += ["--ro-bind-try", f"/proc/{part}", f"/proc/{part}"]
    made.words += ["--tmpfs", OF_INIT, "--remount-ro", OF_INIT]
    made.expected[OF_INIT] = None
    for place in private:
        made.empty(place, size_mib=order.limits.memory_mib)
    for place in shown:
        made.bind(place, writable=False)
    if order.network:
        _show_resolver(made, private)
    for workspace in workspaces:
        made.bind(workspace, writable=True)
    covered = _outermost(hidden.now)
    for path, workspace in guarded(order, table, workspaces=workspaces, homes=homes).items():
        if not is_within(path, covered):
            made.pin(path, workspace)
            made.keep(path)
    emptied = [path for path in covered if _hide(made, path, private, shown, workspaces)]
    for socket in _sockets(private, covered, table):
        made.cover(socket)
    for file in places.shown:
        if file.exists():
            made.words += ["--bind", str(file), str(file)]
            made.expected[str(file)] = None
    # Last, because a file shown in one of them needs a place to be shown at.
    for path in emptied:
        made.words += ["--remount-ro", str(path)]
    return made


def _outermost(paths: Iterable[Path]) -> list[Path]:
    """Without those that go with another one."""
    found = list(dict.fromkeys(paths))
    return [each for each in found if not is_within(each, (o for o in found if o != each))]


def _hide(
    made: Mounts,
    path: Path,
    private: Sequence[Path],
    shown: Sequence[Path],
    workspaces: Sequence[Path],
) -> bool:
    """Cover it, if it can be seen at all. Whether an empty directory stands there now."""
    around = next((each for each in workspaces if is_within(path, [each])), None)
    if around is None and is_within(path, private) and not is_within(path, shown):
        return False  # gone with all the rest
    if stat_of(path) is None:
        if around is not None:
            raise BadArguments(
                f"workspace {str(around)!r} is where {str(path)!r} would be, which no program inside may make",
                hint="choose a smaller workspace",
            )
        return False
    if around is not None:
        made.pin(path, around)
    made.cover(path)
    return is_directory(path)


def _sockets(private: Sequence[Path], hidden: Sequence[Path], table: MountTable) -> list[Path]:
    """Those of other programs that could be seen, by whatever path."""
    beside = [*hidden, *map(Path, ("/dev", "/proc"))]
    gone = private if not table.elsewhere(private) else ()
    found = known.listening_sockets((*gone, *beside))
    every = dict.fromkeys([*found, *table.elsewhere(found)])
    return [path for path in every if not is_within(path, (*private, *beside))]


def _check_cwd(cwd: Path, private: Sequence[Path], visible: Sequence[Path]) -> None:
    real = cwd.resolve()
    if is_within(real, private) and not is_within(real, visible) and real not in private:
        raise BadWorkingDirectory(
            f"{str(cwd)!r} does not exist inside: the sandbox has a {real.parts[1]} of its own",
            hint="start in a workspace, or in a directory elsewhere",
        )


def _show_resolver(made: Mounts, private: Sequence[Path]) -> None:
    """Names are resolved by a file that often stands in /run."""
    real = Path("/etc/resolv.conf").resolve()
    if is_within(real, private):
        made.words += ["--ro-bind-try", str(real), str(real)]

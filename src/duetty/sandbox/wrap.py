"""A command in, the command that starts it inside a sandbox out."""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from duetty.errors import BadArguments, BadWorkingDirectory, SandboxUnavailable
from duetty.sandbox import places as known
from duetty.sandbox.detect import Support, support
from duetty.sandbox.order import Level, Limits, Places, SandboxOrder, Wrapped
from duetty.sandbox.places import is_within
from duetty.sandbox.seccomp import AF_INET, AF_INET6, AF_NETLINK, AF_UNIX, filter_program

SECCOMP_FD = 10
"""Where bubblewrap finds the filter; 9 is the nonce of the shell's marks."""

PROC_READONLY = ("sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi")
"""Settings of the whole machine: they belong to root, who may be running this server."""

LAUNCHER = Path(__file__).with_name("launch.py")
MAX_LISTED = 5_000
"""Entries of one directory that Landlock rules are made for."""


def wrap(
    argv: Sequence[str],
    env: Mapping[str, str],
    *,
    cwd: str,
    order: SandboxOrder,
    places: Places,
    offered: Support | None = None,
    seccomp_fd: int = SECCOMP_FD,
    die_with_parent: bool = True,
) -> Wrapped:
    """Start this instead. Reads directories: for a worker thread.

    Raises:
        SandboxUnavailable: if this machine cannot give what is asked.
        BadArguments: if a workspace is none.
        BadWorkingDirectory: if the directory does not exist inside.
    """
    if order.asked == "none":
        return Wrapped(level="none", argv=tuple(argv), env=env)
    offered = offered or support()
    level = _level(order, offered)
    workspaces = tuple(_workspace(text, places) for text in order.workspaces)
    plain = {key: value for key, value in env.items() if key not in known.DROPPED_ENVIRONMENT}
    if level == "bubblewrap":
        wrapped = _bubblewrap(
            argv, plain, cwd=Path(cwd), order=order, places=places, offered=offered,
            workspaces=workspaces, seccomp_fd=seccomp_fd,
        )  # fmt: skip
        if die_with_parent:
            program, *words = wrapped.argv
            return replace(wrapped, argv=(program, "--die-with-parent", *words))
        return wrapped
    return _landlock(
        argv, plain, order=order, places=places, offered=offered, workspaces=workspaces
    )


def _level(order: SandboxOrder, offered: Support) -> Level:
    if order.asked in ("any", "bubblewrap") and offered.bubblewrap is not None:
        return "bubblewrap"
    if order.asked in ("any", "landlock") and offered.has_landlock:
        return "landlock"
    reasons = {
        "bubblewrap": offered.bubblewrap_reason or "",
        "landlock": f"the kernel's Landlock is too old (ABI {offered.landlock})"
        if offered.landlock
        else "the kernel has no Landlock",
    }
    wanted = [order.asked] if order.asked in reasons else list(reasons)
    raise SandboxUnavailable(
        f"no sandbox can be had: {'; '.join(reasons[each] for each in wanted)}",
        hint="install bubblewrap and allow user namespaces; nothing was started",
        details={"asked": order.asked},
    )


def _workspace(text: str, places: Places) -> Path:
    try:
        path = Path(text).expanduser().resolve(strict=True)
    except OSError as error:
        raise BadArguments(f"workspace {text!r}: {error.strerror}") from error
    if not path.is_dir() or path == Path("/"):
        raise BadArguments(f"workspace {text!r} must be a directory, and not all of them")
    if is_within(path, places.hidden):
        raise BadArguments(f"workspace {text!r} is where the server keeps its own things")
    return path


# --- bubblewrap -----------------------------------------------------------------


def _bubblewrap(
    argv: Sequence[str],
    env: dict[str, str],
    *,
    cwd: Path,
    order: SandboxOrder,
    places: Places,
    offered: Support,
    workspaces: tuple[Path, ...],
    seccomp_fd: int,
) -> Wrapped:
    assert offered.bubblewrap is not None
    private = known.private_places()
    shown = _needed(env, private)
    _check_cwd(cwd, private, (*workspaces, *shown))
    words = [offered.bubblewrap, "--unshare-user", "--unshare-pid", "--unshare-ipc"]
    words += ["--unshare-uts", "--unshare-cgroup-try", "--cap-drop", "ALL"]
    if not order.network:
        words.append("--unshare-net")
    words += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    for part in PROC_READONLY:
        words += ["--ro-bind-try", f"/proc/{part}", f"/proc/{part}"]
    for place in private:
        words += ["--tmpfs", str(place)]
    for place in shown:
        words += ["--ro-bind", str(place), str(place)]
    if order.network:
        words += _resolver(private)
    for workspace in workspaces:
        words += ["--bind", str(workspace), str(workspace)]
        words += _protect(workspace) if order.protect else []
    hidden = [
        *places.hidden,
        *(Path(each).expanduser() for each in order.hidden),
        *known.credentials(env),
    ]
    for place in hidden:
        words += _hide(place, private, (*workspaces, *shown))
    for socket in known.listening_sockets((*private, *hidden, *map(Path, ("/dev", "/proc")))):
        words += ["--ro-bind", "/dev/null", str(socket)]
    for file in places.shown:
        if file.exists():
            words += ["--bind", str(file), str(file)]
    # Last, because a file shown in one of them needs a place to be shown at.
    for place in dict.fromkeys(words[at + 1] for at, word in enumerate(words) if word == "--tmpfs"):
        if Path(place) not in private:
            words += ["--remount-ro", place]
    program = filter_program(offered.machine, families=[AF_UNIX, AF_INET, AF_INET6, AF_NETLINK])
    assert program is not None
    words += ["--seccomp", str(seccomp_fd), "--chdir", str(cwd), "--"]
    # Inside: there the processes of this sandbox are counted alone.
    words += [*_limited(order.limits, offered), *argv]
    return Wrapped(level="bubblewrap", argv=tuple(words), env=env, handed={seccomp_fd: program})


def _needed(env: Mapping[str, str], private: tuple[Path, ...]) -> tuple[Path, ...]:
    """What lives in a replaced place and is needed all the same: a home, our own scripts."""
    wanted = (Path(env.get("HOME") or "/"), LAUNCHER.parent.parent, Path(sys.prefix))
    return tuple(
        dict.fromkeys(
            path for path in wanted if is_within(path, private) and path not in private
            and path.is_dir()
        )
    )  # fmt: skip


def _check_cwd(cwd: Path, private: tuple[Path, ...], visible: tuple[Path, ...]) -> None:
    real = cwd.resolve()
    if is_within(real, private) and not is_within(real, visible) and real not in private:
        raise BadWorkingDirectory(
            f"{str(cwd)!r} does not exist inside: the sandbox has a {real.parts[1]} of its own",
            hint="start in a workspace, or in a directory elsewhere",
        )


def _protect(workspace: Path) -> list[str]:
    words: list[str] = []
    pinned: set[Path] = set()
    for path in known.protected(workspace):
        # A directory that is a mount itself cannot be renamed away with what is protected in it.
        for parent in reversed(path.relative_to(workspace).parents):
            above = workspace / parent
            if above != workspace and above not in pinned:
                pinned.add(above)
                words += ["--bind", str(above), str(above)]
        words += ["--ro-bind", str(path), str(path)]
    return words


def _hide(place: Path, private: tuple[Path, ...], visible: tuple[Path, ...]) -> list[str]:
    if is_within(place, private) and not is_within(place, visible):
        return []  # gone with all the rest
    if place.is_dir():
        return ["--tmpfs", str(place)]
    return ["--ro-bind", "/dev/null", str(place)] if place.exists() else []


def _resolver(private: tuple[Path, ...]) -> list[str]:
    """Names are resolved by a file that often stands in /run."""
    real = Path("/etc/resolv.conf").resolve()
    return ["--ro-bind-try", str(real), str(real)] if is_within(real, private) else []


def _limited(limits: Limits, offered: Support) -> list[str]:
    named = _named(limits)
    if not named:
        return []
    if offered.prlimit is not None:
        return [
            offered.prlimit,
            *(f"--{name}={value}" for name, value in named.items()),
            "--core=0",
            "--",
        ]
    return [sys.executable, "-I", "-S", str(LAUNCHER), json.dumps({"limits": named}), "--"]


def _named(limits: Limits) -> dict[str, int]:
    """By the names of prlimit(1), in the kernel's units."""
    named = {
        "cpu": limits.cpu_s,
        "data": limits.memory_mib << 20,
        "nproc": limits.processes,
        "fsize": limits.file_mib << 20,
        "nofile": limits.open_files,
    }
    return {name: value for name, value in named.items() if value}


# --- landlock -------------------------------------------------------------------


def _landlock(
    argv: Sequence[str],
    env: dict[str, str],
    *,
    order: SandboxOrder,
    places: Places,
    offered: Support,
    workspaces: tuple[Path, ...],
) -> Wrapped:
    hidden = {
        *(path.resolve() for path in places.hidden),
        *(Path(each).expanduser().resolve() for each in order.hidden),
        *(path.resolve() for path in known.credentials(env)),
        *known.private_places(),
        Path("/dev"),
    }
    protected = {
        path for workspace in workspaces if order.protect for path in known.protected(workspace)
    }
    writable = [path for workspace in workspaces for path in _beside(workspace, protected | hidden)]
    readable = [*_beside(Path("/"), hidden), *protected, *workspaces]
    private_home = _needed(env, known.private_places())
    readable += [path for home in private_home for path in _beside(home, hidden)]
    readable = [path for path in readable if not _leads_to(path, hidden)]
    writable += [path for path in places.shown if path.exists()]
    if places.private is not None:
        places.private.mkdir(mode=0o700, exist_ok=True)
        writable.append(places.private)
        env = env | {"TMPDIR": str(places.private)}
    # No unix sockets: a path to one leads around Landlock, to our own server too.
    families = [AF_INET, AF_INET6, AF_NETLINK] if order.network else []
    program = filter_program(offered.machine, families=families)
    assert program is not None
    spec = {
        "limits": _named(order.limits),
        "read": [str(path) for path in readable],
        "write": [str(path) for path in writable],
        "network": order.network,
        "seccomp": program.hex(),
    }
    return Wrapped(
        level="landlock",
        argv=(sys.executable, "-I", "-S", str(LAUNCHER), json.dumps(spec), "--", *argv),
        env=env,
    )


def _beside(root: Path, hidden: set[Path]) -> list[Path]:
    """Everything below `root` but for what is hidden: Landlock can only allow.

    Directories that lead to something hidden are left out themselves: what is
    allowed for one is allowed for all below it.
    """
    if root in hidden:
        return []
    if not _leads_to(root, hidden):
        return [root]
    found: list[Path] = []
    try:
        entries = sorted(root.iterdir())[:MAX_LISTED]
    except OSError:
        return []
    for entry in entries:
        if entry.is_symlink() or entry in hidden:
            continue
        found += _beside(entry, hidden)
    return found


def _leads_to(path: Path, hidden: set[Path]) -> bool:
    return any(path in place.parents for place in hidden)

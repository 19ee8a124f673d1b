"""A command in, the command that starts it inside a sandbox out."""

import marshal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from duetty.errors import BadArguments, SandboxUnavailable
from duetty.platform import sandbox_launch
from duetty.platform.seccomp import AF_INET, AF_INET6, AF_NETLINK, AF_UNIX, filter_program
from duetty.sandbox import hidden_files as known
from duetty.sandbox.bubblewrap import Mounts, mounts_of
from duetty.sandbox.caches import cache_directory, cache_variables
from duetty.sandbox.detect import Support, support
from duetty.sandbox.hidden_files import is_within
from duetty.sandbox.landlock import rules_behind_mounts, rules_of
from duetty.sandbox.mounts import MountTable
from duetty.sandbox.own_code import own_places
from duetty.sandbox.protected_paths import hidden_places, other_paths
from duetty.sandbox.request import Level, Limits, Places, SandboxRequest, Wrapped
from duetty.sandbox.stat_checks import real
from duetty.shell import confined

SPEC_FD = 10
"""Where the launcher finds what it is to do; 9 is the nonce of the shell's marks."""

LAUNCHER = Path(sandbox_launch.__file__)
PYTHON = str(Path(sys.executable).resolve())
"""The interpreter itself: by its name in a virtual environment it takes longer to start."""

OWN_ENVIRONMENT = {"PATH": "/usr/bin:/bin"}
"""For bubblewrap and the launcher. What the command gets could make them run other code."""

OWN_CACHES = Path("/tmp/caches")  # noqa: S108 - the sandbox's own
"""Of a sandbox that has no workspace, and so nothing that outlives it."""

NO_WORKSPACE = tuple(map(Path, ("/proc", "/sys", "/dev")))
"""Devices, processes and settings of the machine: made of files, and nothing to work in."""

TRY_S = 10.0
TRIES = 3
"""A socket that is to be covered may go between the look and the start."""


def wrap(
    argv: Sequence[str],
    env: Mapping[str, str],
    *,
    cwd: str,
    order: SandboxRequest,
    places: Places,
    offered: Support | None = None,
    spec_fd: int = SPEC_FD,
) -> Wrapped:
    """Start this instead. Reads directories and tries mounts: for a worker thread.

    Raises:
        SandboxUnavailable: if this machine cannot give what is asked.
        BadArguments: if a workspace is none.
        BadWorkingDirectory: if the directory does not exist inside.
    """
    if order.asked == "none":
        return Wrapped(level="none", argv=tuple(argv), env=env)
    offered = offered or support()
    level = _level(order, offered)
    table = MountTable()
    every = [real(path) for path in places.hidden]
    places = replace(places, hidden=(*places.hidden, *other_paths(every, table)))
    workspaces = _workspaces(order.workspaces, places)
    homes = known.homes_of(order.home)
    shown = _needed(homes)
    hidden = hidden_places(
        order,
        places,
        table,
        workspaces=workspaces,
        homes=homes,
        has_landlock=offered.has_landlock,
    )
    inside = {key: value for key, value in env.items() if key not in known.DROPPED_ENVIRONMENT}
    launcher = [PYTHON, "-I", "-S", str(LAUNCHER), str(spec_fd), "--", *confined(argv)]
    spec: dict[str, object] = {"limits": _prlimit_values(order.limits), "drops_capabilities": False}
    caches: Path | None = OWN_CACHES if level == "bubblewrap" else places.private
    if order.caches is not None and workspaces:
        caches = cache_directory(order.caches, workspaces)
        places = replace(places, shown=(*places.shown, caches))
    if caches is not None:
        inside |= cache_variables(env, caches, workspaces)
    if level == "landlock":
        if places.private is not None:
            places.private.mkdir(mode=0o700, exist_ok=True)
            inside["TMPDIR"] = str(places.private)
        # No unix sockets: a path to one leads around Landlock, to our own server too.
        families = [AF_INET, AF_INET6, AF_NETLINK] if order.network else []
        rules = rules_of(
            order, places, table, hidden=hidden, workspaces=workspaces, shown=shown, homes=homes
        )
        spec |= {"landlock": rules, "mounts": None, "drops_capabilities": True}
        words = launcher
    else:
        families = [AF_UNIX, AF_INET, AF_INET6, AF_NETLINK]
        inside["PWD"] = cwd
        began = _namespaces(order, offered)
        mounts = _tried(
            began,
            lambda: mounts_of(
                order, places, table, cwd=Path(cwd), hidden=hidden, workspaces=workspaces,
                shown=shown, homes=homes,
            ),
        )  # fmt: skip
        beside = table.points_within(workspaces)
        written = [*workspaces, *known.private_places(), *map(Path, ("/dev", "/proc"))]
        written += [path for path in places.shown if path.exists()]
        rules = rules_behind_mounts(hidden, written)
        spec |= {
            "landlock": rules if offered.has_landlock else None,
            "mounts": {"expected": mounts.expected, "known": beside},
        }
        words = [*began, *mounts.words, "--chdir", cwd, "--", *launcher]
    program = filter_program(
        offered.machine, families=families, own_namespaces=level == "bubblewrap"
    )
    assert program is not None, "detected before"
    spec |= {"seccomp": program, "env": inside}
    return Wrapped(
        level=level,
        argv=tuple(words),
        env=OWN_ENVIRONMENT,
        handed={spec_fd: marshal.dumps(spec)},
        workspaces=tuple(workspaces),
    )


def _level(order: SandboxRequest, offered: Support) -> Level:
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


def _workspaces(texts: Sequence[str], places: Places) -> list[Path]:
    """The directories themselves, without those that are in another one anyway.

    Such a one could be exchanged for a link by a program that writes in the outer one.
    """
    named = [Path(text).expanduser().absolute() for text in texts]
    outer = [
        each
        for at, each in enumerate(named)
        if not is_within(each, (other for other in named if other != each))
        and each not in named[:at]
    ]
    found = [_workspace(each, places) for each in outer]
    return [
        each
        for at, each in enumerate(found)
        if not is_within(each, (other for other in found if other != each))
        and each not in found[:at]
    ]


def _workspace(named: Path, places: Places) -> Path:
    try:
        path = named.resolve(strict=True)
    except OSError as error:
        raise BadArguments(f"workspace {str(named)!r}: {error.strerror}") from error
    if not path.is_dir():
        raise BadArguments(f"workspace {str(named)!r} is not a directory")
    if path == Path("/"):
        raise BadArguments(
            "workspace '/' is the whole machine, and a sandbox would hold nothing back",
            hint="name the directories that are to be written",
        )
    if is_within(path, NO_WORKSPACE):
        raise BadArguments(
            f"workspace {str(named)!r} is no place for files: {path} belongs to the kernel",
            hint="name a directory on a disk",
        )
    if is_within(path, places.hidden):
        raise BadArguments(f"workspace {str(named)!r} is where the server keeps its own things")
    if is_within(path, own_places()):
        raise BadArguments(
            f"workspace {str(named)!r} holds the code that this server runs",
            hint="install Duetty elsewhere, or name another directory",
        )
    return path


def _needed(homes: Sequence[Path]) -> tuple[Path, ...]:
    """What lives in a replaced place and is needed all the same: the home, our own scripts."""
    private = known.private_places()
    wanted = (*homes, LAUNCHER.parent.parent, Path(sys.prefix), Path(sys.base_prefix))
    real = [path.resolve() for path in wanted]
    return tuple(
        dict.fromkeys(
            path for path in real if is_within(path, private) and path not in private
            and path.is_dir()
        )
    )  # fmt: skip


def _namespaces(order: SandboxRequest, offered: Support) -> list[str]:
    assert offered.bubblewrap is not None
    words = [
        offered.bubblewrap,
        "--die-with-parent",
        "--unshare-user",
        "--unshare-pid",
        "--unshare-ipc",
    ]
    words += ["--unshare-uts", "--unshare-cgroup-try", "--cap-drop", "ALL"]
    return words if order.network else [*words, "--unshare-net"]


def _tried(began: Sequence[str], look: Callable[[], Mounts]) -> Mounts:
    """Mounts that bubblewrap can make: what it cannot is no exit code of the command's.

    Raises:
        SandboxUnavailable: if it cannot, with what it says.
    """
    stderr = ""
    for _ in range(TRIES):
        mounts = look()
        try:
            done = subprocess.run(  # noqa: S603 - an absolute path of root's
                [*began, *mounts.words, "--", "/bin/true"],
                capture_output=True,
                timeout=TRY_S,
                check=False,
                env=OWN_ENVIRONMENT,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            stderr = str(error)
            continue
        if done.returncode == 0:
            return mounts
        stderr = done.stderr.decode(errors="replace").strip()[:300]
    raise SandboxUnavailable(
        f"bubblewrap could not make the sandbox: {stderr}",
        hint="choose other workspaces, or the sandbox landlock; nothing was started",
        details={"asked": "bubblewrap"},
    )


def _prlimit_values(limits: Limits) -> dict[str, int]:
    """By the names of prlimit(1), in the kernel's units."""
    named = {
        "cpu": limits.cpu_s,
        "data": limits.memory_mib << 20,
        "nproc": limits.processes,
        "fsize": limits.file_mib << 20,
        "nofile": limits.open_files,
    }
    return {name: value for name, value in named.items() if value}

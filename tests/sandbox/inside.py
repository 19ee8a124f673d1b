"""Running a program inside a sandbox, without a session."""

import codecs
import fcntl
import os
import subprocess
import tempfile
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from duetty.sandbox import Limits, Places, RequestedLevel, SandboxRequest, Support, support, wrap
from duetty.sandbox.own_code import own_code

LEVELS: tuple[RequestedLevel, ...] = ("bubblewrap", "landlock")

needs_both = pytest.mark.skipif(
    support().bubblewrap is None or not support().has_landlock,
    reason="this machine has no user namespaces, no bubblewrap or no Landlock",
)

PYTHON = "/usr/bin/python3"
"""The system's: the tests' own may stand where another user cannot go."""

ATTEMPT = """
import os, socket, sys
def attempt(act):
    try:
        act()
    except OSError as error:
        return error.strerror
    return 'DONE'
"""
"""The beginning of programs that try something inside, and tell how it went."""

SOCKETS_LOCK = Path(tempfile.gettempdir()) / "duetty-test-sockets.lock"


@contextmanager
def settled_sockets(*, changing: bool = False) -> Generator[None]:
    """While no other test makes or removes a socket that sandboxes must hide.

    bubblewrap does not start (1, "Can't create file") when one is gone that was there a moment ago.
    """
    with SOCKETS_LOCK.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX if changing else fcntl.LOCK_SH)
        yield


@contextmanager
def lasting_home() -> Generator[Path]:
    """A home directory that no sandbox replaces, with a workspace `ws` in it."""
    path = Path(f"/var/lib/duetty-home-{os.getpid()}")
    try:
        path.mkdir()
    except PermissionError:
        path = Path.home() / path.name
        path.mkdir()
    (path / "ws").mkdir()
    (path / "outside").mkdir()
    with settled_sockets(changing=True):
        yield path
        subprocess.run(["chmod", "-R", "u+rwX", str(path)], check=True)
        subprocess.run(["rm", "-rf", str(path)], check=True)


@contextmanager
def ordinary_user(*theirs: Path) -> Generator[None]:
    """What root may look at is closed to nobody; to this one it is as to the servers of most people.

    `theirs`: what belongs to that user, with all that is in it.
    """
    if os.geteuid() != 0:
        yield
        return
    subprocess.run(["chown", "-R", "65534:65534", *map(str, theirs)], check=True)
    codecs.lookup("ascii")  # where our own modules are, that user may not be able to go
    own_code()  # looked at once: what that user cannot see would count as absent in later tests
    before = os.getgroups()
    os.setgroups([])
    os.setegid(65_534)
    os.seteuid(65_534)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups(before)


def writes(*paths: Path | str) -> str:
    """A program that tells for each file whether it could be written."""
    return f"{ATTEMPT}\nprint([attempt(lambda: open(p, 'a').write('x')) for p in {[str(p) for p in paths]!r}])"


def reads(*paths: Path | str) -> str:
    """A program that prints each file that it can read."""
    return (
        f"{ATTEMPT}\nfor p in {[str(p) for p in paths]!r}: attempt(lambda: print(open(p).read()))"
    )


def run_inside(
    asked: RequestedLevel,
    argv: list[str],
    *,
    workspace: Path | None,
    hidden: tuple[Path, ...] = (),
    caches: Path | None = None,
    private: Path | None = None,
    network: bool = False,
    limits: Limits | None = None,
    user: int | None = None,
    home: Path | None = None,
    env: dict[str, str] | None = None,
    protect: bool = True,
    whole_git: bool = False,
    more_workspaces: tuple[Path, ...] = (),
    before: Callable[[], None] = lambda: None,
    offered: Support | None = None,
    timeout_s: float = 30,
) -> subprocess.CompletedProcess[str]:
    """`home`: the person's, with what is hidden there; HOME is the workspace without one.

    Without a workspace it starts in `/`, with `private` for what it writes.

    `before`: done when everything was looked at and nothing is started yet.
    """
    env = {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": str(home or workspace or "/"),
        "LANG": "C.UTF-8",
        **(env or {}),
    }
    cwd = workspace or Path("/")
    own = () if workspace is None else (workspace,)
    wrapped = wrap(
        argv,
        env,
        cwd=str(cwd),
        order=SandboxRequest(
            asked=asked,
            workspaces=tuple(map(str, (*own, *more_workspaces))),
            protect=protect,
            whole_git=whole_git,
            network=network,
            home=str(home or ""),
            caches=caches,
            limits=limits or Limits(),
        ),
        places=Places(hidden=hidden, private=private or cwd.parent / "private"),
        offered=offered,
    )
    before()
    with ExitStack() as stack:
        fds: list[int] = []
        for number, content in wrapped.handed.items():
            fd = os.memfd_create("handed")
            stack.callback(os.close, fd)
            os.write(fd, content)
            os.lseek(fd, 0, os.SEEK_SET)
            fds.append(_at(fd, number, stack))
        return subprocess.run(
            wrapped.argv,
            env=dict(wrapped.env),
            cwd=cwd,
            pass_fds=fds,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            user=user,
            group=user,
            extra_groups=[] if user is not None else None,
        )


def _at(fd: int, number: int, stack: ExitStack) -> int:
    """The same file at the number that the command expects; what was there comes back after."""
    try:
        before = os.dup(number)
    except OSError:
        stack.callback(os.close, number)
    else:
        stack.callback(os.close, before)
        stack.callback(os.dup2, before, number)
    return os.dup2(fd, number)


def python_inside(asked: RequestedLevel, code: str, *, workspace: Path, **named: object) -> str:
    """What a Python program printed inside; its errors if it failed."""
    done = run_inside(asked, [PYTHON, "-I", "-c", code], workspace=workspace, **named)  # type: ignore[arg-type]
    return done.stdout.strip() if done.returncode == 0 else f"{done.returncode}: {done.stderr}"

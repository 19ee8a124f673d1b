"""What cannot be looked at is not taken for absent: a program inside may have closed it for the look."""

import errno
import fcntl
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from duetty.errors import SandboxUnavailable
from duetty.sandbox import Places, RequestedLevel, SandboxRequest, wrap
from duetty.sandbox.hidden_files import credentials, listening_sockets
from duetty.sandbox.protected_files import protected
from duetty.sandbox.stat_checks import check_absent
from tests.sandbox.inside import LEVELS, lasting_home, needs_both, ordinary_user

pytestmark = needs_both


@pytest.fixture
def home() -> Iterator[Path]:
    with lasting_home() as path:
        yield path


def refused(level: RequestedLevel, home: Path) -> SandboxUnavailable:
    """What a start says, by an ordinary user, with nothing started."""
    with ordinary_user(home), pytest.raises(SandboxUnavailable) as raised:
        wrap(
            ["/bin/true"],
            {},
            cwd=str(home / "ws"),
            order=SandboxRequest(asked=level, workspaces=(str(home / "ws"),), home=str(home)),
            places=Places(hidden=()),
        )
    return raised.value


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("closed", "mode"),
    [
        ("sub", 0o000),
        ("sub", 0o400),
        ("sub", 0o300),
        ("sub/deep", 0o000),
        ("sub/deep/.git", 0o000),
        ("sub/deep/.git/config", 0o000),
        (".config", 0o000),
    ],
)
def test_a_closed_directory_hides_nothing_from_the_next_start(
    home: Path, level: RequestedLevel, closed: str, mode: int
) -> None:
    subprocess.run(["git", "init", "-q", str(home / "ws/sub/deep")], check=True)
    (home / "ws/.config/fish").mkdir(parents=True)
    (home / "ws" / closed).chmod(mode)

    error = refused(level, home)

    assert error.details["path"] == str(home / "ws" / closed)
    assert f"chmod u+rwX '{home / 'ws' / closed}'" in (error.hint or "")


@pytest.mark.parametrize("level", LEVELS)
def test_hooks_that_cannot_be_made_now_cannot_be_made_later(
    home: Path, level: RequestedLevel
) -> None:
    subprocess.run(["git", "init", "-q", "--template=", str(home / "ws")], check=True)
    (home / "ws/.git").chmod(0o555)

    assert refused(level, home).details["path"] == str(home / "ws/.git")


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("closed", [".cargo", "dotfiles", ".local"])
def test_a_closed_directory_hides_no_credentials(
    home: Path, level: RequestedLevel, closed: str
) -> None:
    for name in (".cargo", "dotfiles/aws", ".local/share/keyrings"):
        (home / name).mkdir(parents=True)
    (home / ".cargo/credentials.toml").write_text("SECRET")
    (home / ".aws").symlink_to(home / "dotfiles/aws")
    (home / closed).chmod(0)

    assert refused(level, home).details["path"] == str(home / closed)


def test_a_closed_directory_hides_no_socket(home: Path) -> None:
    (home / "ws/run").mkdir()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(home / "ws/run/x.sock"))
        server.listen()
        (home / "ws/run").chmod(0o300)
        with ordinary_user(home):
            assert home / "ws/run/x.sock" in listening_sockets([])
        (home / "ws/run").chmod(0o000)
        with ordinary_user(home), pytest.raises(SandboxUnavailable, match="ws/run"):
            listening_sockets([])


@pytest.mark.root
@pytest.mark.skipif(os.getuid() != 0, reason="makes directories of another user")
def test_what_others_closed_keeps_no_sandbox_from_starting(home: Path) -> None:
    """Nobody inside can open it either."""
    others = (home / "ws/lost+found", home / "ws/x/.config", home / ".config", home / ".cargo")
    subprocess.run(["git", "init", "-q", str(home / "ws/x")], check=True)
    with ordinary_user(home):
        assert (home / "ws/x/.git").owner() != "root"
    for each in others:
        each.mkdir(mode=0o700)
        (each / "git").mkdir()
    with ordinary_user(home / ".cargo/git"):
        found = protected([home / "ws"], homes=[home])
        existing, later = credentials([home])

    assert home / "ws/x/.git/hooks" in found
    assert existing == []
    assert f"{home}/.cargo/credentials.toml" in later


@pytest.mark.parametrize("level", LEVELS)
def test_a_lease_hides_no_configuration(home: Path, level: RequestedLevel) -> None:
    """Whoever opens the file, and does not wait, is told to come again."""
    subprocess.run(["git", "init", "-q", str(home / "ws")], check=True)
    before = signal.signal(signal.SIGIO, signal.SIG_IGN)
    try:
        with ordinary_user(home), (home / "ws/.git/config").open("r+") as config:
            fcntl.fcntl(config, fcntl.F_SETLEASE, fcntl.F_WRLCK)
            error = refused(level, home)
    finally:
        signal.signal(signal.SIGIO, before)

    assert "Resource temporarily unavailable" in str(error)
    assert error.details["path"] == str(home / "ws/.git/config")


def test_only_what_is_not_there_is_absent(tmp_path: Path) -> None:
    for number in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG):
        check_absent(tmp_path, OSError(number, "x"))
    for number in (errno.EAGAIN, errno.EMFILE, errno.EIO, errno.EPERM, errno.EACCES):
        with pytest.raises(SandboxUnavailable):  # of EACCES: open again, a moment later
            check_absent(tmp_path, OSError(number, "x"))

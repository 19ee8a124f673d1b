"""What is not there cannot be protected: so it is made, empty, by paths without a link in them."""

import errno
import os
from pathlib import Path

from duetty.platform.sandbox_launch import open_plain
from duetty.sandbox.stat_checks import check_absent


def make_empty(directory: Path, *, within: Path | None = None) -> None:
    """A directory; git itself makes one for hooks.

    `within`: where those that lead there are made, too.

    Raises:
        SandboxUnavailable: if we cannot, and a program inside might.
    """
    if within is not None and within in directory.parent.parents and not is_plain(directory.parent):
        make_empty(directory.parent, within=within)
    _make(directory, is_file=False)


def make_empty_file(file: Path, *, within: Path) -> None:
    """With the directories that lead there.

    Raises:
        SandboxUnavailable: as `make_empty` does.
    """
    if within in file.parent.parents:
        make_empty(file.parent, within=within)
    _make(file, is_file=True)


def is_plain(path: Path) -> bool:
    """Whether it is there, with no link on the way to it.

    Raises:
        SandboxUnavailable: if it cannot be found out.
    """
    try:
        os.close(open_plain(str(path)))
    except ValueError:  # no file can have this name
        return False
    except OSError as error:
        check_absent(path, error)
        return False
    return True


def _make(path: Path, *, is_file: bool) -> None:
    try:
        fd = open_plain(str(path.parent))
        try:
            if is_file:
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
                os.close(os.open(path.name, flags, 0o644, dir_fd=fd))
            else:
                os.mkdir(path.name, dir_fd=fd)
        finally:
            os.close(fd)
    except OSError as error:
        if error.errno not in (errno.EEXIST, errno.EROFS):
            check_absent(path.parent, error, written=True)

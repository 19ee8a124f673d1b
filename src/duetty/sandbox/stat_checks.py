"""Whether a file is there. A look that fails is no answer: who closed a directory can open it again."""

import errno
import os
import stat
from pathlib import Path

from duetty.errors import SandboxUnavailable

_ABSENT = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG})


def stat_of(path: Path | str, *, through_links: bool = False) -> os.stat_result | None:
    """The file's facts; None if there is none that a program of this user could reach.

    Raises:
        SandboxUnavailable: if it cannot be found out.
    """
    try:
        return os.stat(path, follow_symlinks=through_links)  # noqa: PTH116 - thrice as fast
    except ValueError:  # no file can have this name
        return None
    except OSError as error:
        check_absent(path, error)
        return None


def is_directory(path: Path | str) -> bool:
    """Or a link to one; raises as `stat_of` does."""
    found = stat_of(path, through_links=True)
    return found is not None and stat.S_ISDIR(found.st_mode)


def real(path: Path) -> Path:
    """Where links lead, whether something is there or not; raises as `stat_of` does."""
    found = path.resolve()
    stat_of(found)  # `resolve` itself goes on by the text where it cannot look
    return found


def check_absent(path: Path | str, error: OSError, *, written: bool = False) -> None:
    """Return if this error means that nothing is there, for any process of this user.

    What belongs to another user and is closed to us is so to every program inside, too.
    `written`: if the directory was to take a new file.

    Raises:
        SandboxUnavailable: if something may be there all the same. A program of an earlier sandbox
            closes a directory (a mode), or holds a file (a lease), and lets go after the look.
    """
    if error.errno in _ABSENT:
        return
    place, is_ours = str(path), True
    if error.errno == errno.EACCES:
        place, is_ours = _closed(path, written=written)
        if not is_ours:
            return
        hint = f"open it (chmod u+rwX {place!r}), and look what closed it; nothing was started"
    else:
        hint = "look what holds it, or name another workspace; nothing was started"
    raise SandboxUnavailable(
        f"it is unknown what to protect or hide at {place!r}: {error.strerror}",
        hint=hint,
        details={"path": place},
    )


def _closed(path: Path | str, *, written: bool) -> tuple[str, bool]:
    """The first on the way there that lets no process of this user pass, and whether it is this user's."""
    there = Path(os.path.realpath(path))
    for each in (*reversed(there.parents), there):
        try:
            found = os.lstat(each)
        except OSError:
            break
        needed = os.X_OK
        if each == there:
            needed = os.R_OK | (os.X_OK if stat.S_ISDIR(found.st_mode) else 0)
            needed |= os.W_OK if written else 0
        if not os.access(each, needed, effective_ids=True):
            return str(each), found.st_uid == os.geteuid()
    return str(path), True  # it was closed a moment ago: another process is at it

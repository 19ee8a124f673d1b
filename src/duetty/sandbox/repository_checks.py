"""Repositories in a workspace that git outside would not take for what they were, or that lie in wait.

What keeps git's own directory writable, so that one can commit inside, also lets a program break it:
then git looks further, and finds what the program put there. Nothing can keep that from being made;
so it is reported.
"""

import re
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from duetty.errors import SandboxUnavailable
from duetty.sandbox.bounded_reads import bytes_of
from duetty.sandbox.git_config import parse_named
from duetty.sandbox.protected_files import MAX_CONFIG_BYTES, repositories
from duetty.sandbox.stat_checks import is_directory, stat_of

MAX_NAMED = 5
_HEAD = re.compile(rb"ref:\s*refs/|[0-9a-f]{40}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Disorder:
    path: Path
    reason: str

    def __str__(self) -> str:
        return f"{self.path} {self.reason}"


def disorders(workspaces: Iterable[Path]) -> list[Disorder]:
    """As it is now. Reads directories: for a worker thread."""
    found: list[Disorder] = []
    for workspace in workspaces:
        try:
            for git in repositories(workspace):
                found += _of_git(git) if git.name == ".git" else _lying_in_wait(git)
        except SandboxUnavailable as error:
            found.append(
                Disorder(path=workspace, reason=f"cannot be looked through: {error.message}")
            )
    return found[:MAX_NAMED]


def _of_git(git: Path) -> Iterator[Disorder]:
    found = stat_of(git)
    if found is None or not stat.S_ISDIR(found.st_mode):
        return
    if stat_of(git / "config") is None and stat_of(git / "HEAD") is None:
        return  # it never was one
    if not _HEAD.match(_text(git / "HEAD", 256)) and not _is_link(git / "HEAD"):
        yield Disorder(path=git / "HEAD", reason="is gone or broken: git takes another repository")
    for name in ("objects", "refs"):
        if not is_directory(git / name):
            yield Disorder(path=git / name, reason="is gone: git takes another repository")
    if stat_of(git / "commondir") is not None:
        yield Disorder(path=git / "commondir", reason="makes git obey another configuration")


def _lying_in_wait(git: Path) -> Iterator[Disorder]:
    """A directory that git takes for a repository when a person goes there."""
    named = parse_named(_text(git / "config", MAX_CONFIG_BYTES))
    if named.worktrees or named.hooks or named.includes or named.runs:
        yield Disorder(
            path=git / "config", reason="names programs that git runs for who is in that directory"
        )


def _is_link(path: Path) -> bool:
    found = stat_of(path)
    return found is not None and stat.S_ISLNK(found.st_mode)


def _text(file: Path, most_bytes: int) -> bytes:
    try:
        return bytes_of(file, most_bytes, through_links=False)
    except (OSError, ValueError):
        return b""

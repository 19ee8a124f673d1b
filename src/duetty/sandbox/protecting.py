"""What in a workspace stays read-only: files that programs outside run or obey later."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from duetty.errors import SandboxUnavailable
from duetty.sandbox.launch import open_plain

PROTECTED = (
    ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc", ".zshenv",
    ".zprofile", ".zlogin", ".zlogout", ".inputrc", ".config/fish", ".envrc", ".direnvrc",
    ".gitconfig", ".gitmodules", ".config/git", ".ripgreprc", ".mcp.json", ".vscode", ".idea",
    ".claude", ".cursor", ".duetty", ".husky", ".vimrc", ".exrc", ".tmux.conf", ".npmrc",
    ".yarnrc", ".yarnrc.yml", ".local/bin", ".config/autostart", ".config/systemd",
)  # fmt: skip
"""At the top of a workspace, and of every repository in it."""

GIT_FILES = ("hooks", "config", "config.worktree", "info", "commondir", "gitdir")
"""Of a directory of git's: each can name a program that git runs."""

MAX_REPOSITORIES = 256
MAX_LOOKED_AT = 100_000
REPOSITORY_DEPTH = 3
MODULE_DEPTH = 6
"""Submodules within submodules, and names with slashes in them."""


def protected(workspace: Path, *, whole_git: bool = False) -> list[Path]:
    """As it is now, by paths without a link in them: what a link leads to is not in the workspace.

    `whole_git`: all that git keeps, so that nothing can be committed either.

    Raises:
        SandboxUnavailable: if there are too many files to be sure of having found all.
    """
    found: dict[Path, None] = {}
    for top in (workspace, *(git.parent for git in _gits(workspace))):
        for name in PROTECTED:
            if _is_plain(top / name):
                found[top / name] = None
    directories = 0
    for git in _gits(workspace):
        if whole_git or git.is_file():  # a file, of a worktree or submodule, says where git looks
            found[git] = None
        for directory in _git_directories(git, workspace):
            directories += 1
            if directories > MAX_REPOSITORIES:
                raise _too_much(workspace)
            found |= dict.fromkeys([directory] if whole_git else _of_git(directory))
    return list(found)


def _gits(workspace: Path) -> list[Path]:
    """Every `.git` near the top; a workspace may hold several repositories."""
    found = {workspace / ".git": None} if _is_plain(workspace / ".git") else {}
    looked_at = 0
    level = [workspace]
    for _ in range(REPOSITORY_DEPTH + 1):
        below: list[Path] = []
        for directory in level:
            for entry in _entries(directory):
                looked_at += 1
                if looked_at > MAX_LOOKED_AT or len(found) > MAX_REPOSITORIES:
                    raise _too_much(workspace)
                if entry.name == ".git" and not entry.is_symlink():
                    found[Path(entry.path)] = None
                elif entry.name == "HEAD" and _is_git(directory):  # bare, or of another name
                    found[directory] = None
                elif entry.name != "node_modules" and entry.is_dir(follow_symlinks=False):
                    below.append(Path(entry.path))
        level = below
    return list(found)


def _too_much(workspace: Path) -> SandboxUnavailable:
    return SandboxUnavailable(
        f"{str(workspace)!r} has too much in it to find every repository that is to be protected",
        hint="look what filled it, or name a smaller workspace",
    )


def _is_git(directory: Path) -> bool:
    return (directory / "objects").is_dir() and (directory / "refs").is_dir()


def _named(file: Path) -> Path | None:
    """The directory that a file of git's names: `gitdir: …`, or a plain path (`commondir`)."""
    try:
        text = file.read_bytes()[:4096].decode("utf-8", "surrogateescape").strip()
    except OSError:
        return None
    path = text.removeprefix("gitdir:").strip()
    return Path(os.path.normpath(file.parent / path)) if path else None


def _git_directories(git: Path, workspace: Path) -> Iterator[Path]:
    """The repository's own, wherever in the workspace, and those of its submodules and worktrees."""
    if git.is_file():
        named = _named(git)
        common = None if named is None else _named(named / "commondir")
        for each in (named, common):
            if each is not None and workspace in each.parents and _is_plain(each):
                yield each
        return
    yield git
    for worktree in _entries(git / "worktrees"):
        if worktree.is_dir(follow_symlinks=False):
            yield Path(worktree.path)
    level = [git / "modules"]
    for _ in range(MODULE_DEPTH):
        below: list[Path] = []
        for directory in level:
            for entry in _entries(directory):
                if not entry.is_dir(follow_symlinks=False):
                    continue
                path = Path(entry.path)
                if (path / "HEAD").exists():
                    yield path
                    below.append(path / "modules")
                else:
                    below.append(path)
        level = below


def _of_git(directory: Path) -> Iterator[Path]:
    if (directory / "objects").is_dir():
        # What is not there cannot be protected; git itself makes this directory, empty.
        with suppress(OSError):
            fd = open_plain(str(directory))
            try:
                os.mkdir("hooks", dir_fd=fd)
            finally:
                os.close(fd)
    for name in GIT_FILES:
        if _is_plain(directory / name):
            yield directory / name


def _entries(directory: Path) -> Iterator["os.DirEntry[str]"]:
    try:
        with os.scandir(directory) as entries:
            yield from entries
    except OSError:
        return


def _is_plain(path: Path) -> bool:
    """Whether it is there, with no link on the way to it."""
    try:
        os.close(open_plain(str(path)))
    except OSError:
        return False
    return True

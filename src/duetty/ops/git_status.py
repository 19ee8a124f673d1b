"""What git says of a work tree, asked in a way in which no program of the repository's runs.

`git status` obeys the repository's own configuration: file system monitors, filters of
attributes, submodules. So git gets a directory of our making in place of `.git`: objects, refs
and index of the repository, and a configuration of ours that names no program. What a
configuration says about branches and formats is taken over, key by key.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import DEVNULL, PIPE
from typing import Literal, TypeVar

import anyio
from anyio.abc import ByteReceiveStream

from duetty.errors import Deadline, Unavailable

GIT_S = 10.0
"""For one look; a work tree on a slow disk may take seconds."""

MAX_BYTES = 1024 * 1024
MAX_ENTRIES = 1_000
"""Most paths of each kind in an answer."""

MAX_DEPTH = 64
SMALL_BYTES = 64 * 1024
"""Of a file of git's own that we read: HEAD, `.git`, `commondir`."""

_KEPT = frozenset(
    {"core.repositoryformatversion", "core.filemode", "core.ignorecase", "core.symlinks",
     "core.autocrlf", "core.eol", "core.precomposeunicode", "extensions.objectformat",
     "extensions.refstorage"}
)  # fmt: skip
_LINKED = ("objects", "refs", "packed-refs", "reftable", "shallow", "info")

Listed = TypeVar("Listed")
Change = Literal["added", "modified", "deleted", "type_changed", "renamed", "copied", "unmerged"]
_CHANGES: dict[str, Change] = {
    "A": "added",
    "M": "modified",
    "D": "deleted",
    "T": "type_changed",
    "R": "renamed",
    "C": "copied",
    "U": "unmerged",
}


class GitUnavailable(Unavailable):
    """git is not there, or cannot read the repository."""

    code = "git_unavailable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    top: str
    private: Path
    """HEAD and index: `.git`, or what a linked work tree has of its own."""

    common: Path
    """Objects, refs, configuration."""


@dataclass(slots=True, kw_only=True)
class Status:
    root: str | None = None
    branch: str | None = None
    commit: str | None = None
    upstream: str | None = None
    ahead: int | None = None
    behind: int | None = None
    staged: list[tuple[str, Change]] = field(default_factory=list[tuple[str, Change]])
    modified: list[tuple[str, Change]] = field(default_factory=list[tuple[str, Change]])
    untracked: list[str] = field(default_factory=list[str])
    truncated: bool = False


def repository_of(directory: str) -> Repository | None:
    """The one that this directory's files belong to; None inside of `.git` and outside of any."""
    place = Path(os.path.normpath(directory))
    for top in (place, *place.parents)[:MAX_DEPTH]:
        if top.name == ".git":
            return None
        found = top / ".git"
        private = found if found.is_dir() else _pointed(found, "gitdir: ")
        if private is not None and (private / "HEAD").is_file():
            common = _pointed(private / "commondir", "") or private
            return Repository(top=str(top), private=private, common=common)
    return None


def _pointed(file: Path, begin: str) -> Path | None:
    text = _small(file)
    if text is None or not text.startswith(begin) or "\0" in text:
        return None
    return Path(os.path.normpath(file.parent / text.removeprefix(begin).rstrip("\n")))


def _small(file: Path) -> str | None:
    try:
        with file.open("rb") as opened:
            return os.fsdecode(opened.read(SMALL_BYTES))
    except OSError:
        return None


async def git_status(repository: Repository) -> Status:
    """Raises:
    GitUnavailable: if there is no git, or it cannot read the repository.
    Deadline: if it takes too long.
    """
    program = shutil.which("git")
    if program is None or not program.startswith("/"):
        raise GitUnavailable("git is not installed", hint="install git, or put it on PATH")
    stand_in = await anyio.to_thread.run_sync(tempfile.mkdtemp, "", "duetty-git-")
    try:
        with anyio.move_on_after(GIT_S):
            return await _status(program, repository, Path(stand_in))
        raise Deadline(f"git took more than {GIT_S:.0f} s for this work tree")
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(_remove, stand_in)


def _remove(stand_in: str) -> None:
    """Links and two files; never what the links point at."""
    place = Path(stand_in)
    with suppress(OSError):
        for each in place.iterdir():
            each.unlink()
        place.rmdir()


async def _status(program: str, repository: Repository, stand_in: Path) -> Status:
    env = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": os.environ.get("HOME", "/"),
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_TERMINAL_PROMPT": "0",
    }
    if directory := os.environ.get("XDG_CONFIG_HOME"):
        env["XDG_CONFIG_HOME"] = directory
    # A file that is named is read as it is: nothing that it includes, and nothing is run.
    listing = [program, "config", "--null", "--list", "--no-includes", "--file"]
    config, _ = await _output([*listing, str(repository.common / "config")], env)
    excludes, _ = await _output(
        [program, "config", "--null", "--global", "--path", "core.excludesfile"],
        {key: value for key, value in env.items() if key != "GIT_CONFIG_GLOBAL"},
    )
    await anyio.to_thread.run_sync(_make, stand_in, repository, config or "", excludes or "")
    env |= {
        "GIT_DIR": str(stand_in),
        "GIT_WORK_TREE": repository.top,
        "GIT_INDEX_FILE": str(repository.private / "index"),
    }
    asked = [program, "--no-pager", "status", "--porcelain=v2", "--branch", "-z", "--no-renames"]
    asked += ["--untracked-files=normal", "--ignore-submodules=all"]
    output, is_cut = await _output(asked, env)
    if output is None:
        raise GitUnavailable(f"git cannot read the repository in {repository.top}")
    status = parse_status(output, root=repository.top)
    status.truncated |= is_cut
    return status


def _make(stand_in: Path, repository: Repository, config: str, excludes: str) -> None:
    (stand_in / "HEAD").write_text(
        _small(repository.private / "HEAD") or "", errors="surrogateescape"
    )
    for name in _LINKED:
        if (repository.common / name).exists():
            (stand_in / name).symlink_to(repository.common / name)
    for shared in repository.private.glob("sharedindex.*"):
        (stand_in / shared.name).symlink_to(shared)
    lines: list[str] = []
    for key, value in _storage_settings(config):
        section, _, rest = key.partition(".")
        subsection, _, name = rest.rpartition(".")
        head = f'[{section} "{_escaped(subsection)}"]' if subsection else f"[{section}]"
        lines.append(f'{head}\n\t{name} = "{_escaped(value)}"\n')
    if excludes:
        lines.append(f'[core]\n\texcludesFile = "{_escaped(excludes.rstrip(chr(0)))}"\n')
    (stand_in / "config").write_text("".join(lines), errors="surrogateescape")


def _storage_settings(config: str) -> Iterator[tuple[str, str]]:
    """Of the repository's configuration what says how it is stored, and which branch follows which."""
    for entry in config.split("\0"):
        key, _, value = entry.partition("\n")
        section, _, rest = key.partition(".")
        last = rest.rpartition(".")[2]
        if (
            key in _KEPT
            or (section == "branch" and last in ("remote", "merge"))
            or (section == "remote" and last == "fetch")
        ):
            yield key, value


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


async def _output(command: list[str], env: dict[str, str]) -> tuple[str | None, bool]:
    """What it printed, up to a bound, and whether there was more; None if it failed."""
    process = await anyio.open_process(
        command, stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL, env=env, cwd="/"
    )
    try:
        assert process.stdout is not None
        raw = await _received(process.stdout)
        is_cut = len(raw) > MAX_BYTES
        if is_cut:
            process.kill()
        code = await process.wait()
        text = os.fsdecode(raw[:MAX_BYTES])
        return (text if is_cut or code == 0 else None), is_cut
    finally:
        with anyio.CancelScope(shield=True):
            if process.returncode is None:
                process.kill()
            await process.aclose()


async def _received(stream: ByteReceiveStream) -> bytes:
    raw = b""
    with suppress(anyio.EndOfStream):
        while len(raw) <= MAX_BYTES:
            raw += await stream.receive()
    return raw


def parse_status(text: str, *, root: str) -> Status:
    """Total: lines that are not known are left out."""
    status = Status(root=_sayable(root))
    for line in _sayable(text).split("\0"):
        kind, _, rest = line.partition(" ")
        match kind:
            case "#":
                _head(status, rest)
            case "1":
                parts = rest.split(" ", 7)
                if len(parts) == 8:
                    _tracked(status, parts[0], parts[7])
            case "u":
                parts = rest.split(" ", 9)
                if len(parts) == 10:
                    _add(status, status.modified, (parts[9], "unmerged"))
            case "?":
                _add(status, status.untracked, rest)
            case _:
                pass
    return status


def _sayable(text: str) -> str:
    """A name that is not UTF-8, with replacement characters."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _head(status: Status, line: str) -> None:
    name, _, value = line.partition(" ")
    match name:
        case "branch.oid":
            status.commit = None if value == "(initial)" else value
        case "branch.head":
            status.branch = None if value == "(detached)" else value
        case "branch.upstream":
            status.upstream = value
        case "branch.ab":
            ahead, _, behind = value.partition(" ")
            with suppress(ValueError):
                status.ahead, status.behind = int(ahead), abs(int(behind))
        case _:
            pass


def _tracked(status: Status, states: str, path: str) -> None:
    for state, changes in zip(states, (status.staged, status.modified), strict=False):
        if state in _CHANGES:
            _add(status, changes, (path, _CHANGES[state]))


def _add(status: Status, entries: list[Listed], each: Listed) -> None:
    if len(entries) < MAX_ENTRIES:
        entries.append(each)
    else:
        status.truncated = True

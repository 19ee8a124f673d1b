"""Files of a workspace, opened so that no path leads out of it: not `..`, not a link, not a device."""

import base64
import mimetypes
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from duetty.errors import NotFound, Refused
from duetty.policy.proving.paths import is_secret

MAX_ENTRIES = 1_000


class FileRefused(Refused):
    """It is not in the workspace, is no plain file, or may hold secrets."""

    code = "file_refused"


class FileMissing(NotFound):
    code = "file_not_found"


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    path: str
    media_type: str
    encoding: Literal["utf8", "base64"]
    data: str
    size_bytes: int
    truncated: bool


Kind = Literal["file", "directory", "link", "other"]


def read_file(workspace: str, cwd: str, path: str, max_bytes: int) -> Read:
    """The beginning of a file; for worker threads.

    Raises:
        FileRefused: if it is not one that may be read.
        FileMissing: if there is none.
    """
    relative = _below(workspace, cwd, path)
    with _opened(workspace, relative, os.O_RDONLY) as descriptor:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise FileRefused("it is no plain file")
        raw = _read(descriptor, max_bytes)
    kind = mimetypes.guess_type(relative)[0]
    text = _text(raw, is_cut=found.st_size > len(raw))
    if text is None:
        return Read(
            path=relative,
            media_type=kind or "application/octet-stream",
            encoding="base64",
            data=base64.b64encode(raw).decode(),
            size_bytes=found.st_size,
            truncated=found.st_size > len(raw),
        )
    return Read(
        path=relative,
        media_type=kind or "text/plain",
        encoding="utf8",
        data=text,
        size_bytes=found.st_size,
        truncated=found.st_size > len(raw),
    )


def list_files(workspace: str, cwd: str, path: str) -> tuple[str, list[tuple[str, Kind]], bool]:
    """The entries of a directory, by name, without files that may hold secrets; and whether there are more."""
    relative = _below(workspace, cwd, path)
    with (
        _opened(workspace, relative, os.O_RDONLY | os.O_DIRECTORY) as descriptor,
        os.scandir(descriptor) as entries,
    ):
        found: list[tuple[str, Kind]] = [
            (each.name, _kind(each))
            for each in entries
            if each.name.isprintable() and not _is_hidden(f"{relative}/{each.name}")
        ]
    found.sort()
    return relative, found[:MAX_ENTRIES], len(found) > MAX_ENTRIES


def _kind(entry: "os.DirEntry[str]") -> Kind:
    if entry.is_symlink():
        return "link"
    if entry.is_dir(follow_symlinks=False):
        return "directory"
    return "file" if entry.is_file(follow_symlinks=False) else "other"


def _below(workspace: str, cwd: str, path: str) -> str:
    """Where it is below the workspace, links followed."""
    if path.startswith(("/", "~")):
        raise FileRefused(
            "it is not relative to the workspace", hint="give a path as `src/main.py`"
        )
    top = os.path.realpath(workspace)
    begin = os.path.realpath(cwd)
    if not _is_inside(begin, top):
        begin = top
    given = os.path.normpath(f"{begin}/{path}")
    if not _is_inside(given, top):
        raise FileRefused("it is outside the workspace")
    try:
        real = os.path.realpath(given)
    except OSError as error:  # a link that went while it was followed
        raise FileMissing("there is no such file in the workspace") from error
    if not _is_inside(real, top):
        raise FileRefused("a link leads out of the workspace")
    for each in (given, real):
        if _is_hidden(os.path.relpath(each, top)):
            raise FileRefused("it may hold secrets", hint="a person can open it in a terminal")
    return os.path.relpath(real, top)


def _is_inside(path: str, top: str) -> bool:
    return path == top or path.startswith(top.rstrip("/") + "/")


def _is_hidden(relative: str) -> bool:
    """Secret by its name, as policy knows them, or git's own."""
    return ".git" in relative.split("/") or is_secret(relative)


@contextmanager
def _opened(workspace: str, relative: str, flags: int) -> Generator[int]:
    """Step by step, and through no link: what was looked at may be exchanged meanwhile."""
    descriptors = [_open(os.path.realpath(workspace), os.O_RDONLY | os.O_DIRECTORY, None)]
    try:
        parts = [part for part in relative.split("/") if part != "."]
        for part in parts[:-1]:
            descriptors.append(_open(part, os.O_RDONLY | os.O_DIRECTORY, descriptors[-1]))
        if parts:
            descriptors.append(_open(parts[-1], flags, descriptors[-1]))
        yield descriptors[-1]
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def _open(name: str, flags: int, directory: int | None) -> int:
    # Not blocking: a named pipe would wait for its other end.
    flags |= os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
    try:
        return os.open(name, flags, dir_fd=directory)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise FileMissing("there is no such file in the workspace") from error
    except (OSError, ValueError) as error:
        raise FileRefused("it cannot be opened") from error


def _read(descriptor: int, max_bytes: int) -> bytes:
    raw = b""
    while len(raw) < max_bytes and (more := os.read(descriptor, max_bytes - len(raw))):
        raw += more
    return raw


def _text(raw: bytes, *, is_cut: bool) -> str | None:
    if b"\0" in raw:
        return None
    for end in range(4 if is_cut else 1):  # a cut may go through a character
        try:
            return raw[: len(raw) - end].decode()
        except UnicodeDecodeError:
            continue
    return None

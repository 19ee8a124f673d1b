"""Where a terminal stands: its directory, its repository, its files, its log."""

from typing import Literal

from pydantic import Field

from duetty.wire.base import Params, Result, SystemText


class ContextParams(Params):
    session: str | None = Field(
        None,
        description="name of the session; left out: the open one in which something happened last",
    )


class LogParams(ContextParams):
    limit: int = Field(50, ge=1, le=500, description="commands, the newest")
    output_chars: int = Field(2_000, ge=0, le=20_000, description="of each command's output")


class FileParams(ContextParams):
    path: SystemText = Field(
        description="relative to the session's directory; below its workspace", max_length=4_096
    )


class FileReadParams(FileParams):
    max_bytes: int = Field(262_144, ge=1, le=1_048_576)


class Directory(Result):
    session: str
    cwd: str
    workspace: str | None = Field(description="null: it has none")


class GitChange(Result):
    path: str
    change: Literal["added", "modified", "deleted", "type_changed", "renamed", "copied", "unmerged"]


class GitState(Result):
    """Of the repository that the session's directory is in; all empty where there is none."""

    session: str
    root: str | None = Field(description="top of the work tree; null: no repository")
    branch: str | None = Field(description="null: no repository, or HEAD is detached")
    commit: str | None = Field(description="null: nothing is committed yet")
    upstream: str | None
    ahead: int | None = Field(description="commits; null: unknown")
    behind: int | None
    staged: list[GitChange]
    modified: list[GitChange] = Field(description="in the work tree and not staged")
    untracked: list[str]
    truncated: bool = Field(description="the answer was cut: there is more")


class SessionLog(Result):
    session: str
    markdown: str
    commands: int
    truncated: bool = Field(description="older commands, or parts of output, are left out")


class FileContent(Result):
    session: str
    path: str = Field(description="relative to the workspace")
    media_type: str
    encoding: Literal["utf8", "base64"]
    data: str
    size_bytes: int
    truncated: bool


class FileEntry(Result):
    name: str
    kind: Literal["file", "directory", "link", "other"]


class FileList(Result):
    session: str
    path: str = Field(description="relative to the workspace")
    entries: list[FileEntry]
    truncated: bool

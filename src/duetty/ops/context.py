"""Operations that tell where a terminal stands: directory, repository, files of its workspace, log."""

import os
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import anyio.to_thread

from duetty.agent import entry_lines
from duetty.audit import Filters, Record, records
from duetty.calls import Actor, Effect, Scope
from duetty.errors import OutputExpired
from duetty.ops.conversations import entries_in
from duetty.ops.files import FileMissing, FileRefused, list_files, read_file
from duetty.ops.git_status import GitUnavailable, Repository, Status, git_status, repository_of
from duetty.ops.judgements import PLAIN
from duetty.ops.operation import Operation, PerhapsInSession, Route
from duetty.ops.services import Services
from duetty.ops.shapes import stored_block_info, time_text
from duetty.ops.viewer_operations import NoSessions
from duetty.session import Session, output_text
from duetty.store import BlockRecord, ConversationEntry
from duetty.wire.context import (
    ContextParams,
    Directory,
    FileContent,
    FileEntry,
    FileList,
    FileParams,
    FileReadParams,
    GitChange,
    GitState,
    LogParams,
    SessionLog,
)

MAX_CALLS = 200
"""Calls and approvals in one log."""


def active_session(named: Session | None, services: Services, actor: Actor) -> Session:
    """The one that is named; else the open one in which something happened last.

    Raises:
        NoSessions: if none is open.
    """
    if named is not None:
        return named
    open_ones = [
        session
        for session in services.registry.sessions()
        if not session.is_exited and actor.session in (None, session.name)
    ]
    if not open_ones:
        raise NoSessions("no session is open", hint="open one first")
    return min(open_ones, key=lambda session: session.activity.quiet_s())


# --- directory and repository ---------------------------------------------------


async def _cwd(
    params: ContextParams, named: Session | None, services: Services, actor: Actor
) -> Directory:
    session = active_session(named, services, actor)
    return Directory(
        session=session.name, cwd=session.cwd, workspace=session.profile.workspace or None
    )


def _repository(session: Session) -> Repository | None:
    found = repository_of(session.cwd)
    if found is None or session.profile.sandbox == "none":
        return found
    # What runs in a sandbox can write `.git`, and would see through it what it must not.
    top = f"{os.path.realpath(found.top)}/"
    places = (os.path.realpath(found.private), os.path.realpath(found.common))
    return found if all(place.startswith(top) for place in places) else None


async def _git(
    params: ContextParams, named: Session | None, services: Services, actor: Actor
) -> GitState:
    session = active_session(named, services, actor)
    repository = await anyio.to_thread.run_sync(_repository, session)
    status = Status() if repository is None else await git_status(repository)
    return GitState(
        session=session.name,
        root=status.root,
        branch=status.branch,
        commit=status.commit,
        upstream=status.upstream,
        ahead=status.ahead,
        behind=status.behind,
        staged=[GitChange(path=path, change=change) for path, change in status.staged],
        modified=[GitChange(path=path, change=change) for path, change in status.modified],
        untracked=status.untracked,
        truncated=status.truncated,
    )


# --- files ------------------------------------------------------------------------


def _workspace(session: Session) -> str:
    if not session.profile.workspace:
        raise FileRefused(
            f"session {session.name!r} has no workspace",
            hint="open a session in a project, or let a person set its workspace",
        )
    return session.profile.workspace


async def _file(
    params: FileReadParams, named: Session | None, services: Services, actor: Actor
) -> FileContent:
    session = active_session(named, services, actor)
    read = await anyio.to_thread.run_sync(
        read_file, _workspace(session), session.cwd, params.path, params.max_bytes
    )
    return FileContent(
        session=session.name,
        path=read.path,
        media_type=read.media_type,
        encoding=read.encoding,
        data=read.data,
        size_bytes=read.size_bytes,
        truncated=read.truncated,
    )


async def _files(
    params: FileParams, named: Session | None, services: Services, actor: Actor
) -> FileList:
    session = active_session(named, services, actor)
    path, entries, truncated = await anyio.to_thread.run_sync(
        list_files, _workspace(session), session.cwd, params.path
    )
    return FileList(
        session=session.name,
        path=path,
        entries=[FileEntry(name=name, kind=kind) for name, kind in entries],
        truncated=truncated,
    )


# --- log --------------------------------------------------------------------------


async def _log(
    params: LogParams, named: Session | None, services: Services, actor: Actor
) -> SessionLog:
    session = active_session(named, services, actor)
    sees_trail = Scope.ADMIN in actor.scopes
    entries = await entries_in(session, services, actor)
    return await anyio.to_thread.run_sync(
        partial(_written, session, services, params, entries, sees_trail=sees_trail)
    )


def _written(
    session: Session,
    services: Services,
    params: LogParams,
    entries: Sequence[ConversationEntry],
    *,
    sees_trail: bool,
) -> SessionLog:
    """Runs in a worker thread: it reads journal, store and trail."""
    services.store.flush()
    blocks = services.store.blocks(session.profile.id, limit=params.limit + 1)
    truncated = len(blocks) > params.limit
    blocks = blocks[: params.limit]
    parts: list[tuple[int, str]] = []
    for block in blocks:
        text, is_cut = _block(block, session, params.output_chars)
        truncated |= is_cut
        parts.append((block.started_at_ns, text))
    since_ns = min((at_ns for at_ns, _ in parts), default=None) if truncated else None
    if sees_trail:
        filters = Filters(session=session.name, since_ns=since_ns)
        written = records(services.trail.directory, filters, limit=MAX_CALLS)
        truncated |= len(written) == MAX_CALLS
        parts += [(each.at_ns, text) for each in written for text in _call(each)]
    words = [each for each in entries if since_ns is None or each.at_ns >= since_ns]
    parts += [
        (each.at_ns, "\n".join(lines))
        for each in words
        if each.kind not in ("state", "context")
        and (lines := entry_lines(each, most=params.output_chars))
    ]
    head = [
        f"# Session {session.name}",
        f"`{session.profile.command}` since {time_text(session.profile.created_at_ns)}",
    ]
    if not sees_trail:
        head.append("Calls and approvals are left out: they need the scope `admin`.")
    if truncated:
        head.append("Older or longer parts are left out.")
    parts.sort(key=lambda part: part[0])
    return SessionLog(
        session=session.name,
        markdown="\n\n".join([*head, *(text for _, text in parts)]) + "\n",
        commands=len(blocks),
        truncated=truncated,
    )


def _block(block: BlockRecord, session: Session, chars: int) -> tuple[str, bool]:
    info = stored_block_info(block)
    code = "running" if info.running else "unknown" if info.exit_code is None else info.exit_code
    lines = [
        f"## {info.started_at} command {info.number}",
        "",
        _fenced(info.command_line or "", "sh"),
    ]
    took = "" if info.duration_ms is None else f", {info.duration_ms:.0f} ms"
    lines += ["", f"Exit code: {code}{took}; in `{info.cwd or '?'}`; by {info.actor}"]
    end = session.journal.end if block.end_offset is None else block.end_offset
    if chars == 0 or end == block.start_offset:
        return "\n".join(lines), False
    try:
        cols = session.profile.cols
        output = output_text(session.journal, block.start_offset, end, cols=cols, limit=chars)
    except OutputExpired:
        return "\n".join([*lines, "", "(output no longer kept)"]), True
    if output.text:
        lines += ["", _fenced(output.text)]
    return "\n".join(lines), output.omitted_bytes > 0


def _call(record: Record) -> Iterator[str]:
    """A call, or what became of a question about one, in one line."""
    fields = record.fields
    if record.kind not in ("call", "approval"):
        return
    actor: Any = fields.get("actor") or {}
    decision: Any = fields.get("decision") or {}
    lines = [f"- {time_text(record.at_ns)} {record.kind} `{fields.get('operation')}`"]
    details = {
        "event": fields.get("event"),
        "by": fields.get("by") or actor.get("name"),
        "decision": decision.get("decision"),
        "rule": decision.get("rule"),
        "outcome": fields.get("outcome"),
    }
    lines += [f"{name} {value}" for name, value in details.items() if isinstance(value, str)]
    yield ", ".join(lines).replace("\n", " ")


def _fenced(text: str, kind: str = "") -> str:
    """In a fence that nothing in the text closes."""
    longest = run = 0
    for char in text:
        run = run + 1 if char == "`" else 0
        longest = max(longest, run)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{kind}\n{text}\n{fence}"


CWD = Operation(
    name="context.cwd",
    summary="The directory that a session is in, and its workspace.",
    effect=Effect.READ,
    judged=PLAIN,
    params=ContextParams,
    result=Directory,
    run=PerhapsInSession(_cwd),
    route=Route(method="GET", path="/context/cwd"),
    errors=(NoSessions,),
)
GIT = Operation(
    name="context.git",
    summary="The repository that a session is in: branch, ahead and behind, staged, modified, untracked; runs no program of the repository's.",
    effect=Effect.READ,
    judged=PLAIN,
    params=ContextParams,
    result=GitState,
    run=PerhapsInSession(_git),
    route=Route(method="GET", path="/context/git"),
    errors=(NoSessions, GitUnavailable),
)
LOG = Operation(
    name="context.log",
    summary="What happened in a session, as Markdown: commands, exit codes, bounded output, the agent's messages and calls; calls of others and approvals for who may see them.",
    effect=Effect.READ,
    judged=PLAIN,
    params=LogParams,
    result=SessionLog,
    run=PerhapsInSession(_log),
    route=Route(method="GET", path="/context/log"),
    errors=(NoSessions,),
)
FILE = Operation(
    name="file.read",
    summary="A file below a session's workspace; none that may hold secrets.",
    effect=Effect.READ,
    judged=PLAIN,
    params=FileReadParams,
    result=FileContent,
    run=PerhapsInSession(_file),
    route=Route(method="GET", path="/context/file"),
    needs=Scope.INPUT,
    errors=(NoSessions, FileMissing, FileRefused),
)
FILES = Operation(
    name="file.list",
    summary="List a directory below a session's workspace.",
    effect=Effect.READ,
    judged=PLAIN,
    params=FileParams,
    result=FileList,
    run=PerhapsInSession(_files),
    route=Route(method="GET", path="/context/files"),
    needs=Scope.INPUT,
    errors=(NoSessions, FileMissing, FileRefused),
)

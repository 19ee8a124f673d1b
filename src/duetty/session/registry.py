"""Every session of this server: names, opening, closing, restoring, the keeper's news."""

import errno
import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from signal import Signals

import anyio
import anyio.abc
import anyio.lowlevel
import anyio.to_thread

from duetty.blocks import BlockTracker, Probe
from duetty.calls import Actor
from duetty.clock import Clock
from duetty.config import Settings
from duetty.descriptors import for_people, has_room
from duetty.errors import (
    DuettyError,
    ForkFailed,
    KeeperUnavailable,
    MaxSessions,
    NotFound,
    SessionExited,
    SessionNameConflict,
    SessionNotFound,
    StateUnwritable,
)
from duetty.events import (
    Degraded,
    Event,
    Resized,
    SessionCreated,
    SessionEnded,
    SessionRemoved,
    SessionRenamed,
    SessionsLog,
    SessionTagged,
    SessionUpdated,
    StateChanged,
    TitleChanged,
    ViewersChanged,
)
from duetty.events import Exited as ProcessExited
from duetty.ids import SessionId, new_nonce, new_session_id
from duetty.journal import Journal
from duetty.keeper.client import Exited, KeptSession, OpenOrder
from duetty.platform.memory import memory_bytes
from duetty.removal import remove_trees
from duetty.sandbox import Places, Wrapped, disorders, inner_pid, wrap
from duetty.session.block import Block
from duetty.session.bounds import Bounds, Left
from duetty.session.elements_file import ElementFiles, read_elements
from duetty.session.foreground_end import end_foreground
from duetty.session.handover import wait_handed_over
from duetty.session.keeper_link import Keeping, Whom
from duetty.session.lane import Lane
from duetty.session.profile import Profile
from duetty.session.restore import Whose, profile_of, recall_blocks, records, restored
from duetty.session.scratch import Scratch
from duetty.session.session import Session
from duetty.session.session_start import (
    Launch,
    OpenRequest,
    check_directory,
    check_launch,
    child_environment,
    plan,
)
from duetty.session.sidecar import write_sidecar
from duetty.session.store_records import (
    block_record,
    block_text,
    session_record,
)
from duetty.session.termination import Ending
from duetty.session.viewers import SizeRule, size_rule
from duetty.session.waits import wait_bound
from duetty.shell import MarkScanner
from duetty.store import SessionRecord, Store
from duetty.vt import Terminal
from duetty.workspaces import workspace_of

MAX_LEFT = 64
"""Ends kept for later answers, for each session; the oldest go first."""

END_GRACE_S = 2.0
"""For a session whose time is up, until KILL."""

KEEPER_RETRY_S = 1.0
"""Between two attempts to start a keeper on a machine that has no room for one."""

MEMORY_LOOK_S = 0.5
"""Between two looks at the memory of sandboxed sessions."""

log = logging.getLogger("duetty.sessions")


class Registry:
    """Owns the sessions; found by name, kept by id."""

    def __init__(
        self,
        *,
        keeping: Keeping,
        store: Store,
        journals: Path,
        scratch: Path,
        settings: Settings,
        clock: Clock,
        environment: Mapping[str, str],
        url: Callable[[], str],
        tasks: anyio.abc.TaskGroup,
    ) -> None:
        self._keeping = keeping
        self._store = store
        self._journals = journals
        self.scratch = Scratch(scratch)
        self._settings = settings
        self._clock = clock
        self._environment = environment
        self._url = url
        self._tasks = tasks
        self._element_files = ElementFiles(tasks)
        self._lane = Lane()
        self._size_rule: SizeRule = size_rule(settings.session_size_rule)
        self._ending = Ending(keeping)
        self._by_id: dict[SessionId, Session] = {}
        self._by_name: dict[str, Session] = {}
        self._opening: set[str] = set()
        self._starting: dict[SessionId, Exited | None] = {}
        """Ends that the keeper reported before we knew the session: it may be over that soon."""

        self._workspaces: dict[SessionId, tuple[Path, ...]] = {}
        """Of sandboxes that this server started."""

        self._next_number = 0
        self._restored = False
        self.degraded: dict[str, str] = {}
        """Part and reason of what does not work as promised."""

        self._end_listeners: list[Callable[[Session], None]] = []

        self.hidden: tuple[Path, ...] = (journals.parent, scratch.parent)
        """Where the server keeps its own things, which no sandbox shows."""

        self.log = SessionsLog(clock)
        """What happens to sessions as a whole."""

        keeping.listen(exited=self._on_exited, lost=self._on_keeper_lost)

    # --- finding --------------------------------------------------------------

    @property
    def keeper_pid(self) -> int | None:
        return self._keeping.keeper_pid

    def sessions(self) -> list[Session]:
        """All of them, oldest first."""
        return list(self._by_id.values())

    @property
    def environment(self) -> Mapping[str, str]:
        """What the server was started with."""
        return self._environment

    @property
    def home(self) -> str:
        """Where a session starts that names no directory."""
        return self._environment.get("HOME") or "/"

    @property
    def caches(self) -> Path:
        """Where package managers in sandboxes keep what they downloaded."""
        return self.hidden[0] / "caches"

    @property
    def alive(self) -> int:
        return sum(not session.is_exited for session in self._by_id.values())

    def find(self, name: str) -> Session:
        """By name, or by id.

        Raises:
            SessionNotFound: if there is none.
        """
        session = self._by_name.get(name) or self._by_id.get(SessionId(name))
        if session is None:
            raise SessionNotFound(name)
        return session

    def holds(self, session: Session) -> bool:
        """Whether it is still one of them."""
        return self._by_id.get(session.profile.id) is session

    def has(self, name: str) -> bool:
        return name in self._by_name or SessionId(name) in self._by_id

    # --- opening --------------------------------------------------------------

    async def open(self, request: OpenRequest) -> Session:
        """A new session whose process runs.

        Raises:
            SessionNameConflict, MaxSessions, BadWorkingDirectory, BadCommand, ForkFailed,
            StateUnwritable, KeeperUnavailable: nothing is left behind then.
        """
        self._check_room()
        name = self._claim(request.name)
        try:
            return await self._open(request, name)
        finally:
            self._opening.discard(name)

    async def check(self, request: OpenRequest) -> None:
        """Find what `open` would refuse, and change nothing.

        Raises:
            SessionNameConflict, MaxSessions, BadWorkingDirectory, BadCommand: as it would.
        """
        self._check_room()
        if request.name is not None:
            self._check_name(request.name)
        env = child_environment(request, self._environment, session="", url=self._url())
        look = partial(check_launch, request, env, default_shell=self._settings.session_shell)
        await anyio.to_thread.run_sync(look)  # a directory may be on a disk that takes its time

    async def check_directory(self, place: str) -> None:
        """Raises:
        BadWorkingDirectory: if no session could begin there.
        """
        await anyio.to_thread.run_sync(check_directory, place, self._environment)

    def _check_room(self) -> None:
        if self.alive + len(self._opening) >= self._settings.session_max:
            raise MaxSessions(
                f"{self._settings.session_max} sessions are open",
                hint="close some, or raise session.max",
            )
        if not has_room(keeping=for_people()):
            raise ForkFailed(
                "the server has no file descriptor left for another session",
                hint="close some sessions, or raise the limit of open files (ulimit -n)",
            )

    def _check_name(self, name: str) -> None:
        """A session that has ended keeps its name only until another is to have it, unless asked to.

        Raises:
            SessionNameConflict: if the name is taken.
        """
        having = self._by_name.get(name)
        if having is not None and having.is_exited and not having.profile.keeps_name:
            having = None
        if having is not None or name in self._opening:
            raise SessionNameConflict(name, has_exited=having is not None and having.is_exited)

    async def _open(self, request: OpenRequest, name: str) -> Session:
        id_, nonce = new_session_id(), new_nonce()
        env = child_environment(request, self._environment, session=name, url=self._url())
        scratch = self.scratch.file(id_)
        launch = plan(
            request,
            env,
            default_shell=self._settings.session_shell,
            nonce=nonce,
            scratch=scratch,
        )
        directory = self._journals / id_
        journal: Journal | None = None
        self._starting[id_] = None
        try:
            journal = Journal.create(
                directory,
                limit_bytes=self._settings.journal_limit_mib << 20,
                clock=self._clock,
            )
            self.scratch.make(id_)
            wrapped = await self._wrapped(request, launch, id_)
            opened = await self._keeping.open(
                OpenOrder(
                    session=id_,
                    argv=wrapped.argv,
                    cwd=launch.cwd,
                    env=wrapped.env,
                    cols=request.cols,
                    rows=request.rows,
                    handed=dict(launch.injection.handed)
                    | {
                        number: content.decode("utf-8", "surrogateescape")
                        for number, content in wrapped.handed.items()
                    },
                )
            )
        except BaseException as error:
            if journal is not None:
                journal.close()
            remove_trees(directory)
            self.scratch.remove(id_)
            del self._starting[id_]
            self._tasks.start_soon(self._ending.end_orphan, id_)
            if isinstance(error, OSError):
                is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
                raise StateUnwritable(
                    f"cannot write {scratch}: {error.strerror}",
                    hint="free some space" if is_full else None,
                ) from error
            raise
        journal.note_size(cols=request.cols, rows=request.rows)
        profile = Profile(
            id=id_,
            name=name,
            argv=launch.argv,
            command=launch.command,
            shell=launch.injection.shell,
            integration_reason=launch.injection.reason,
            nonce=nonce,
            created_at_ns=self._clock.wall_ns(),
            cwd=launch.cwd,
            pid=opened.session.pid,
            tty=opened.session.tty,
            cols=request.cols,
            rows=request.rows,
            tags=set(request.tags),
            is_shell=launch.is_shell,
            sandbox=wrapped.level,
            owner=request.owner,
            bounds=request.bounds,
            keeps_name=request.keeps_name,
            network=wrapped.level == "none" or request.sandbox.network,
            workspace=workspace_of(launch.cwd, self.home),
        )
        session = Session(
            profile,
            journal=journal,
            terminal=Terminal(
                cols=request.cols,
                rows=request.rows,
                scrollback_rows=self._settings.session_scrollback_rows,
            ),
            scanner=MarkScanner(nonce),
            tracker=BlockTracker(),
            clock=self._clock,
            owner=self,
            size_rule=self._size_rule,
            lane=self._lane,
        )
        if request.left_by is not None:
            session.left[id_] = Left(caller=request.left_by)
        self._add(session)
        self._workspaces[id_] = wrapped.workspaces
        session.attach(opened.master)
        self._save(session)
        self._hold(session)
        self.log.append(SessionCreated(id=id_, name=name))
        if (exited := self._starting.pop(id_)) is not None:
            self._on_exited(exited)
        return session

    async def _wrapped(self, request: OpenRequest, launch: Launch, id_: SessionId) -> Wrapped:
        """What really starts: the same in its sandbox, if one was asked for."""
        argv, env = tuple(launch.injection.argv), launch.injection.env
        if request.sandbox.asked == "none":
            return Wrapped(level="none", argv=argv, env=env)
        places = Places(
            hidden=self.hidden,
            shown=(self.scratch.file(id_), self.scratch.inputs(id_)),
            private=self.scratch.private(id_),
        )
        return await anyio.to_thread.run_sync(
            partial(wrap, argv, env, cwd=launch.cwd, order=request.sandbox, places=places)
        )

    def _claim(self, name: str | None) -> str:
        if name is None:
            while (name := str(self._next_number)) in self._by_name or name in self._opening:
                self._next_number += 1
            self._next_number += 1
        else:
            self._check_name(name)
            if (ended := self._by_name.get(name)) is not None:
                self.rename(ended, f"{name}-{ended.profile.id[:6]}")
        self._opening.add(name)
        return name

    def _add(self, session: Session) -> None:
        self._by_id[session.profile.id] = session
        self._by_name[session.name] = session

    # --- a session's news -----------------------------------------------------

    def block_closed(self, session: Session, block: Block) -> None:
        if self.holds(session):  # else it is being restored: the store has it
            self._store.save_block(block_record(block, session.profile), block_text(block, session))

    def left_changed(self, session: Session) -> None:
        self._save(session)

    def elements_changed(self, session: Session, *, urgent: bool) -> None:
        if self.holds(session):
            self._element_files.keep(session, urgent)

    def happened(self, session: Session, event: Event) -> None:
        """What a list of sessions shows changes with what happens in each."""
        if not self.holds(session):
            return
        id_, name = session.profile.id, session.name
        match event:
            case ProcessExited(exit_code=exit_code):
                for listener in self._end_listeners:
                    listener(session)
                if workspaces := self._workspaces.pop(id_, ()):
                    self._tasks.start_soon(self._look_behind, session, workspaces)
                self.log.append(SessionEnded(id=id_, name=name, exit_code=exit_code))
            case StateChanged():
                self.log.append(SessionUpdated(id=id_, name=name, part="state"))
            case TitleChanged():
                self.log.append(SessionUpdated(id=id_, name=name, part="title"))
            case Resized():
                self.log.append(SessionUpdated(id=id_, name=name, part="size"))
            case ViewersChanged():
                self.log.append(SessionUpdated(id=id_, name=name, part="viewers"))
            case Degraded():
                self.log.append(SessionUpdated(id=id_, name=name, part="health"))
            case _:
                pass

    async def _look_behind(self, session: Session, workspaces: tuple[Path, ...]) -> None:
        """Tell the person before git does what a program inside prepared."""
        found = await anyio.to_thread.run_sync(disorders, workspaces)
        if found:
            session.left_behind = "; ".join(map(str, found))
            session.log.append(Degraded(part="workspace", reason=session.left_behind))
            log.warning("workspace_left_in_disorder", extra={"session": session.name})

    async def probe(self, session: Session) -> Probe:
        echo, canonical = session.pty.echo_and_canonical()
        return await self._keeping.probe(
            session.profile.id,
            pid=inner_pid(session.profile.pid, session.profile.sandbox),
            echo=echo,
            canonical=canonical,
        )

    def _save(self, session: Session) -> None:
        record = session_record(session)
        self._store.save_session(record)
        try:
            write_sidecar(session.journal.directory, record)
        except OSError as error:
            log.warning("sidecar_failed", extra={"session": session.name, "reason": error.strerror})

    # --- changing -------------------------------------------------------------

    def rename(self, session: Session, name: str) -> None:
        """Give a session another name.

        Raises:
            SessionNameConflict: if another session has it.
        """
        if name == session.name:
            return
        if name in self._by_name or name in self._opening:
            raise SessionNameConflict(name)
        old_name = session.name
        del self._by_name[old_name]
        session.profile.name = name
        self._by_name[name] = session
        self._save(session)
        self.log.append(SessionRenamed(id=session.profile.id, name=name, old_name=old_name))

    def set_workspace(self, session: Session, workspace: str) -> None:
        session.profile.workspace = workspace
        self._save(session)

    def retag(self, session: Session, tags: set[str]) -> None:
        before = session.profile.tags
        if tags == before:
            return
        session.profile.tags = tags
        self._save(session)
        self.log.append(
            SessionTagged(
                id=session.profile.id,
                name=session.name,
                added=tuple(sorted(tags - before)),
                removed=tuple(sorted(before - tags)),
            )
        )

    def resize(self, session: Session, *, cols: int, rows: int) -> None:
        session.resize(cols=cols, rows=rows)
        self._save(session)

    async def signal(self, session: Session, signal: Signals, *, whom: Whom) -> None:
        """Send a signal.

        Raises:
            SessionExited: if no process is left to send it to.
        """
        if session.is_exited:
            raise SessionExited(session.name, session.exit_code)
        if whom == "foreground":
            await wait_handed_over(session, self._clock)
        session.prompt.line.is_touched = True
        await self._keeping.signal(session.profile.id, signal, whom)

    async def close(self, session: Session, *, first: Signals, grace_s: float) -> None:
        """End the session's processes: politely, then by KILL; waits until they are gone."""
        if session.is_exited:
            return
        await self._ending.end(session, first=first, grace_s=grace_s)
        if not session.is_exited:
            # No end was reported: the keeper is gone, or the kernel holds the process.
            session.ended(exit_code=None, exit_signal=None)
            self._save(session)

    def _hold(self, session: Session) -> None:
        """Hold the session, and what was left running in it, to their bounds."""
        bounds = session.profile.bounds
        if session.is_exited:
            return
        if bounds.ends_at_ns is not None or bounds.max_output_bytes is not None:
            self._tasks.start_soon(self._end_at_bound, session, bounds)
        for block, left in session.left.items():
            if left.is_bounded:
                self._tasks.start_soon(self._end_run_at_bound, session, block, left)

    async def _end_at_bound(self, session: Session, bounds: Bounds) -> None:
        is_over = partial(getattr, session, "is_exited")
        reached = await wait_bound(session, bounds, self._clock, is_over=is_over)
        if reached is not None:
            session.bound_reached = reached
            await self.close(session, first=Signals.SIGHUP, grace_s=END_GRACE_S)

    async def _end_run_at_bound(self, session: Session, block: str, left: Left) -> None:
        """The same for a run in front; its shell lives on, if the program lets go of the terminal."""

        def is_over() -> bool:
            is_closed = any(each.id == block for each in session.recent)
            return is_closed or session.is_exited or session.left.get(block) is not left

        reached = await wait_bound(session, left, self._clock, is_over=is_over)
        running = session.prompt.open_block
        if reached is None or running is None or running.id != block:
            return
        session.left[block] = replace(left, bound_reached=reached)
        self._save(session)
        try:
            is_free = await end_foreground(self, session, actor=session.prompt.actor)
        except DuettyError as error:
            log.info("run_not_ended", extra={"session": session.name, "code": error.code})
            is_free = False
        if not is_free:
            await self.close(session, first=Signals.SIGHUP, grace_s=END_GRACE_S)

    async def watch_memory(self) -> None:
        """End sandboxed sessions whose processes together take too much; runs as long as the server."""
        most = self._settings.sandbox_total_memory_mib << 20
        while most:
            await anyio.sleep(MEMORY_LOOK_S)
            watched = {
                each.profile.pid: each
                for each in self.sessions()
                if each.profile.sandbox != "none" and not each.is_exited and each.profile.pid
            }
            if watched:
                taken = await anyio.to_thread.run_sync(
                    partial(memory_bytes, list(watched), above=most)
                )
                for pid, size in taken.items():
                    if size > most and not watched[pid].is_exited:
                        self._end_for_memory(watched[pid], size)

    def _end_for_memory(self, session: Session, size: int) -> None:
        most = self._settings.sandbox_total_memory_mib
        session.bound_reached = "memory"
        session.ended_for = (
            f"its processes took {size >> 20} MiB together and were ended: a sandboxed session may "
            f"take {most} MiB (sandbox.total_memory_mib)"
        )
        session.log.append(Degraded(part="memory", reason=session.ended_for))
        log.warning("session_took_too_much_memory", extra={"session": session.profile.id})
        self._tasks.start_soon(partial(self.close, session, first=Signals.SIGKILL, grace_s=0))

    def leave(self, session: Session, block: str, left: Left) -> None:
        """A caller stops waiting for this block: a later answer has its end, by another server too."""
        session.left[block] = left
        if len(session.left) > MAX_LEFT:
            del session.left[next(iter(session.left))]
        self._save(session)
        if left.is_bounded:
            self._tasks.start_soon(self._end_run_at_bound, session, block, left)

    def end_was_told(self, session: Session, what: str) -> None:
        """The caller that left it running has got its end: no other answer has it."""
        if session.left.pop(what, None) is not None:
            self._save(session)

    async def interrupt(self, session: Session, *, actor: Actor) -> None:
        """Do what Ctrl-C does, also to a program that has not read its input for long.

        Raises:
            SessionExited: if no process is left to interrupt.
        """
        await wait_handed_over(session, self._clock)
        if not session.interrupt(actor=actor):
            await self.signal(session, Signals.SIGINT, whom="foreground")

    async def remove(self, session: Session) -> None:
        """Forget an exited session: its screen and journal; blocks stay in the history."""
        was_there = self._by_id.pop(session.profile.id, None) is not None
        if self._by_name.get(session.name) is session:
            del self._by_name[session.name]
        session.close()
        if was_there:
            self.log.append(SessionRemoved(id=session.profile.id, name=session.name))
        self._store.delete_session(session.profile.id)
        await anyio.to_thread.run_sync(remove_trees, session.journal.directory)

    # --- the keeper's news ----------------------------------------------------

    def _on_exited(self, exited: Exited) -> None:
        id_ = SessionId(exited.session)
        if id_ in self._starting:
            self._starting[id_] = exited
        session = self._by_id.get(id_)
        if session is None or session.is_exited:
            return
        session.ended(exit_code=exited.exit_code, exit_signal=exited.signal)
        self._save(session)
        self.scratch.remove(session.profile.id)
        if not self._ending.is_under_way(session):
            self._tasks.start_soon(self._collected, session)

    async def _collected(self, session: Session) -> None:
        """The status is ours now: the keeper may forget; old exited sessions make room."""
        await self._ending.forget(session)
        await self.sweep()

    async def sweep(self) -> None:
        """Remove exited sessions beyond their number and age; look whether a full disk has room."""
        for session in self.sessions():
            if session.journal.degraded and session.journal.retry():
                session.turn_over()
        exited = sorted(
            (each for each in self._by_id.values() if each.exited_at_ns is not None),
            key=lambda each: each.exited_at_ns or 0,
        )
        oldest_ns = self._clock.wall_ns() - self._settings.session_exited_s * 1_000_000_000
        excess = len(exited) - self._settings.session_exited_max
        for place, session in enumerate(exited):
            if place < excess or (session.exited_at_ns or 0) < oldest_ns:
                await self.remove(session)

    def _on_keeper_lost(self, error: KeeperUnavailable) -> None:
        log.error("keeper_lost", extra={"sessions": self.alive})
        self.degraded["keeper"] = error.message
        self._tasks.start_soon(self._replace_keeper)

    async def _replace_keeper(self) -> None:
        """A new keeper takes the masters that we still hold.

        What is lost: exit codes of the processes that the old one forked, and bytes
        if this server is killed before the new one has taken over.
        """
        while True:
            try:
                self._keeping.connect()
                break
            except DuettyError as error:
                self.degraded["keeper"] = f"no new keeper could be started: {error.message}"
            await anyio.sleep(KEEPER_RETRY_S)
        reason = "the keeper was killed and replaced; exit codes of earlier sessions are unknown"
        self.degraded["keeper"] = reason
        for session in self.sessions():
            if session.is_exited:
                continue
            profile = session.profile
            try:
                taken = await self._keeping.take(
                    profile.id, pid=profile.pid, tty=profile.tty, master=session.pty.fd
                )
                if taken.exited:
                    session.ended(exit_code=None, exit_signal=None)
                    self._save(session)
            except DuettyError as failed:
                log.warning("take_failed", extra={"session": session.name, "code": failed.code})
            session.log.append(Degraded(part="keeper", reason=reason))

    # --- restoring ------------------------------------------------------------

    def listen(self, *, ended: Callable[[Session], None]) -> None:
        """Call this as soon as a session's process is gone."""
        self._end_listeners.append(ended)

    async def restore(self, whose: Whose | None = None) -> None:
        """Take back what the keeper kept and what the store remembers.

        `whose`: the runs of a session that the trail knows of, to tell whose its blocks are.
        """
        whose = whose or (lambda session: [])
        kept = {each.session: each for each in self._keeping.connect()}
        for record in await anyio.to_thread.run_sync(records, self._store, self._journals):
            try:
                await self._restore_one(record, kept.pop(record.id, None), whose)
                self._hold(self._by_id[record.id])
            except NotFound:
                # Killed while it was removed, or its journal was removed by hand.
                self.degraded[f"session {record.name}"] = "its journal is gone"
                self._store.delete_session(record.id)
                await self._ending.end_orphan(record.id)
            except DuettyError as error:
                log.error(  # noqa: TRY400 - the error is coded; a trace adds nothing
                    "restore_failed", extra={"session": record.name, "reason": error.message}
                )
                self.degraded[f"session {record.name}"] = error.message
            await anyio.lowlevel.checkpoint()
        for orphan in kept.values():
            # The keeper has a session that the store never heard of: the server was killed
            # between the fork and the record. No caller knows of it, so it is ended.
            log.warning("orphan_ended", extra={"session": orphan.session, "pid": orphan.pid})
            await self._ending.end_orphan(orphan.session)
        alive = {str(each.profile.id) for each in self.sessions() if not each.is_exited}
        await anyio.to_thread.run_sync(self.scratch.clear_leftovers, alive)
        self._restored = True
        self._next_number = 1 + max(
            (int(name) for name in self._by_name if name.isdecimal()), default=-1
        )

    async def _restore_one(
        self, record: SessionRecord, kept: KeptSession | None, whose: Whose
    ) -> None:
        journal = Journal.open(
            self._journals / record.id,
            limit_bytes=self._settings.journal_limit_mib << 20,
            clock=self._clock,
        )
        profile = profile_of(record)
        session = restored(
            profile,
            journal,
            scrollback_rows=self._settings.session_scrollback_rows,
            clock=self._clock,
            owner=self,
            size_rule=self._size_rule,
            lane=self._lane,
        )
        if (elements := read_elements(journal.directory)) is not None:
            session.restore_elements(elements)
        self._add(session)
        await recall_blocks(session, self._store, whose, save=self.block_closed)
        if record.exited_at_ns is not None and (kept is None or kept.exited):
            if kept is not None:
                await self._ending.forget(session)
            session.exit_code, session.exit_signal = record.exit_code, record.exit_signal
            session.exited_at_ns = record.exited_at_ns
            return
        if kept is None:
            # No keeper has it: it ended with a keeper that was killed.
            session.ended(exit_code=None, exit_signal=None)
            self._save(session)
            return
        opened = await self._keeping.adopt(record.id)
        session.adopt_size(opened.master)
        if session.is_exited:  # its end came while we asked
            os.close(opened.master)
            return
        session.attach(opened.master)
        now = opened.session
        if now.exited:
            session.ended(exit_code=now.exit_code, exit_signal=now.signal)
            self._save(session)
            await self._ending.forget(session)

    # --- the end --------------------------------------------------------------

    async def shut_down(self, *, keep_sessions: bool, grace_s: float) -> None:
        """Let go of the sessions: with the keeper for the next server, or for good."""
        if not self._restored:
            self._keeping.close()  # what it keeps was never ours to end
            return
        keep_sessions = keep_sessions and self.alive > 0
        # From here on its end is what we want.
        self._keeping.listen(exited=self._on_exited, lost=lambda _: None)
        for session in self.sessions():
            if keep_sessions and not session.journal.degraded:
                # The next server starts from here instead of replaying the segment.
                session.turn_over()
        if not keep_sessions:
            try:
                await self._keeping.stop(grace_s=grace_s)
            except DuettyError as error:
                log.warning("keeper_stop_failed", extra={"reason": error.message})
            for session in self.sessions():
                if not session.is_exited:
                    session.ended(exit_code=None, exit_signal=None)
                    self._save(session)
        await self._element_files.flush()
        for session in self.sessions():
            session.close()
        self._lane.close()
        self.log.close()
        self._keeping.close()

"""Following, for the edges: one session as it goes on, or all of them as a list.

The way in has the same place for a decision as a call: no viewer follows a session
that its credential does not allow.
"""

import base64
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Literal

import anyio

from duetty.calls import Actor, Scope
from duetty.errors import OutputExpired, SessionNotFound
from duetty.events import (
    Entry,
    KeysTyped,
    Lagged,
    SessionRemoved,
    SessionRenamed,
    SessionsEntry,
    SessionsEvent,
    SessionUpdated,
    Subscription,
    ViewersChanged,
)
from duetty.ids import SessionId, StateWord
from duetty.ops.element_shapes import surface_shape
from duetty.ops.event_shapes import change_word
from duetty.ops.permits import named_now, permit
from duetty.ops.services import Services
from duetty.ops.shapes import session_info
from duetty.session import (
    Session,
    Size,
    Snapshot,
    Viewer,
    ViewerKind,
    can_go_on,
    keep_state,
    screen_shape,
    take_snapshot,
)
from duetty.wire.results import SessionInfo

MAX_SIZE = 1_000

ELEMENT_FIELDS = ("overlays", "panels", "screen_mode", "input_mode", "focused")

RENEW_S = 20.0
"""Between two renewals of a capture whose connection is alive; a third of its lease."""

ASK_S = 1.0
"""Between two looks whether another viewer still asks the kernel."""

SIZE_SCOPE = Scope.INPUT
"""A size is input to the program: who may only look sees the session as it is."""

Calling = Callable[[str, Mapping[str, object]], Awaitable[Any]]
"""An operation and its arguments, called for the viewer's actor on the one path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownSize:
    """The size of a session, as one viewer gets it."""

    cols: int
    rows: int
    program_rows: int
    """Rows left to the program by the panels."""

    top: int
    """The first of them."""

    holder: Literal["you", "other", "nobody"]


class View:
    """One viewer's look at one session."""

    def __init__(
        self,
        call: Calling,
        services: Services,
        actor: Actor,
        *,
        session: Session,
        viewer: Viewer,
        entries: Subscription[Entry],
    ) -> None:
        self._call = call
        self._services = services
        self._actor = actor
        self._session = session
        self._viewer = viewer
        self._entries = entries
        self._typing_rests_on: tuple[object, ...] | None = None
        """What keys were last allowed on; see `type_now`."""

        self._has_typed = False
        """Its credential allows it."""

    # --- what there is ----------------------------------------------------------

    @property
    def name(self) -> str:
        return self._session.name

    @property
    def session_id(self) -> str:
        return self._session.profile.id

    @property
    def state(self) -> StateWord:
        return self._session.state().word

    @property
    def exit_code(self) -> int | None:
        return self._session.exit_code

    @property
    def seq(self) -> int:
        """Of the last entry that happened."""
        return self._session.log.seq

    @property
    def end(self) -> int:
        """The offset the next byte will have."""
        return self._session.journal.end

    @property
    def ended(self) -> str | None:
        """Why nothing more comes: removed, detached, …; None while it goes on."""
        return self._viewer.ended or ("removed" if self._entries.is_closed else None)

    def has(self, offset: int) -> bool:
        """Whether every byte from this one on can still be read."""
        return can_go_on(self._session.journal, offset)

    def read(self, start: int, limit: int) -> bytes | None:
        """Bytes from an offset on; None if some of them are gone."""
        journal = self._session.journal
        try:
            return journal.read(start, min(start + limit, int(journal.end)))
        except OutputExpired:
            return None

    async def snapshot(
        self, *, scrollback_rows: int | None = None, not_before: int | None = None
    ) -> Snapshot:
        """The terminal now; with `not_before` one of a moment ago, if not older than this byte."""
        return await take_snapshot(
            self._session, scrollback_rows=scrollback_rows, not_before=not_before
        )

    @property
    def viewers(self) -> int:
        """How many look at the session."""
        return len(self._session.viewers)

    def text_lines(self) -> tuple[str, ...]:
        """The screen's rows as text, without the blank ones at the end."""
        lines = self._session.screen(styled=False).text_lines
        last = max((at for at, line in enumerate(lines, 1) if line), default=0)
        return lines[:last]

    def info(self) -> SessionInfo:
        return session_info(self._session, self._services.node)

    def size(self) -> ShownSize:
        session = self._session
        holder = session.viewers.holder
        return ShownSize(
            cols=session.profile.cols,
            rows=session.profile.rows,
            program_rows=session.terminal_size[1],
            top=session.layout.top,
            holder=("nobody" if holder is None else "you" if holder is self._viewer else "other"),
        )

    def elements(self) -> dict[str, Any]:
        """Everything that is drawn over and beside the program, and who has the keyboard."""
        shape = surface_shape(self._session)
        return {name: shape[name] for name in ELEMENT_FIELDS}

    async def screen(self, *, styled: bool) -> dict[str, Any]:
        """As `screen.get` tells it."""
        return await screen_shape(self._session, styled=styled, owner=self._actor.identity)

    @property
    def total_rows(self) -> int:
        return self._session.total_rows

    @property
    def is_exited(self) -> bool:
        return self._session.is_exited

    @property
    def generation(self) -> int:
        """How often the session was touched."""
        return self._session.activity.generation

    @property
    def quiet_s(self) -> float:
        """How long ago that was."""
        return self._session.activity.quiet_s()

    async def wait_touched(self, generation: int) -> None:
        """Until the session was touched again after this generation."""
        session = self._session
        while session.activity.generation == generation and self.ended is None:
            await session.pulse.wait()

    # --- what happens -----------------------------------------------------------

    def take(self, *, keys: bool = True) -> Entry | Lagged | None:
        """The next entry, if one is there; what people type is left out unless wanted.

        And from who may only look: they see what programs show.
        """
        keys = keys and Scope.INPUT in self._actor.scopes
        while (entry := self._entries.take()) is not None:
            if keys or not (isinstance(entry, Entry) and isinstance(entry.event, KeysTyped)):
                return entry
        return None

    def permit_keys(self) -> None:
        """Check that this viewer may see what people type.

        Raises:
            ScopeMissing: if it may only look.
        """
        permit(self._actor, Scope.INPUT)

    async def wait(self, *, output: bool = True) -> None:
        """Until there are entries, or bytes if those are wanted, or `wake`, or it is over."""
        self._entries.wants_output = output
        await self._entries.wait()

    async def keep_looking(self) -> None:
        """Ask the kernel now and then what the program does, as long as a viewer is there.

        One viewer asks for all viewers of a session.
        """
        session = self._session
        while not session.is_exited:
            if session.viewers.is_asking:
                await anyio.sleep(ASK_S)
                continue
            session.viewers.is_asking = True
            try:
                await keep_state(session)
            finally:
                session.viewers.is_asking = False

    def wake(self) -> None:
        self._entries.wake()

    def skip_keys(self) -> None:
        """What people type is no news for this viewer."""
        self._entries.skips = KeysTyped

    def tell_output(self, tell: Callable[[], bool] | None) -> None:
        """Call this in the very turn in which the program prints; when it says no, `wait` ends."""
        self._entries.tell_output(tell)

    # --- what the viewer does ---------------------------------------------------

    def set_size(self, *, cols: int, rows: int) -> None:
        """This viewer can show so much; the size rule decides what follows from it.

        Raises:
            ScopeMissing: if it may only look.
        """
        permit(self._actor, SIZE_SCOPE)
        self._viewer.size = Size(_clamped(cols), _clamped(rows))
        settle_size(self._services, self._session)

    def hold(self, *, on: bool) -> None:
        """Be the one that sets the size, or no more.

        Raises:
            ScopeMissing: if it may only look.
        """
        permit(self._actor, SIZE_SCOPE)
        session = self._session
        session.viewers.hold(self._viewer, on=on)
        settle_size(self._services, session)
        session.log.append(ViewersChanged(viewers=len(session.viewers)))

    async def write(self, data: bytes) -> None:
        """What was typed here; subject to capture. Decided on as any call, unless `type_now` may."""
        if self.type_now(data):
            return
        rests_on = self._services.deciding.keys_rest_on(self._actor, self._session)
        self._typing_rests_on = None
        encoded = base64.b64encode(data).decode()
        await self.call("input.type", {"data": encoded, "encoding": "base64"})
        self._typing_rests_on = rests_on
        self._has_typed = True

    def type_now(self, data: bytes) -> bool:
        """Write keys in this very turn, since the person waits for each; False if `write` has to.

        A person's rest on the decision on the keys before, as long as nothing that it was made on
        has changed. An agent's are judged each, here as there.
        """
        deciding, session = self._services.deciding, self._session
        rests_on = deciding.keys_rest_on(self._actor, session)
        if rests_on is None:
            may = self._has_typed and deciding.lets_keys(self._actor, session, data)
        else:
            may = rests_on == self._typing_rests_on
        if may:
            session.keyboard.type(data, actor=self._actor)
        return may

    async def write_verbatim(self, data: bytes) -> None:
        """Bytes for the program, even while the keyboard is captured."""
        encoded = base64.b64encode(data).decode()
        await self.call("input.write", {"data": encoded, "encoding": "base64"})

    async def call(self, operation: str, arguments: Mapping[str, object]) -> Any:
        """An operation on this session.

        Raises:
            DuettyError: with a code, whatever went wrong.
        """
        return await self._call(operation, {**arguments, "session": self.name})


class Watch:
    """All sessions that an actor may see, and every change of their list."""

    def __init__(
        self, services: Services, actor: Actor, entries: Subscription[SessionsEntry]
    ) -> None:
        self._services = services
        self._actor = actor
        self._entries = entries

    @property
    def seq(self) -> int:
        """Of the last change so far."""
        return self._services.registry.log.seq

    def skip_updates(self) -> None:
        """What happens within sessions is no news for this one; every command would wake it."""
        self._entries.skips = SessionUpdated

    def may_see(self, name: str) -> bool:
        return named_now(self._actor, self._services.registry).session in (None, name)

    def tells(self, event: SessionsEvent) -> bool:
        """Whether a change is for this actor."""
        if self._actor.session_id is not None:
            return event.id == self._actor.session_id
        return self._actor.session in (None, event.name)

    def sessions(self) -> list[SessionInfo]:
        """All of them now; changes go on from here."""
        self._entries.clear()
        return [
            session_info(each, self._services.node)
            for each in self._services.registry.sessions()
            if self.may_see(each.name)
        ]

    def session(self, id_: SessionId) -> SessionInfo | None:
        """One of them; None if it is gone by now."""
        try:
            session = self._services.registry.find(id_)
        except SessionNotFound:
            return None
        return session_info(session, self._services.node)

    def change_shape(self, entry: SessionsEntry) -> dict[str, Any] | None:
        """A change, as a viewer of the list gets it; None if it is not for this one."""
        event = entry.event
        if not self.tells(event):
            return None
        shape: dict[str, Any] = {"change": change_word(event), "name": event.name}
        if isinstance(event, SessionRenamed):
            shape["old_name"] = event.old_name
        if not isinstance(event, SessionRemoved):
            shape["session"] = self.session(event.id)
        return shape

    async def receive(self) -> SessionsEntry | Lagged:
        """The next change; after `Lagged` list the sessions again.

        Raises:
            anyio.EndOfStream: when the server ends.
        """
        return await self._entries.receive()


class Captures:
    """Keyboards that one connection captured: kept while it lives, given back when it goes."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._held: set[tuple[SessionId, str]] = set()

    def note(self, session: str, owner: str) -> None:
        """The connection has captured this session's keyboard in this name."""
        self._held.add((self._services.registry.find(session).profile.id, owner))

    async def keep(self) -> None:
        """Renew the leases; what was released meanwhile stays released."""
        while True:
            await anyio.sleep(RENEW_S)
            for session, owner in self._sessions():
                session.keyboard.renew(owner)

    def release(self) -> None:
        for session, owner in self._sessions():
            session.keyboard.release(owner)
        self._held.clear()

    def _sessions(self) -> list[tuple[Session, str]]:
        found: list[tuple[Session, str]] = []
        for id_, owner in self._held:
            with suppress(SessionNotFound):
                found.append((self._services.registry.find(id_), owner))
        return found


@contextmanager
def captures_of(services: Services) -> Generator[Captures]:
    captures = Captures(services)
    try:
        yield captures
    finally:
        captures.release()


def _clamped(size: int) -> int:
    return max(1, min(size, MAX_SIZE))


def settle_size(services: Services, session: Session) -> None:
    """Bring a session to the size that its viewers ask for, if they ask for one."""
    wanted = session.viewers.wanted_size()
    if wanted is not None and not session.is_exited:
        services.registry.resize(session, cols=wanted.cols, rows=wanted.rows)


@contextmanager
def follow_session(
    call: Calling,
    services: Services,
    actor: Actor,
    name: str,
    *,
    kind: ViewerKind,
    size: tuple[int, int] | None,
) -> Generator[View]:
    """Look at a session until the block is left.

    Raises:
        ScopeMissing: if the actor may not.
        SessionNotFound: if there is none of this name.
        Exhausted: if too many look at it.
    """
    permit(actor, Scope.READ, session=name)
    session = services.registry.find(name)
    may_size = size is not None and SIZE_SCOPE in actor.scopes
    shown = Size(_clamped(size[0]), _clamped(size[1])) if size and may_size else None
    with (
        services.access.bounds["viewers"].taken(actor, session.profile.id),
        _looking(session, kind=kind, name=actor.name, size=shown) as viewer,
        session.log.subscribe() as entries,
    ):
        try:
            settle_size(services, session)
            yield View(call, services, actor, session=session, viewer=viewer, entries=entries)
        finally:
            session.viewers.remove(viewer)
            settle_size(services, session)


@contextmanager
def _looking(
    session: Session, *, kind: ViewerKind, name: str, size: Size | None
) -> Generator[Viewer]:
    """One more viewer, and an event for every subscriber."""
    viewer = session.viewers.add(kind=kind, name=name, size=size)
    try:
        session.log.append(ViewersChanged(viewers=len(session.viewers)))
        yield viewer
    finally:
        session.viewers.remove(viewer)
        session.log.append(ViewersChanged(viewers=len(session.viewers)))


@contextmanager
def watch_sessions(services: Services, actor: Actor) -> Generator[Watch]:
    """All sessions that the actor may see, until the block is left.

    Raises:
        ScopeMissing: if the actor may not read.
    """
    permit(actor, Scope.READ)
    with services.registry.log.subscribe() as entries:
        yield Watch(services, actor, entries)

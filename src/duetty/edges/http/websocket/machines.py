"""A hub's machines on one viewer's connection: their sessions, streams and questions beside those here.

Each machine's own `/ws/view` is followed, as this viewer. Streams keep the viewer's numbers. What a machine
names gets its own name before it: `laptop/build`, which every call understands. A machine is not trusted:
it speaks for streams that were opened there, and its lists are checked.
"""

from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

import anyio
from pydantic import BaseModel, ValidationError

from duetty.edges.http.websocket.frames import HEAD, parse_frame
from duetty.edges.http.websocket.messages import Open
from duetty.edges.http.websocket.socket import Socket, encoded, error_shape, parsed
from duetty.errors import DuettyError
from duetty.ops import Dispatcher, NodeSocket, Reachable
from duetty.wire.approval_shapes import ApprovalInfo, StandingInfo
from duetty.wire.results import SessionInfo

MAX_MACHINES = 256
"""Followed by one viewer; sessions of others are listed by `session.list`."""

MAX_LISTED = 2_000
"""Of one machine: sessions, questions, standing approvals."""

LOOK_S, AGAIN_S, SEND_S = 2.0, 0.5, 5.0
"""Between two looks at which machines there are; before one that ended is followed again; for it to take
what the viewer says."""

_OF_STREAM = frozenset({"opened", "size", "elements", "event", "gap", "thumb", "ended", "error"})

T = TypeVar("T", bound=BaseModel)
Changed = Callable[[str], Awaitable[None]]
"""Takes which list has changed: `sessions`, `approvals` or `standing`."""


@dataclass(eq=False, slots=True)
class _Machine:
    reached: Reachable
    there: NodeSocket | None = None
    sessions: dict[str, SessionInfo] = field(default_factory=dict[str, SessionInfo])
    """By id."""
    approvals: dict[str, ApprovalInfo] = field(default_factory=dict[str, ApprovalInfo])
    standing: list[StandingInfo] = field(default_factory=list[StandingInfo])
    opens: dict[int, dict[str, Any]] = field(default_factory=dict[int, dict[str, Any]])
    """What is open there, as it is asked for again when the machine comes back."""

    @property
    def key(self) -> tuple[str, str | None]:
        return _key(self.reached)

    async def say(self, message: str | bytes) -> None:
        """One that does not take it is followed anew."""
        there = self.there
        if there is None:
            return
        with anyio.move_on_after(SEND_S) as bound:
            try:
                await there.send(message)
            except anyio.EndOfStream:
                return
        if bound.cancelled_caught:
            there.drop()


def _key(reached: Reachable) -> tuple[str, str | None]:
    return reached.node.id, reached.actor.session_id


class Machines:
    def __init__(self, dispatcher: Dispatcher, socket: Socket, changed: Changed) -> None:
        self._dispatcher = dispatcher
        self._socket = socket
        self._changed = changed
        self._machines: dict[tuple[str, str | None], _Machine] = {}
        self._of_stream: dict[int, _Machine] = {}
        self._watched: set[str] = set()

    # --- what the viewer says -----------------------------------------------------

    async def watch(self, kind: str, *, on: bool) -> None:
        """`watch`: of every machine; `approvals`: of those where something is open."""
        first = kind == "watch" and kind not in self._watched
        (self._watched.add if on else self._watched.discard)(kind)
        for each in self._machines.values():
            await each.say(encoded({"type": kind, "on": on}))
        if on and first:
            self._socket.tasks.start_soon(self._look)

    async def open(self, wanted: Open) -> bool:
        """Whether the session is one of a machine, which then has been asked for it.

        Raises:
            DuettyError: if it is none that this viewer reaches.
        """
        actor = self._socket.actor
        await self._dispatcher.know(actor)
        found = self._dispatcher.elsewhere(actor, server=None, session=wanted.session)
        if found is None or not found[0].has_joined:
            return False
        reached = Reachable(node=found[0], actor=found[1])
        machine = self._machines.get(_key(reached)) or self._begin(reached)
        asked = {"type": "open", **wanted.model_dump(exclude_none=True)}
        asked["session"] = wanted.session.partition("/")[2] or wanted.session
        machine.opens[wanted.stream] = asked
        self._of_stream[wanted.stream] = machine
        await machine.say(encoded(asked))
        return True

    def has(self, stream: object) -> bool:
        return stream in self._of_stream

    @property
    def streams(self) -> int:
        return len(self._of_stream)

    async def pass_on(self, stream: int, message: str | bytes, fields: dict[str, Any]) -> None:
        """A viewer's message about a stream that is open at a machine."""
        machine = self._of_stream[stream]
        asked = machine.opens[stream]
        match fields.get("type"):
            case "ack":
                asked["offset"] = fields.get("offset")
            case "size":
                asked["size"] = {"cols": fields.get("cols"), "rows": fields.get("rows")}
            case "mode":
                asked["mode"] = fields.get("mode")
            case "close":
                self._forget(stream)
            case _:
                pass
        await machine.say(message)

    def _forget(self, stream: int) -> None:
        machine = self._of_stream.pop(stream, None)
        if machine is not None:
            machine.opens.pop(stream, None)

    # --- what there is --------------------------------------------------------------

    def sessions(self) -> list[dict[str, Any]]:
        """Those of machines that are away too, by the names that they had."""
        here = [
            self._session(each, info)
            for each in self._machines.values()
            for info in each.sessions.values()
        ]
        known = {each["id"] for each in here} | {each["name"] for each in here}
        away = [
            {**info.model_dump(mode="json"), "name": name}
            for info in self._dispatcher.away_sessions(self._socket.actor)
            if info.id not in known and (name := f"{info.server}/{info.name}") not in known
        ]
        return here + away

    def approvals(self) -> list[dict[str, Any]]:
        return [
            self._approval(each, info)
            for each in self._machines.values()
            for info in each.approvals.values()
            if info.state == "pending"
        ]

    def standing(self) -> list[dict[str, Any]]:
        return [
            {**info.model_dump(mode="json"), "id": f"{self._name(each)}/{info.id}"}
            for each in self._machines.values()
            for info in each.standing
        ]

    def _name(self, machine: _Machine) -> str:
        """Its hostname; its id where another one is called so."""
        names = Counter(
            {
                each.reached.node.id: each.reached.node.name for each in self._machines.values()
            }.values()
        )
        node = machine.reached.node
        return (
            node.name
            if names[node.name] == 1 and not self._dispatcher.is_this(node.name)
            else node.id
        )

    def _session(self, machine: _Machine, info: SessionInfo) -> dict[str, Any]:
        name = self._name(machine)
        return {**info.model_dump(mode="json"), "name": f"{name}/{info.name}", "server": name}

    def _approval(self, machine: _Machine, info: ApprovalInfo) -> dict[str, Any]:
        name = self._name(machine)
        shape = info.model_dump(mode="json")
        for part in ("id", "session", "standing"):
            if shape[part] is not None:
                shape[part] = f"{name}/{shape[part]}"
        return shape

    # --- following them ---------------------------------------------------------------

    async def _look(self) -> None:
        """Follow each machine as it comes, for as long as a list is watched."""
        away: set[str] = set()
        while "watch" in self._watched:
            actor = self._socket.actor
            await self._dispatcher.know(actor)
            before, away = away, {each.id for each in self._dispatcher.away_sessions(actor)}
            if away != before:
                await self._changed("sessions")
            for reached in self._dispatcher.machines(actor)[:MAX_MACHINES]:
                if _key(reached) not in self._machines:
                    self._begin(reached)
            with anyio.move_on_after(LOOK_S):
                await self._dispatcher.machines_changed()

    def _begin(self, reached: Reachable) -> _Machine:
        machine = self._machines[_key(reached)] = _Machine(reached)
        self._socket.tasks.start_soon(self._follow, machine)
        return machine

    async def _follow(self, machine: _Machine) -> None:
        while True:
            try:
                reached = machine.reached
                async with self._dispatcher.relayed_socket(
                    reached.actor, reached.node, "/ws/view"
                ) as there:
                    machine.there = there
                    for kind in self._watched:
                        await machine.say(encoded({"type": kind, "on": True}))
                    for asked in list(machine.opens.values()):
                        await machine.say(encoded(asked))
                    while True:
                        await self._take(machine, await there.receive())
            except (anyio.EndOfStream, DuettyError) as error:
                await self._lost(machine, error)
            await anyio.sleep(AGAIN_S)
            if not await self._is_back(machine):
                del self._machines[machine.key]
                return

    async def _lost(self, machine: _Machine, error: Exception) -> None:
        machine.there = None
        node = machine.reached.node
        why = (
            error
            if isinstance(error, DuettyError)
            else node.unavailable("the connection to it ended")
        )
        for stream in machine.opens:
            await self._tell_failed(stream, why)
        machine.sessions, machine.approvals, machine.standing = {}, {}, []
        for kind in ("sessions", "approvals", "standing"):
            await self._changed(kind)

    async def _tell_failed(self, stream: int, error: DuettyError) -> None:
        message = {"type": "error", "stream": stream, "error": error_shape(error)}
        await self._socket.send_json(message)

    async def _is_back(self, machine: _Machine) -> bool:
        """When it can be followed again; False where nothing is open there: a look finds it."""
        while machine.opens:
            actor = self._socket.actor
            await self._dispatcher.know(actor)
            for reached in self._dispatcher.machines(actor):
                if _key(reached) == machine.key:
                    machine.reached = reached
                    return True
            with anyio.move_on_after(LOOK_S):
                await self._dispatcher.machines_changed()
        return False

    # --- what a machine says ------------------------------------------------------------

    async def _take(self, machine: _Machine, message: str | bytes) -> None:
        if isinstance(message, bytes):
            frame = parse_frame(message[: HEAD.size])
            if frame is not None and self._of_stream.get(frame.stream) is machine:
                await self._socket.send(message)
            return
        try:
            fields = parsed(message)
            kind = fields.get("type")
            if kind in _OF_STREAM:
                await self._take_of_stream(machine, message, fields)
            elif kind in ("sessions", "session", "approvals", "approval", "standing"):
                await self._take_list(machine, kind, fields)
        except (DuettyError, ValidationError):
            return  # of a newer version, or none of ours

    async def _take_of_stream(
        self, machine: _Machine, message: str, fields: dict[str, Any]
    ) -> None:
        stream = fields.get("stream")
        if not isinstance(stream, int) or self._of_stream.get(stream) is not machine:
            return
        if fields["type"] == "opened":
            info = SessionInfo.model_validate(fields.get("session"))
            machine.opens[stream]["session"] = info.id  # it may be renamed while we look
            shape = self._session(machine, info)
            await self._socket.send_json({**fields, "session": shape})
            return
        if fields["type"] == "ended":
            self._forget(stream)
        await self._socket.send(message)

    async def _take_list(self, machine: _Machine, kind: str, fields: dict[str, Any]) -> None:
        match kind:
            case "sessions":
                listed = _listed(SessionInfo, fields.get("sessions"))
                machine.sessions = {each.id: each for each in listed}
            case "session":
                await self._take_change(machine, fields)
                return
            case "approvals":
                asked = _listed(ApprovalInfo, fields.get("approvals"))
                machine.approvals = {each.id: each for each in asked}
            case "approval":
                info = ApprovalInfo.model_validate(fields.get("approval"))
                machine.approvals.pop(info.id, None)
                if info.state == "pending" and len(machine.approvals) < MAX_LISTED:
                    machine.approvals[info.id] = info
                shape = self._approval(machine, info)
                await self._socket.send_json({"type": "approval", "approval": shape})
                return
            case _:
                machine.standing = _listed(StandingInfo, fields.get("standing"))
        await self._changed(kind)

    async def _take_change(self, machine: _Machine, fields: dict[str, Any]) -> None:
        """One session of the machine's list."""
        name, prefix = str(fields.get("name")), self._name(machine)
        message = {"type": "session", "change": fields.get("change"), "name": f"{prefix}/{name}"}
        if isinstance(fields.get("old_name"), str):
            message["old_name"] = f"{prefix}/{fields['old_name']}"
        given = fields.get("session")
        if given is not None:
            info = SessionInfo.model_validate(given)
            if len(machine.sessions) < MAX_LISTED or info.id in machine.sessions:
                machine.sessions[info.id] = info
            message["session"] = self._session(machine, info)
        elif fields.get("change") == "removed":
            for each in [each for each in machine.sessions.values() if each.name == name]:
                del machine.sessions[each.id]
        await self._socket.send_json(message)


def _listed(shape: type[T], given: object) -> list[T]:
    listed = cast("list[object]", given if isinstance(given, list) else [])
    return [shape.model_validate(each) for each in listed[:MAX_LISTED]]

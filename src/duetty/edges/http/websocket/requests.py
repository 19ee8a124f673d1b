"""Requests of the JSON WebSockets: read, called one at a time, answered by id."""

import secrets
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from typing import Any, cast

import anyio

from duetty.edges.http.websocket.methods import SUPERSEDING, find_method, is_of_session
from duetty.edges.http.websocket.socket import Socket, error_shape, outcome, parsed
from duetty.errors import BadArguments, Conflict, DuettyError, Exhausted
from duetty.ops import Captures, Dispatcher, UnknownOperation

MAX_WAITS = 32
"""Waits of one connection that are under way; everything else is done one at a time."""

SETTLE_S = 5.0
"""How long an ending connection stays for answers that are under way."""

HELD_S = 1.0
"""A call that takes longer, because a person is asked first, does not hold up the next ones."""


class SessionRequired(BadArguments):
    """The method is about a session, and none was named."""

    code = "session_required"


class IdleSuperseded(Conflict):
    """The same connection has begun another wait."""

    code = "idle_superseded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    id: Any
    method: str
    params: dict[str, Any]
    session: str | None

    def answer(self, **outcome: Any) -> dict[str, Any]:
        named = {} if self.id is None else {"id": self.id}
        of_session = {} if self.session is None else {"session": self.session}
        return {**named, "method": self.method, **of_session, **outcome}


Subscribe = Callable[[Request], Awaitable[None]]


class Requests:
    """What one connection asks for; `session` is the one it is about, if it is about one."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        socket: Socket,
        captures: Captures | None,
        *,
        session: Callable[[], str] | None,
        also: Callable[[], Collection[str]] = tuple,
        subscribe: Subscribe,
        server: str | None = None,
    ) -> None:
        """`also` are further names of that session, such as its id. `captures` are those of this connection; None where another node keeps them, `server`:
        then `subscribe` is given whatever belongs to the connection.
        """
        self._dispatcher = dispatcher
        self._socket = socket
        self._captures = captures
        self._session = session
        self._also = also
        self._subscribe = subscribe
        self._server = server
        self._owner = f"ws-{secrets.token_hex(4)}"
        self._waits = 0
        self._short = 0
        """Answers under way to requests without a wait."""

        self._settled = anyio.Event()
        self._idle: dict[str, anyio.CancelScope] = {}

    async def run(self) -> None:
        """Until the peer goes."""
        while (message := await self._socket.receive()) is not None:
            if isinstance(message, bytes):
                continue  # as published: they mean nothing here
            await self._take(message)

    async def settle(self) -> None:
        """Wait until every request is answered, before the connection ends: a call
        that removes the session is one of its own. Waits are not waited for.
        """
        with anyio.move_on_after(SETTLE_S):
            while self._short:
                self._settled = anyio.Event()
                await self._settled.wait()

    async def _take(self, text: str) -> None:
        try:
            fields = parsed(text)
            method = fields.get("method")
            if not isinstance(method, str):
                raise BadArguments("method: a name is missing")
        except DuettyError as error:
            await self._socket.send_json({"error": error_shape(error)})
            return
        request = Request(id=fields.get("id"), method=method, params={}, session=None)
        try:
            request = _parse(method, fields)
            await self._do(request)
        except DuettyError as error:
            await self._socket.send_json(request.answer(error=error_shape(error)))

    async def _do(self, request: Request) -> None:
        if request.method == "subscribe":
            self._check_session(request.session, request.params.get("session"))
            await self._subscribe(request)
            return
        found = find_method(request.method)
        if found is None or (self._session and "session" not in found[1].params.model_fields):
            raise UnknownOperation(
                f"no method {request.method[:60]!r}", hint="see docs/websocket.md for the methods"
            )
        named = found[0].arguments(request.params)
        if "session" in found[1].params.model_fields:
            self._check_session(request.session, named.get("session"))
        if self._captures is None and found[0].operation == "input.capture":
            await self._subscribe(request)
            return
        if self._waits >= MAX_WAITS:
            raise Exhausted(f"{MAX_WAITS} waits are under way on this connection")
        is_short = not found[1].waits
        self._waits += 1
        self._short += is_short
        done = anyio.Event()
        self._socket.tasks.start_soon(self._answer, request, done, is_short)
        if is_short:
            with anyio.move_on_after(HELD_S):
                await done.wait()

    def _check_session(self, *named: object) -> None:
        """A session that is named is the one that is meant: of two names one would be ignored.

        Raises:
            BadArguments: if another is named than the one this connection, or this request, is about.
        """
        names = {
            name for name in named if isinstance(name, str)
        }  # another kind: the operation says
        if self._session is None:
            if len(names) > 1:
                raise BadArguments("session: the request names two")
        elif not names <= {self._session(), *self._also()}:
            raise BadArguments(
                "session: this connection is about another one",
                hint="leave it out, or use /ws/json",
            )

    async def _answer(self, request: Request, done: anyio.Event, is_short: bool) -> None:
        try:
            is_idle = request.method in SUPERSEDING
            call = self._idle_result(request) if is_idle else self._result(request)
            reply = await self._socket.timed(outcome(call))
            await self._socket.send_json(request.answer(**reply))
        finally:
            self._waits -= 1
            self._short -= is_short
            self._settled.set()
            done.set()

    async def _idle_result(self, request: Request) -> Any:
        place = request.session or ""
        if (earlier := self._idle.get(place)) is not None:
            earlier.cancel()
        with anyio.CancelScope() as scope:
            self._idle[place] = scope
            try:
                return await self._result(request)
            finally:
                if self._idle.get(place) is scope:
                    del self._idle[place]
        raise IdleSuperseded("another await_idle of this connection took its place")

    async def _result(self, request: Request) -> Any:
        found = find_method(request.method)
        assert found is not None
        method, operation = found
        arguments = method.arguments(request.params)
        name = method.operation
        session = self._session() if self._session else request.session
        if session is not None and "session" in operation.params.model_fields:
            if not isinstance(arguments.get("session"), str | None):
                raise BadArguments("session: a name")
            arguments["session"] = session
        if is_of_session(operation) and "session" not in arguments:
            raise SessionRequired(
                f"{request.method} is about a session", hint='name it: "session": "…"'
            )
        if request.method == "set_server_mode" and not isinstance(
            arguments.get("persistent"), bool
        ):
            name, arguments = "server.persistent", {}
        if name == "input.capture":
            arguments.setdefault("owner", self._owner)
        if self._server is not None:
            arguments["server"] = self._server
        result = await self._dispatcher.call(self._socket.actor, name, arguments)
        if name == "input.capture" and self._captures is not None:
            self._captures.note(arguments["session"], arguments["owner"])
        return {} if method.empty else result


def _parse(method: str, fields: dict[str, Any]) -> Request:
    params, session = fields.get("params"), fields.get("session")
    if session is not None and not isinstance(session, str):
        raise BadArguments("session: a name")
    if params is not None and not isinstance(params, dict):
        raise BadArguments("params: an object")
    given = cast("dict[str, Any]", params or {})
    return Request(id=fields.get("id"), method=method, params=given, session=session)

"""A node's own side: it dials a hub, proves who it is, and serves what the hub sends.

From behind any router, since it is this side that connects. After a pause with jitter again,
for as long as the server runs.
"""

import json
import logging
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, cast

import anyio
import anyio.abc
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import (
    ConnectionClosed,
    InvalidHandshake,
    InvalidStatus,
    InvalidURI,
    WebSocketException,
)

from duetty.clock import Clock
from duetty.errors import BadArguments, ServerUnavailable, StateUnwritable
from duetty.hub.addresses import Address, parse_address
from duetty.hub.dial import dialled
from duetty.hub.identity import NodeKey
from duetty.hub.joined_node import HELLO_S, no_common, unpacked
from duetty.hub.network import Network
from duetty.hub.nodes import DRAINING, REPLACED
from duetty.hub.streams import PROTOCOLS, Frame, LinkBroken, Stream, Streams, common_protocol
from duetty.private_file import read_private, write_private

log = logging.getLogger("duetty.join")

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 30.0
AT_ONCE_S = 0.05
"""When the hub itself says that it ends."""

STEADY_S = 10.0
"""A connection that held so long was a good one: the next pause is short again."""

AWAY_S = 300.0
"""For one whose place was taken: two machines with one key do not fight for it."""

JOIN_S = 15.0
"""For a hub that a person names: until it has taken this machine, or not."""

LEAVE_S = 1.0
"""For the hub to hear that this machine leaves on purpose."""

ANNOUNCE_S = 0.05
"""The shortest time between two announcements of a changed list of sessions."""

Serve = Callable[["Opening"], Awaitable[None]]
Sessions = Callable[[], Sequence[tuple[str, str]]]


class Opening:
    """A request of the hub, for who serves it."""

    def __init__(self, stream: Stream, head: Mapping[str, Any], body: bytes, *, end: bool) -> None:
        self.stream = stream
        self.head = head
        self.body = body
        self.is_whole = end
        """Whether `body` is all of it."""

        self.is_late = False
        """It took longer to come than its caller waits: it must not run."""


class Joining:
    """The link to one hub."""

    def __init__(
        self,
        address: Address,
        *,
        token: str,
        key: NodeKey,
        hostname: str,
        version: str,
        network: Network,
        clock: Clock,
        serve: Serve,
        sessions: Sessions,
    ) -> None:
        self.address = address
        self.state: Literal["connecting", "joined", "unavailable"] = "connecting"
        self.reason: str | None = None
        self.user: str | None = None
        self._token = token
        self._key = key
        self._hostname = hostname
        self._version = version
        self._network = network
        self._clock = clock
        self._serve = serve
        self._sessions = sessions
        self._changed = anyio.Event()
        self.is_leaving = False
        """Whether a person ended this: the hub hears of it, and does not list this machine as away."""
        self.tried = anyio.Event()
        """Set when the first attempt has joined, or failed."""

        self._epoch = 0
        """Of the last connection: the hub closes older ones, wherever they are."""

    def sessions_changed(self) -> None:
        self._changed.set()

    async def keep(self) -> None:
        """Until cancelled: join, serve, and after a pause again."""
        pause_s = FIRST_PAUSE_S
        while True:
            began_s = self._clock.monotonic_s()
            away = at_once = False
            try:
                await self._once()
                self._is_away("the hub closed the connection")
            except _Restarting:
                self._is_away(DRAINING.reason)
                at_once = True
            except _Replaced:
                self._is_away(REPLACED.reason)
                away = True
            except (ServerUnavailable, BadArguments) as error:
                self._is_away(error.message)
            if self._clock.monotonic_s() - began_s > STEADY_S:
                pause_s = FIRST_PAUSE_S
            # Many nodes of one hub do not come back in the same moment.
            jitter = random.uniform(0.5, 1.5)  # noqa: S311 - no secret
            await anyio.sleep(
                AWAY_S if away else AT_ONCE_S * jitter if at_once else pause_s * jitter
            )
            pause_s = min(pause_s * 2, LONGEST_PAUSE_S)

    def _is_away(self, reason: str) -> None:
        self.state, self.reason = "unavailable", reason
        self.tried.set()
        log.warning("hub_left", extra={"hub": str(self.address), "reason": reason})

    async def _once(self) -> None:
        headers = {"Authorization": f"Bearer {self._token}"}
        try:
            ip = await self._network.resolved(self.address)
            async with dialled(self.address, headers, self._network, ip, "/ws/node") as socket:
                await self._hello(socket)
                await self._converse(socket)
        except InvalidStatus as error:
            raise ServerUnavailable(_refusal(error)) from error
        except ConnectionClosed as error:
            if error.rcvd is not None and error.rcvd.code == REPLACED.code:
                raise _Replaced from error
            if error.rcvd is not None and error.rcvd.code == DRAINING.code:
                raise _Restarting from error
            reason = "" if error.rcvd is None else error.rcvd.reason
            raise ServerUnavailable(reason or "the connection to the hub broke") from error
        except LinkBroken as error:
            raise ServerUnavailable(f"the hub does not keep to the protocol: {error}") from error
        except (OSError, TimeoutError, InvalidHandshake, InvalidURI, WebSocketException) as error:
            raise ServerUnavailable("the hub does not take connections") from error

    async def _hello(self, socket: ClientConnection) -> None:
        """Raises:
        ServerUnavailable: if the hub does not take us.
        """
        challenge = await _received(socket)
        if common_protocol(PROTOCOLS, challenge.get("protocols")) is None:
            raise ServerUnavailable(no_common(challenge.get("protocols"), PROTOCOLS))
        self._changed = anyio.Event()
        hello = {
            "node": self._key.public,
            "signature": self._key.sign(str(challenge.get("challenge"))),
            "protocols": PROTOCOLS,
            "hostname": self._hostname,
            "version": self._version,
            "sessions": self._sessions(),
            "epoch": self._epoch,
        }
        await socket.send(json.dumps(hello))
        answer = await _received(socket)
        if "welcome" not in answer:
            refused = answer.get("refused")
            message = refused.get("message") if isinstance(refused, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - JSON
            raise ServerUnavailable(f"the hub refuses this machine: {message or 'no reason given'}")
        welcome = cast("dict[str, Any]", answer["welcome"])
        self.user = str(welcome.get("user") or "") or None
        epoch = welcome.get("epoch")
        self._epoch = epoch if isinstance(epoch, int) else 0
        self.state, self.reason = "joined", None
        self.tried.set()
        log.info("hub_joined", extra={"hub": str(self.address), "user": self.user})

    async def _converse(self, socket: ClientConnection) -> None:
        failed: list[Exception] = []
        async with anyio.create_task_group() as tasks:
            late = _Lateness(self._clock)

            def opened(stream: Stream, frame: Frame) -> None:
                head, body = unpacked(frame.payload)
                opening = Opening(stream, head, body, end=frame.end)
                opening.is_late = late.is_late(head)
                tasks.start_soon(self._answer, opening)

            streams = Streams(socket.send, opened=opened)
            tasks.start_soon(self._announce, socket)
            try:
                while True:
                    message = await socket.recv()
                    if isinstance(message, bytes):
                        streams.take(message)
            except (ConnectionClosed, LinkBroken) as error:  # a task group would wrap it
                failed.append(error)
            except anyio.get_cancelled_exc_class():
                if self.is_leaving:
                    with anyio.move_on_after(LEAVE_S, shield=True), suppress(ConnectionClosed):
                        await socket.send(json.dumps({"leaving": True}))
                raise
            finally:
                streams.end("the connection to the hub broke")
            tasks.cancel_scope.cancel()
        raise failed[0]

    async def _answer(self, opening: Opening) -> None:
        try:
            with suppress(ServerUnavailable, anyio.EndOfStream):  # the hub wants no more of it
                await self._serve(opening)
        except Exception:
            # One bad request must not cost the others the link.
            log.exception("hub_request_crashed")
        finally:
            with suppress(ConnectionClosed):
                await opening.stream.close()

    async def _announce(self, socket: ClientConnection) -> None:
        with suppress(ConnectionClosed):
            while True:
                await self._changed.wait()
                self._changed = anyio.Event()
                await socket.send(json.dumps({"sessions": self._sessions()}))
                await anyio.sleep(ANNOUNCE_S)


class Membership:
    """The hub that this server joined, if it did; remembered over a restart."""

    def __init__(
        self,
        *,
        file: Path,
        tasks: anyio.abc.TaskGroup,
        link: Callable[[Address, str], Joining],
    ) -> None:
        self._file = file
        self._tasks = tasks
        self._link = link
        self._scope: anyio.CancelScope | None = None
        self.joining: Joining | None = None

    async def join(self, address: Address, token: str) -> None:
        """Joined when this returns. When it does not come to that, nothing has changed.

        Raises:
            ServerUnavailable: if the hub cannot be joined.
            StateUnwritable: if it cannot be remembered.
        """
        joining, scope = self._begin(address, token)
        try:
            with anyio.move_on_after(JOIN_S):
                await joining.tried.wait()
            if joining.state != "joined":
                raise ServerUnavailable(
                    f"not joined: {joining.reason or 'the hub has not answered'}",
                    hint="nothing has changed; are the address and the token those of the hub?",
                )
            self._save({"hub": str(address), "token": token})
        except BaseException:
            scope.cancel()
            raise
        self._use(joining, scope)

    def leave(self) -> bool:
        """Whether there was a hub to leave."""
        self._file.unlink(missing_ok=True)
        if self._scope is None or self.joining is None:
            return False
        self.joining.is_leaving = True
        self._scope.cancel()
        self._scope = self.joining = None
        return True

    def restore(self, default: str = "", token: str = "") -> None:
        """Join what was joined before, or what the settings say."""
        was_there = self._file.exists()
        kept = read_private(self._file, _joined)
        if kept is None and (was_there or not default or not token):
            return
        try:
            address, token = kept or (parse_address(default), token)
            if default and str(parse_address(default)) != str(address):
                log.warning("hub_of_settings_differs", extra={"hub": default})
        except BadArguments as error:
            log.warning("hub_of_settings_unusable", extra={"reason": str(error)})
            return
        self._use(*self._begin(address, token))

    def _begin(self, address: Address, token: str) -> tuple[Joining, anyio.CancelScope]:
        joining, scope = self._link(address, token), anyio.CancelScope()

        async def keep() -> None:
            with scope:
                await joining.keep()

        self._tasks.start_soon(keep)
        return joining, scope

    def _use(self, joining: Joining, scope: anyio.CancelScope) -> None:
        if self._scope is not None:
            self._scope.cancel()
        self.joining, self._scope = joining, scope

    def sessions_changed(self) -> None:
        if self.joining is not None:
            self.joining.sessions_changed()

    def _save(self, kept: Mapping[str, object]) -> None:
        try:
            write_private(self._file, kept)
        except OSError as error:
            raise StateUnwritable(f"cannot write {self._file}: {error.strerror}") from error


def _joined(kept: Any) -> tuple[Address, str]:
    try:
        return parse_address(kept["hub"]), str(kept["token"])
    except BadArguments as error:
        raise ValueError(error.message) from error


class _Replaced(Exception):
    pass


class _Restarting(Exception):
    """The hub ends, and another process of it may be there already."""


class _Lateness:
    """Finds requests that lay somewhere for longer than their callers wait.

    The two clocks agree on nothing but how fast they run, so the quickest message so far says
    how far they are apart.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._quickest_ms: float | None = None

    def is_late(self, head: Mapping[str, Any]) -> bool:
        sent, left = head.get("sent_ms"), head.get("left_ms")
        if not isinstance(sent, int) or not isinstance(left, int):
            return False
        took_ms = self._clock.monotonic_s() * 1000 - sent
        if self._quickest_ms is None or took_ms < self._quickest_ms:
            self._quickest_ms = took_ms
        return took_ms - self._quickest_ms >= left


async def _received(socket: ClientConnection) -> dict[str, Any]:
    message: str | bytes = ""
    with anyio.move_on_after(HELLO_S):
        message = await socket.recv()
    try:
        parsed = json.loads(message)
    except (ValueError, RecursionError) as error:
        raise ServerUnavailable("the hub does not answer as one") from error
    return cast("dict[str, Any]", parsed) if isinstance(parsed, dict) else {}


def _refusal(error: InvalidStatus) -> str:
    status = error.response.status_code
    try:
        fields = json.loads(error.response.body or b"")["error"]
        return f"the hub refuses this machine ({status}): {str(fields['message'])[:300]}"
    except (ValueError, KeyError, TypeError, RecursionError):
        return f"the hub refuses this machine ({status})"

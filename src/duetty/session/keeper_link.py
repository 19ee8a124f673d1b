"""The session package's line to the keeper: its callbacks as awaitables on our loop."""

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from signal import Signals
from typing import Literal

import anyio

from duetty.blocks import Probe
from duetty.errors import DuettyError, KeeperUnavailable
from duetty.keeper.client import (
    Exited,
    KeeperClient,
    KeptSession,
    Opened,
    OpenOrder,
    Reply,
    parse_kept,
    parse_opened,
    parse_probe,
    start_keeper,
)
from duetty.keeper.wire import Message
from duetty.session.pump import Watch, WritableWatch

ANSWER_S = 20.0
"""The keeper answers in a millisecond; opening a session waits for the child's exec."""

Whom = Literal["foreground", "process", "group", "all"]


class Keeping:
    """One connection to the keeper; starts one when there is none."""

    def __init__(self, socket: Path, log: Path) -> None:
        self._socket = socket
        self._log = log
        self._client: KeeperClient | None = None
        self._watch: Watch | None = None
        self._writable = WritableWatch()
        self._on_exited: Callable[[Exited], None] = lambda _: None
        self._on_lost: Callable[[KeeperUnavailable], None] = lambda _: None

    def listen(
        self,
        *,
        exited: Callable[[Exited], None],
        lost: Callable[[KeeperUnavailable], None],
    ) -> None:
        """Call these when a child ends, and when the keeper itself is gone."""
        self._on_exited, self._on_lost = exited, lost

    @property
    def keeper_pid(self) -> int | None:
        return self._client.keeper_pid if self._client else None

    def connect(self) -> tuple[KeptSession, ...]:
        """Connect to the keeper, or to a new one; what it keeps.

        Blocks for some milliseconds: for start-up, and after a keeper was killed.

        Raises:
            InstanceBusy: if another server has it.
            KeeperUnavailable: if none can be started.
        """
        try:
            client = KeeperClient.connect(self._socket)
        except KeeperUnavailable:
            start_keeper(self._socket, self._log)
            client = KeeperClient.connect(self._socket)
        client.listen(
            exited=lambda exited: self._on_exited(exited), lost=self._lost, backlog=self._backlog
        )
        self._client = client
        self._watch = Watch(client.fileno(), client.on_readable)
        return client.sessions

    def close(self) -> None:
        """Leave; the keeper keeps everything."""
        self._unwatch()
        if self._client is not None:
            self._client.close()
            self._client = None

    async def open(self, order: OpenOrder) -> Opened:
        return parse_opened(await self._ask("open", order.fields()))

    async def adopt(self, session: str) -> Opened:
        return parse_opened(await self._ask("adopt", {"session": session}))

    async def take(self, session: str, *, pid: int, tty: str, master: int) -> KeptSession:
        """Give a master to a keeper that did not fork its child."""
        arguments: Message = {"session": session, "pid": pid, "tty": tty}
        reply = await self._ask("take", arguments, fds=[master])
        return parse_kept(reply)

    async def forget(self, session: str) -> None:
        await self._ask("forget", {"session": session})

    async def signal(self, session: str, signal: Signals, whom: Whom) -> None:
        await self._ask("signal", {"session": session, "signal": int(signal), "whom": whom})

    async def probe(self, session: str, *, pid: int, echo: bool, canonical: bool) -> Probe:
        """What the kernel says; unknown when the keeper cannot be asked."""
        try:
            found = parse_probe(await self._ask("probe", {"session": session}))
        except DuettyError:
            return Probe(known=False, echo=echo, canonical=canonical)
        return Probe(
            known=found.known,
            reading=found.reader is not None,
            by_shell=found.reader is not None and found.reader.pid == pid,
            reader=None if found.reader is None else found.reader.pid,
            echo=echo,
            canonical=canonical,
        )

    async def stop(self, *, grace_s: float) -> None:
        """End every child and the keeper itself, which may go before it has answered."""
        with suppress(KeeperUnavailable):
            await self._ask("stop", {"grace_s": grace_s})

    async def _ask(self, op: str, arguments: Message, *, fds: Sequence[int] = ()) -> Reply:
        if self._client is None:
            raise KeeperUnavailable("there is no keeper", hint="the server starts a new one")
        arrived = anyio.Event()
        outcomes: list[Reply | DuettyError] = []
        abandoned = False

        def on_reply(outcome: Reply | DuettyError) -> None:
            if abandoned and isinstance(outcome, Reply):
                for fd in outcome.fds:
                    os.close(fd)
            outcomes.append(outcome)
            arrived.set()

        self._client.request(op, arguments, on_reply=on_reply, fds=fds)
        try:
            with anyio.fail_after(ANSWER_S):
                await arrived.wait()
        except TimeoutError:
            abandoned = True
            raise KeeperUnavailable(f"the keeper did not answer {op!r}") from None
        except BaseException:
            abandoned = True
            raise
        outcome = outcomes[0]
        if isinstance(outcome, DuettyError):
            raise outcome
        return outcome

    def _lost(self, error: KeeperUnavailable) -> None:
        self._unwatch()
        self._client = None
        self._on_lost(error)

    def _backlog(self, waits: bool) -> None:
        if self._client is not None:
            self._writable.set(self._client.fileno() if waits else -1, self._client.on_writable)

    def _unwatch(self) -> None:
        if self._watch is not None:
            self._watch.stop()
            self._watch = None
        self._writable.set(-1, lambda: None)

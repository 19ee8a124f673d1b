"""The connection to the server: lost and found again, going on from the same byte."""

import select
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from duetty.cli.attach.approval_prompt import Answer
from duetty.client.client import RemoteError
from duetty.client.hub_address import HubAddress
from duetty.client.view_protocol import Message, Viewing
from duetty.errors import ServerUnreachable

RETRY_S, MAX_RETRY_S = 0.05, 1.0
ACKNOWLEDGE_BYTES = 2_048
"""Less is not worth a message: the server's windows are larger by far."""

MAX_UNSENT_BYTES = 1 << 20
"""Keys and pastes that the server has not taken; beyond it the keyboard waits."""


class Link:
    """One viewer's connection. While it is lost, what is sent is dropped."""

    def __init__(
        self,
        socket_path: Path | HubAddress,
        *,
        scrollback_rows: int,
        read_only: bool,
    ) -> None:
        self._path = socket_path
        self._scrollback_rows = scrollback_rows
        self._read_only = read_only
        self._viewing: Viewing | None = None
        self._acknowledged = 0
        self._lost_s = 0.0
        self._wait_s = RETRY_S
        self.retry_at_s = 0.0

    @property
    def is_up(self) -> bool:
        return self._viewing is not None

    @property
    def takes_input(self) -> bool:
        """Whether more keys may be read; while the link is lost they are read and dropped."""
        return self._viewing is None or self._viewing.unsent_bytes < MAX_UNSENT_BYTES

    def connect(self, session: str, *, cols: int, rows: int, offset: int | None) -> None:
        """Raises:
        ServerUnreachable: if no server answers.
        RemoteError: if it refuses.
        """
        viewing = Viewing.connect(self._path)
        viewing.open(
            session,
            cols=cols,
            rows=rows,
            offset=offset,
            scrollback_rows=self._scrollback_rows,
            read_only=self._read_only,
        )
        self._viewing = viewing
        self._acknowledged = offset or 0

    def retry(
        self, now_s: float, session: str, *, cols: int, rows: int, offset: int | None
    ) -> bool:
        """Whether the server is back; if not, when to try again is in `retry_at_s`."""
        try:
            self.connect(session, cols=cols, rows=rows, offset=offset)
        except (ServerUnreachable, RemoteError):
            self._wait_s = min(2 * self._wait_s, MAX_RETRY_S)
            self.retry_at_s = now_s + self._wait_s
            return False
        return True

    def lost_for_s(self, now_s: float) -> float:
        return now_s - self._lost_s

    @property
    def interest(self) -> tuple[int, int] | None:
        """The descriptor to poll, and for what; None while the link is lost."""
        if self._viewing is None:
            return None
        wanted = select.POLLIN | (select.POLLOUT if self._viewing.has_unsent else 0)
        return self._viewing.fileno(), wanted

    def register(self, poll: select.poll) -> None:
        if (interest := self.interest) is not None:
            poll.register(*interest)

    def is_ready(self, ready: set[int]) -> bool:
        return self._viewing is not None and self._viewing.fileno() in ready

    def receive(self) -> Iterator[Message]:
        """What has come, up to the loss of the link if that is the end of it."""
        if self._viewing is None:
            return
        try:
            self._viewing.flush()
            messages = self._viewing.receive()
        except ServerUnreachable:
            self._lose()
            return
        yield from messages

    def acknowledge(self, offset: int) -> None:
        if self._viewing is None or abs(offset - self._acknowledged) < ACKNOWLEDGE_BYTES:
            return
        self._acknowledged = offset
        try:
            self._viewing.acknowledge(offset)
        except ServerUnreachable:
            self._lose()

    def type(self, typed: bytes) -> None:
        """Keys for a program that may be gone are no use later: without a server they are dropped."""
        if self._viewing is None or self._read_only:
            return
        try:
            self._viewing.type(typed)
        except ServerUnreachable:
            self._lose()

    def resize(self, *, cols: int, rows: int) -> None:
        if self._viewing is None or self._read_only:
            return
        try:
            self._viewing.resize(cols=cols, rows=rows)
        except ServerUnreachable:
            self._lose()

    def hold(self) -> None:
        """Set the size for every viewer; each time the session is open again."""
        if self._viewing is None:
            return
        try:
            self._viewing.hold()
        except ServerUnreachable:
            self._lose()

    def follow_approvals(self) -> None:
        """Each time the session is open again."""
        if self._viewing is None:
            return
        try:
            self._viewing.follow_approvals()
        except ServerUnreachable:
            self._lose()

    def answer(self, answer: Answer) -> None:
        if self._viewing is None:
            return
        try:
            self._viewing.answer(
                answer.approval, granted=answer.granted, covers=answer.covers, rule=answer.rule
            )
        except ServerUnreachable:
            self._lose()

    def _lose(self) -> None:
        self.close()
        self._lost_s = time.monotonic()
        self._wait_s = RETRY_S
        self.retry_at_s = self._lost_s + RETRY_S

    def close(self) -> None:
        viewing, self._viewing = self._viewing, None
        if viewing is not None:
            with suppress(ServerUnreachable):
                viewing.close()

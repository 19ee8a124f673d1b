"""The viewing protocol as a viewer speaks it (docs/viewing.md): values in, values out."""

import json
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from duetty.client.hub_address import HubAddress
from duetty.client.websocket import ConnectionLost, WebSocket

_HEAD = struct.Struct(">BIQ")
_OUTPUT, _SNAPSHOT, _INPUT = 1, 2, 3

STREAM = 1
"""One connection views one session here, so one number is enough."""

PATH = "/ws/view"


@dataclass(frozen=True, slots=True)
class Output:
    """Bytes the program printed; `offset` is that of the first."""

    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The terminal's state as VT bytes; `offset` is that of the next byte of output."""

    offset: int
    data: bytes


JsonMessage = dict[str, Any]
"""A JSON message: `type` says which."""

Message = Output | Snapshot | JsonMessage


class Viewing:
    """One connection of a viewer.

    Raises:
        ConnectionLost: from every method, once the server is gone.
    """

    def __init__(self, socket_: WebSocket) -> None:
        self._socket = socket_

    @classmethod
    def connect(cls, socket_path: Path | HubAddress) -> "Viewing":
        return cls(WebSocket.connect(socket_path, PATH))

    def fileno(self) -> int:
        return self._socket.fileno()

    @property
    def has_unsent(self) -> bool:
        return self._socket.has_unsent

    @property
    def unsent_bytes(self) -> int:
        return self._socket.unsent_bytes

    def flush(self) -> None:
        self._socket.flush()

    def close(self) -> None:
        self._socket.close()

    def receive(self) -> list[Message]:
        return [parsed for message in self._socket.receive() if (parsed := _parse(message))]

    def send(self, type_: str, **fields: object) -> None:
        given = {key: value for key, value in fields.items() if value is not None}
        self._socket.send(json.dumps({"type": type_, **given}))

    def open(
        self,
        session: str,
        *,
        cols: int,
        rows: int,
        offset: int | None = None,
        scrollback_rows: int = 1000,
        read_only: bool = False,
    ) -> None:
        # Who only looks takes no part in the size rule.
        self.send(
            "open",
            stream=STREAM,
            session=session,
            offset=offset,
            mode="stream",
            size=None if read_only else {"cols": cols, "rows": rows},
            scrollback_rows=scrollback_rows,
            role="attach",
        )

    def acknowledge(self, offset: int) -> None:
        self.send("ack", stream=STREAM, offset=offset)

    def resize(self, *, cols: int, rows: int) -> None:
        self.send("size", stream=STREAM, cols=cols, rows=rows)

    def hold(self) -> None:
        """Set the size for every viewer, until this one goes."""
        self.send("hold", stream=STREAM, on=True)

    def follow_approvals(self) -> None:
        """Follow what waits for a person's answer, and of each question from then on."""
        self.send("approvals", on=True)

    def answer(
        self, approval: str, *, granted: bool, covers: str = "once", rule: str | None = None
    ) -> None:
        word = "approve" if granted else "decline"
        arguments: dict[str, object] = {"approval": approval, "via": "attach"}
        if granted:
            arguments |= {"covers": covers, "rule": rule}
        self.send("call", id=approval, operation=f"approval.{word}", arguments=arguments)

    def type(self, typed: bytes) -> None:
        """What a person typed here."""
        self._socket.send(_HEAD.pack(_INPUT, STREAM, 0) + typed)


def _parse(message: str | bytes) -> Message | None:
    """None for what a later version of the server may say."""
    if isinstance(message, bytes):
        if len(message) < _HEAD.size:
            raise ConnectionLost("the server sent a frame without a head")
        kind, _, offset = _HEAD.unpack_from(message)
        if kind == _OUTPUT:
            return Output(offset, message[_HEAD.size :])
        return Snapshot(offset, message[_HEAD.size :]) if kind == _SNAPSHOT else None
    try:
        parsed: object = json.loads(message)
    except ValueError as error:
        raise ConnectionLost("the server sent something that is not JSON") from error
    return cast("JsonMessage", parsed) if isinstance(parsed, dict) and "type" in parsed else None

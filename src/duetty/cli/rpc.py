"""JSON-RPC as far as the bridge knows it: lines, ids, and messages that come as an array."""

import json
from typing import NamedTuple

BATCHING = ("2024-11-05", "2025-03-26")
"""Revisions in which a message may be an array of messages. For all others it is none."""

MAX_BATCH = 100


class MessageFacts(NamedTuple):
    """What the bridge has to know of a message."""

    method: str | None = None
    key: str | None = None
    """The id as JSON, so that 1 and "1" are two."""

    cancels: str | None = None
    uri: str | None = None
    """Of a resource that is subscribed to, or no longer."""

    version: str | None = None
    """The revision of the protocol that the answer to a handshake names."""


class Batch:
    """An array of messages on its way: whose answers are missing, and those that came."""

    def __init__(self) -> None:
        self.waiting: set[str] = set()
        self.answers: list[bytes] = []


def parts_of(line: bytes) -> list[bytes]:
    """The messages of an array; nothing, where it is none that may be taken apart."""
    if not line.lstrip().startswith(b"["):
        return []
    try:
        parsed: list[object] = json.loads(line)
    except (ValueError, RecursionError):
        return []
    parts = [json.dumps(part).encode() for part in parsed[: MAX_BATCH + 1]]
    # A handshake stands alone: the server would get the others before it is over.
    is_fit = len(parts) <= MAX_BATCH and not any(
        look_at(each).method == "initialize" for each in parts
    )
    return parts if is_fit else []


def error_line(key: str | None, code: int, message: str) -> bytes:
    request_id: object = json.loads(key) if key is not None else None
    error = {"code": code, "message": message}
    return json.dumps({"jsonrpc": "2.0", "id": request_id, "error": error}).encode()


class Lines:
    """Bytes in, whole lines out; None stands for a line that was too long."""

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._rest = bytearray()
        self._skipping = False

    def feed(self, chunk: bytes) -> list[bytes | None]:
        *ended, rest = chunk.split(b"\n")
        lines: list[bytes | None] = []
        for part in ended:
            line = bytes(self._rest + part)
            lines.append(None if self._skipping or self._exceeds(len(line)) else line)
            self._rest.clear()
            self._skipping = False
        if self._skipping or self._exceeds(len(self._rest) + len(rest)):
            self._rest.clear()
            self._skipping = True
        else:
            self._rest += rest
        return lines

    def _exceeds(self, size: int) -> bool:
        return self._limit is not None and size > self._limit


def look_at(line: bytes) -> MessageFacts:
    """What matters of a message; nothing, where it is none. The server answers for those."""
    try:
        parsed: object = json.loads(line)
    except (ValueError, RecursionError):
        return MessageFacts()
    match parsed:
        case {"method": "notifications/cancelled", "params": {"requestId": str() | int() as gone}}:
            return MessageFacts(method="notifications/cancelled", cancels=json.dumps(gone))
        case {
            "method": str() as method,
            "id": str() | int() as request_id,
            "params": {"uri": str() as uri},
        } if method in ("resources/subscribe", "resources/unsubscribe"):
            return MessageFacts(method=method, key=json.dumps(request_id), uri=uri)
        case {"method": str() as method, "id": str() | int() as request_id}:
            return MessageFacts(method=method, key=json.dumps(request_id))
        case {"method": str() as method}:
            return MessageFacts(method=method)
        case {"id": str() | int() as request_id, "result": {"protocolVersion": str() as version}}:
            return MessageFacts(key=json.dumps(request_id), version=version)
        case {"id": str() | int() as request_id}:
            return MessageFacts(key=json.dumps(request_id))
        case _:
            return MessageFacts()

"""One record as one line, and the hash that ties it to the line before.

    {"seq":7,"prev":"<hash of 6>","at_ns":…,"kind":"call",…,"hash":"<sha256 of all before it>"}

The hash is taken over the bytes of the line as they stand, so nothing depends on
how JSON is written. Control and non-ASCII characters are escaped: one record is
one line, and printing one does nothing to a terminal.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

GENESIS = "0" * 64
"""What the first record of all has before it."""

MAX_TEXT = 8_192
"""Characters of one text in a record; as long as the longest command line that policy reads."""

MAX_LINE_BYTES = 256 * 1024
"""A longer line is not ours."""

_encoded = json.JSONEncoder(separators=(",", ":"), default=str, check_circular=False).encode
_SEQ_HEAD = b'{"seq":'
_HASH_HEAD = b',"hash":"'
_TAIL_BYTES = len(_HASH_HEAD) + 64 + len(b'"}')


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A line that was read and whose own hash is right."""

    seq: int
    prev: str
    hash: str
    at_ns: int
    kind: str
    fields: Mapping[str, Any]
    """Everything in the line."""


def line_of(
    seq: int, prev: str, at_ns: int, kind: str, fields: Mapping[str, object]
) -> tuple[bytes, str]:
    """The line, and its hash."""
    body = _encoded({"seq": seq, "prev": prev, "at_ns": at_ns, "kind": kind, **fields})
    if len(body) > MAX_LINE_BYTES - 1_000:
        # Callers bound what they tell; should one forget, the record stays and says so.
        small = {name: value for name, value in fields.items() if len(_encoded(value)) <= 1_000}
        left_out = sorted(set(fields) - set(small))
        body = _encoded(
            {"seq": seq, "prev": prev, "at_ns": at_ns, "kind": kind, **small, "left_out": left_out}
        )
    if "\x7f" in body:
        body = body.replace("\x7f", "\\u007f")
    raw = body.encode("ascii")
    digest = hashlib.sha256(raw).hexdigest()
    return raw[:-1] + _HASH_HEAD + digest.encode() + b'"}\n', digest


def parse_line(line: bytes) -> Record | None:
    """The record; None if it is not one, or its hash is not that of its text."""
    line = line.rstrip(b"\n")
    if len(line) > MAX_LINE_BYTES or line[-_TAIL_BYTES:][: len(_HASH_HEAD)] != _HASH_HEAD:
        return None
    body, digest = line[:-_TAIL_BYTES] + b"}", line[-66:-2].decode("ascii", "replace")
    if hashlib.sha256(body).hexdigest() != digest:
        return None
    try:
        parsed: object = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(parsed, dict):
        return None
    fields = cast("dict[str, Any]", parsed)
    seq, prev = fields.get("seq"), fields.get("prev")
    at_ns, kind = fields.get("at_ns"), fields.get("kind")
    if not (
        isinstance(seq, int)
        and isinstance(prev, str)
        and isinstance(at_ns, int)
        and isinstance(kind, str)
    ):
        return None
    return Record(seq=seq, prev=prev, hash=digest, at_ns=at_ns, kind=kind, fields=fields)


def claimed_seq(line: bytes) -> int:
    """The number that a line says it has, sound or not; 0 if it says none."""
    if not line.startswith(_SEQ_HEAD):
        return 0
    digits = line[len(_SEQ_HEAD) : 30].split(b",")[0]
    return int(digits) if digits.isdigit() else 0

"""Binary frames of the viewing protocol: kind, stream, offset, bytes. See docs/viewing.md."""

import struct
from enum import IntEnum
from typing import NamedTuple

HEAD = struct.Struct(">BIQ")


class Kind(IntEnum):
    OUTPUT = 1
    SNAPSHOT = 2
    INPUT = 3


class Frame(NamedTuple):
    kind: Kind
    stream: int
    offset: int
    data: bytes


def packed(kind: Kind, stream: int, offset: int, data: bytes) -> bytes:
    return HEAD.pack(kind, stream, offset) + data


def parse_frame(frame: bytes) -> Frame | None:
    """The frame in these bytes; None if they are none."""
    if len(frame) < HEAD.size:
        return None
    kind, stream, offset = HEAD.unpack_from(frame)
    try:
        return Frame(Kind(kind), stream, offset, frame[HEAD.size :])
    except ValueError:
        return None

"""The one table of operations. Every door derives from it."""

from collections.abc import Mapping
from typing import Any

from duetty.ops import reading, running, server, sessions, writing
from duetty.ops.operation import Operation

OPERATIONS: Mapping[str, Operation[Any, Any]] = {
    operation.name: operation
    for operation in (
        server.HEALTH,
        server.STATUS,
        server.STOP,
        server.LINK,
        sessions.OPEN,
        sessions.LIST,
        sessions.GET,
        sessions.UPDATE,
        sessions.RESIZE,
        sessions.SIGNAL,
        sessions.CLOSE,
        sessions.REMOVE,
        writing.WRITE,
        writing.PRESS,
        writing.PASTE,
        writing.INTERRUPT_OP,
        reading.SCREEN,
        reading.SCROLLBACK,
        reading.BLOCKS,
        reading.BLOCK_OUTPUT,
        reading.HISTORY,
        reading.SEARCH,
        running.RUN,
        running.WAIT,
    )
}

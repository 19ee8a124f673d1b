"""Descriptors and the event loop meet here and nowhere else in this package.

One reader per session, no locks: bytes go PTY → journal → session in one turn
of the loop, with no await between them.
"""

import asyncio
import os
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from duetty.errors import InputRejected
from duetty.platform.terminals import interrupt_editor

INTERRUPT = b"\x03"
"""What Ctrl-C sends; the terminal's line settings make a signal of it, or the program reads it."""

READ_BUDGET_BYTES = 64 * 1024
"""What one session may read in one turn, so that a flood cannot starve the others.

The emulator takes a millisecond for it, four when every line has one character.
"""

INPUT_BOUND_BYTES = 1024 * 1024
"""Input that waits for a program which does not read. Beyond it the caller gets an error."""


class Watch:
    """Calls back whenever a descriptor can be read; `stop` before the descriptor is closed."""

    __slots__ = ("_fd", "_loop")

    def __init__(self, fd: int, on_readable: Callable[[], None]) -> None:
        self._fd = fd
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(fd, on_readable)

    def stop(self) -> None:
        if self._fd >= 0:
            self._loop.remove_reader(self._fd)
            self._fd = -1


class WritableWatch:
    """Calls back whenever a descriptor can be written, while one is set."""

    __slots__ = ("_fd",)

    def __init__(self) -> None:
        self._fd = -1

    def set(self, fd: int, on_writable: Callable[[], None]) -> None:
        """Watch this descriptor from now on; -1 watches none."""
        if self._fd >= 0:
            asyncio.get_running_loop().remove_writer(self._fd)
        self._fd = fd
        if fd >= 0:
            asyncio.get_running_loop().add_writer(fd, on_writable)


class Timer(Protocol):
    """A call that is to come."""

    def cancel(self) -> None: ...


def later(delay_s: float, callback: Callable[[], None]) -> Timer:
    """Call back once after a while."""
    return asyncio.get_running_loop().call_later(delay_s, callback)


class Sleeper:
    """One wait in the loop, ended by `wake` or after a while."""

    __slots__ = ("_timer", "woken")

    def __init__(self, at_most_s: float | None) -> None:
        loop = asyncio.get_running_loop()
        self.woken: asyncio.Future[None] = loop.create_future()
        self._timer = None if at_most_s is None else loop.call_later(at_most_s, self.wake)

    def wake(self) -> None:
        if not self.woken.done():
            self.woken.set_result(None)

    def end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()


class LoopCall:
    """Another thread's way to have something called in the loop."""

    __slots__ = ("_callback", "_loop")

    def __init__(self, callback: Callable[[], None]) -> None:
        self._callback = callback
        self._loop = asyncio.get_running_loop()

    def soon(self) -> None:
        """Safe from any thread."""
        with suppress(RuntimeError):  # the loop has ended, and with it the callback's owner
            self._loop.call_soon_threadsafe(self._callback)


class InputQueue:
    """Bytes on their way to the program, in order, never blocking the loop."""

    __slots__ = ("_bytes", "_chunks", "_fd", "_loop", "_name")

    def __init__(self, fd: int, name: str) -> None:
        self._fd = fd
        self._name = name
        self._loop = asyncio.get_running_loop()
        self._chunks: deque[memoryview] = deque()
        self._bytes = 0

    @property
    def pending_bytes(self) -> int:
        return self._bytes

    def write(self, data: bytes) -> None:
        """Write now what the PTY takes, queue the rest.

        Raises:
            InputRejected: if the bound would be passed; nothing of `data` is written then.
        """
        if self._fd < 0 or not data:
            return
        if self._bytes + len(data) > INPUT_BOUND_BYTES:
            raise InputRejected(
                f"session {self._name!r} has {self._bytes} bytes of input that its program has not read",
                hint="wait until it reads, or interrupt it",
            )
        if self._chunks:
            self._queue(memoryview(data))
            return
        written = self._try_write(memoryview(data))
        if written < len(data):
            self._queue(memoryview(data)[written:])
            self._loop.add_writer(self._fd, self._on_writable)

    def write_instead(self, data: bytes) -> bool:
        """Drop what waits and write this; False if the PTY takes nothing at all."""
        if self._chunks:
            self._loop.remove_writer(self._fd)
            self._chunks.clear()
            self._bytes = 0
        return self._try_write(memoryview(data)) == len(data)

    def close(self) -> None:
        """What the program never read is dropped with it."""
        if self._fd >= 0 and self._chunks:
            self._loop.remove_writer(self._fd)
        self._chunks.clear()
        self._bytes = 0
        self._fd = -1

    def _queue(self, chunk: memoryview) -> None:
        self._chunks.append(chunk)
        self._bytes += len(chunk)

    def _try_write(self, chunk: memoryview) -> int:
        if bytes(chunk[:2]) == INTERRUPT and interrupt_editor(self._fd):
            return len(chunk)
        try:
            return os.write(self._fd, chunk)
        except BlockingIOError:
            return 0
        except OSError:
            # The other side is gone; the reader notices and closes the session.
            return len(chunk)

    def _on_writable(self) -> None:
        while self._chunks:
            chunk = self._chunks[0]
            written = self._try_write(chunk)
            self._bytes -= written
            if written < len(chunk):
                self._chunks[0] = chunk[written:]
                return
            self._chunks.popleft()
        self._loop.remove_writer(self._fd)

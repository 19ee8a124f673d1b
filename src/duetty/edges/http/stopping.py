"""The end of something, for all who have to know of it: the server's, or a connection's."""

from collections.abc import Callable

import anyio


class End:
    """Those who joined are called when it comes. A task for each of thousands of connections, which
    waits for it, would cost more than the connection.
    """

    def __init__(self) -> None:
        self._has_come = False
        self._closes: set[Callable[[], object]] = set()

    def set(self) -> None:
        self._has_come = True
        closes, self._closes = self._closes, set()
        for close in closes:
            close()

    def is_set(self) -> bool:
        return self._has_come

    def joined(self, close: Callable[[], object]) -> "_Joined":
        """While inside, `close` is called (once, from the loop, and must not wait) when the end comes."""
        return _Joined(self, close)

    def join(self, close: Callable[[], object]) -> None:
        if self._has_come:
            close()
        self._closes.add(close)

    def leave(self, close: Callable[[], object]) -> None:
        self._closes.discard(close)


class _Joined:
    """A class, since a generator for each of thousands of calls a second is felt."""

    __slots__ = ("_close", "_end")

    def __init__(self, end: End, close: Callable[[], object]) -> None:
        self._end = end
        self._close = close

    def __enter__(self) -> None:
        self._end.join(self._close)

    def __exit__(self, *_: object) -> None:
        self._end.leave(self._close)


class Stopping(End):
    """The server's."""

    def __init__(self) -> None:
        super().__init__()
        self._event = anyio.Event()

    def set(self) -> None:
        self._event.set()
        super().set()

    async def wait(self) -> None:
        await self._event.wait()

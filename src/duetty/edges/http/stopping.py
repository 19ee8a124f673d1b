"""The end of something, for all who have to know of it: the server's, or a connection's."""

from collections.abc import Callable, Generator
from contextlib import contextmanager

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

    @contextmanager
    def joined(self, close: Callable[[], object]) -> Generator[None]:
        """While inside, `close` is called (once, from the loop, and must not wait) when the end comes."""
        if self._has_come:
            close()
        self._closes.add(close)
        try:
            yield
        finally:
            self._closes.discard(close)


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

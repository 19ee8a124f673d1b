"""The end of the server, as calls on their way meet it: each is answered before its connection goes."""

from collections.abc import Generator
from contextlib import contextmanager

import anyio


class Ending:
    def __init__(self) -> None:
        self._scopes: set[anyio.CancelScope] = set()

    @contextmanager
    def cutting(self) -> Generator[None]:
        """While inside, the end of the server ends what is done here, and nothing around it."""
        with anyio.CancelScope() as scope:
            self._scopes.add(scope)
            try:
                yield
            finally:
                self._scopes.discard(scope)

    def come(self) -> bool:
        """The server ends. Returns whether a request was under way."""
        was_used = bool(self._scopes)
        for scope in self._scopes:
            scope.cancel()
        return was_used

"""Which route a request is for."""

from collections.abc import Iterable

from starlette.routing import BaseRoute, Match, Route, WebSocketRoute
from starlette.types import Receive, Scope, Send

_ROUTE = "duetty.route"


class ByFirstWord(BaseRoute):
    """Routes, found by the first word of their paths: to try each of a hundred takes longer than most calls."""

    def __init__(self, routes: Iterable[Route | WebSocketRoute]) -> None:
        self._by_word: dict[str, list[Route | WebSocketRoute]] = {}
        for route in routes:
            assert not _first_word(route.path).startswith("{")
            self._by_word.setdefault(_first_word(route.path), []).append(route)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """The first that takes it whole, else the first that takes its path."""
        best: tuple[Match, Scope] = Match.NONE, {}
        path: str = scope["path"]
        for route in self._by_word.get(_first_word(path.removeprefix(scope["root_path"])), ()):
            match, found = route.matches(scope)
            if match is Match.FULL:
                return match, {**found, _ROUTE: route}
            if match is Match.PARTIAL and best[0] is Match.NONE:
                best = match, {**found, _ROUTE: route}
        return best

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await scope[_ROUTE].handle(scope, receive, send)


def _first_word(path: str) -> str:
    return path.removeprefix("/").partition("/")[0]

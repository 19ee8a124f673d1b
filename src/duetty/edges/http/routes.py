"""Which route a request is for."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match, Route, WebSocketRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

Endpoint = Callable[[Request], Awaitable[Response]]

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


@dataclass(slots=True)
class _Place:
    """What may follow here: words, or whatever a placeholder takes."""

    words: dict[str, "_Place"] = field(default_factory=dict[str, "_Place"])
    other: "_Place | None" = None
    name: str = ""
    """Of the placeholder that this place is."""

    endpoints: Mapping[str, Endpoint] = field(default_factory=dict[str, Endpoint])


class Direct:
    """Operations are answered past the framework's layers, which cost as much as the rest of a call.

    What is none (pages, documents, a wrong method, a WebSocket) takes the framework's way.
    """

    def __init__(
        self,
        by_path: Mapping[str, Mapping[str, Endpoint]],
        otherwise: ASGIApp,
        crashed: Callable[[Request, Exception], Awaitable[Response]],
    ) -> None:
        self._root = _Place()
        self._otherwise = otherwise
        self._crashed = crashed
        for path, endpoints in by_path.items():
            place = self._root
            for word in path.split("/")[1:]:
                if word.startswith("{"):
                    place.other = place.other or _Place(name=word[1:-1])
                    assert place.other.name == word[1:-1], "one place has one name"
                    place = place.other
                else:
                    place = place.words.setdefault(word, _Place())
            place.endpoints = endpoints

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        found = self._find(scope) if scope["type"] == "http" else None
        if found is None:
            await self._otherwise(scope, receive, send)
            return
        has_begun = False

        def sent(message: Message) -> Awaitable[None]:
            nonlocal has_begun
            has_begun = True
            return send(message)

        request = Request(scope, receive, sent)
        try:
            response = await found(request)
            await response(scope, receive, sent)
        except Exception as error:
            if not has_begun:
                await (await self._crashed(request, error))(scope, receive, send)
            raise

    def _find(self, scope: Scope) -> Endpoint | None:
        """The words of a path are taken before a placeholder; a name holds no slash, and is not empty."""
        place: _Place | None = self._root
        names: dict[str, str] = {}
        for word in scope["path"].split("/")[1:]:
            assert place is not None
            if (known := place.words.get(word)) is not None:
                place = known
            elif (place := place.other) is not None and word:
                names[place.name] = word
            else:
                return None
        assert place is not None
        method = scope["method"]
        endpoint = place.endpoints.get("GET" if method == "HEAD" else method)
        if endpoint is not None:
            scope["path_params"] = names
        return endpoint


def _first_word(path: str) -> str:
    return path.removeprefix("/").partition("/")[0]

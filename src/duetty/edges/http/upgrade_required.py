"""A plain request where a WebSocket is: checked as any other, then answered with `426`."""

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from duetty.edges.http.auth import Guard
from duetty.edges.http.errors import error_response
from duetty.edges.http.streams import STREAMS
from duetty.errors import BadArguments, DuettyError


class UpgradeRequired(BadArguments):
    """There is a WebSocket here, and the request is a plain one."""

    code = "upgrade_required"


def upgrade_routes(guard: Guard) -> list[Route]:
    return [
        Route(stream.path, _endpoint(guard), methods=["GET"])
        for stream in STREAMS
        if stream.kind == "websocket"
    ]


def _endpoint(guard: Guard) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        try:
            guard.admit(request)
        except DuettyError as error:
            return error_response(error)
        response = error_response(
            UpgradeRequired(
                "this is a WebSocket",
                hint="connect by ws:// or wss://, or follow a session by GET /sessions/{name}/events",
            )
        )
        response.headers.update({"Upgrade": "websocket", "Connection": "Upgrade"})
        return response

    return endpoint

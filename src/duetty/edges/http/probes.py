"""For operators of a hub: `/ready` for a load balancer, `/metrics` for Prometheus."""

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from duetty.edges.http.auth import Guard
from duetty.edges.http.errors import error_response, to_json
from duetty.errors import DuettyError
from duetty.ops import Dispatcher

TEXT = "text/plain; version=0.0.4; charset=utf-8"


def probe_routes(dispatcher: Dispatcher, guard: Guard) -> list[Route]:
    async def ready(request: Request) -> Response:
        """503 while it drains: new callers belong elsewhere."""
        is_ready, engine = dispatcher.readiness
        body = to_json({"status": "ready" if is_ready else "draining", "engine": engine})
        return Response(body, 200 if is_ready else 503, media_type="application/json")

    async def metrics(request: Request) -> Response:
        return Response(dispatcher.metrics(guard.admit(request)), headers={"content-type": TEXT})

    def checked(
        endpoint: Callable[[Request], Awaitable[Response]],
    ) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            try:
                guard.check_origin(request)
                return await endpoint(request)
            except DuettyError as error:
                return error_response(error)

        return answer

    return [
        Route("/ready", checked(ready), methods=["GET"]),
        Route("/metrics", checked(metrics), methods=["GET"]),
    ]

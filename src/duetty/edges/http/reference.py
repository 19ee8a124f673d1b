"""The API's description: OpenAPI as JSON and YAML, and a page for people.

Made from the operation table with the first request, and kept: it is the same
for the server's whole life.
"""

from collections.abc import Awaitable, Callable
from functools import cache

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from duetty.edges.http.auth import Guard
from duetty.edges.http.errors import error_response
from duetty.errors import DuettyError

PAGE_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self' data:; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)


def reference_routes(guard: Guard, prefix: str) -> list[Route]:
    @cache
    def as_json() -> bytes:
        from duetty.edges.http.openapi import document_json

        return document_json(prefix)

    @cache
    def as_yaml() -> bytes:
        from duetty.edges.http.openapi import document_yaml

        return document_yaml(prefix)

    @cache
    def as_page() -> bytes:
        from duetty.edges.http.docs_page import page

        return page(prefix)

    @cache
    def style() -> bytes:
        from duetty.edges.http.docs_page import STYLE

        return STYLE.encode()

    def route(path: str, make: Callable[[], bytes], kind: str) -> Route:
        return Route(path, _endpoint(guard, make, kind), methods=["GET"])

    return [
        route("/openapi.json", as_json, "application/json"),
        route("/openapi.yaml", as_yaml, "text/yaml; charset=utf-8"),
        route("/docs", as_page, "text/html; charset=utf-8"),
        route("/docs/style.css", style, "text/css; charset=utf-8"),
    ]


def _endpoint(
    guard: Guard, make: Callable[[], bytes], kind: str
) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        try:
            guard.admit(request)
        except DuettyError as error:
            return error_response(error)
        headers = {"content-type": kind, "cache-control": "no-cache"}
        if kind.startswith("text/html"):
            headers["content-security-policy"] = PAGE_POLICY
        # A tenth of a second the first time: in a thread, so that no other request waits.
        return Response(await anyio.to_thread.run_sync(make), headers=headers)

    return endpoint

"""Signing in with a one-time link: the code in it becomes a cookie."""

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from duetty.edges.http.auth import Guard
from duetty.edges.http.errors import error_response, plain_error
from duetty.errors import DuettyError
from duetty.ops import BROWSER_S


def login(guard: Guard, prefix: str) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        try:
            guard.admit(request)
        except DuettyError as error:
            return error_response(error)
        if request.method == "HEAD":  # programs that preview links send it; the person comes after
            return Response()
        cookie = guard.access.sign_in(request.query_params.get("code", ""))
        if cookie is None:
            return plain_error(
                403,
                "link_expired",
                "this link was used already, or is too old",
                hint="`duetty token --link` prints a new one",
            )
        response = RedirectResponse(f"{prefix}/ui", status_code=303)
        tls = request.url.scheme == "https"
        response.set_cookie(
            guard.cookie_name(tls=tls, prefix=prefix),
            cookie,
            max_age=BROWSER_S,
            path=prefix or "/",
            httponly=True,
            samesite="strict",
            secure=tls,
        )
        return response

    return endpoint

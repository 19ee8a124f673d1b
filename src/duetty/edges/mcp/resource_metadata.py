"""The answer to a client without a token: which resource this is, and how to send a token (RFC 9728).

Without `hub.jwt_issuer` no authorization server is named, since there is none: tokens are made on
this machine (`duetty token`), and a client is given one.
"""

from collections.abc import Callable
from urllib.parse import quote

from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from duetty.calls import Scope as Permit
from duetty.errors import AuthInvalid, DuettyError

WELL_KNOWN = "/.well-known/oauth-protected-resource"
PATHS = (WELL_KNOWN, f"{WELL_KNOWN}/mcp", f"{WELL_KNOWN}/mcp/{{dialect}}")


def challenge(request: Request, error: DuettyError, *, prefix: str = "") -> str:
    """The `WWW-Authenticate` of a refused request."""
    wrong = 'error="invalid_token", ' if isinstance(error, AuthInvalid) else ""
    path = WELL_KNOWN + quote(request.scope["path"])
    return f'Bearer {wrong}resource_metadata="{_base(request)}{prefix}{path}"'


class ProtectedResource:
    """Answers at `PATHS`, without a token but not to foreign pages or names."""

    def __init__(
        self,
        *,
        check: Callable[[HTTPConnection], None],
        refuse: Callable[[DuettyError], Response],
        prefix: str = "",
        issuer: str = "",
        audience: str = "",
    ) -> None:
        """`issuer` makes tokens for this resource, which they name as `audience`."""
        self._issuer = issuer
        self._audience = audience
        self._check = check
        self._prefix = prefix
        self._refuse = refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        try:
            self._check(request)
        except DuettyError as error:
            await self._refuse(error)(scope, receive, send)
            return
        if request.method not in ("GET", "HEAD"):
            await Response(status_code=405, headers={"Allow": "GET, HEAD"})(scope, receive, send)
            return
        dialect = request.path_params.get("dialect")
        document = {
            "resource": self._audience
            or f"{_base(request)}{self._prefix}/mcp{f'/{quote(dialect)}' if dialect else ''}",
            **({"authorization_servers": [self._issuer]} if self._issuer else {}),
            "resource_name": "Duetty",
            "bearer_methods_supported": ["header"],
            "scopes_supported": [str(permit.value) for permit in Permit],
        }
        await JSONResponse(document)(scope, receive, send)


def _base(request: Request) -> str:
    """The address by which the client came; its name was checked."""
    host = request.headers.get("host", "localhost")
    return f"{request.url.scheme}://{host}"

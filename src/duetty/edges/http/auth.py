"""Who is calling, and whether the request may come from where it says.

Loopback is not a credential: any page in a browser can reach it. So every
request and upgrade has its Host and Origin checked, and needs a bearer token, or
the cookie that a one-time link gave, or (an upgrade) a ticket, or the unix
socket, whose peer was checked when it connected.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from starlette.requests import HTTPConnection

from duetty.calls import INSIDE, Actor, Scope
from duetty.edges.http.headers import headers_of
from duetty.edges.http.origins import Origins
from duetty.edges.http.peer import ADMITTED, Peer, source_of
from duetty.errors import AuthInvalid, AuthRequired, OriginNotAllowed
from duetty.ops import Access, Fairness, Live

COOKIE = "duetty"
"""How the name of a cookie begins; the rest is the instance's, since ports of a host share cookies."""

PAGE_HEADER = "duetty-page"
"""Sent by our page where the browser says nothing itself (plain HTTP beyond this machine): another
site's page cannot send it without asking first."""

OPEN_PATHS = frozenset(
    {"/health", "/ready", "/login", "/openapi.json", "/openapi.yaml", "/docs", "/docs/style.css"}
)
"""What says nothing about this machine, and the way in."""

FROM_HUB = "duetty.from_hub"
"""In the state of a request that came over our own connection to a hub: whose it is."""

WHICH_CREDENTIAL = "`duetty token` prints this server's; a user of a hub has one from who runs it"

SAFE_METHODS = frozenset({"GET", "HEAD"})
BODY_KINDS = frozenset({"application/json", "application/octet-stream"})

LOCAL = Actor(kind="person", name="local")
ANONYMOUS = Actor(kind="person", name="anonymous", scopes=frozenset({Scope.READ}))


@dataclass(slots=True, kw_only=True)
class Guard:
    """Stands at every door of the edge; HTTP requests and WebSocket upgrades alike."""

    access: Access
    origins: Callable[[], Origins]
    own_pids: Callable[[], Collection[int]] = frozenset
    """The keeper, which starts what runs in sessions, and the server itself."""

    own_socket: str = ""
    """By which the variables of what we started name us."""

    instance: str = ""
    """Part of the cookies' names: another server on the same host has other cookies."""

    def cookie_name(self, *, tls: bool, prefix: str = "") -> str:
        """A browser takes a cookie of such a name from no neighbour and over no plain connection."""
        kind = "" if not tls else "__Secure-" if prefix else "__Host-"
        return f"{kind}{COOKIE}-{self.instance}" if self.instance else f"{kind}{COOKIE}"

    @property
    def fairness(self) -> Fairness:
        return self.access.bounds.fairness

    @property
    def live(self) -> Live:
        """Where a connection that lasts says how to close it when its token goes."""
        return self.access.live

    def admit(self, connection: HTTPConnection) -> Actor:
        """The actor behind a request or an upgrade.

        Raises:
            AuthRequired: without a credential.
            AuthInvalid: with a wrong one.
            OriginNotAllowed: from a page or name that is not ours.
        """
        if (caller := connection.scope.get("state", {}).get(FROM_HUB)) is not None:
            actor = caller
        elif is_unix(connection):
            actor = INSIDE if self._is_inside(connection) else LOCAL
        else:
            self.check_origin(connection)
            if connection.scope["path"] in OPEN_PATHS:
                return ANONYMOUS
            actor = (
                self._by_bearer(connection)
                or self._by_ticket(connection)
                or self._by_cookie(connection)
            )
            if connection.client is not None and (source := source_of(connection.client.host)):
                actor = replace(actor, source=source)
        if (admitted := connection.scope.get("state", {}).get(ADMITTED)) is not None:
            admitted(actor)
        return actor

    def _is_inside(self, connection: HTTPConnection) -> bool:
        peer = connection.scope.get("state", {}).get("peer")
        return isinstance(peer, Peer) and peer.descends_from(self.own_pids(), self.own_socket)

    def check_origin(self, connection: HTTPConnection) -> None:
        """Whether the request came by a name of ours, and from a page that may ask, or from none.

        Raises:
            OriginNotAllowed: if not.
        """
        if is_unix(connection) or FROM_HUB in connection.scope.get("state", {}):
            return
        check_origin(connection, self.origins())

    def _by_bearer(self, connection: HTTPConnection) -> Actor | None:
        given = headers_of(connection.scope, b"authorization")
        if len(given) > 1:
            raise AuthInvalid("the header Authorization stands there more than once")
        scheme, _, token = "".join(given).partition(" ")
        if scheme.lower() == "ticket":
            return self._ticket_actor(token.strip())
        if scheme.lower() != "bearer" or not token.strip():
            return None
        actor = self.access.by_token(token.strip())
        if actor is None:
            raise AuthInvalid("this token is not valid", hint=WHICH_CREDENTIAL)
        return actor

    def _by_ticket(self, connection: HTTPConnection) -> Actor | None:
        if connection.scope["type"] != "websocket" or "ticket" not in connection.query_params:
            return None
        return self._ticket_actor(connection.query_params["ticket"])

    def _ticket_actor(self, ticket: str) -> Actor:
        actor = self.access.by_ticket(ticket)
        if actor is None:
            raise AuthRequired(
                "this ticket was used already, or is too old",
                hint="ask for a new one: POST /auth/ws-ticket",
            )
        return actor

    def _by_cookie(self, connection: HTTPConnection) -> Actor:
        tls = connection.url.scheme in ("https", "wss")
        shown = [
            connection.cookies.get(self.cookie_name(tls=tls, prefix=prefix)) for prefix in ("", "/")
        ]
        actor = next((self.access.by_cookie(each) for each in shown if each), None)
        if actor is None:
            raise AuthRequired(
                "this request carries no valid credential",
                hint=f"send 'Authorization: Bearer TOKEN'; {WHICH_CREDENTIAL}",
            )
        self._check_cookie_use(connection)
        return actor

    def _check_cookie_use(self, connection: HTTPConnection) -> None:
        """A cookie comes along by itself, so our own page must be the one that asks.

        Ports share cookies: a page of another server of this machine is the "same site".
        """
        headers = connection.headers
        origin = headers.get("origin")
        if origin is not None and not self.origins().is_own(origin, headers.get("host", "")):
            raise OriginNotAllowed("a page of another site needs a token")
        ours = origin is not None or PAGE_HEADER in headers
        site = headers.get("sec-fetch-site", "same-origin" if ours else "")
        if connection.scope["type"] == "websocket":
            if origin is None:
                raise OriginNotAllowed("an upgrade with a cookie needs an Origin")
        elif connection.scope["method"] in SAFE_METHODS:
            # Following a link to the page is fine, wherever the link stands.
            if site not in ("same-origin", "none") and not _is_navigation(connection):
                raise OriginNotAllowed("a cookie alone does not say that our own page asks")
        else:
            if site not in ("same-origin", "none"):
                raise OriginNotAllowed("a cookie alone does not say that our own page asks")
            kind = headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind not in BODY_KINDS and _has_body(connection):
                raise OriginNotAllowed(
                    "a change with a cookie needs a JSON or octet-stream content type"
                )


def check_origin(connection: HTTPConnection, origins: Origins) -> None:
    """Raises:
    OriginNotAllowed: if it came by another name, or from a page that may not ask.
    """
    hosts = headers_of(connection.scope, b"host")
    if len(hosts) != 1 or not origins.is_own_host(hosts[0], connection.scope.get("server")):
        raise OriginNotAllowed(
            f"host {', '.join(hosts)[:100]!r} is not a name of this server",
            hint="use the address that the server printed, or add the name to server.hosts",
        )
    for origin in headers_of(connection.scope, b"origin"):
        if origins.is_own(origin, hosts[0]) or origins.is_listed(origin):
            continue
        raise OriginNotAllowed(
            f"origin {origin[:100]!r} may not call this server",
            hint="a page of another site must be listed in server.cors_origins",
        )


def _is_navigation(connection: HTTPConnection) -> bool:
    headers = connection.headers
    return headers.get("sec-fetch-mode") == "navigate" and (
        headers.get("sec-fetch-dest") == "document"
    )


def _has_body(connection: HTTPConnection) -> bool:
    """A form can be sent with no fields, and then says its type all the same."""
    headers = connection.headers
    return (
        "transfer-encoding" in headers
        or "content-type" in headers
        or headers.get("content-length", "0") != "0"
    )


def is_unix(connection: HTTPConnection) -> bool:
    server = connection.scope.get("server")
    return server is not None and server[1] is None

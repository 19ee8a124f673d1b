"""Signing in to upstreams that ask for it (OAuth), on the SDK's own flow.

Without a person nothing is signed in to: what was granted before is sent, and renewed
by itself; where that is not enough, the request stays refused and `Answers` says that
a person is needed. Tokens are in one private file for each upstream, and nowhere else.
"""

import json
import logging
import warnings
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

import anyio
import anyio.abc
import anyio.to_thread
import httpx2
from mcp import MCPDeprecationWarning
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider, OAuthFlowError
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.client.auth.oauth2 import OAuthContext
from mcp.client.auth.utils import (
    extract_field_from_www_auth,
    extract_scope_from_www_auth,
    union_scopes,
)
from mcp.shared.auth import (
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import AnyUrl, BaseModel, ValidationError

from duetty.errors import DuettyError, UpstreamNeedsLogin, UpstreamUnavailable
from duetty.private_file import write_private
from duetty.upstreams.link import LoginAttempt
from duetty.upstreams.tools import shown
from duetty.upstreams.upstream_settings import Address, OAuth, UpstreamOrder, expanded, is_loopback

MAX_FILE_BYTES = 1024 * 1024
MAX_REASON_CHARS = 300
MAX_HEAD_BYTES = 16_384
READ_S = 10.0
CLIENT_NAME = "Duetty"
CALLBACK = "/callback"

# It logs with their text what servers answer, which may be a credential.
logging.getLogger("mcp.client.auth").setLevel(logging.CRITICAL + 1)

SignIn = Callable[[str], Awaitable[str]]
"""Has a person open this address; where their browser was sent to in the end."""


class Answers:
    """The last HTTP answers of the other side, for the reason of a failure."""

    def __init__(self) -> None:
        self.refused: int | None = None
        """Status of the last answer that was none of MCP's."""

        self.login: DuettyError | None = None
        """Why the last request went without a token that holds."""


class _Refused(OAuthFlowError):
    """Our own reason; those of the SDK may have in them what the other side sent."""


class SignInFailed(httpx2.TransportError):
    """Ends a request whose sign-in failed; the reason is in `Answers`."""


class _Kept(BaseModel):
    """What is known of one upstream's sign-in, as its file has it."""

    identity: str
    tokens: OAuthToken | None = None
    expires_s: float | None = None
    client: OAuthClientInformationFull | None = None
    server: OAuthMetadata | None = None
    resource: ProtectedResourceMetadata | None = None
    server_url: str | None = None
    wanted_scope: str | None = None
    """That a call was refused for: the next sign-in asks for it."""


class LoginFile:
    """Of one upstream; the SDK's storage, and what it forgets: until when, and whom to ask for more."""

    def __init__(self, file: Path | None, identity: str) -> None:
        self._file = file
        self.known = _Kept(identity=identity)
        self.context: OAuthContext | None = None
        if file is None:
            return
        with suppress(OSError, ValueError):
            with file.open("rb") as opened:
                found = _Kept.model_validate_json(opened.read(MAX_FILE_BYTES))
            if found.identity == identity:  # tokens of one address are not sent to another
                self.known = found

    @property
    def redirect_port(self) -> int | None:
        """Where the client that was registered is sent back to."""
        client = self.known.client
        return client.redirect_uris[0].port if client is not None and client.redirect_uris else None

    @property
    def issuer(self) -> str | None:
        """Who granted what is kept: a client of the table is shown to no other."""
        return None if self.known.server is None else str(self.known.server.issuer)

    async def get_tokens(self) -> OAuthToken | None:
        return self.known.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.known.tokens = tokens
        if (context := self.context) is not None:
            self.known.expires_s = context.token_expiry_time
            self.known.server = context.oauth_metadata
            self.known.resource = context.protected_resource_metadata
            self.known.server_url = context.auth_server_url
        self.known.wanted_scope = None
        await self.write()

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.known.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.known.client = client_info
        await self.write()

    async def want_scope(self, scope: str | None) -> None:
        granted = self.known.tokens.scope if self.known.tokens is not None else None
        self.known.wanted_scope = union_scopes(granted, scope)
        await self.write()

    async def write(self) -> None:
        file = self._file
        if file is None:
            return
        content = json.loads(self.known.model_dump_json(exclude_none=True))

        def put() -> None:
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_private(file, content)

        try:
            await anyio.to_thread.run_sync(put)
        except OSError as error:
            raise SignInFailed("the sign-in cannot be kept") from error


class _Login(OAuthClientProvider):
    """The SDK's flow, which begins only where a person can go on with it."""

    def __init__(
        self,
        order: UpstreamOrder,
        url: str,
        settings: OAuth,
        *,
        kept: LoginFile,
        answers: Answers,
        sign_in: SignIn | None,
        redirect: str,
        client: OAuthClientInformationFull | None,
    ) -> None:
        metadata = OAuthClientMetadata(
            redirect_uris=[AnyUrl(redirect)],
            client_name=CLIENT_NAME,
            grant_types=["authorization_code", "refresh_token"],
            scope=" ".join(settings.scopes) or None,
        )
        super().__init__(
            url,
            metadata,
            kept,
            redirect_handler=self._go,
            callback_handler=self._come_back,
            client_metadata_url=settings.client_metadata_url,
        )
        self._order = order
        self._url = httpx2.URL(url)
        self._scopes = settings.scopes
        self._kept = kept
        self._answers = answers
        self._sign_in = sign_in
        self._client = client
        self._came_back = ""
        kept.context = self.context

    async def _initialize(self) -> None:
        known = self._kept.known
        context = self.context
        await super()._initialize()
        context.client_info = self._client or context.client_info
        context.token_expiry_time = known.expires_s
        context.oauth_metadata = known.server
        context.protected_resource_metadata = known.resource
        context.auth_server_url = known.server_url

    async def _auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        tried_anew = False
        response: httpx2.Response | None = None
        while True:
            flow = super()._auth_flow(request)
            try:
                sent = await anext(flow)
                while True:
                    if sent is not request:
                        _check(sent.url, self._url)
                    response = yield sent
                    if sent is request and self._sign_in is None and _asks(response):
                        break
                    if sent is request and response.is_success:
                        self._answers.login = None
                    sent = await flow.asend(response)
            except StopAsyncIteration:
                return
            except (OAuthFlowError, ValidationError, ValueError) as error:
                reason = _reason(error, response)
                self._answers.login = UpstreamUnavailable(f"it cannot be signed in to: {reason}")
                raise SignInFailed("the sign-in failed") from None
            finally:
                await flow.aclose()
            if response.status_code == 401 and self.context.can_refresh_token() and not tried_anew:
                tried_anew = True
                self.context.token_expiry_time = 1.0  # long ago: it is renewed first
                continue
            await self._need_person(response)
            return  # the refusal is the answer

    async def _need_person(self, response: httpx2.Response) -> None:
        if response.status_code == 403:
            await self._kept.want_scope(extract_scope_from_www_auth(response))
        self._answers.login = UpstreamNeedsLogin(
            self._order.name, is_known=self._kept.known.tokens is not None
        )

    async def _perform_authorization(self) -> httpx2.Request:
        context = self.context
        if self._client is not None and context.client_info is not self._client:
            raise _Refused(
                f"it names another sign-in server than {self._client.issuer}, which client_id belongs to"
            )
        scope = context.client_metadata.scope
        if self._scopes:  # a person's own choice
            context.client_metadata.scope = " ".join(self._scopes)
        else:
            context.client_metadata.scope = union_scopes(scope, self._kept.known.wanted_scope)
        if self._client is not None and context.client_info is self._client:
            offered = context.oauth_metadata
            known = offered.token_endpoint_auth_methods_supported if offered is not None else None
            if self._client.client_secret and known and "client_secret_basic" not in known:
                self._client.token_endpoint_auth_method = "client_secret_post"  # noqa: S105
        return await super()._perform_authorization()

    async def _go(self, url: str) -> None:
        _check(httpx2.URL(url), self._url)
        assert self._sign_in is not None
        self._came_back = await self._sign_in(url)

    async def _come_back(self) -> AuthorizationCodeResult:
        given = parse_qs(urlsplit(self._came_back).query)

        def one(name: str) -> str | None:
            return given[name][0] if name in given else None

        if "error" in given:
            raise _Refused(f"{one('error')}: {one('error_description') or 'no reason given'}")
        return AuthorizationCodeResult(code=one("code") or "", state=one("state"), iss=one("iss"))


class _Credentials(ClientCredentialsOAuthProvider):
    """A program's own: no person is ever needed."""

    answers: Answers

    async def _auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        flow = super()._auth_flow(request)
        response: httpx2.Response | None = None
        try:
            sent = await anext(flow)
            while True:
                if sent is not request:
                    _check(sent.url, request.url)
                response = yield sent
                sent = await flow.asend(response)
        except StopAsyncIteration:
            self.answers.login = None
        except (OAuthFlowError, ValidationError, ValueError) as error:
            reason = _reason(error, response)
            self.answers.login = UpstreamUnavailable(f"it cannot be signed in to: {reason}")
            raise SignInFailed("the sign-in failed") from None
        finally:
            await flow.aclose()


def _check(url: httpx2.URL, upstream: httpx2.URL) -> None:
    """Where an upstream leads us, that we send no secret in the open, nor ask around on this machine for it.

    Raises:
        OAuthFlowError: if it leads elsewhere.
    """
    here, from_here = is_loopback(url.host), is_loopback(upstream.host)
    if here and not from_here:
        raise _Refused(f"it leads to this machine ({shown(url.host)[:100]}), and is not on it")
    if url.scheme != "https" and not (url.scheme == "http" and here):
        raise _Refused(f"it leads to {shown(url.host)[:100]} without https://")


def _reason(error: Exception, response: httpx2.Response | None) -> str:
    """With nothing in it that an answer has, but what the standard has there for people."""
    if isinstance(error, _Refused):
        return shown(str(error))[:MAX_REASON_CHARS]
    words = [str(error).partition(": ")[0]]
    with suppress(ValueError, httpx2.ResponseNotRead, httpx2.StreamError):
        answer: Any = {} if response is None else response.json()
        if isinstance(answer, dict):
            fields = cast("dict[str, Any]", answer)
            words += [str(fields[key]) for key in ("error", "error_description") if key in fields]
    return shown(": ".join(words))[:MAX_REASON_CHARS]


def _asks(response: httpx2.Response) -> bool:
    """Whether it wants another sign-in than this request had."""
    return response.status_code == 401 or (
        response.status_code == 403
        and extract_field_from_www_auth(response, "error") == "insufficient_scope"
    )


def auth_of(
    order: UpstreamOrder,
    environment: Mapping[str, str],
    kept: LoginFile,
    answers: Answers,
    *,
    sign_in: SignIn | None = None,
    redirect_port: int | None = None,
) -> httpx2.Auth:
    """What signs requests to this upstream.

    Raises:
        BadSetting: if a variable that its table names is not there.
    """
    assert isinstance(order.target, Address)
    settings = order.target.oauth or OAuth()
    url = expanded(order.target.url, environment)
    identity = None if settings.client_id is None else expanded(settings.client_id, environment)
    secret = (
        None if settings.client_secret is None else expanded(settings.client_secret, environment)
    )
    if settings.is_own:
        assert identity is not None
        assert secret is not None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MCPDeprecationWarning)  # an issuer is optional here
            own = _Credentials(
                url,
                cast("Any", kept),
                identity,
                secret,
                scope=" ".join(settings.scopes) or None,
                issuer=settings.issuer or kept.issuer,
            )
        own.answers = answers
        kept.context = own.context
        return own
    port = redirect_port or settings.redirect_port or kept.redirect_port or 0
    redirect = f"http://127.0.0.1:{port}{CALLBACK}"
    client = None
    if identity is not None:
        client = OAuthClientInformationFull(
            client_id=identity,
            client_secret=secret,
            redirect_uris=[AnyUrl(redirect)],
            token_endpoint_auth_method="client_secret_basic" if secret else "none",
            issuer=settings.issuer or kept.issuer,
        )
    return _Login(
        order,
        url,
        settings,
        kept=kept,
        answers=answers,
        sign_in=sign_in,
        redirect=redirect,
        client=client,
    )


# --- a person signs in ----------------------------------------------------------------


@asynccontextmanager
async def returning(port: int, attempt: LoginAttempt) -> AsyncGenerator[int]:
    """Where a browser is sent back to, while a person signs in; another port where this one is taken."""
    try:
        listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=port)
    except OSError:
        listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=0)

    async def answer(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            with (
                suppress(anyio.EndOfStream, anyio.BrokenResourceError),
                anyio.move_on_after(READ_S),
            ):
                head = await stream.receive(MAX_HEAD_BYTES)
                method, _, rest = head.split(b"\r\n", 1)[0].decode("latin-1").partition(" ")
                path = rest.partition(" ")[0]
                is_it = method == "GET" and urlsplit(path).path == CALLBACK and attempt.come(path)
                await stream.send(_DONE if is_it else _NOTHING)

    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, answer)
        yield int(listener.extra(anyio.abc.SocketAttribute.local_port))  # noqa: S610 - no Django here
        tasks.cancel_scope.cancel()


def _page(status: str, text: str) -> bytes:
    body = f"<!doctype html><meta charset=utf-8><title>Duetty</title><p>{text}"
    return (
        f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\n"
        "Content-Security-Policy: default-src 'none'\r\nReferrer-Policy: no-referrer\r\n"
        f"Connection: close\r\nContent-Length: {len(body)}\r\n\r\n{body}"
    ).encode()


_DONE = _page("200 OK", "You can close this window: Duetty goes on from here.")
_NOTHING = _page("404 Not Found", "Nothing is here.")

"""MCP over Streamable HTTP: the address's token, and answers that are not too long."""

import logging
import os
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
import httpx2
from mcp.client.streamable_http import streamable_http_client

from duetty.errors import BadArguments, BadSetting, UpstreamUnavailable
from duetty.upstreams.lines import MAX_MESSAGE_BYTES
from duetty.upstreams.link import LoginAttempt, Surroundings
from duetty.upstreams.oauth import Answers, LoginFile, auth_of, returning
from duetty.upstreams.upstream_settings import Address, OAuth, UpstreamOrder, expanded

log = logging.getLogger("duetty.upstreams")

CONNECT_S = 15.0
END_S = 2.0
"""For the other side to hear that its session has ended."""

MAX_TOKEN_BYTES = 16_384


class _Bounded(httpx2.AsyncByteStream):
    """A body that ends in an error when it is too long; streams of events have a limit of their own."""

    def __init__(self, body: httpx2.AsyncByteStream) -> None:
        self._body = body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = MAX_MESSAGE_BYTES
        async for chunk in self._body:
            left -= len(chunk)
            if left < 0:
                raise httpx2.StreamError(f"the answer has more than {MAX_MESSAGE_BYTES} bytes")
            yield chunk

    async def aclose(self) -> None:
        await self._body.aclose()


class _Transport(httpx2.AsyncHTTPTransport):
    def __init__(self, url: str, answers: Answers, tls: ssl.SSLContext | None) -> None:
        """`url`: of the upstream itself. What else is asked for, to sign in, is no stream whatever it says."""
        super().__init__(verify=True if tls is None else tls)
        self._url = httpx2.URL(url)
        self._answers = answers
        self.session: dict[str, str] = {}
        """Headers by which the other side knows it, where it keeps one."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        if response.status_code in (401, 403):
            self._answers.refused = response.status_code
        for headers in (request.headers, response.headers):
            self.session |= {name: headers[name] for name in _OF_SESSION if name in headers}
        kind = response.headers.get("content-type", "").lower()
        is_stream = kind.startswith("text/event-stream") and response.status_code == 200
        if not (is_stream and request.url == self._url):
            assert isinstance(response.stream, httpx2.AsyncByteStream)
            response.stream = _Bounded(response.stream)
        return response


@asynccontextmanager
async def reaching(
    order: UpstreamOrder, around: Surroundings, answers: Answers
) -> AsyncGenerator[tuple[object, object]]:
    """The SDK's transport to this address.

    Raises:
        BadSetting: if the token, or a certificate, cannot be had.
    """
    assert isinstance(order.target, Address)
    address, environment = order.target, around.environment
    auth = None
    if not address.has_token:
        auth = auth_of(
            order, environment, login_file(order, around), answers, sign_in=around.sign_in
        )
    headers = {name: expanded(value, environment) for name, value in address.headers.items()}
    if (token := _token(address, environment)) is not None:
        headers["Authorization"] = f"Bearer {token}"
    tls = await anyio.to_thread.run_sync(_tls, address)
    # What is packed could unpack to anything.
    headers["Accept-Encoding"] = "identity"
    timeout = httpx2.Timeout(CONNECT_S, read=None)
    url = expanded(address.url, environment)
    transport = _Transport(url, answers, tls)
    async with httpx2.AsyncClient(
        headers=headers, timeout=timeout, transport=transport, auth=auth
    ) as client:
        try:
            async with streamable_http_client(
                url,
                http_client=client,
                terminate_on_close=False,  # it would be cancelled with all the rest
                max_sse_event_size=MAX_MESSAGE_BYTES,
            ) as streams:
                yield streams
        finally:
            await _end_session(client, url, transport.session)


_SESSION = "mcp-session-id"
_OF_SESSION = (_SESSION, "mcp-protocol-version")


async def _end_session(client: httpx2.AsyncClient, url: str, session: Mapping[str, str]) -> None:
    """So that the other side keeps nothing of it any longer."""
    if _SESSION not in session:
        return
    with anyio.CancelScope(shield=True, deadline=anyio.current_time() + END_S):
        with suppress(httpx2.HTTPError):
            await client.delete(url, headers=session)


async def log_in(order: UpstreamOrder, around: Surroundings, attempt: LoginAttempt) -> None:
    """Until a person has signed in, and what they were granted is kept.

    Raises:
        DuettyError: saying why it did not come to that.
    """
    address = order.target
    if not isinstance(address, Address) or address.has_token or (address.oauth or OAuth()).is_own:
        raise BadArguments(f"the table of {order.name!r} has its token: there is no sign-in")
    answers, kept = Answers(), login_file(order, around)
    kept.known.tokens = None  # another may be meant this time
    settings = address.oauth or OAuth()
    tls = await anyio.to_thread.run_sync(_tls, address)
    async with returning(settings.redirect_port or kept.redirect_port or 0, attempt) as port:
        if settings.redirect_port not in (None, port):
            raise UpstreamUnavailable(f"port {settings.redirect_port} is taken (redirect_port)")
        if port != kept.redirect_port:
            kept.known.client = None  # it was registered for another place
        auth = auth_of(
            order, around.environment, kept, answers, sign_in=attempt.ask, redirect_port=port
        )
        headers = {
            name: expanded(value, around.environment) for name, value in address.headers.items()
        }
        url = expanded(address.url, around.environment)
        async with httpx2.AsyncClient(
            headers=headers | _ASKING,
            timeout=CONNECT_S,
            transport=_Transport(url, answers, tls),
            auth=auth,
        ) as client:
            try:
                async with client.stream("POST", url, json=_PING):
                    pass
            except httpx2.HTTPError as error:
                raise answers.login or UpstreamUnavailable(
                    f"it cannot be reached: {type(error).__name__}"
                ) from error
    if kept.known.tokens is None:
        raise UpstreamUnavailable(f"{order.name!r} does not ask for a sign-in")


_PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
_ASKING = {"Accept": "application/json, text/event-stream", "Accept-Encoding": "identity"}
"""Of a request that is only to be refused: by that the upstream tells where to sign in."""


def login_file(order: UpstreamOrder, around: Surroundings) -> LoginFile:
    file = None if around.logins is None else around.logins / f"{order.name}.json"
    return LoginFile(file, order.identity)


def _tls(address: Address) -> ssl.SSLContext | None:
    """How the other side shows who it is, and we do; None: as the system has it."""
    if not address.verify:
        log.warning("upstream_not_verified", extra={"host": urlsplit(address.url).hostname})
    elif address.ca_file is None and address.client_cert is None:
        return None
    try:
        context = ssl.create_default_context(cafile=_place(address.ca_file))
        if address.client_cert is not None:
            certificate = Path(address.client_cert).expanduser()
            context.load_cert_chain(certificate, _place(address.client_key), password=_no_password)
    except (OSError, ValueError) as error:  # ssl.SSLError is one of them
        raise BadSetting(f"its certificates cannot be used: {error}") from error
    if not address.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _place(file: str | None) -> Path | None:
    return None if file is None else Path(file).expanduser()


def _no_password() -> str:
    """In place of a question on the server's terminal."""
    raise ValueError("the key has a password")


def _token(address: Address, environment: Mapping[str, str]) -> str | None:
    """Raises:
    BadSetting: if it is not where the settings say; the message never has it.
    """
    if address.token_env is not None:
        token = environment.get(address.token_env)
        if not token:
            raise BadSetting(f"the server's environment has no variable {address.token_env}")
    elif address.token_file is not None:
        token = _read(Path(address.token_file).expanduser())
    else:
        return None
    token = token.strip()
    if not token.isascii() or not token.isprintable():
        raise BadSetting("the token has characters that cannot be sent")
    return token


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_mode & 0o077:
                raise BadSetting(f"others may read the token in {path}", hint=f"chmod 600 {path}")
            return file.read(MAX_TOKEN_BYTES).decode("utf-8", "replace")
    except OSError as error:
        raise BadSetting(f"cannot read the token in {path}: {error.strerror}") from error

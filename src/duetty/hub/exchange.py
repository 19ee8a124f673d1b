"""One HTTP request to another node and its answer, both bounded in size and time.

The connection goes to an address that was checked, whatever the name means by then.
"""

import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager

import anyio
import anyio.abc
import httptools

from duetty.errors import ServerUnavailable
from duetty.hub.addresses import Address

CONNECT_S = 5.0
MAX_HEAD_BYTES = 64 * 1024

MAX_ANSWER_BYTES = 64 * 1024 * 1024
"""Ten thousand wide styled rows stay below; more is no answer of ours."""

_CHUNK = 64 * 1024


class HttpAnswer:
    """The head of an answer; its body as it comes."""

    def __init__(self, stream: anyio.abc.ByteStream) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self._stream = stream
        self._parser = httptools.HttpResponseParser(self)
        self._parts: list[bytes] = []
        self._head_bytes = 0
        self._has_head = False
        self._is_whole = False

    # --- called by the parser -----------------------------------------------------

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        self.status = self._parser.get_status_code()
        self._has_head = True

    def on_body(self, body: bytes) -> None:
        self._parts.append(body)

    def on_message_complete(self) -> None:
        self._is_whole = True

    # --- for the requester ------------------------------------------------------

    async def read_head(self) -> None:
        while not self._has_head:
            await self._more()
            if not self._has_head and self._head_bytes > MAX_HEAD_BYTES:
                raise ServerUnavailable("the head of its answer does not end")

    async def _more(self) -> None:
        try:
            received = await self._stream.receive(_CHUNK)
            self._head_bytes += len(received)
            self._parser.feed_data(received)
        except anyio.EndOfStream as error:
            raise ServerUnavailable("it ended the connection within its answer") from error
        except httptools.HttpParserError as error:
            raise ServerUnavailable("its answer is not HTTP") from error

    async def chunks(self) -> AsyncIterator[bytes]:
        while True:
            parts, self._parts = self._parts, []
            for part in parts:
                yield part
            if self._is_whole:
                return
            await self._more()

    async def body(self) -> bytes:
        """All of it.

        Raises:
            ServerUnavailable: if it is too large, or does not come.
        """
        return await gathered(self.chunks())


async def gathered(chunks: AsyncIterator[bytes]) -> bytes:
    """Raises:
    ServerUnavailable: if it is too much.
    """
    whole = bytearray()
    async for chunk in chunks:
        whole += chunk
        if len(whole) > MAX_ANSWER_BYTES:
            raise ServerUnavailable(f"its answer has more than {MAX_ANSWER_BYTES} bytes")
    return bytes(whole)


@asynccontextmanager
async def exchange(
    address: Address,
    ip: str,
    tls: ssl.SSLContext | None,
    *,
    method: str,
    target: str,
    headers: Mapping[str, str],
    body: bytes | None,
) -> AsyncGenerator[HttpAnswer]:
    """Ask, and give the answer when its head is there. The caller bounds the wait.

    Raises:
        ServerUnavailable: if there is none.
    """
    try:
        with anyio.fail_after(CONNECT_S):
            stream = await _connected(address, ip, tls)
    except (OSError, TimeoutError, anyio.BrokenResourceError, anyio.EndOfStream) as error:
        raise ServerUnavailable("it does not take connections") from error
    async with stream:
        answer = HttpAnswer(stream)
        try:
            await stream.send(_request(address, method, target, headers, body))
            await answer.read_head()
            yield answer
        except (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
            raise ServerUnavailable("the connection to it broke") from error


async def _connected(address: Address, ip: str, tls: ssl.SSLContext | None) -> anyio.abc.ByteStream:
    if address.scheme == "http":
        return await anyio.connect_tcp(ip, address.port)
    return await anyio.connect_tcp(
        ip,
        address.port,
        tls=True,
        ssl_context=tls or ssl.create_default_context(),
        tls_hostname=address.host,
        tls_standard_compatible=False,
    )


def _request(
    address: Address, method: str, target: str, headers: Mapping[str, str], body: bytes | None
) -> bytes:
    fields = {
        "Host": address.authority,
        "Connection": "close",
        "Accept": "application/json, */*;q=0.5",
        **({} if body is None else {"Content-Length": str(len(body))}),
        **headers,
    }
    lines = [f"{method} {address.prefix}{target} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in fields.items()]
    assert not any("\r" in line or "\n" in line for line in lines), "a header ends where it ends"
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + (body or b"")

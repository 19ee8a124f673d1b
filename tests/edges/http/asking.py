"""What the tests of the HTTP edge ask a server with."""

import socket
import ssl
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.server_process import ServerProcess


def code(response: httpx.Response) -> str:
    return response.json()["error"]["code"]


def refusal(response: httpx.Response) -> tuple[int, str]:
    return response.status_code, code(response)


def client_of(server: ServerProcess, **options: Any) -> httpx.Client:
    headers = {"Authorization": f"Bearer {server.token()}"}
    return httpx.Client(base_url=server.url(), headers=headers, timeout=60, **options)


@contextmanager
def started(home: Path, *arguments: str, **env: str) -> Generator[ServerProcess]:
    """A server of its own, for what is decided when it starts."""
    server = ServerProcess(home, **env)
    server.start(*arguments)
    try:
        yield server
    finally:
        server.end()


def address_of(server: ServerProcess) -> tuple[str, int]:
    url = httpx.URL(server.url())
    assert url.port is not None
    return url.host, url.port


def spoken(server: ServerProcess, said: bytes, *, tls: ssl.SSLContext | None = None) -> bytes:
    """Everything that a server answers to these very bytes, until it closes."""
    with socket.create_connection(address_of(server), timeout=30) as plain:
        connection = plain if tls is None else tls.wrap_socket(plain, server_hostname="localhost")
        connection.sendall(said)
        heard = b""
        while part := connection.recv(65536):
            heard += part
        return heard


@contextmanager
def browser_of(server: ServerProcess, **options: Any) -> Generator[httpx.Client]:
    """A browser that has just signed in."""
    link = server.command("token", "--link").stdout.strip()
    headers = {"Sec-Fetch-Site": "same-origin"}
    with httpx.Client(base_url=server.url(), timeout=60, headers=headers, **options) as browser:
        assert browser.get(link).status_code == 303
        yield browser


def new_token(http: httpx.Client, *scopes: str, **more: object) -> str:
    made = http.post("/tokens", json={"name": "test", "scopes": list(scopes), **more})
    assert made.status_code == 201, made.text
    return made.json()["token"]


def with_token(server: ServerProcess, token: str) -> httpx.Client:
    headers = {"Authorization": f"Bearer {token}"}
    return httpx.Client(base_url=server.url(), headers=headers, timeout=60)

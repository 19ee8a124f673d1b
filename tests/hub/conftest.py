"""A hub and two nodes: three real servers on loopback, each with a name and a token of its own."""

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from duetty.hub.local_bus import LocalNetwork
from duetty.hub.nats_bus import nats_bus
from tests.hub.nats_server import Join, NatsServer, nats_server
from tests.server_process import ServerProcess

HEALTHY_S = 60.0


class Servers:
    """The hub, the nodes that it speaks for, and a client of each."""

    def __init__(self, stack: ExitStack, **env: str) -> None:
        self._stack = stack
        self.hub = self.start("hub", **env)
        self.http = self.client(self.hub)

    def start(self, hostname: str, **env: str) -> ServerProcess:
        home = Path(
            self._stack.enter_context(
                tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True)
            )
        )
        server = ServerProcess(home, **{"DUETTY_POLICY_PROFILE": "open", **env})
        server.start("--hostname", hostname)
        self._stack.callback(server.end)
        return server

    def client(self, server: ServerProcess, token: str | None = None) -> httpx.Client:
        headers = {"Authorization": f"Bearer {token or server.token()}"}
        client = httpx.Client(base_url=server.url(), headers=headers, timeout=60)
        return self._stack.enter_context(client)

    def add(self, server: ServerProcess, *, token: str | None = None) -> httpx.Response:
        given = {"address": server.url(), "token": token or server.token()}
        return self.http.post("/servers", json=given)

    def entry(self, address: str) -> dict[str, Any]:
        return next(each for each in self.http.get("/servers").json() if each["address"] == address)

    def wait_health(self, address: str, health: str) -> dict[str, Any]:
        def look() -> dict[str, Any] | None:
            entry = self.entry(address)
            return entry if entry["health"] == health else None

        return wait_for(look)


def wait_for(look: Callable[[], Any]) -> Any:
    deadline_s = time.monotonic() + HEALTHY_S
    while (found := look()) is None:
        assert time.monotonic() < deadline_s, "it did not come to that"
        time.sleep(0.02)
    return found


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    with ExitStack() as stack:
        yield Servers(stack)


@pytest.fixture(scope="module")
def node(servers: Servers) -> ServerProcess:
    """A healthy node called `alpha`."""
    alpha = servers.start("alpha")
    assert servers.add(alpha).status_code == 201
    servers.wait_health(alpha.url(), "healthy")
    return alpha


# --- engines ------------------------------------------------------------------------

_prefixes = iter(range(1_000_000))


@pytest.fixture(scope="module")
def shared_server() -> Iterator[NatsServer]:
    with nats_server() as server:
        yield server


@pytest.fixture
def own_server() -> Iterator[NatsServer]:
    with nats_server() as server:
        yield server


@pytest.fixture(params=["local", "nats"])
def join(request: pytest.FixtureRequest) -> Join:
    """Members of one hub, one call each."""
    if request.param == "local":
        network = LocalNetwork(lease_s=1)
        return network.bus
    server: NatsServer = request.getfixturevalue("shared_server")
    prefix = f"t{next(_prefixes)}"
    return lambda name: nats_bus(server.url, name, prefix=prefix, lease_s=1)

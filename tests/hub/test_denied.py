"""What the hub's own rules deny is not sent to a node, whatever kind of call it is."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.edges.http.asking import refusal
from tests.hub.conftest import Servers
from tests.server_process import ServerProcess

pytestmark = [pytest.mark.pty]

RULES = """\
[policy]
profile = "open"
[[policy.rules]]
name = "no-delete"
decide = "deny"
tool = "mcp__*__delete_*"
[[policy.rules]]
name = "no-touch"
decide = "deny"
command = ["touch **"]
"""


class Denying(Servers):
    def start(self, hostname: str, **env: str) -> ServerProcess:
        if hostname != "hub":
            return super().start(hostname, **env)
        home = Path(self._stack.enter_context(TemporaryDirectory(prefix="d-", dir="/tmp")))
        (home / "config.toml").write_text(RULES)
        server = ServerProcess(home)
        server.start("--hostname", hostname)
        self._stack.callback(server.end)
        return server


@pytest.fixture(scope="module")
def denying() -> Iterator[Servers]:
    with ExitStack() as stack:
        servers = Denying(stack)
        node = servers.start("alpha")
        assert servers.add(node).status_code == 201
        servers.wait_health(node.url(), "healthy")
        yield servers


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/upstreams/files/call", {"tool": "delete_all", "arguments": {}}),
        ("/processes/run", {"command": "touch made"}),
        ("/sessions", {"command": "touch made"}),
    ],
)
def test_a_denial_holds_for_a_call_to_another_node(
    denying: Servers, path: str, body: dict[str, object]
) -> None:
    answer = denying.http.post(path, json={**body, "server": "alpha"})

    assert refusal(answer) == (403, "policy_denied")


def test_what_no_rule_denies_is_sent_on(denying: Servers) -> None:
    answer = denying.http.post(
        "/upstreams/files/call", json={"tool": "read_all", "arguments": {}, "server": "alpha"}
    )

    assert refusal(answer) == (404, "upstream_not_found")

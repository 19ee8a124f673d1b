"""Both generations of the official TypeScript client, over both transports."""

import json
import sys
from pathlib import Path

import pytest

from tests.peers.conftest import HERE, run_node
from tests.server_process import ServerProcess

pytestmark = pytest.mark.pty


@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize(
    ("generation", "era"), [("v1", "legacy"), ("v2", "legacy"), ("v2", "auto")]
)
def test_a_typescript_client_can_do_everything(
    node: Path, server: ServerProcess, generation: str, era: str, transport: str
) -> None:
    ran = run_node(
        node,
        str(HERE / "peer.mjs"),
        generation,
        transport,
        era,
        PEER_URL=f"{server.url()}/mcp",
        PEER_TOKEN=server.token(),
        PEER_COMMAND=json.dumps([sys.executable, "-m", "duetty", "mcp"]),
        **{key: server.env[key] for key in ("HOME", "DUETTY_HOME", "SHELL")},
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    saw = json.loads(ran.stdout.splitlines()[-1])

    assert len(saw.pop("tools")) == 14
    assert saw.pop("progress") >= 1
    told = era == "legacy"
    assert (saw.pop("updated"), saw.pop("listChanged")) == (told, told)
    assert saw == {
        "prompts": 9,
        "output": "hello",
        "exitCode": 0,
        "deadlineIsError": True,
        "slow": 0,
        "unknown": -32602,
        "rows": 24,
        "wasAborted": True,
        "alive": "alive",
    }

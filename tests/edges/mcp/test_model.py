"""Whether a model can do its work with these tools, and at what price."""

import secrets
import shutil
from pathlib import Path

import pytest

from tests.edges.mcp.connect import connected
from tests.edges.mcp.model import NEEDS, TASKS, solve
from tests.server_process import ServerProcess

pytestmark = [pytest.mark.anyio, pytest.mark.pty]

MOST = {
    "edit a file in vim": (2, 1_500),
    "bisect a repository": (4, 4_000),
    "answer an interactive installer": (4, 1_500),
    "drive a REPL and less": (9, 4_000),
    "find a line in 50,000": (1, 600),
    "run three servers, stop one": (11, 6_000),
    "recover from an editor left open": (6, 4_000),
}
"""Calls, and bytes to read: some twice of what it takes."""


@pytest.mark.parametrize("what", TASKS)
@pytest.mark.parametrize("way", ["stdio-2025", "http-2026"])
@pytest.mark.sampled(3)
async def test_a_task_is_solved_with_few_calls_and_little_to_read(
    server: ServerProcess, way: str, what: str, tmp_path: Path
) -> None:
    if (needed := NEEDS.get(what)) and shutil.which(needed) is None:
        pytest.skip(f"{needed} is not installed")

    async with connected(way, server) as client:
        spent = await solve(client, what, f"m{secrets.token_hex(4)}", tmp_path)

    most_calls, most_bytes = MOST[what]
    assert spent.calls <= most_calls
    assert spent.bytes <= most_bytes

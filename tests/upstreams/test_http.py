"""An upstream elsewhere, over Streamable HTTP: its token, its end, its return."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from duetty.errors import UpstreamFault
from tests.upstreams.running import HERE, WAIT_S, Home, trusted, until


class Elsewhere:
    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.port = 0
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        port_file = self.directory / "port"
        port_file.unlink(missing_ok=True)
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "server.py"), "http", str(port_file)],
            env={**os.environ, "TOKEN": "open-sesame", "PORT": str(self.port)},
        )
        deadline_s = time.monotonic() + WAIT_S
        while not port_file.exists():
            assert self.process.poll() is None
            assert time.monotonic() < deadline_s
            time.sleep(0.02)
        self.port = int(port_file.read_text(encoding="utf-8"))

    def end(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait(WAIT_S)

    def table(self, **more: Any) -> dict[str, Any]:
        return {"url": f"http://127.0.0.1:{self.port}/mcp", **more}


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Elsewhere]:
    found = Elsewhere(tmp_path)
    found.start()
    yield found
    found.end()


async def test_it_is_called_with_its_token_and_found_again_after_it_was_gone(
    tmp_path: Path, elsewhere: Elsewhere
) -> None:
    token = tmp_path / "token"
    token.write_text("open-sesame\n", encoding="utf-8")
    token.chmod(0o600)
    home = Home(tmp_path)
    async with home.running(it=elsewhere.table(token_file=str(token))) as upstreams:
        upstream = await trusted(upstreams)
        with anyio.fail_after(WAIT_S):
            first = await upstreams.call("it", "echo", {"text": "far"})
            large = await upstreams.call("it", "large", {"bytes": 10_000_000})
            with pytest.raises(UpstreamFault):
                await upstreams.call("it", "asks", {})

        await anyio.to_thread.run_sync(elsewhere.end)
        await until(upstreams, lambda: upstream.state == "failed")
        assert upstream.error is not None
        assert "open-sesame" not in upstream.error.message
        await anyio.to_thread.run_sync(elsewhere.start)
        await until(upstreams, lambda: upstream.state == "ready")
        with anyio.fail_after(WAIT_S):
            again = await upstreams.call("it", "echo", {"text": "far"})

    assert first["structuredContent"] == again["structuredContent"]
    assert len(large["content"][0]["text"]) == 10_000_000


async def test_a_wrong_token_is_told_as_a_refusal(tmp_path: Path, elsewhere: Elsewhere) -> None:
    home = Home(tmp_path)
    home.environment["KEY"] = "wrong-one"
    async with home.running(it=elsewhere.table(token_env="KEY")) as upstreams:
        upstream = upstreams.find("it")
        await until(upstreams, lambda: upstream.state == "failed")

        assert upstream.error is not None
        assert "HTTP 401" in upstream.error.message
        assert "wrong-one" not in upstream.error.message


async def test_a_token_that_others_can_read_is_not_used(
    tmp_path: Path, elsewhere: Elsewhere
) -> None:
    token = tmp_path / "token"
    token.write_text("open-sesame", encoding="utf-8")
    token.chmod(0o644)
    async with Home(tmp_path).running(it=elsewhere.table(token_file=str(token))) as upstreams:
        upstream = upstreams.find("it")
        await until(upstreams, lambda: upstream.state == "failed")

        assert upstream.error is not None
        assert upstream.error.code == "bad_setting"

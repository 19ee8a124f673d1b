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
from duetty.upstreams import Upstream
from tests.edges.http.test_network import certificate
from tests.upstreams.running import HERE, WAIT_S, Home, trusted, until


class Elsewhere:
    def __init__(self, directory: Path, **env: str) -> None:
        self.directory = directory
        self.env = env
        self.port = 0
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        port_file = self.directory / "port"
        port_file.unlink(missing_ok=True)
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "server.py"), "http", str(port_file)],
            env={**os.environ, "TOKEN": "open-sesame", "PORT": str(self.port), **self.env},
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
        scheme = "https" if "CERT" in self.env else "http"
        return {"url": f"{scheme}://127.0.0.1:{self.port}/mcp", **more}


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


@pytest.mark.parametrize("era", ["2025", "2026"])
async def test_each_era_is_spoken_to_a_server_elsewhere(
    tmp_path: Path, era: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("duetty.upstreams.http.MAX_MESSAGE_BYTES", 1_000_000)
    elsewhere = Elsewhere(tmp_path, ERA=era)
    elsewhere.start()
    home = Home(tmp_path)
    home.environment["KEY"] = "open-sesame"
    table = elsewhere.table(headers={"Authorization": "Bearer ${KEY}"})
    try:
        async with home.running(it=table) as upstreams:
            upstream = await trusted(upstreams)
            assert upstream.link is not None
            assert upstream.link.protocol.startswith(era)
            with anyio.fail_after(WAIT_S):
                answer = await upstreams.call("it", "echo", {"text": "far"})
                resources, templates = await upstreams.resources("it")
                read = await upstreams.read("it", "note://one")
                prompt = await upstreams.prompt("it", "greet", {"who": "Ada"})
                with pytest.raises(UpstreamFault, match="1000000"):  # it costs that call only
                    await upstreams.call("it", "large", {"bytes": 2_000_000})
                await upstreams.call("it", "change", {"to": "Says it again."})
                await until(upstreams, lambda: upstream.state == "ready" and changed(upstream))
        assert (tmp_path / "ended").exists() is (era == "2025")  # only there is a session to end
    finally:
        elsewhere.end()

    assert (upstream.restarts, answer["structuredContent"]["said"]) == (0, "far")
    assert ([each["uri"] for each in resources], len(templates)) == (["note://one"], 1)
    assert read["contents"][0]["text"] == "first"
    assert prompt["messages"][0]["content"]["text"] == "Greet Ada"


def changed(upstream: Upstream) -> bool:
    return upstream.tools["echo"].description == "Says it again."


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


@pytest.fixture
def secured(tmp_path: Path) -> Iterator[tuple[Elsewhere, Path, Path]]:
    """One that shows a certificate of its own, and wants one of ours."""
    cert, key = certificate(tmp_path)
    found = Elsewhere(tmp_path, CERT=str(cert), KEY=str(key), CLIENTS=str(cert))
    found.start()
    yield found, cert, key
    found.end()


async def test_certificates_are_checked_and_shown_as_the_table_says(
    tmp_path: Path, secured: tuple[Elsewhere, Path, Path], caplog: pytest.LogCaptureFixture
) -> None:
    elsewhere, cert, key = secured
    home = Home(tmp_path)
    home.environment["TOKEN"] = "open-sesame"
    ours = {"token_env": "TOKEN", "client_cert": str(cert), "client_key": str(key)}
    async with home.running(
        good=elsewhere.table(**ours, ca_file=str(cert)),
        believed=elsewhere.table(**ours, verify=False),
        unknown=elsewhere.table(**ours),
        nameless=elsewhere.table(token_env="TOKEN", ca_file=str(cert)),
        missing=elsewhere.table(token_env="TOKEN", ca_file=str(tmp_path / "none.pem")),
    ) as upstreams:
        states = {each.name: each.state for each in upstreams.all()}
        missing = upstreams.find("missing").error

    assert states == {
        "good": "quarantined",
        "believed": "quarantined",
        "unknown": "failed",
        "nameless": "failed",
        "missing": "failed",
    }
    assert missing is not None
    assert missing.code == "bad_setting"
    warnings = [each for each in caplog.records if each.msg == "upstream_not_verified"]
    assert len(warnings) == 1

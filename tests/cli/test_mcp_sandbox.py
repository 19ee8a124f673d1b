"""`duetty mcp install HOST --sandbox`: what the host then opens is confined, whatever it asks for."""

import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from duetty.cli import jsonc
from duetty.cli.commands.mcp_hosts import HOSTS
from duetty.cli.main import main
from duetty.cli.sandbox_options import host_confinement
from duetty.sandbox import Support, support
from tests.edges.mcp.connect import call, nowhere
from tests.edges.mcp.host import Host, hosted
from tests.sandbox.inside import needs_both, settled_sockets
from tests.server_process import ServerProcess, running_server

pytestmark = [pytest.mark.anyio, pytest.mark.pty]


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    with (
        tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as home,
        settled_sockets(),
        running_server(Path(home), DUETTY_POLICY_PROFILE="open") as server,
    ):
        yield server


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with a directory in it, in which the host is started."""
    (tmp_path / "project/src").mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(tmp_path / "project")], check=True)
    return tmp_path / "project"


def installed(name: str, home: Path, monkeypatch: pytest.MonkeyPatch, *options: str) -> Any:
    """The entry that a host finds."""
    for variable in ("XDG_CONFIG_HOME", "CODEX_HOME", "DUETTY_INSTANCE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(home))
    assert main(["mcp", "install", name, *options]) == 0
    path = HOSTS[name].file(home)
    text = path.read_text()
    found: Any = tomllib.loads(text) if path.suffix == ".toml" else jsonc.parsed(text)
    return found[HOSTS[name].key]["duetty"]


@needs_both
@pytest.mark.parametrize("name", HOSTS)
async def test_what_each_host_opens_is_confined_to_the_repository_it_works_in(
    name: str,
    server: ServerProcess,
    project: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DUETTY_HOME", str(server.home))
    entry = installed(name, tmp_path, monkeypatch, "--sandbox")
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "duetty", *entry["args"][entry["args"].index("mcp") :]],
        env={**server.env, **entry["env"]},
        cwd=project / "src",
    )

    with nowhere() as silence:
        transport = stdio_client(parameters, errlog=silence)
        async with Client(transport, mode="legacy", read_timeout_seconds=60) as client:
            session = (await call(client, "wsh_create_session"))["session"]
            inside = await call(
                client, "wsh_run_command", session=session, input="touch made ../above && pwd"
            )
            await call(
                client, "wsh_run_command", session=session, input=f"touch {tmp_path}/escaped"
            )

    assert entry["args"][-2:] == ["mcp", "--sandbox"]
    assert inside["exit_code"] == 0
    assert (project / "above").exists()
    assert (project / "src/made").exists()
    assert not (tmp_path / "escaped").exists()
    info = server.client.get(f"/sessions/{session}")
    assert info["sandbox"] == ("bubblewrap" if support().bubblewrap else "landlock")


@needs_both
def test_a_command_without_a_terminal_is_confined_too(
    server: ServerProcess, project: Path, tmp_path: Path
) -> None:
    with hosted(server, "--dialect", "command", "--sandbox", cwd=project) as host:
        host.shake_hands()

        made = host.call("run_command", command="touch made")
        host.call("run_command", command=f"touch {tmp_path}/escaped")

    assert (made["exit_code"], (project / "made").exists()) == (0, True)
    assert not (tmp_path / "escaped").exists()


@needs_both
def test_a_host_that_asks_for_no_sandbox_is_refused(server: ServerProcess, project: Path) -> None:
    with hosted(server, "--dialect", "terminal", "--sandbox", cwd=project) as host:
        host.shake_hands()
        told = host.call(
            "terminal",
            action="execute",
            invocation={"mode": "headless"},
            execution={"command": "ls"},
            runtime={"sandbox": "none"},
        )

    assert told["error"]["code"] == "PM_TERM_BLOCKED_DESTRUCTIVE", told
    assert "sandbox 'any'" in told["error"]["message"]


@needs_both
def test_a_bare_session_is_read_and_not_typed_into(server: ServerProcess, project: Path) -> None:
    server.client.post("/sessions", {"name": f"bare-{os.getpid()}"})
    bare = f"bare-{os.getpid()}"
    with hosted(server, "--sandbox", cwd=project) as host:
        host.shake_hands()
        answers = [
            host.call("wsh_run_command", session=bare, input="touch escaped"),
            host.call("wsh_send_input", session=bare, input="touch escaped\n"),
            host.call("wsh_manage_session", session=bare, action="kill"),
        ]
        seen = host.call("wsh_get_screen", session=bare)

    assert [each["error"]["code"] for each in answers] == ["policy_denied"] * 3
    assert all(each["rule"] == "mcp --sandbox" for each in answers)
    assert "error" not in seen
    assert server.client.get(f"/sessions/{bare}")["state"] != "exited"


@needs_both
@pytest.mark.parametrize("asked", [None, "none", "any"])
def test_a_host_cannot_take_the_sandbox_off_by_another_greeting(
    server: ServerProcess, project: Path, tmp_path: Path, asked: str | None
) -> None:
    about = {"cwd": str(project), "sandbox": asked, "workspaces": [str(tmp_path)]}
    with hosted(server, "--sandbox", cwd=project) as host:
        again = host.ask("duetty/hello", about)
        host.shake_hands()
        escaped = _escapes(host, tmp_path)

    assert "error" not in again
    assert not escaped


@needs_both
def test_the_next_server_confines_the_connection_too(project: Path, tmp_path: Path) -> None:
    with (
        tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as home,
        settled_sockets(),
        running_server(Path(home), DUETTY_POLICY_PROFILE="open") as server,
        hosted(server, "--sandbox", cwd=project) as host,
    ):
        host.shake_hands()
        server.kill()
        server.start()

        assert not _escapes(host, tmp_path)


def _escapes(host: Host, tmp_path: Path) -> bool:
    session = host.call("wsh_create_session")["session"]
    host.call("wsh_run_command", session=session, input=f"touch {tmp_path}/escaped")
    return (tmp_path / "escaped").exists()


def test_a_sandbox_that_there_is_not_ends_the_connection(server: ServerProcess) -> None:
    with hosted(server) as host:
        refused = host.ask("duetty/hello", {"sandbox": "cardboard", "workspaces": []})

    assert refused["error"]["message"] == "no sandbox of that kind can be asked for"


def test_the_flag_is_written_with_its_level_and_workspaces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = Support(
        bubblewrap="/usr/bin/bwrap", bubblewrap_reason=None, landlock=6, machine="x86_64"
    )
    monkeypatch.setattr("duetty.sandbox.support", lambda: every)
    options = ("--sandbox", "landlock", "--workspace", "/srv/work", "--workspace", "/srv/b")

    entry = installed("claude-desktop", tmp_path, monkeypatch, *options)

    words = ["--workspace", "/srv/work", "--workspace", "/srv/b", "--sandbox", "landlock"]
    assert entry["args"][-6:] == words


def test_a_machine_without_sandboxes_gets_no_such_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    none = Support(bubblewrap=None, bubblewrap_reason="none", landlock=0, machine="x86_64")
    monkeypatch.setattr("duetty.sandbox.support", lambda: none)
    monkeypatch.setenv("HOME", str(tmp_path))

    assert main(["mcp", "install", "cursor", "--sandbox"]) == 1

    assert "sandbox_unavailable" in capsys.readouterr().err
    assert not (tmp_path / ".cursor").exists()


@pytest.mark.parametrize("started_in", ["", "repo/src"])
def test_a_home_is_not_handed_over(
    started_in: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor where dotfiles are a repository of their own."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "repo/src").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path / started_in)
    arguments = _parsed("--sandbox")

    assert host_confinement(arguments) == (
        "any",
        [str(tmp_path / started_in)] if started_in else [],
    )


def _parsed(*words: str) -> Any:
    import argparse

    from duetty.cli.commands.mcp import add_arguments

    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return parser.parse_args(words)

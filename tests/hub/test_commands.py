"""The command line with several servers."""

import json
import subprocess

import pytest

from tests.hub.conftest import Servers, wait_for
from tests.server_process import ServerProcess

pytestmark = [pytest.mark.pty]


def told(said: subprocess.CompletedProcess[str]) -> str:
    assert said.returncode == 0, said.stderr
    return said.stdout


def test_a_server_is_added_with_its_token_piped_in_shown_and_removed(servers: Servers) -> None:
    hub = servers.hub
    zeta = servers.start("zeta")

    added = hub.command("servers", "add", zeta.url(), input=zeta.token())

    assert zeta.url() in told(added)
    servers.wait_health(zeta.url(), "healthy")
    listed = json.loads(told(hub.command("servers", "--json")))
    assert listed[0]["hostname"] == "hub"
    assert "zeta" in told(hub.command("servers"))
    assert told(hub.command("servers", "remove", "zeta")) == ""
    assert hub.command("servers", "remove", "zeta").returncode == 1


def test_a_token_comes_from_a_file_or_a_pipe_and_never_from_an_argument(servers: Servers) -> None:
    nothing = servers.hub.command("servers", "add", "http://127.0.0.1:9", input="")
    missing = servers.hub.command("servers", "add", "http://127.0.0.1:9", "--token-file", "/no")
    argument = servers.hub.command("servers", "add", "http://127.0.0.1:9", "--token", "x")

    assert nothing.returncode == 1
    assert "duetty token create" in nothing.stderr
    assert missing.returncode == 1
    assert argument.returncode == 2


def test_commands_reach_a_session_of_another_server(servers: Servers, node: ServerProcess) -> None:
    hub = servers.hub
    node.client.post("/sessions", {"name": "cli-far", "command": "bash"})
    there = ("--server", "alpha")

    assert hub.command("wait", "cli-far", "--state", "prompt", *there).returncode == 0
    ran = hub.command("run", *there, "-s", "cli-far", "echo c-$((40+2)); (exit 3)")
    own = hub.command("run", *there, "--", "sh", "-c", "exit 4")
    told(hub.command("send", "cli-far", "echo typed", "--enter", *there))
    told(hub.command("wait", "cli-far", "--regex", "\ntyped", *there))

    assert ran.stdout.strip() == "c-42"
    assert own.returncode == 4
    assert "c-42" in told(hub.command("screen", "cli-far", *there))
    assert hub.command("screen", "cli-far").returncode == 1
    assert "cli-far" in told(hub.command("list"))
    assert "SERVER" in told(hub.command("list")) or "alpha" in told(hub.command("list", "--json"))
    assert "cli-far" not in told(hub.command("list", "--names"))
    assert "cli-far" in told(hub.command("list", "--names", *there))
    assert told(hub.command("tag", "cli-far", "--add", "x", *there)).strip() == "x"
    told(hub.command("rename", "cli-far", "cli-farther", *there))
    told(hub.command("kill", "cli-farther", *there))
    assert node.command("screen", "cli-farther").returncode == 1
    unknown = hub.command("screen", "x", "--server", "nobody")
    assert "[server_not_found]" in unknown.stderr


def test_kill_all_ends_the_sessions_of_this_server_only(
    servers: Servers, node: ServerProcess
) -> None:
    hub = servers.start("killer")
    client = servers.client(hub)
    client.post("/servers", json={"address": node.url(), "token": node.token()})
    wait_for(lambda: client.get("/servers").json()[1]["health"] == "healthy" or None)
    for where in ({}, {"server": "alpha"}):
        client.post("/sessions", json={"name": "same", "command": "cat", **where})

    told(hub.command("kill", "--all"))

    left = client.get("/sessions").json()
    assert ("same", "alpha") in {(each["name"], each["server"]) for each in left}
    assert "killer" not in {each["server"] for each in left}
    node.client.delete("/sessions/same?grace_ms=0")

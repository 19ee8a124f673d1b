"""Upstreams of a whole server: its operations, its command line, and its sudden end."""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from duetty.client import RemoteError
from duetty.upstreams.upstream_settings import as_toml
from tests.server_process import ServerProcess, is_alive
from tests.upstreams.running import named, plain, until_true

pytestmark = pytest.mark.pty


@pytest.fixture
def home() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as place:
        yield Path(place)


def configured(home: Path, **tables: dict[str, Any]) -> ServerProcess:
    text = "\n".join(as_toml(name, table) for name, table in tables.items())
    (home / "config.toml").write_text(text, encoding="utf-8")
    return ServerProcess(home)


def settled(server: ServerProcess, name: str) -> dict[str, Any]:
    found = server.client.get("/upstreams")
    while True:
        it = next(each for each in found["upstreams"] if each["name"] == name)
        if it["state"] != "starting":
            return it
        found = server.client.get("/upstreams", after=found["seq"], wait_ms=5_000)


async def test_no_process_of_an_upstream_outlives_a_server_that_is_killed(home: Path) -> None:
    server = configured(home, it=plain(tools=named("litter"), deafness=1))
    server.start()
    try:
        it = settled(server, "it")
        server.client.post("/upstreams/it/trust", {"fingerprint": it["fingerprint"]})
        answer = server.client.post("/upstreams/it/call", {"tool": "litter"})
        pids = [it["pid"], int(answer["content"][0]["text"])]
        assert all(is_alive(pid) for pid in pids)

        server.kill()

        await until_true(lambda: not any(is_alive(pid) for pid in pids))
        server.start()
        again = settled(server, "it")
        assert again["state"] == "ready"  # what was accepted stays so
        assert again["pid"] != it["pid"]
    finally:
        server.end()
    await until_true(lambda: not is_alive(again["pid"]))


def test_a_person_looks_trusts_calls_and_turns_from_the_command_line(home: Path) -> None:
    notes = {"uri": "note:1", "name": "notes", "text": "first"}
    secret = plain(tools=named("echo", "other"), resources=[notes]) | {
        "env": {"API_KEY": "hunter2"}
    }
    server = configured(home, it=secret)
    server.start()
    try:
        settled(server, "it")
        listing = server.command("upstreams")
        assert "quarantined" in listing.stdout
        assert "hunter2" not in server.command("upstreams", "--json").stdout
        refused = server.command("upstreams", "call", "it", "echo")
        assert refused.returncode == 1
        assert "[tool_not_trusted]" in refused.stderr
        unasked = server.command("upstreams", "trust", "it")
        assert unasked.returncode == 1
        assert "Does echo." in unasked.stdout
        assert "takes nothing" in unasked.stdout

        assert "it is ready" in server.command("upstreams", "trust", "it", "--yes").stdout
        called = server.command("upstreams", "call", "it", "echo", '{"a": 1}', "--json")
        assert json.loads(called.stdout)["structured_content"] == {"a": 1}
        assert server.command("upstreams", "call", "it", "echo", '{"a": 1}').stdout == '{"a": 1}\n'
        assert server.command("upstreams", "off", "it", "--tool", "other").returncode == 0
        tools = json.loads(server.command("upstreams", "tools", "it", "--json").stdout)
        assert {tool["name"]: tool["usable"] for tool in tools} == {"echo": True, "other": False}
        assert "mcp__it__echo" in server.command("upstreams", "tools").stdout
        assert "it is off" in server.command("upstreams", "off", "it").stdout
        server.command("upstreams", "on", "it")
        assert settled(server, "it")["state"] == "ready"
        tested = server.command("upstreams", "test", "it")
        assert (tested.returncode, "plain 1" in tested.stdout) == (0, True)
        browsed = json.loads(server.command("upstreams", "browse", "it", "--json").stdout)
        assert [(each["kind"], each["use"]) for each in browsed] == [
            ("resource", "@mcp:it/notes"),
            ("tool", "mcp__it__echo"),
        ]
        assert "@mcp:it/notes" in server.command("upstreams", "browse").stdout
        assert "2 tools, trust trusted" in tested.stdout
        assert server.command("upstreams", "read", "@mcp:it/notes").stdout == "first\n"
        nothing = server.command("upstreams", "read", "notes")
        assert (nothing.returncode, "browse" in nothing.stderr) == (1, True)
        with (home / "config.toml").open("a", encoding="utf-8") as file:
            file.write('[upstreams.later]\ncommand = "cat"\n')
        assert "`duetty upstreams restart later`" in server.command("upstreams").stdout
    finally:
        server.end()


def test_what_an_upstream_printed_is_shown(home: Path) -> None:
    server = configured(home, it=plain(dies=True))
    server.start()
    try:
        settled(server, "it")
        shown = server.command("upstreams", "logs", "it")
        none = server.command("upstreams", "logs", "nobody")
        failed = server.command("upstreams", "test", "it")
    finally:
        server.end()

    assert "cannot find my configuration" in shown.stdout
    assert (none.returncode, failed.returncode) == (1, 1)
    assert "[upstream_not_found]" in none.stderr


def test_what_an_upstream_logged_is_shown(home: Path) -> None:
    server = configured(home, it=plain(tools=named("log"), talks="it talks"))
    server.start()
    try:
        settled(server, "it")
        server.command("upstreams", "trust", "it", "--yes")
        said = {"level": "warning", "logger": "disk", "data": "nearly full"}
        server.command("upstreams", "call", "it", "log", json.dumps(said))
        shown = server.command("upstreams", "logs", "it")
    finally:
        server.end()

    assert "warning disk: nearly full" in shown.stdout


def test_upstreams_are_added_and_removed_while_the_server_runs(home: Path) -> None:
    (home / "config.toml").write_text("# mine\n[session]\ncols = 100\n", encoding="utf-8")
    server = ServerProcess(home)
    server.start()
    try:
        table = plain(tools=named("echo"))
        words = ["upstreams", "add", "it", "--env", "A=b c", "--trust", "trusted", "--"]
        words += [table["command"], *table["args"]]
        added = server.command(*words)
        assert added.returncode == 0, added.stderr
        assert "quarantined" in added.stdout
        twice = server.command(*words)
        assert twice.returncode == 1
        assert "[upstream_exists]" in twice.stderr
        it = settled(server, "it")
        assert it["trust"] == "trusted"

        removed = server.command("upstreams", "remove", "it")
        assert removed.returncode == 0, removed.stderr
        assert server.client.get("/upstreams")["upstreams"] == []
        assert not is_alive(it["pid"])
        kept = (home / "config.toml").read_text(encoding="utf-8")
        assert kept == "# mine\n[session]\ncols = 100\n"
    finally:
        server.end()


def test_an_agent_can_neither_trust_nor_turn_on_nor_restart(home: Path) -> None:
    server = configured(home, it=plain(tools=named("echo")))
    server.start()
    try:
        it = settled(server, "it")
        made = server.client.post("/tokens", {"name": "bot", "scopes": ["read", "control"]})
        for path, body in (
            ("trust", {"fingerprint": it["fingerprint"]}),
            ("turn", {"on": True}),
            ("restart", {}),
        ):
            status, answer = as_agent(server, made["token"], f"/upstreams/it/{path}", body)
            assert (status, answer["error"]["code"]) == (403, "not_a_person")
        assert settled(server, "it")["state"] == "quarantined"
    finally:
        server.end()


def as_agent(
    server: ServerProcess, token: str, path: str, body: dict[str, Any]
) -> tuple[int, dict[str, Any]]:
    import httpx

    headers = {"Authorization": f"Bearer {token}"}
    answer = httpx.post(f"{server.url()}{path}", json=body, headers=headers, timeout=60)
    return answer.status_code, answer.json()


def test_a_wrong_table_refuses_to_start_and_says_where(home: Path) -> None:
    (home / "config.toml").write_text('\n[upstreams.it]\ncomand = "x"\n', encoding="utf-8")

    refused = ServerProcess(home).command("server", "--bind", "127.0.0.1:0")

    assert refused.returncode != 0
    assert "config.toml:3" in refused.stderr
    assert "did you mean 'command'?" in refused.stderr


def test_what_is_not_there_is_not_found(home: Path) -> None:
    server = ServerProcess(home)
    server.start()
    try:
        with pytest.raises(RemoteError) as missing:
            server.client.post("/upstreams/none/call", {"tool": "x"})
        assert missing.value.code == "upstream_not_found"
        assert "No upstreams." in server.command("upstreams").stdout
    finally:
        server.end()

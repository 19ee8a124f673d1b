"""Servers that files of projects name: offered, started after a person accepted, never trusted."""

import json
import sys
import tempfile
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from duetty.errors import FingerprintChanged
from duetty.upstreams import Accepted, OfferNotFound, Program, offers_for
from duetty.upstreams.projects import FILES, read_offer
from tests.server_process import ServerProcess, running_server
from tests.upstreams.running import named, plain
from tests.upstreams.test_server import as_agent


def written(place: Path, name: str, **servers: Any) -> Path:
    file = place / name
    file.parent.mkdir(parents=True, exist_ok=True)
    document: Any = {"mcp": {"servers": servers}}
    if name == ".mcp.json":
        document = {"mcpServers": servers}
    file.write_text(json.dumps(document))
    return file


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_each_form_is_read_and_held_to_what_a_project_may_say(
    tmp_path: Path, name: str
) -> None:
    table = {
        "command": "npx",
        "args": ["-y", "x"],
        "sandbox": "none",
        "network": True,
        "workspaces": ["/"],
        "permissions": {"trust_level": "trusted"},
    }
    file = written(
        tmp_path, name, db=table, remote={"type": "http", "url": "https://a.example/mcp"}
    )

    offer = read_offer(file)

    assert offer is not None
    assert offer.problems == ()
    assert offer.servers["db"].target == Program(command="npx", args=("-y", "x"), cwd=str(tmp_path))
    assert {order.trust for order in offer.servers.values()} == {"untrusted"}
    assert offer.servers["db"].project == str(file)


def test_what_cannot_be_started_is_told_and_the_rest_is_offered(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        ".mcp.json",
        good={"command": "a"},
        steals={"url": "https://a.example/mcp", "token_file": "~/.ssh/id_rsa"},
        worse={"command": "a", "url": "https://a.example"},
    )

    offer = read_offer(file)

    assert offer is not None
    assert list(offer.servers) == ["good"]
    assert len(offer.problems) == 2


def test_what_is_wrong_is_told_with_file_and_line_and_what_to_do(tmp_path: Path) -> None:
    file = tmp_path / ".mcp.json"
    file.write_text(
        '{"command": "args",\n "mcpServers": {\n  "a": {"command": "x",\n   "args": "y"},\n'
        '  "b": {"type": "http",\n   "url": "http://192.0.2.1/mcp"},\n  "__": {"command": "z"}}}'
    )

    offer = read_offer(file)

    assert offer is not None
    assert offer.problems == (
        f'{file}:4: upstream \'a\': args must be a list of texts; write ["one", "two"]',
        f"{file}:6: upstream 'b': http:// would carry the token readable over the network; use https://",
        f"{file}:7: no name for an upstream can be made of '__'; rename it: each needs one of its own",
    )


def test_names_and_keys_of_other_hosts_are_understood(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        ".mcp.json",
        **{
            "My Server": {"command": "a", "alwaysAllow": ["x"], "disabled": True},
            "Context7": {"type": "http", "url": "https://a.example/mcp"},
            "my server": {"command": "b"},
        },
    )

    offer = read_offer(file)

    assert offer is not None
    assert {name: order.enabled for name, order in offer.servers.items()} == {
        "my-server": False,
        "context7": True,
    }
    assert len(offer.problems) == 1  # two of one name


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"mcpServers": []}', '{"mcpServers": {\n"a": ]}}', "[" * 100_000]
)
def test_a_broken_file_offers_nothing_and_says_so(tmp_path: Path, text: str) -> None:
    (tmp_path / ".mcp.json").write_text(text)

    offer = read_offer(tmp_path / ".mcp.json")

    assert offer is not None
    assert offer.servers == {}
    (problem,) = offer.problems
    line = 2 if "\n" in text else 1
    assert problem.startswith(f"{tmp_path}/.mcp.json:" + ("" if text[:2] == "[[" else f"{line}:"))


def test_files_are_found_up_to_the_workspace_and_not_beyond(tmp_path: Path) -> None:
    top, below = tmp_path / "work", tmp_path / "work/a/b"
    below.mkdir(parents=True)
    beyond, here, near = (
        written(place, ".mcp.json", x={"command": "a"}) for place in (tmp_path, top, below)
    )

    found = [offer.file for offer in offers_for([(str(below), str(top))])]

    assert found == [str(near), str(here)]
    assert [offer.file for offer in offers_for([(str(tmp_path), "")])] == [str(beyond)]


def test_a_link_is_no_file_of_a_project(tmp_path: Path) -> None:
    written(tmp_path / "elsewhere", ".mcp.json", x={"command": "a"})
    (tmp_path / ".mcp.json").symlink_to(tmp_path / "elsewhere/.mcp.json")

    assert read_offer(tmp_path / ".mcp.json") is None


def test_only_what_was_shown_is_accepted_and_a_change_ends_it(tmp_path: Path) -> None:
    file = written(tmp_path, ".mcp.json", x={"command": "a"})
    accepted = Accepted(tmp_path / "kept.json")
    offer = read_offer(file)
    assert offer is not None

    with pytest.raises(FingerprintChanged):
        accepted.accept(str(file), "0" * 64)
    with pytest.raises(OfferNotFound):
        accepted.accept(str(tmp_path / "other.json"), offer.fingerprint)
    assert accepted.orders({}) == {}
    accepted.accept(str(file), offer.fingerprint)

    kept = Accepted(tmp_path / "kept.json")
    assert set(kept.orders({})) == {"x"}
    assert kept.orders({"x": offer.servers["x"]})["x"] is offer.servers["x"]  # ours wins
    written(tmp_path, ".mcp.json", x={"command": "b"})
    assert kept.orders({}) == {}
    changed = read_offer(file)
    assert changed is not None
    assert kept.state(changed) == "changed"


# --- a real server ------------------------------------------------------------------


@pytest.fixture
def server() -> Iterator[ServerProcess]:
    with (
        tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as home,
        running_server(Path(home)) as server,
    ):
        yield server


@pytest.mark.pty
def test_a_project_starts_nothing_before_a_person_accepted_its_file(server: ServerProcess) -> None:
    project = server.home / "p" / "work"
    notes = server.home / "started"
    table = plain(tools=named("echo"), notes=str(notes))
    file = written(project, ".elwood/settings.json", project_db=table)
    client = server.client

    opened, _ = as_agent(server, server.token(), "/sessions", {"name": "s", "cwd": str(project)})
    (offer,) = client.get("/upstreams")["offers"]
    before = client.get("/upstreams")["upstreams"]
    shown = server.command("upstreams", "offers").stdout
    accepted = server.command("upstreams", "accept", str(file), "--yes")
    (started,) = client.get("/upstreams")["upstreams"]
    ended = server.command("upstreams", "withdraw", str(file))

    assert (offer["file"], offer["state"]) == (str(file), "offered")
    assert [each["name"] for each in offer["servers"]] == ["project_db"]
    assert opened == 201  # such a file refuses nobody a session there
    assert before == []
    assert "project_db" in shown
    assert accepted.returncode == 0, accepted.stderr
    assert sys.executable in accepted.stdout  # the file was shown
    assert (started["name"], started["trust"], started["project"]) == (
        "project_db",
        "untrusted",
        str(file),
    )
    assert started["state"] == "quarantined"
    assert ended.returncode == 0
    assert client.get("/upstreams")["upstreams"] == []


@pytest.mark.pty
def test_an_agent_cannot_accept_a_projects_file(server: ServerProcess) -> None:
    file = written(server.home / "p", ".mcp.json", x={"command": "true"})
    fingerprint = sha256(file.read_bytes()).hexdigest()

    status, answer = as_agent(
        server,
        server.token(),
        "/upstreams/offers/accept",
        {"file": str(file), "fingerprint": fingerprint},
    )

    assert (status, answer["error"]["code"]) == (403, "not_a_person")
    assert server.client.get("/upstreams")["upstreams"] == []

"""What the agent is told with a message: where it is, what the message names, what upstreams hold to be important."""

import json
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agent.model_server import ModelServer, call, results, say
from tests.agent.talking import Asked, until
from tests.homes import settle_home
from tests.server_process import ServerProcess
from tests.upstreams.running import named, plain

pytestmark = pytest.mark.pty

MANY = 30


def resource(name: str, text: str, **annotations: Any) -> dict[str, Any]:
    return {"uri": f"notes://{name}", "name": name, "text": text, "annotations": annotations}


RESOURCES = [
    resource("rules", "Never on Fridays.", priority=0.9, audience=["assistant"]),
    resource("for-people", "a picture", priority=1.0, audience=["user"]),
    resource("aside", "of little weight", priority=0.3),
    resource("book", "b" * 20_000, priority=1.0),
    resource("style", "Short lines.", priority=0.8),
]
TOOLS = [
    *named(*(f"tool{n}" for n in range(MANY))),
    {"name": "weather", "description": "Forecast of rain and wind for a city."},
]


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with ModelServer() as started:
        yield started


@pytest.fixture(scope="module")
def server(model: ModelServer) -> Iterator[ServerProcess]:
    with tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as path:
        home = settle_home(Path(path))
        tables = {
            "notes": plain(resources=RESOURCES, tools=[]),
            "many": plain(tools=TOOLS),
        }
        lines = [
            f"[upstreams.{name}]\ncommand = {json.dumps(table['command'])}\n"
            f"args = {json.dumps(table['args'])}\npermissions = {{ trust_level = 'trusted' }}\n"
            for name, table in tables.items()
        ]
        (home / "config.toml").write_text("\n".join(lines))
        started = ServerProcess(home, **model.settings)
        started.start()
        try:
            for name in tables:
                accept(started, name)
            yield started
        finally:
            started.end()


def accept(server: ServerProcess, name: str) -> None:
    """As a person who has looked at its tools."""
    info = until(
        lambda: [
            each
            for each in server.client.get("/upstreams")["upstreams"]
            if each["name"] == name and each["fingerprint"] is not None
        ]
    )[0]
    server.client.post(f"/upstreams/{name}/trust", {"fingerprint": info["fingerprint"]})


@pytest.fixture
def project(server: ServerProcess, request: pytest.FixtureRequest) -> Path:
    place = server.home / request.node.name[:40]
    place.mkdir()
    subprocess.run(["git", "init", "-q", "-b", "trunk"], cwd=place, check=True)
    return place


def given(server: ServerProcess, model: ModelServer, text: str, **more: object) -> dict[str, str]:
    """What stands in the conversation, and what the model was told, by the names of the pieces."""
    model.script = [say("I see.")]
    sent = server.client.post(
        "/agent/messages", {"text": text, "wait_ms": 30_000, **more}, wait_s=60
    )
    asked = Asked(server, sent["info"]["id"])
    pieces = {name: told for each in asked.entries("context") for name, told in each["pieces"]}
    said = json.dumps(model.requests[-1]["messages"], ensure_ascii=False)
    for name, told in pieces.items():
        assert name in said
        assert json.dumps(told, ensure_ascii=False)[1:-1] in said
    return pieces


def test_it_knows_directory_repository_workspace_and_the_projects_words(
    server: ServerProcess, model: ModelServer, project: Path
) -> None:
    (project / "AGENTS.md").write_text("Tabs, no spaces.\n")
    (project / "CLAUDE.md").write_text("Tests first.\n")
    (project / "deep").mkdir()

    told = given(server, model, "hello", cwd=str(project / "deep"))

    assert f"directory: {project}/deep" in told["where"]
    assert f"workspace: {project}" in told["where"]
    assert f"git: branch trunk in {project}" in told["where"]
    assert "untracked: AGENTS.md, CLAUDE.md" in told["where"]
    assert told["AGENTS.md"] == "Tabs, no spaces.\n"
    assert told["CLAUDE.md"] == "Tests first.\n"


def test_it_is_told_the_last_command_of_the_project_where_that_failed(
    server: ServerProcess, model: ModelServer, project: Path
) -> None:
    opened = server.client.post("/sessions", {"cwd": str(project)})
    run = f"/sessions/{opened['name']}/run"
    server.client.post(run, {"input": "echo the reason; false"})

    failed = given(server, model, "why?", session=opened["name"])
    server.client.post(run, {"input": "true"})
    mended = given(server, model, "why?", session=opened["name"])

    assert "$ echo the reason; false\n[exit code 1;" in failed["last_failed_command"]
    assert failed["last_failed_command"].endswith("the reason")
    assert "last_failed_command" not in mended


def test_a_message_names_files_blocks_sessions_and_resources(
    server: ServerProcess, model: ModelServer, project: Path
) -> None:
    (project / "deep").mkdir()
    for name, words in {
        "notes": "in the file",
        "session-log": "a log",
        "deep/more": "more",
    }.items():
        (project / f"{name}.txt").write_text(f"{words}\n")
    mine = server.client.post("/sessions", {"cwd": str(project)})["name"]
    other = server.client.post("/sessions", {"cwd": str(project)})["name"]
    ran = server.client.post(f"/sessions/{mine}/run", {"input": "echo from a block"})
    server.client.post(f"/sessions/{other}/run", {"input": "echo on the other screen"})

    text = (
        f"look at @notes.txt, @block:{ran['block']} @session @session:{other}"
        " @mcp:notes/aside; mail me@example.org or ask @ann; @missing.txt"
        " (as in @session-log.txt). Why `@deep/more.txt`?"
    )
    told = given(server, model, text, session=mine)

    assert told["@notes.txt"] == "in the file\n"
    assert told[f"@block:{ran['block']}"].endswith("from a block")
    assert "from a block" in told["@session"]
    assert "on the other screen" in told[f"@session:{other}"]
    assert told["@mcp:notes/aside"] == "of little weight"
    assert "cannot be read" in told["@missing.txt"]
    assert (told["@session-log.txt"], told["@deep/more.txt"]) == ("a log\n", "more\n")
    assert not {"@example.org", "@ann"} & set(told)


def test_resources_of_weight_come_by_themselves_within_a_budget(
    server: ServerProcess, model: ModelServer, project: Path
) -> None:
    told = given(server, model, "hello", cwd=str(project))

    assert told["@mcp:notes/rules"] == "Never on Fridays."
    assert told["@mcp:notes/style"] == "Short lines."
    assert not {"@mcp:notes/for-people", "@mcp:notes/aside", "@mcp:notes/book"} & set(told)


@pytest.mark.parametrize(
    ("begun", "expected"),
    [
        ("no", "notes.txt"),
        ("deep/", "deep/er.txt"),
        ("blo", "block:"),
        ("session:na", "session:named-one"),
        ("mcp:no", "mcp:notes/"),
        ("mcp:notes/st", "mcp:notes/style"),
    ],
)
def test_what_stands_behind_an_at_is_completed(
    server: ServerProcess, begun: str, expected: str
) -> None:
    place = server.home / "completed"
    if not place.exists():
        (place / "deep").mkdir(parents=True)
        (place / ".git").mkdir()
        (place / "notes.txt").touch()
        (place / "deep/er.txt").touch()
        server.client.post("/sessions", {"cwd": str(place), "name": "named-one"})

    found = server.client.get("/agent/completions", text=begun, session="named-one")

    assert found["values"] == [expected]


def test_of_many_tools_it_finds_the_one_that_fits_and_can_call_it_then(
    server: ServerProcess, model: ModelServer, project: Path
) -> None:
    model.script = [
        call("find_tools", {"query": "will it rain in Paris", "limit": 2}),
        call("mcp__many__weather", {"city": "Paris"}),
        say("It will."),
    ]

    sent = server.client.post(
        "/agent/messages",
        {"text": "weather?", "cwd": str(project), "wait_ms": 30_000},
        wait_s=60,
    )

    assert sent["answer"] == "It will."
    before, after, _ = (names(each) for each in model.requests[-3:])
    assert "find_tools" in before
    assert not [each for each in before if each.startswith("mcp__many__")]
    assert "mcp__many__weather" in after
    assert len(after) <= len(before) + 2
    found, said = results(model.requests[-1])
    assert "mcp__many__weather() [Server 'many', in its own words:] Forecast" in found
    assert "Paris" in said


def names(request: dict[str, Any]) -> list[str]:
    return [each["function"]["name"] for each in request["tools"]]


def test_a_file_is_edited_where_it_was_read_wherever_the_shell_is(
    server: ServerProcess, model: ModelServer, project: Path
) -> None:
    elsewhere = server.home / "elsewhere"
    for place in (project, project / "deep", elsewhere):
        place.mkdir(exist_ok=True)
        (place / "a.txt").write_text(f"one in {place.name}\n")
    edit = {"path": "a.txt", "old": "one", "new": "two"}
    model.script = [
        call("run", {"input": "cd deep"}),
        call("edit_file", edit),
        call("run", {"input": f"cd {elsewhere}"}),
        call("edit_file", edit),
        call("edit_file", {**edit, "path": str(project / "a.txt"), "old": "two", "new": "three"}),
        call("read_file", {"path": str(project / "a.txt")}),
        call("list_files", {"path": str(project / "deep")}),
        say("Done."),
    ]

    server.client.post(
        "/agent/messages", {"text": "edit", "cwd": str(project), "wait_ms": 30_000}, wait_s=60
    )

    assert (project / "deep/a.txt").read_text() == "two in deep\n"
    assert (project / "a.txt").read_text() == f"three in {project.name}\n"
    assert (elsewhere / "a.txt").read_text() == "one in elsewhere\n"
    read, listed = results(model.requests[-1])[-2:]
    assert read == f"three in {project.name}\n"
    assert "a.txt" in listed

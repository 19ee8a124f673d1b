"""`duetty upstreams import`: what another host has, shown, then written."""

import json
from pathlib import Path

import pytest

from duetty.cli.commands.upstreams_import import found_servers, settings_with
from duetty.cli.main import main
from duetty.errors import BadArguments, NotFound
from duetty.upstreams import Address, Program, load_upstreams

SERVERS = {
    "My Files": {"command": "npx", "args": ["-y", "files"], "env": {"KEY": "hunter2"}},
    "github": {"type": "http", "url": "https://g.example/mcp", "headers": {"A": "${env:TOKEN}"}},
    "old": {"type": "sse", "url": "https://o.example/sse"},
    "asks": {"command": "x", "env": {"KEY": "${input:key}"}},
    "off": {"command": "x", "disabled": True},
    "broken": "x",
    "duetty": {"command": "/opt/venv/bin/duetty", "args": ["mcp", "--dialect", "gateway"]},
    "folder": {"command": "x", "args": ["${workspaceFolder}/a"]},
    "secret": {"command": "x", "envFile": ".env"},
    "home": {"command": "${userHome}/bin/x"},
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / ".config"))
    monkeypatch.setenv("DUETTY_HOME", str(tmp_path / "duetty"))
    return tmp_path


@pytest.mark.parametrize(
    ("source", "file", "key"),
    [
        ("claude-desktop", ".config/Claude/claude_desktop_config.json", "mcpServers"),
        ("claude-code", ".claude.json", "mcpServers"),
        ("cursor", ".cursor/mcp.json", "mcpServers"),
        ("vscode", ".config/Code/User/mcp.json", "servers"),
    ],
)
def test_servers_of_each_host_are_taken_over(
    home: Path, source: str, file: str, key: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / file).parent.mkdir(parents=True, exist_ok=True)
    (home / file).write_text("// by hand\n" + json.dumps({key: SERVERS}))
    config = home / "duetty/config.toml"

    code = main(["upstreams", "import", source, "--yes"])
    told = capsys.readouterr()
    orders = load_upstreams(config)

    assert code == 0
    assert set(orders) == {"my-files", "github", "off", "home"}
    assert orders["my-files"].target == Program(
        command="npx", args=("-y", "files"), env={"KEY": "hunter2"}
    )
    assert orders["github"].target == Address(
        url="https://g.example/mcp", headers={"A": "${TOKEN}"}
    )
    assert not orders["off"].enabled
    assert {order.trust for order in orders.values()} == {"untrusted"}
    assert "+[upstreams.my-files]" in told.out
    assert "hunter2" not in told.out + told.err
    assert orders["home"].target == Program(command="${HOME}/bin/x")
    left_out = ("old", "asks", "broken", "duetty", "folder", "secret")
    assert all(f"'{name}'" in told.err for name in left_out)


def test_servers_of_one_project_are_taken_over_where_it_is(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = {
        "mcpServers": {"everywhere": {"command": "a"}},
        "projects": {
            str(home / "here"): {"mcpServers": {"here": {"command": "b"}}},
            str(home / "there"): {"mcpServers": {"there": {"command": "c"}}},
        },
    }
    (home / ".claude.json").write_text(json.dumps(document))
    (home / "here").mkdir()
    monkeypatch.chdir(home / "here")

    tables, problems = found_servers("claude-code")

    assert tables == {"here": {"command": "b"}, "everywhere": {"command": "a"}}
    assert problems == []


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("elwood.toml", '[mcp.servers.a]\ncommand = "x"\n'),
        ("config.toml", '[mcp_servers.a]\ncommand = "x"\n'),
        ("settings.json", '{"github.copilot.mcp.servers": {"a": {"command": "x"}}}'),
        ("settings.json", '{"mcp": {"servers": {"a": {"command": "x"}}}}'),
        (".mcp.json", '{"mcpServers": {"a": {"command": "x"}}}'),
    ],
)
def test_files_of_other_forms_are_read(home: Path, file: str, text: str) -> None:
    (home / file).write_text(text)

    assert found_servers(str(home / file)) == ({"a": {"command": "x"}}, [])


def test_the_designs_own_file_keeps_what_it_says_of_trust(home: Path) -> None:
    file = home / "elwood.toml"
    file.write_text(
        '[mcp.servers.my_db]\ncommand = "x"\nstart = "lazy"\n'
        '[mcp.servers.my_db.permissions]\ntrust_level = "trusted"\n'
    )
    permissions = {"trust_level": "trusted"}

    assert found_servers(str(file)) == (
        {"my_db": {"command": "x", "start": "lazy", "permissions": permissions}},
        [],
    )


def test_what_is_left_out_is_told_with_file_and_line(home: Path) -> None:
    file = home / "mcp.json"
    file.write_text(
        '{ /* mine\n */ "servers": {\n  "a": {"command": "x",\n    "env": {"PORT": 1}},\n'
        '  "b": {"command": "${input:key}"}}}'
    )

    tables, problems = found_servers(str(file))

    assert tables == {}
    assert [problem.split(" ")[0] for problem in problems] == [f"{file}:4:", f"{file}:5:"]


def test_nothing_is_written_without_a_yes_and_nothing_twice(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = home / "servers.json"
    file.write_text(json.dumps({"mcp": {"servers": {"a": {"command": "x"}}}}))

    unasked = main(["upstreams", "import", str(file)])
    config = home / "duetty/config.toml"
    assert not config.exists()
    first = main(["upstreams", "import", str(file), "--yes"])
    text = config.read_text()
    again = main(["upstreams", "import", str(file), "--yes"])

    assert (unasked, first, again) == (1, 0, 0)
    assert config.read_text() == text
    assert "Nothing to import." in capsys.readouterr().out
    assert settings_with(config, {"a": {"command": "x"}})[2:] == (
        [],
        ["'a': there is an upstream of that name"],
    )


def test_a_file_without_servers_and_a_missing_one_are_told(home: Path) -> None:
    (home / "empty.json").write_text("{}")

    with pytest.raises(BadArguments):
        found_servers(str(home / "empty.json"))
    with pytest.raises(NotFound):
        found_servers("cursor")

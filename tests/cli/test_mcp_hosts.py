"""`duetty mcp install`, `uninstall` and `test`: other people's files, changed as little as can be."""

import json
import os
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duetty.cli import jsonc
from duetty.cli.commands.mcp_hosts import HOSTS, BadHostConfiguration, with_server, without_server
from duetty.cli.main import main
from tests.server_process import running_server

ENTRY: dict[str, object] = {"command": "/opt/duetty", "args": ["mcp"], "env": {"A": "b"}}

COMMENTED = """\
// my settings
{
  "theme": "dark", // at night
  /* servers */
  "context_servers": {
    "other": { "command": "x", "args": [1, {"a": "}"}] }, // keep, "duetty": no
  },
  "last": true,
}
"""

TOML = """\
# my settings
model = "o5"

[mcp_servers.other]   # keep
command = "x"

[mcp_servers.duetty]
command = "old"
[mcp_servers.duetty.env]
A = "1"

[tools]
web = true
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("XDG_CONFIG_HOME", "CODEX_HOME", "DUETTY_HOME", "DUETTY_INSTANCE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def parsed(path: Path) -> dict[str, object]:
    text = path.read_text()
    found = tomllib.loads(text) if path.suffix == ".toml" else jsonc.parsed(text)
    assert isinstance(found, dict)
    return found  # pyright: ignore[reportUnknownVariableType]  # JSON


@pytest.mark.parametrize("name", HOSTS)
def test_a_host_without_configuration_gets_one_and_gets_rid_of_it_again(
    name: str, home: Path
) -> None:
    host = HOSTS[name]
    path = host.file(home)

    assert main(["mcp", "install", name]) == 0
    servers: Any = parsed(path)[host.key]
    once = path.read_text()
    assert main(["mcp", "install", name]) == 0
    twice = path.read_text()
    assert main(["mcp", "uninstall", name]) == 0

    assert servers["duetty"]["args"][-1] == "mcp"
    assert host.extra.items() <= servers["duetty"].items()
    assert once == twice
    assert parsed(path).get(host.key, {}) == {}
    assert path.stat().st_mode & 0o077 == 0


def test_nothing_is_written_when_only_asked_to_show(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["mcp", "install", "cursor", "--print", "--dialect", "command"]) == 0

    assert list(home.iterdir()) == []
    assert '+      "command": ' in capsys.readouterr().out


def test_the_difference_is_shown_and_the_old_file_kept_with_its_mode(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = home / ".claude.json"
    path.write_text('{"projects": {"a": 1}}')
    path.chmod(0o640)

    main(["mcp", "install", "claude-code"])

    assert (home / ".claude.json.bak1").read_text() == '{"projects": {"a": 1}}'
    assert parsed(path)["projects"] == {"a": 1}
    assert path.stat().st_mode & 0o777 == 0o640
    shown = capsys.readouterr().out
    assert '-{"projects": {"a": 1}}' in shown
    assert any(line.startswith("+") and '"duetty"' in line for line in shown.splitlines())


def test_a_linked_file_stays_linked(home: Path) -> None:
    real = home / "dotfiles.json"
    real.write_text("{}")
    (home / ".cursor").mkdir()
    (home / ".cursor/mcp.json").symlink_to(real)

    main(["mcp", "install", "cursor"])

    assert (home / ".cursor/mcp.json").is_symlink()
    assert "duetty" in real.read_text()


def test_a_project_has_a_configuration_of_its_own(home: Path) -> None:
    assert main(["mcp", "install", "vscode", "--project"]) == 0

    assert "duetty" in (home / ".vscode/mcp.json").read_text()


@pytest.mark.parametrize("text", ["[1]", "{", '{"mcpServers": 3}', "nonsense"])
def test_a_file_that_is_not_what_it_should_be_is_left_alone(
    home: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = home / ".claude.json"
    path.write_text(text)

    assert main(["mcp", "install", "claude-code"]) == 1

    assert path.read_text() == text
    assert "bad_host_configuration" in capsys.readouterr().err


def test_comments_order_and_other_entries_stay() -> None:
    host = HOSTS["zed"]

    added = with_server(host, COMMENTED, "duetty", ENTRY)
    removed = without_server(host, added, "duetty")

    assert jsonc.entry(added, ["context_servers", "duetty"]) == ENTRY
    kept = [line for line in COMMENTED.splitlines() if line.strip()]
    assert [line for line in added.splitlines() if line in kept] == kept
    assert jsonc.parsed(removed) == jsonc.parsed(COMMENTED)
    assert "// keep" in removed


def test_a_toml_table_is_replaced_with_what_is_below_it() -> None:
    host = HOSTS["codex"]

    added = with_server(host, TOML, "duetty", ENTRY)
    removed = without_server(host, added, "duetty")

    found = tomllib.loads(added)
    assert found["mcp_servers"]["duetty"] == ENTRY
    assert (found["tools"], found["mcp_servers"]["other"]) == ({"web": True}, {"command": "x"})
    assert with_server(host, added, "duetty", ENTRY) == added
    for text in (added, removed):
        assert text.startswith('# my settings\nmodel = "o5"\n\n[mcp_servers.other]   # keep\n')
    assert "duetty" not in tomllib.loads(removed)["mcp_servers"]


@pytest.mark.parametrize(
    "text",
    [
        '[mcp_servers]\nduetty = { command = "old" }\nother = { command = "x" }\n',
        'mcp_servers = { duetty = { command = "old" } }\nmodel = "o5"\n',
        'mcp_servers.duetty.command = "old"\nmcp_servers.other.command = "x"\n',
        "[mcp_servers.'duetty'] # mine\ncommand = 'old'\n",
        '[mcp_servers.duetty]\nx = [\n  ["a"],\n]\ns = """\n[oops]\n"""\n[tools]\nweb = true\n',
        '[tools]\ns = """\n[mcp_servers.duetty]\n"""\nx = [\n  ["a"],\n]\n',
    ],
)
def test_a_toml_entry_is_replaced_however_it_is_written(text: str) -> None:
    host, before = HOSTS["codex"], tomllib.loads(text)
    others = {**before.get("mcp_servers", {})}
    others.pop("duetty", None)

    added = with_server(host, text, "duetty", ENTRY)
    removed = without_server(host, added, "duetty")
    removed_at_once = without_server(host, text, "duetty")

    assert tomllib.loads(added) == before | {"mcp_servers": {**others, "duetty": ENTRY}}
    for left in (tomllib.loads(removed), tomllib.loads(removed_at_once)):
        assert {"mcp_servers": {}, **left} == before | {"mcp_servers": others}


def test_a_toml_file_that_cannot_be_changed_safely_is_left_alone() -> None:
    with pytest.raises(BadHostConfiguration, match="cannot be changed here"):
        with_server(
            HOSTS["codex"], 'mcp_servers = { other = { command = "x" } }\n', "duetty", ENTRY
        )


def test_a_comment_about_the_next_table_stays_when_ours_goes() -> None:
    text = '[mcp_servers.duetty]\ncommand = "old"\n# ours\n\n# about tools\n[tools]\nweb = true\n'

    removed = without_server(HOSTS["codex"], text, "duetty")

    assert removed == "\n# about tools\n[tools]\nweb = true\n"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(
    st.dictionaries(st.text(), JSON, max_size=4),
    st.dictionaries(st.text(), JSON, max_size=3),
    st.sampled_from([None, 2, "\t"]),
)
def test_adding_and_removing_changes_nothing_else(
    top: dict[str, object], servers: dict[str, object], indent: int | str | None
) -> None:
    document = {**top, "mcpServers": servers}
    text = json.dumps(document, indent=indent)

    added = jsonc.with_entry(text, ["mcpServers", "duetty"], ENTRY)
    removed = jsonc.without_entry(added, ["mcpServers", "duetty"])

    assert json.loads(added) == {**document, "mcpServers": {**servers, "duetty": ENTRY}}
    assert json.loads(removed) == {
        **document,
        "mcpServers": {key: value for key, value in servers.items() if key != "duetty"},
    }


@pytest.mark.pty
@pytest.mark.parametrize("dialect", ["wsh", "command,wsh"])
def test_a_person_can_try_it(tmp_path: Path, dialect: str) -> None:
    place = Path(f"/tmp/d-{os.getpid()}-{dialect[0]}")
    place.mkdir(mode=0o700)
    try:
        with running_server(place) as server:
            ran = server.command("mcp", "test", "--dialect", dialect)
            wrong = server.command("mcp", "test", "--dialect", "klingon")
    finally:
        shutil.rmtree(place, ignore_errors=True)

    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.endswith("It works.\n")
    assert "echo hello: exit code 0, known by mark" in ran.stdout
    assert wrong.returncode != 0
    assert "no dialect 'klingon'" in wrong.stderr

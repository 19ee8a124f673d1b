"""The published design's configuration, letter by letter: sections 7 and 8.4."""

from pathlib import Path

import pytest

from duetty.calls import Actor, Effect
from duetty.clock import SystemClock
from duetty.config import Loaded, find_paths, load_settings
from duetty.errors import BadSetting
from duetty.ops.rulebook.book import Rulebook
from duetty.ops.rulebook.in_force import ProjectRules, load_person_rules
from duetty.policy import Judged, RuleSet
from duetty.upstreams import Address, Program, load_upstreams
from duetty.upstreams.tables import remove_table
from duetty.upstreams.upstream_settings import expanded

DOCUMENT = """\
# ~/.elwood/elwood.toml

[mcp]
# Enable MCP client (consuming external servers)
client_enabled = true
# Enable MCP server (exposing terminal capabilities)
server_enabled = false
# Server listen address (when server_enabled = true)
server_address = "127.0.0.1:9316"

# MCP server definitions (consumed by client)
[mcp.servers.filesystem]
command = "npx"
args = ["-y", "@modelcontextprotocol/server-filesystem", "/home/user/project"]
# Optional environment variables
env = { NODE_ENV = "production" }

[mcp.servers.github]
command = "npx"
args = ["-y", "@modelcontextprotocol/server-github"]
env = { GITHUB_PERSONAL_ACCESS_TOKEN = "${GITHUB_TOKEN}" }

[mcp.servers.postgres]
command = "npx"
args = ["-y", "@modelcontextprotocol/server-postgres"]
env = { POSTGRES_URL = "postgresql://localhost:5432/mydb" }

# Remote MCP server (streamable HTTP)
[mcp.servers.cloud-api]
url = "https://api.example.com/mcp"
transport = "http"
headers = { Authorization = "Bearer ${API_TOKEN}" }

# Per-server permission overrides
[mcp.servers.filesystem.permissions]
trust_level = "trusted"  # trusted | untrusted | sandbox

[mcp.servers.cloud-api.permissions]
trust_level = "untrusted"  # all tools require user approval
"""

PERMISSIONS = """
[permissions]
allow = ["mcp__filesystem__read_file", "mcp__my_db__get_*"]
ask = ["mcp__github__create_*"]
deny = ["mcp__*__delete_*"]
"""


def settings(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "config.toml"
    file.write_text(text)
    return file


def loaded(file: Path) -> Loaded:
    return load_settings(find_paths({"DUETTY_HOME": str(file.parent)}), {})


def named(server: str, tool: str, rules: RuleSet) -> list[str]:
    judged = Judged(
        operation="upstreams.call",
        effect=Effect.CONTROL,
        actor=Actor(kind="agent", name="a"),
        tool=(server, tool),
    )
    return [rule.decide for rule in rules.applying(judged)]


def test_the_documents_own_text_is_taken_as_it_stands(tmp_path: Path) -> None:
    file = settings(tmp_path, DOCUMENT)

    orders, said = load_upstreams(file), loaded(file).settings

    assert (said.mcp_client_enabled, said.mcp_server_enabled) == (True, False)
    assert said.server_bind == "127.0.0.1:9316"
    assert {name: order.trust for name, order in orders.items()} == {
        "filesystem": "trusted",
        "github": "untrusted",
        "postgres": "untrusted",
        "cloud-api": "untrusted",
    }
    assert orders["filesystem"].target == Program(
        command="npx",
        args=("-y", "@modelcontextprotocol/server-filesystem", "/home/user/project"),
        env={"NODE_ENV": "production"},
    )
    assert orders["cloud-api"].target == Address(
        url="https://api.example.com/mcp", headers={"Authorization": "Bearer ${API_TOKEN}"}
    )


def test_permissions_become_rules_and_stay_when_rules_are_saved(tmp_path: Path) -> None:
    file = settings(tmp_path, DOCUMENT + PERMISSIONS)

    rules = load_person_rules(file)

    assert named("filesystem", "read_file", rules) == ["allow"]
    assert named("my_db", "get_rows", rules) == ["allow"]
    assert named("my_db", "delete_rows", rules) == ["deny"]
    assert named("github", "create_issue", rules) == ["ask"]
    assert named("github", "get_issue", rules) == []


@pytest.mark.anyio
async def test_saved_rules_leave_the_permissions_in_force(tmp_path: Path) -> None:
    book = Rulebook(settings(tmp_path, PERMISSIONS))

    await book.save(
        '[[policy.rules]]\nname = "mine"\ndecide = "deny"\ntool = "mcp__a__b"\n', base=book.hash
    )

    assert named("a", "b", book.person) == ["deny"]
    assert named("a", "delete_x", book.person) == ["deny"]
    assert book.person.digest == load_person_rules(book.file).digest


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[mcp.servers.x]\nurl = 'https://a/b'\ntransport = 'sse'\n", "config.toml:3: upstream 'x': transport"),
        ("[mcp.servers.x]\ncommand = 'a'\ntransport = 'http'\n", "transport http needs url"),
        ("[mcp.servers.x]\ncommand = 'a'\n[mcp.servers.x.permissions]\ntrust_level = 'full'\n", "config.toml:4: upstream 'x': trust_level must be"),
        ("[mcp.servers]\ny = { command = 'a' }\nx = { command = 'a', argz = 1 }\n", "config.toml:3: upstream 'x'"),
        ("[upstreams.x]\ncommand = 'a'\nargs = [\n 'command',\n 3,\n]\n", "config.toml:3: upstream 'x': args must be"),
        ("[mcp]\nservers.x.command = 3\n", "config.toml:2: upstream 'x': command must be"),
        ("[mcp.servers.x]\ncommand = 1 x\n", "config.toml:2: Expected newline"),
        ("[mcp.servers.x]\nurl = 'https://a/b'\npermissions = {trust_level = 'sandbox'}\n", "needs a command"),
        ("\n\n[mcp.servers.a__b]\ncommand = 'a'\n", "config.toml:3: 'a__b' cannot name"),
        ("[upstreams.x]\ncommand = 'a'\n[mcp.servers.x]\ncommand = 'b'\n", "config.toml:3: 'x' stands at upstreams and"),
    ],
)  # fmt: skip
def test_a_wrong_table_is_named_with_file_and_line(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(BadSetting) as refused:
        load_upstreams(settings(tmp_path, text))

    assert told in refused.value.message


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('[permissions]\nallow = ["mcp__a__b"]\ndeny = ["Bash(rm *)"]\n', 3),
        ('[permissions]\nforbid = ["mcp__a__b"]\n', 2),
        ('permissions = "all"\n', 1),
        ("[permissions]\ndeny = [1]\n", 2),
    ],
)
def test_permissions_that_could_not_hold_refuse_to_start(
    tmp_path: Path, text: str, line: int
) -> None:
    with pytest.raises(BadSetting, match=rf"config\.toml(:|, line ){line}:"):
        load_person_rules(settings(tmp_path, text))


def test_two_addresses_that_do_not_agree_are_refused(tmp_path: Path) -> None:
    text = '[server]\nbind = "127.0.0.1:1"\n[mcp]\nserver_address = "127.0.0.1:2"\n'

    with pytest.raises(BadSetting):
        loaded(settings(tmp_path, text))


def test_a_server_that_is_to_be_confined_asks_for_a_sandbox(tmp_path: Path) -> None:
    text = "[mcp.servers.x]\ncommand = 'a'\npermissions = {trust_level = 'sandbox'}\n"

    target = load_upstreams(settings(tmp_path, text))["x"].target

    assert isinstance(target, Program)
    assert target.sandbox == "any"


def test_a_table_of_the_documents_form_is_removed_with_its_permissions(tmp_path: Path) -> None:
    file = settings(tmp_path, DOCUMENT)

    remove_table(file, "filesystem")

    assert set(load_upstreams(file)) == {"github", "postgres", "cloud-api"}
    assert loaded(file).settings.server_bind == "127.0.0.1:9316"


def test_a_variable_may_have_a_default() -> None:
    assert expanded("${A:-x}/${B:-y}", {"A": "1"}) == "1/y"


@pytest.mark.parametrize("name", [".duetty/settings.json", ".elwood/settings.json"])
def test_a_projects_file_tightens_and_what_it_allows_says_nothing(
    tmp_path: Path, name: str
) -> None:
    file = tmp_path / name
    file.parent.mkdir()
    file.write_text(
        '{"mcp": {"servers": {"project-db": {"command": "npx"}}},'
        ' "permissions": {"allow": ["mcp__a__read", "Bash(ls)"], "deny": ["mcp__*__delete_*"]}}'
    )

    rules = ProjectRules(SystemClock()).of(str(tmp_path))

    assert named("a", "read", rules) == []
    assert named("a", "delete_it", rules) == ["deny"]


def test_other_settings_of_the_other_terminal_are_let_be(tmp_path: Path) -> None:
    (tmp_path / ".elwood").mkdir()
    (tmp_path / ".elwood/settings.json").write_text('{"theme": "dark"}')

    assert ProjectRules(SystemClock()).of(str(tmp_path)) == RuleSet()

"""On which line something stands, however it is written."""

import json
import tomllib
from typing import Any

import pytest

from duetty.file_lines import json_line, mistake, toml_line

TOML = """# fs, command
[mcp.servers]
fs = { command = "npx" }
other.command = "x"
other."args" = [
  "args",
  3,
]
[ mcp . "servers".'z' ]
text = '''
command = 1
'''
command = "z"
"""

JSON = """{ // mcpServers
 "x": {"mcpServers": {"a": 1}},
 "mcpServers": { /* "a":
   */ "b": {"a": {"args": "{,"}}, "n": 3,
   "a": {
     "command": "x",
     "args": {"z": ["a", {"env": 1}]},
     "\\u0065nv": {"q": 1}
   }
 }
}"""


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        ("mcp.servers", 2),
        ("mcp.servers.fs.command", 3),
        ("mcp.servers.other.args", 5),
        ("mcp.servers.z", 9),
        ("mcp.servers.z.command", 13),
        ("mcp.servers.z.nothing", 9),
        ("nothing", 1),
        ("", 1),
    ],
)
def test_in_toml(keys: str, line: int) -> None:
    assert toml_line(TOML, keys.split(".") if keys else []) == line


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        ("mcpServers", 3),
        ("mcpServers.a", 5),
        ("mcpServers.a.args", 7),
        ("mcpServers.a.env.q", 8),
        ("mcpServers.a.nothing", 5),
        ("mcpServers.n.args", 4),
        ("x.mcpServers.b", 2),
        ("nothing", 1),
        ("", 1),
    ],
)
def test_in_json(keys: str, line: int) -> None:
    assert json_line(JSON, keys.split(".") if keys else []) == line


@pytest.mark.parametrize(
    ("read", "text", "shown"),
    [
        (tomllib.loads, "[a]\nb = 1 x\n", "f:2: Expected newline or end of document"),
        (tomllib.loads, "[a]\nb = 'x\n", "f:2: Expected"),
        (json.loads, '{"a":\n1,}', "f:2: Expecting property name"),
    ],
)
def test_a_mistake_is_shown_with_its_line(read: Any, text: str, shown: str) -> None:
    with pytest.raises((tomllib.TOMLDecodeError, json.JSONDecodeError)) as error:
        read(text)

    assert mistake("f", text, error.value).startswith(shown)


def test_a_broken_text_has_lines_too() -> None:
    assert json_line('{"a": [}\n]{{"b"', ["a", "b"]) == 1
    assert toml_line("[a\nb = 1", ["b"]) == 1

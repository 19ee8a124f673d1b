"""`[upstreams.*]` of the settings file: read, refused, shown, written."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duetty.config import find_paths, load_settings
from duetty.errors import BadSetting, UpstreamNotFound
from duetty.upstreams import Address, Program, UpstreamOrder, load_upstreams
from duetty.upstreams.tables import UpstreamExists, add_table, remove_table
from duetty.upstreams.upstream_settings import as_toml, expanded, parse_order

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))


def parsed(**table: Any) -> UpstreamOrder:
    return parse_order("it", table, where=lambda *_: "here")


def test_a_program_is_read_with_everything_it_can_have() -> None:
    order = parsed(
        command="npx",
        args=["-y", "x"],
        env={"A": "b"},
        cwd="~/w",
        sandbox="any",
        workspaces=["/w"],
        network=True,
        timeout=5,
        enabled=False,
        tools={"allow": ["read_*"], "deny": ["*_secret"]},
    )

    assert order == UpstreamOrder(
        name="it",
        target=Program(
            command="npx",
            args=("-y", "x"),
            env={"A": "b"},
            cwd="~/w",
            sandbox="any",
            workspaces=("/w",),
            network=True,
        ),
        timeout_s=5.0,
        enabled=False,
        allow=("read_*",),
        deny=("*_secret",),
    )
    assert order.allows("read_file")
    assert not order.allows("read_secret")
    assert not order.allows("write_file")


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ({}, "either command or url"),
        ({"command": "x", "url": "https://y"}, "either command or url"),
        ({"comand": "x"}, "has no 'comand'"),
        ({"command": ""}, "command is empty"),
        ({"command": 3}, "command must be text"),
        ({"command": "x", "args": "y"}, "args must be a list"),
        ({"command": "x", "env": {"A": 1}}, "env must be a table of texts"),
        ({"command": "x", "env": {"A=B": "1"}}, "cannot name a variable"),
        ({"command": "x", "sandbox": "big"}, "sandbox must be one of"),
        ({"command": "x", "timeout": 0}, "timeout must be between"),
        ({"command": "x", "timeout": True}, "timeout takes seconds"),
        ({"command": "x", "enabled": "yes"}, "enabled takes true or false"),
        ({"command": "x", "tools": ["y"]}, "tools must be a table"),
        ({"command": "x", "tools": {"only": []}}, "tools has no 'only'"),
        ({"command": "x", "token_env": "A"}, "token_env does not go with command"),
        ({"url": "ftp://y"}, "url must be http"),
        ({"url": "http://example.com/mcp"}, "readable over the network"),
        ({"url": "https://me:pw@y/mcp"}, "url must hold no password"),
        ({"url": "https://y", "cwd": "/"}, "cwd does not go with url"),
        ({"url": "https://y", "token_env": "A", "token_file": "b"}, "not both"),
        ({"url": "https://y", "headers": {"A": "x\r\nB: y"}}, "no header that can be sent"),
    ],
)
def test_a_wrong_table_is_one_clear_error(table: dict[str, Any], told: str) -> None:
    with pytest.raises(BadSetting) as wrong:
        parse_order("it", table, where=lambda *_: "config.toml:7")

    assert wrong.value.message.startswith("config.toml:7: upstream 'it': ")
    assert told in wrong.value.message
    assert "pw" not in wrong.value.message


@pytest.mark.parametrize("name", ["", "A", "a__b", "a_", "_a", "a" * 33, "a.b", "ä"])
def test_a_name_that_would_not_split_from_a_tools_name_is_refused(name: str) -> None:
    with pytest.raises(BadSetting):
        parse_order(name, {"command": "x"}, where=lambda *_: "here")


def test_the_settings_file_takes_upstreams_beside_other_sections(tmp_path: Path) -> None:
    paths = find_paths({"DUETTY_HOME": str(tmp_path)})
    paths.config_file.write_text(
        '[session]\ncols = 99\n\n[upstreams.a]\ncommand = "x"\n\n[upstreams.b]\nurl = "https://y"\n',
        encoding="utf-8",
    )

    assert load_settings(paths, {}).settings.session_cols == 99
    assert set(load_upstreams(paths.config_file)) == {"a", "b"}


def test_what_is_shown_has_no_secrets() -> None:
    program = parsed(
        command="serve",
        args=["--token", "hunter2", "--api-key=hunter2", "db://me:hunter2@host/x", "-v", "plain"],
        env={"KEY": "hunter2"},
    )
    address = parsed(url="https://y.example/mcp?key=hunter2", headers={"X": "hunter2"})

    assert program.shown == "serve --token … --api-key=… db://…@host/x -v plain"
    assert address.shown == "https://y.example/mcp?…"
    assert isinstance(address.target, Address)


def test_variables_are_filled_in_and_missing_ones_named() -> None:
    assert expanded("a${B}c$D${", {"B": "x"}) == "axc$D${"
    with pytest.raises(BadSetting, match="MISSING"):
        expanded("${MISSING}", {"B": "secret"})


def test_another_command_is_another_identity_and_other_options_are_not() -> None:
    assert parsed(command="x").identity == parsed(command="x", timeout=3).identity
    assert parsed(command="x").identity != parsed(command="x", args=["y"]).identity


@given(args=st.lists(TEXTS), env=st.dictionaries(st.from_regex(r"\A[A-Z_]+\Z"), TEXTS))
def test_a_table_is_written_as_it_is_read(args: list[str], env: dict[str, str]) -> None:
    import tomllib

    table = {"command": "x", "args": args, "env": env, "enabled": False, "timeout": 1.5}

    assert tomllib.loads(as_toml("it", table))["upstreams"]["it"] == table


def test_a_table_is_added_and_taken_out_and_the_rest_stays(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    before = '# mine\n[upstreams.a]   # first\ncommand = "x"\n\n[session]\ncols = 9 # wide\n'
    file.write_text(before, encoding="utf-8")
    add_table(file, "b", {"command": "y", "env": {"A": "1"}})
    with pytest.raises(UpstreamExists):
        add_table(file, "b", {"command": "z"})

    remove_table(file, "b")
    assert file.read_text(encoding="utf-8") == before
    remove_table(file, "a")
    assert file.read_text(encoding="utf-8") == "# mine\n[session]\ncols = 9 # wide\n"
    with pytest.raises(UpstreamNotFound):
        remove_table(file, "a")


def test_a_table_that_cannot_be_told_from_the_rest_is_left_to_a_person(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    text = 'upstreams = { a = { command = "x" } }\n'
    file.write_text(text, encoding="utf-8")

    with pytest.raises(BadSetting):
        remove_table(file, "a")

    assert file.read_text(encoding="utf-8") == text

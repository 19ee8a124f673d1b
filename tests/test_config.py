from pathlib import Path

import pytest

from duetty.config import (
    Settings,
    base_prefix,
    find_paths,
    load_settings,
    make_private,
    parse_bind,
    with_own_place,
)
from duetty.errors import BadSetting, StateUnwritable


def test_the_variables_that_name_a_server_are_said_where_they_are_not_the_default() -> None:
    env = {"DUETTY_HOME": "x", "DUETTY_INSTANCE": "other", "DUETTY_INSIDE": "/other", "A": "1"}
    usual = find_paths({"HOME": "/h"})
    work = find_paths({"HOME": "/h"}, instance="work")

    assert with_own_place(env, usual) == {
        "A": "1",
        "DUETTY_HOME": str(Path("x").absolute()),
        "DUETTY_INSIDE": str(usual.server_socket),
    }
    assert with_own_place({"DUETTY_HOME": ""}, work) == {
        "DUETTY_INSTANCE": "work",
        "DUETTY_INSIDE": str(work.server_socket),
    }


def test_duetty_home_moves_everything_under_one_directory(home: Path) -> None:
    paths = find_paths({"DUETTY_HOME": str(home), "HOME": "/elsewhere"}, instance="x")

    assert paths.config_file == home / "config.toml"
    assert paths.state == home / "state" / "x"
    assert paths.runtime == home / "run" / "x"


def test_without_duetty_home_the_xdg_directories_are_used() -> None:
    paths = find_paths({"HOME": "/h", "XDG_RUNTIME_DIR": "/r"})

    assert paths.config_file == Path("/h/.config/duetty/config.toml")
    assert paths.state == Path("/h/.local/state/duetty/default")
    assert paths.runtime == Path("/r/duetty/default")


def test_a_runtime_directory_too_long_for_a_socket_gets_a_short_private_one() -> None:
    paths = find_paths({"DUETTY_HOME": "/x" * 80})

    assert len(str(paths.keeper_socket)) <= 100


def test_flags_win_over_the_environment_and_that_over_the_file(home: Path) -> None:
    (home / "config.toml").write_text(
        "[session]\ncols = 100\nrows = 30\n[server]\nbind = '127.0.0.1:1'\n"
    )
    env = {
        "DUETTY_HOME": str(home),
        "DUETTY_SESSION_ROWS": "40",
        "DUETTY_SERVER_BIND": "127.0.0.1:2",
    }

    loaded = load_settings(find_paths(env), env, flags={"server_bind": "127.0.0.1:3"})

    assert loaded.settings == Settings(session_cols=100, session_rows=40, server_bind="127.0.0.1:3")
    assert loaded.origins["session_cols"].endswith("config.toml:2")
    assert loaded.origins["session_rows"] == "environment variable DUETTY_SESSION_ROWS"
    assert loaded.origins["server_bind"] == "flag"
    assert loaded.origins["session_max"] == "default"


@pytest.mark.parametrize(
    ("text", "line", "hint"),
    [
        ("[session]\n\ncolz = 3\n", ":3: unknown setting session.colz", "session.cols"),
        ("[session]\ncols = 'wide'\n", ":2: session.cols takes a whole number", "width"),
        ("[session]\ncols = 0\n", ":2: session.cols must be between 1 and 1000", None),
        ("[session]\nintegration = 1\n", ":2: session.integration takes true or false", "marks"),
        ("cols = 1\n", ":1: 'cols' is outside a section", "[session]"),
        ("[session\n", "config.toml:1: ", "TOML"),
    ],
)
def test_a_bad_setting_is_one_clear_error(
    home: Path, text: str, line: str, hint: str | None
) -> None:
    (home / "config.toml").write_text(text)

    with pytest.raises(BadSetting) as caught:
        load_settings(find_paths({"DUETTY_HOME": str(home)}), {})

    assert line in caught.value.message
    assert hint is None or hint in (caught.value.hint or "")


def test_settings_that_cannot_be_read_are_one_clear_error(home: Path) -> None:
    """As inside a sandbox, which hides them; a directory cannot be read by root either."""
    paths = find_paths({"DUETTY_HOME": str(home)})
    assert load_settings(paths, {}).settings == Settings()
    paths.config_file.mkdir()

    with pytest.raises(BadSetting, match=r"cannot read .*config\.toml"):
        load_settings(paths, {})


def test_a_directory_that_is_somebody_elses_is_refused(home: Path) -> None:
    (home / "file").write_text("")

    with pytest.raises(StateUnwritable):
        make_private(home / "file" / "state")


def test_a_directory_that_others_could_read_is_made_private(home: Path) -> None:
    (home / "open").mkdir(mode=0o755)

    make_private(home / "open")

    assert (home / "open").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("text", ["", "9315", "host:", ":1", "h:99999", "h:x"])
def test_an_address_that_is_not_host_and_port_is_refused(text: str) -> None:
    with pytest.raises(BadSetting):
        parse_bind(text)


def test_an_address_may_be_ipv6() -> None:
    assert parse_bind("[::1]:9315") == ("::1", 9315)


def test_a_list_is_a_list_in_the_file_and_commas_in_the_environment(home: Path) -> None:
    (home / "config.toml").write_text("[server]\nhosts = ['a.example', 'b.example']\n")
    env = {"DUETTY_HOME": str(home), "DUETTY_SERVER_CORS_ORIGINS": "https://x, http://y:1,"}

    settings = load_settings(find_paths(env), env).settings

    assert settings.server_hosts == ("a.example", "b.example")
    assert settings.server_cors_origins == ("https://x", "http://y:1")


@pytest.mark.parametrize("written", ["'a.example'", "[1]", "true"])
def test_a_list_of_anything_but_texts_is_one_clear_error(home: Path, written: str) -> None:
    (home / "config.toml").write_text(f"[server]\nhosts = {written}\n")
    env = {"DUETTY_HOME": str(home)}

    with pytest.raises(BadSetting, match=r":2: server\.hosts takes a list of texts"):
        load_settings(find_paths(env), env)


@pytest.mark.parametrize(
    ("given", "prefix"), [("", ""), ("/", ""), ("wsh", "/wsh"), ("/wsh/", "/wsh"), ("/a/b", "/a/b")]
)
def test_a_base_prefix_is_brought_into_one_form(given: str, prefix: str) -> None:
    assert base_prefix(given) == prefix


@pytest.mark.parametrize("given", ["/a/../b", "/.", "/a b", "/a?b", "/%2e", "/a#b"])
def test_a_base_prefix_is_a_plain_path(given: str) -> None:
    with pytest.raises(BadSetting):
        base_prefix(given)

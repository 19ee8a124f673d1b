"""Variables of a session that make its shell read other files, or other lines, ask."""

import pytest

from duetty.ops.judging.surroundings import running_variables
from duetty.wire.params import OpenParams
from duetty.wire.processes import StartProcessParams


@pytest.mark.parametrize(
    "name",
    [
        "MAILPATH",
        "MAIL",
        "MAILCHECK",
        "HOME",
        "XDG_CONFIG_HOME",
        "XDG_DATA_DIRS",
        "XDG_DATA_HOME",
        "TERMINFO",
        "TERMINFO_DIRS",
        "FUNCNEST",
        "TMOUT",
        "NULLCMD",
        "HISTSIZE",
        "HISTCONTROL",
        "POSIXLY_CORRECT",
        "fish_function_path",
        "fish_complete_path",
        "fish_key_bindings",
        "ZDOTDIR",
        "FPATH",
        "PROMPT_COMMAND",
        "INPUTRC",
        "_DUETTY_GATE",
    ],
)
def test_a_variable_that_moves_a_shell_is_asked_about(name: str) -> None:
    given = OpenParams.model_validate({"env": {name: "/elsewhere", "LANG": "C"}})

    assert running_variables(given, strict=False, inherited={name: "/here"}) == {name: "/elsewhere"}
    assert running_variables(given, strict=False, inherited={name: "/elsewhere"}) == {}


@pytest.mark.parametrize(
    "name", ["LANG", "TERM", "PORT", "HISTFILE", "PS1", "DEBUG", "XDG_RUNTIME_DIR"]
)
def test_a_plain_variable_of_a_session_is_not(name: str) -> None:
    assert running_variables(OpenParams.model_validate({"env": {name: "x"}}), strict=False) == {}


@pytest.mark.parametrize("name", ["HOME", "XDG_CONFIG_HOME", "MAIL"])
def test_where_no_shell_reads_lines_they_say_nothing(name: str) -> None:
    given = StartProcessParams.model_validate({"command": "make", "env": {name: "/elsewhere"}})

    assert running_variables(given, strict=False) == {}

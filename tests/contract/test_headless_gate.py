"""The headless gate by itself, and words that a shell reads back."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from duetty.ops.contract.compat import bridge
from duetty.ops.contract.failures import Blocked, InvalidMode
from duetty.ops.contract.headless_rules import HARMLESS_VARIABLES, check_headless, check_piped
from duetty.ops.contract.request import Request, checked
from duetty.ops.contract.words import line_of
from duetty.shell import kind_of_program


def request(mode: str = "headless", **execution: object) -> Request:
    given_: dict[str, Any] = {"command": "ls", **execution}
    return checked(bridge({"action": "execute", "invocation": {"mode": mode}, "execution": given_}))


@pytest.mark.parametrize(
    "name", ["PATH", "LD_PRELOAD", "BASH_ENV", "ENV", "GIT_PAGER", "IFS", "lang"]
)
def test_a_variable_that_could_name_code_is_blocked(name: str) -> None:
    with pytest.raises(Blocked) as refused:
        check_headless(request(env={name: "x"}))

    assert refused.value.details["reason"] == "not_provable"


@pytest.mark.parametrize("name", [*sorted(HARMLESS_VARIABLES), "LC_ALL"])
def test_a_harmless_variable_passes(name: str) -> None:
    check_headless(request(env={name: "x"}))


def test_interactive_is_not_the_gates_business() -> None:
    check_headless(request(mode="interactive", env={"PATH": "/x"}))


@pytest.mark.parametrize("alias", ["create", "execute"])
def test_opening_only_cannot_be_headless(alias: str) -> None:
    opening = {"action": alias, "execution": {"intent": "open_only"}}

    with pytest.raises(InvalidMode) as refused:
        check_headless(checked(bridge({**opening, "invocation": {"mode": "headless"}})))

    assert refused.value.details["allowed"] == ["interactive"]


def test_nobody_is_asked_about_a_line_whose_input_they_cannot_see() -> None:
    piped = request(stdin="rm -rf /nowhere")

    check_piped(piped, is_allowed=True)
    check_piped(request(), is_allowed=False)
    with pytest.raises(Blocked):
        check_piped(piped, is_allowed=False)


words = st.lists(
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12),
    min_size=1,
    max_size=4,
)


@pytest.mark.shells
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "dash"])
def test_words_come_back_as_they_were(shell: str, tmp_path: Path) -> None:
    program = shutil.which(shell)
    assert program is not None

    @settings(max_examples=15, deadline=None)
    @given(given_=words)
    def come_back(given_: list[str]) -> None:
        script = "import sys; sys.stdout.buffer.write('\\0'.join(sys.argv[1:]).encode('utf-8', 'surrogateescape'))"
        line = line_of(["python3", "-S", "-c", script, *given_], kind_of_program(shell))
        done = subprocess.run(
            [program, "-c", line],
            capture_output=True,
            check=True,
            env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": str(tmp_path)},
        )

        assert done.stdout.decode().split("\0") == given_

    come_back()

"""The recogniser against real shells; `tools/fuzz_recogniser.py` runs the same for longer."""

import shutil

import pytest
from tools.fuzz_recogniser import accepted, differences, strings

from duetty.policy.proving.recogniser import Command, Line

pytestmark = pytest.mark.shells

STRINGS = 100_000
OTHER_SHELLS = {"dash": 20_000, "zsh": 12_000, "fish": 10_000}


def test_bash_runs_the_judged_words_of_every_accepted_string() -> None:
    cases = accepted(strings(seed=5), STRINGS)

    assert len(cases) > STRINGS / 5
    assert differences(cases, "bash") == []


@pytest.mark.parametrize("shell", OTHER_SHELLS)
def test_other_shells_run_the_same_words(shell: str) -> None:
    if not shutil.which(shell):
        pytest.skip(f"no {shell}")
    cases = accepted(strings(seed=6), OTHER_SHELLS[shell])

    assert differences(cases, shell) == []


@pytest.mark.parametrize("shell", ["bash", "dash"])
def test_the_canonical_form_runs_the_same_words(shell: str) -> None:
    cases = accepted(strings(seed=7), 20_000)

    assert differences(cases, shell, canonical=True) == []


def test_a_wrong_reading_would_be_noticed() -> None:
    misread = Line((Command(("ls", "a b")),), (), frozenset({"bash"}))
    missed = Line((Command(("ls",)),), (), frozenset({"bash"}))

    found = differences([("ls a b", misread), ("ls; cat x", missed)], "bash")

    assert [each.text for each in found] == ["ls a b", "ls; cat x"]

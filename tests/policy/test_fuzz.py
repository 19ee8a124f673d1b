"""The recogniser against real shells; `tools/fuzz_recogniser.py` runs the same for longer."""

import random
import shutil
import subprocess

import pytest
from tools.fuzz_recogniser import accepted, differences, strings

from duetty.policy.proving.recogniser import Command, Line, recognise
from duetty.policy.proving.specs import Proof, prove

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


CONDITIONS = [
    *("-f", "-d", "-e", "-n", "-z", "-s", "-v", "-ef", "-eq", "-lt", "=", "==", "!=", "=~", "!"),
    *("a", "b", ".", "/", "1", "2", "''", "'a b'", '"a"', "a*", "'*'", "$'a'", "\\*", "a\\ b"),
    *("&&", "||", "<", ">", "(", "]", "]]", "[[", "-a", "-o", "x=1", "'-f'", "#"),
]
"""What may stand between `[[` and `]]`."""


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_a_condition_says_what_the_rebuilt_one_says(shell: str) -> None:
    if not shutil.which(shell):
        pytest.skip(f"no {shell}")
    chance = random.Random(8)
    texts = (
        f"[[ {' '.join(chance.choices(CONDITIONS, k=chance.choice((1, 2, 2, 3, 3, 4))))} ]]"
        for _ in range(20_000)
    )
    proven = {
        text: line.canonical
        for text in texts
        if isinstance(line := recognise(text), Line)
        and shell in line.shells
        and isinstance(prove(line), Proof)
    }
    rebuilt = _statuses("bash", list(proven.values()))
    said = _statuses(shell, list(proven))

    assert len(proven) > 200
    # What is no condition to a shell it complains about, and does not run at all.
    assert [
        text
        for text, one, other in zip(proven, said, rebuilt, strict=True)
        if one is not None and one != other
    ] == []


def _statuses(shell: str, texts: list[str]) -> list[str | None]:
    """What each gives; None where the shell says that it is none."""
    script = 'for text in "$@"; do said=$( (eval "$text") 2>&1 ); echo "$?${said:+!}"; done'
    ran = subprocess.run(
        [shell, "-c", script, shell, *texts], cwd="/", capture_output=True, check=True
    )
    return [
        None if "!" in status or status == "2" else status for status in ran.stdout.decode().split()
    ]

"""The recogniser and the scan against real shells.

`tools/fuzz_recogniser.py` and `tools/fuzz_scan.py` run the same for longer.
"""

import random
import shutil
import subprocess
from itertools import islice

import pytest
from tools.fuzz_recogniser import accepted, differences, strings
from tools.fuzz_scan import missed, that_run_rm
from tools.fuzz_scan import strings as nestings

from duetty.policy.proving.recogniser import Command, Line, recognise
from duetty.policy.proving.specs import Proof, prove

pytestmark = pytest.mark.shells

STRINGS = 100_000
NESTINGS = 2_000
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


def test_guarded_allows_no_nesting_in_which_bash_runs_rm() -> None:
    texts = list(islice(nestings(seed=8), NESTINGS))

    ran = missed(texts)

    assert len(ran) <= NESTINGS // 500, ran


def test_a_nesting_that_runs_rm_would_be_noticed() -> None:
    texts = ["echo $(rm -rf ~/x)", "echo '$(rm -rf ~/x)'", "echo a & rm -rf ~/x &", "cat <(rm x)"]

    assert that_run_rm(texts) == [texts[0], texts[2], texts[3]]
    assert len(that_run_rm(list(islice(nestings(seed=9), 200)))) > 40


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

"""Patterns that are compiled when a decision needs them, not at every start."""

import re
import subprocess
import sys

import pytest

from duetty.policy import compile_patterns
from duetty.policy.late_pattern import late_pattern


def test_a_late_pattern_is_as_one_that_was_compiled_at_once() -> None:
    late, soon = late_pattern("(a)|b", re.IGNORECASE), re.compile("(a)|b", re.IGNORECASE)
    for text in ("A", "b", "xB", ""):
        assert bool(late.fullmatch(text)) == bool(soon.fullmatch(text))
        assert late.sub("-", text) == soon.sub("-", text)
        assert late.findall(text) == soon.findall(text)


def test_every_pattern_of_the_policy_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    compile_patterns()
    with monkeypatch.context() as patch:
        patch.setattr("duetty.policy.late_pattern._all", [])
        late_pattern("(")
        with pytest.raises(re.error):
            compile_patterns()


def test_starting_compiles_few_of_them() -> None:
    code = (
        "import duetty.server, duetty.policy.late_pattern as late;"
        "print(sum('match' in vars(each) for each in late._all), len(late._all))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    compiled, all_ = map(int, done.stdout.split())
    assert compiled < all_ / 10

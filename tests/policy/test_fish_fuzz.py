"""The scan's reader of fish against fish; `tools/fuzz_fish.py` runs the same for longer."""

import shutil

import pytest
from tools.fuzz_fish import missed, readable, strings

pytestmark = [
    pytest.mark.shells,
    pytest.mark.skipif(not shutil.which("fish"), reason="no fish"),
]

STRINGS = 6_000


def test_fish_runs_no_command_that_was_not_read() -> None:
    texts = readable(strings(seed=11), STRINGS)

    assert len(texts) > STRINGS / 3
    assert missed(texts) == []


def test_a_command_that_is_read_otherwise_would_be_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("duetty.policy.scanning.fish._LETTERS", {"t": "?"})

    assert [each.text for each in missed(["ls a", "ls \\tb"])] == ["ls \\tb"]

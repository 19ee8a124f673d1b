"""How many values a text of JSON holds is known before anybody parses it."""

import json
import random

import pytest

from duetty.wire import json_values
from duetty.wire.json_values import MAX_VALUES, has_few_values


@pytest.mark.parametrize(
    ("text", "few"),
    [
        (json.dumps({"text": "[{,\"\\" * 400_000}), True),
        (json.dumps({"text": "x" * 5_000_000}), True),
        (json.dumps(["x"] * (MAX_VALUES - 10)), True),
        (json.dumps(["x"] * (MAX_VALUES + 10)), False),
        ("[" * 100_000, False),
        ('{"a":' + "[]," * 60_000, False),
        ('"' + "[]," * 60_000, True),  # a text that does not end
        ("é" * 60_000, True),
        ("\ud800" * 60_000, True),
    ],
)  # fmt: skip
def test_only_what_stands_outside_of_quotes_counts(text: str, few: bool) -> None:
    assert has_few_values(text) is few
    assert has_few_values(text.encode("utf-8", "surrogatepass")) is few


def test_where_the_pieces_are_cut_makes_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(7)
    for size in range(1, 40):
        texts = ["".join(rng.choices('\\"a,[', k=rng.randrange(12))) for _ in range(30)]
        text = json.dumps(texts)
        monkeypatch.setattr(json_values, "PIECE_BYTES", size)

        assert has_few_values(text, 30)
        assert not has_few_values(text, 29)

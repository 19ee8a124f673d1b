"""What is news to a caller who saw the screen before."""

import pytest

from duetty.session.last_shown import LastShown

BEFORE = ("$ make", "one", "two", "$", "", "")


@pytest.mark.parametrize(
    ("alternate", "rows", "news"),
    [
        (False, ("$ make", "one", "two", "$ ls", "a", "$"), {3: "$ ls", 4: "a", 5: "$"}),
        (False, ("one", "two", "$ ls", "a", "b", "$"), {2: "$ ls", 3: "a", 4: "b", 5: "$"}),
        (False, ("two", "$ ls", "a", "b", "c", "$"), {1: "$ ls", 2: "a", 3: "b", 4: "c", 5: "$"}),
        (False, ("", "", "", "", "", ""), {0: "", 1: "", 2: "", 3: ""}),
        (True, ("one", "two", "$ ls", "", "", ""), {0: "one", 1: "two", 2: "$ ls", 3: ""}),
    ],
    ids=["typed on", "moved up by one", "moved up by two", "cleared", "a full-screen program"],
)
def test_text_that_only_moved_up_is_nothing_new(
    alternate: bool, rows: tuple[str, ...], news: dict[int, str]
) -> None:
    shown = LastShown()
    shown.saw("agent", BEFORE, alternate=alternate)

    assert shown.changes("agent", rows, alternate=alternate) == news


@pytest.mark.parametrize(
    ("generation", "news"),
    [(7, {3: "$ ls", 4: "$"}), (8, {0: "$ make", 1: "one", 2: "two", 3: "$ ls", 4: "$"})],
    ids=["nothing came since", "something came since"],
)
def test_what_a_runs_output_had_is_no_news_at_the_first_key(
    generation: int, news: dict[int, str]
) -> None:
    shown = LastShown()
    shown.had_output("agent", lambda: BEFORE, 7, alternate=False)

    shown.presses("agent", lambda: BEFORE, generation, alternate=False)

    rows = ("$ make", "one", "two", "$ ls", "$", "")
    assert shown.changes("agent", rows, alternate=False) == news

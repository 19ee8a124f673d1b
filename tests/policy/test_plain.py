"""Plain lines are read once: the grammar's second opinion on them would change nothing."""

import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from duetty.policy import scan
from duetty.policy.patterns import BY_PROGRAM
from duetty.policy.recogniser import RESERVED
from duetty.policy.wrappers import SHELLS, WRAPPERS
from tests.policy.labelled import CORPUS, LISTS, MORE

is_plain = scan._is_plain  # pyright: ignore[reportPrivateUsage]
"""Not part of what the package offers, but what these tests are about."""

KNOWN = [each.command for kept in (CORPUS, MORE, *LISTS.values()) for each in kept]

_SIGNS = "._/,:=+@%~-"
words = st.one_of(
    st.sampled_from(sorted({*BY_PROGRAM, *WRAPPERS, *SHELLS, "rm", "dd", "cat", "echo", "kill"})),
    st.sampled_from(sorted({word for line in KNOWN for word in line.split(" ") if word})),
    st.sampled_from(sorted(RESERVED)),
    st.sampled_from(
        ["-rf", "-c", "--", "-", "~", "/", "/dev/sda", "..", "A=1", "2", "2x", "=", "%1"]
    ),
    st.text(string.ascii_letters + string.digits + _SIGNS, min_size=1, max_size=8),
)
joins = st.sampled_from([" ", " ", " ", " > ", " >> ", " < ", " 2> ", " && ", " || ", " | ", " ; "])


@st.composite
def lines(draw: st.DrawFn) -> str:
    text = draw(words)
    for _ in range(draw(st.integers(0, 6))):
        text += draw(joins) + draw(words)
    return text


def never(text: str) -> bool:
    del text
    return False


def both(text: str) -> tuple[scan.Scan, scan.Scan]:
    """The scan as it is, and with the second opinion on every line."""
    alone = scan.scan_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scan, "_is_plain", never)
        return alone, scan.scan_text(text)


@settings(max_examples=200)
@given(lines().filter(is_plain))
def test_a_second_opinion_on_plain_words_finds_nothing_more(text: str) -> None:
    alone, asked = both(text)

    assert asked == alone


def test_a_second_opinion_on_the_plain_lines_of_all_lists_finds_nothing_more() -> None:
    plain = [line for line in KNOWN if is_plain(line)]

    changed = [line for line in plain if len(set(both(line))) > 1]

    assert len(plain) > 500
    assert changed == []


@pytest.mark.parametrize(
    "line",
    [
        "echo `id`",
        "echo $(id)",
        "ls\nid",
        "cat <<EOF",
        "if true ; then ls ; fi",
        "a\\ b",
        "'ls'",
        "ls &",
        "ls (a)",
        "ls #x",
        "ls  -l",
        "{ ls ; }",
        "ls *",
        "l\u0455",
    ],
)
def test_what_a_shell_may_read_otherwise_is_not_plain(line: str) -> None:
    assert not is_plain(line)

"""Patterns of callers over output of programs: bounded time, and a clear word on what is lacking."""

from contextlib import suppress
from time import monotonic, thread_time

import pytest

from duetty.errors import BadArguments
from duetty.session.matcher import Needle

FIRST_REPORTED = "(?:" * 24 + "a" + ")+" * 24

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    "pattern",
    [FIRST_REPORTED, "(a+)+$", "(x+x+)+y", "(?:x?){1000}y", "(?:(?:(?:x{0,10}){0,10}){0,10}y)"],
)
async def test_no_pattern_takes_long_whatever_it_searches(pattern: str) -> None:
    output = ("x" * 999 + "\n") * 1_000
    started_s = monotonic()

    with suppress(BadArguments):  # "takes too long": found out in time
        assert Needle(pattern=pattern).find(output) is None

    assert monotonic() - started_s < 1, "20 ms are allowed; a machine may be slow"


@pytest.mark.parametrize("pattern", ["(?:x?){1000}" * 8, r"\pL{1,100}" * 9, "x{1000}" * 100])
def test_a_pattern_that_is_large_is_refused_before_any_search(pattern: str) -> None:
    with pytest.raises(BadArguments, match="too large"):
        Needle(pattern=pattern)


def test_a_pattern_that_is_large_is_refused_before_all_of_it_is_made() -> None:
    took_s: list[float] = []
    for _ in range(5):
        began_s = thread_time()
        with pytest.raises(BadArguments, match="too large"):
            Needle(pattern=r"\pL{1,100}")
        took_s.append(thread_time() - began_s)

    assert min(took_s) < 0.01, "it was twenty milliseconds of everybody's time"


@pytest.mark.parametrize(
    ("pattern", "feature"),
    [
        (r"a(?=b)", "lookahead"),
        (r"a(?!b)", "lookahead"),
        (r"(?<=a)b", "lookbehind"),
        (r"(?<!a)b", "lookbehind"),
        (r"(a)\1", "backreference"),
        (r"(?P<n>a)(?P=n)", "backreference"),
        (r"(?>a)", "atomic group"),
        (r"(a)?(?(1)b|c)", "conditional group"),
        (r"a++", "possessive"),
        (r"a\Z", r"\z"),
        (r"(?x) a", "verbose"),
        (r"a{1,2000}", "1000"),
        (r"\R", r"\R"),
    ],
)
def test_a_feature_that_is_lacking_is_named(pattern: str, feature: str) -> None:
    with pytest.raises(BadArguments) as refused:
        Needle(pattern=pattern)

    assert feature in refused.value.message
    assert "RE2" in str(refused.value.hint)


@pytest.mark.parametrize("pattern", ["(", "[a", "*a", "(?P<n>a", r"\p{Nothing}", "(" * 5_000])
def test_what_is_no_expression_is_said_to_be_none(pattern: str) -> None:
    with pytest.raises(BadArguments):
        Needle(pattern=pattern)


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        (r"^port=\d+$", "port=4242"),
        (r"(?i)ERROR|port", "port"),
        (r"größe: (\d+)", "größe: 7"),
        (r"\pL+:", "größe:"),
        (r"nowhere", None),
    ],
)
def test_an_expression_sees_lines(pattern: str, found: str | None) -> None:
    matched = Needle(pattern=pattern).find("first\nport=4242\ngröße: 7\n")
    assert (matched and matched.text) == found


def test_lone_surrogates_are_searched_around() -> None:
    by_pattern = Needle(pattern="b+").find("a\udc80bb")
    by_text = Needle(text="\udc80").find("a\udc80bb")
    assert by_pattern is not None
    assert by_text is not None
    assert (by_pattern.text, by_text.text) == ("bb", "\udc80")
    assert Needle(pattern="\udc80").find("nothing") is None


async def test_a_long_search_in_pieces_finds_what_stands_in_any_of_them() -> None:
    slow = Needle(pattern=r"^(?:x?){900}needle\d$")
    lines = ["x" * 50] * 400

    for place in (0, 137, 399):
        output = "\n".join([*lines[:place], "needle7", *lines[place + 1 :]])
        found = await slow.find_aside(output)
        assert found is not None
        assert found.text == "needle7"


def test_of_several_texts_and_patterns_the_first_in_the_output_is_found() -> None:
    needle = Needle(text=["late", "never"], pattern=["port \\d+", "^b"])
    found = needle.find("a\nlisten on port 80\nlate\n")

    assert found == ("port 80", "listen on port 80", "port \\d+")

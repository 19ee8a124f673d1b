"""Plain lines are read once, and at once: neither the grammar's second opinion nor a slower look would change a thing."""

import re
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from duetty.policy.proving.recogniser import RESERVED
from duetty.policy.scanning import reader, scan
from duetty.policy.scanning.patterns import BY_PROGRAM
from duetty.policy.scanning.reading import Reading
from duetty.policy.scanning.wrappers import SHELLS, WRAPPERS
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
    st.sampled_from(
        [
            *("'a b'", '"a b"', "'rm -rf /'", '"$x"', "$x", "$HOME", "{}", "+", "\\;", "''", '""'),
            *("A='rm x'", 'PAGER="sh -c id"', "B=$x", "2>&1", ">&2", "'#'", "$_", "'a\tb'", "$1"),
        ]
    ),
    st.text(string.ascii_letters + string.digits + _SIGNS, min_size=1, max_size=8),
)
joins = st.sampled_from(
    [" ", " ", " ", " > ", " >> ", " < ", " 2> ", " && ", " || ", " | ", " ; ", " & "]
)


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
        "ls &x",
        "ls '\t'",
        "export 'a b'",
        "x <<< y",
        "ls $(",
        'ls "$(id)"',
        'ls "a`id`"',
        "ls '" + "(" * 200 + "'",
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


plain_command = reader._PLAIN_COMMAND  # pyright: ignore[reportPrivateUsage]
"""The same of the reader's way for plain words."""

never_plain = re.compile(r"(?!)")


def told(reading: Reading) -> tuple[object, ...]:
    """All that a reading of one plain text says."""
    commands = [
        (each.words, each.assignments, each.redirects, each.bodies, each.producers, each.joined_by)
        for each in reading.commands
    ]
    return commands, reading.unreadable, reading.functions, reading.sources


def at_once_and_slowly(text: str) -> tuple[object, object]:
    """What the reader says and which variables it then knows, and again word by word."""
    known: list[reader.Variables] = [{"a": ("b",)}, {"a": ("b",)}]
    at_once = told(reader.read(text, variables=known[0]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "_PLAIN_COMMAND", never_plain)
        slowly = told(reader.read(text, variables=known[1]))
    return (at_once, known[0]), (slowly, known[1])


def may_be_plain(word: str) -> bool:
    """Whether it may stand in a plain command."""
    return plain_command.fullmatch(f"x {word}") is not None


names = words.filter(lambda word: word.isalpha() and word.islower() and word.isascii())


@settings(max_examples=200)
@given(st.tuples(names, st.lists(words, max_size=6)))
def test_plain_words_are_read_at_once_as_they_are_read_one_by_one(
    command: tuple[str, list[str]],
) -> None:
    name, others = command
    at_once, slowly = at_once_and_slowly(" ".join([name, *filter(may_be_plain, others)]))

    assert at_once == slowly


@pytest.mark.parametrize(
    "text",
    [
        *(
            "ls",
            "ls #x",
            "ls a#b",
            "ls }",
            "ls =x",
            "ls 2",
            "ls ~ !a",
            "ls \ufffc x",
            "ls a\n",
            "ls ",
        ),
        *(
            "if ls",
            "time ls",
            "for a",
            "case a",
            "function a",
            "do",
            "read a",
            "export a=c",
            "eval x",
        ),
        *(" ".join(["ls"] * (reader.MAX_WORDS + more)) for more in (-1, 0, 1)),
    ],
    ids=lambda text: repr(text[:12]),
)
def test_at_the_edge_of_plain_words_the_reader_says_the_same(text: str) -> None:
    at_once, slowly = at_once_and_slowly(text)

    assert at_once == slowly


def test_the_plain_lines_of_all_lists_are_read_at_once_as_they_are_read_one_by_one() -> None:
    plain = [line for line in KNOWN if plain_command.fullmatch(line)]

    read_otherwise = [line for line in plain if len({*map(repr, at_once_and_slowly(line))}) > 1]

    assert len(plain) > 500
    assert read_otherwise == []

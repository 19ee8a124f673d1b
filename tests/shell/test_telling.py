"""The line that bash is about to run, told from its history and from what was typed."""

import pytest

from duetty.shell import Mark, MarkKind, line_as_read, plain_text

FIRST = 40
"""Lines that the shell had read at its prompt."""


def asked(
    told: str | None,
    lines: int | None,
    end: int | None = None,
    *,
    sure: bool = True,
    cut: bool = False,
) -> Mark:
    """`end`: how many lines it has read since its prompt."""
    kind, line = MarkKind.QUESTION, FIRST + ((lines or 0) if end is None else end)
    return Mark(kind, 0, 0, command_line=told, lines=lines, line=line, sure=sure, cut=cut)


def as_read(mark: Mark, typed: str | None) -> str | None:
    return line_as_read(mark, typed, first=FIRST)


def test_one_line_is_what_history_has_of_it() -> None:
    for typed in (None, "", "!!\n", "ls\n"):
        assert as_read(asked("ls", 1), typed) == "ls"


def test_a_shell_that_tells_the_text_itself_is_believed() -> None:
    assert as_read(asked("echo a\necho b", None), None) == "echo a\necho b"
    assert as_read(asked(None, None), "ls") is None


@pytest.mark.parametrize("typed", [None, "", "something else", "ls\n" * 20])
@pytest.mark.parametrize(
    ("told", "lines"),
    [
        ("{ echo a rm -rf x\n}", 4),
        ("{ : # x rm -rf x\n}", 3),
        ("ls  -l", 2),
        ("for i in 1\ndo echo $i\ndone", 3),  # the number of lines proves nothing
        ("ls", -1),
        ("ls", 0),
    ],
)
def test_of_several_lines_only_what_was_typed_tells(
    told: str, lines: int, typed: str | None
) -> None:
    assert as_read(asked(told, lines), typed) is None


FUNCTION = "f() {\n\n echo x\n\n # com\n echo y \\\n  z\n}"


@pytest.mark.parametrize(
    ("told", "typed"),
    [
        ("ls  -l", "ls \\\n -l"),
        ("f() {\n echo x\n\n # com\n echo y   z\n}", FUNCTION),
        ("cat <<E\na\n\nb c\n\nE", "cat <<E\na\n\nb \\\nc\n\nE"),
        ("for i in 1\ndo echo $i\ndone", "for i in 1\ndo echo $i\ndone"),
        ("{ : # x rm -rf x\n}", "{ : # x \\\nrm -rf x\n}"),
    ],
)
def test_what_was_typed_tells_the_line(told: str, typed: str) -> None:
    lines = typed.count("\n") + 1
    assert as_read(asked(told, lines), typed) == typed
    among = f"true\n# c\n{typed}\npwd\n"
    assert as_read(asked(told, lines, lines + 2), among) == typed
    assert as_read(asked(told, lines, lines + 1), among) is None
    assert as_read(asked(told, lines + 1, lines + 1), typed) is None
    assert as_read(asked(told, lines, lines - 1), typed) is None
    assert line_as_read(asked(told, lines), typed, first=None) is None


def test_what_looks_like_it_elsewhere_is_not_it() -> None:
    harmless, other = "{ : # x rm -rf x\n\n}", "{ : # x \\\nrm -rf x\n}"
    both = f"{other}\n{harmless}\n"
    assert as_read(asked("{ : # x rm -rf x\n}", 3), both) == other
    assert as_read(asked("{ : # x rm -rf x\n}", 3, 6), both) == harmless


@pytest.mark.parametrize(
    "typed",
    [
        "for i in 1; do\necho !nosuch\ndone",
        "for i in 1; do\necho !!:p\ndone",
        "for i in 1; do\n^a^b\ndone",
        "for i in 1; do\n  ^a^b\ndone",
        "echo 'a\n!b'",
        'echo "a\n!b"',
        'echo "a\n" !"b',
        'echo \\"a !"b"\n:',
        "echo \\'a !b'c\n'",
        "{\n!(x)\n}",
    ],
)
def test_where_history_may_have_a_part_nobody_knows(typed: str) -> None:
    assert as_read(asked(typed, typed.count("\n") + 1), typed) is None


@pytest.mark.parametrize(
    "typed",
    [
        "if ! true; then\n[ a != b ]\nfi",
        'for i in 1; do\necho "it is done!"\ndone',
        "for i in 1; do\necho 'a!b' \"c\" d!\ndone",
    ],
)
def test_where_history_has_plainly_no_part_it_is_what_was_typed(typed: str) -> None:
    assert as_read(asked(typed, typed.count("\n") + 1), typed) == typed


def test_of_a_long_line_the_beginning_is_compared() -> None:
    typed = "cat <<E\n" + "some text \\\nmore\n\n" * 1_000 + "E"
    told, lines = typed.replace("\\\n", "")[:4_096], typed.count("\n") + 1
    assert as_read(asked(told, lines, cut=True), typed) == typed
    assert as_read(asked(told, lines), typed) is None
    assert as_read(asked("x" + told, lines, cut=True), typed) is None
    assert as_read(asked("x" * 4_096, 1, cut=True), "x" * 5_000) == "x" * 5_000
    assert as_read(asked("x" * 4_096, 1, cut=True), None) is None


def test_behind_a_comment_it_is_what_was_typed_there() -> None:
    assert as_read(asked("ls", 1, 2, sure=False), "# list\nls\n") == "ls"
    assert as_read(asked("ls", 1, 2, sure=False), "# list\nrm -rf x\n") is None
    assert as_read(asked("ls", 1, 2, sure=False), None) is None


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        (b"ls -l\r", "ls -l\n"),
        (b"\x1b[200~a\tb\rc\nd\x1b[201~\r", "a\tb\nc\nd\n"),
        (b"\x1b[200~a\r\nb\x1b[201~\r", None),
        (b"a\r\nb\r", None),
        ("é\r".encode(), "é\n"),
        (b"", ""),
        (b"a\tb", None),
        (b"a\x16\r", None),
        (b"\x1b[A", None),
        (b"\x1b[200~a", None),
        (b"\x1b[200~a\x16b\x1b[201~", None),
        (b"a\x7f", None),
        (b"\xff", None),
    ],
)
def test_keys_that_are_only_text(keys: bytes, text: str | None) -> None:
    assert plain_text(keys) == text

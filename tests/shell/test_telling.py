"""The line that bash is about to run, told from its history and from what was typed."""

import pytest

from duetty.shell import Mark, MarkKind, line_as_read, plain_text


def asked(told: str | None, lines: int | None, *, sure: bool = True, cut: bool = False) -> Mark:
    return Mark(MarkKind.QUESTION, 0, 0, command_line=told, lines=lines, sure=sure, cut=cut)


as_read = line_as_read


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
    assert as_read(asked(told, lines), f"true\n# c\n  {typed}  \npwd\n") == f"  {typed}  "
    assert as_read(asked(told, lines), f"{typed}\n{typed}\n") == typed
    assert as_read(asked(told, lines), f"x{typed}\n") is None
    assert as_read(asked(told, lines), f"{typed}x\n") is None


def test_where_something_else_looks_alike_nobody_knows() -> None:
    harmless, other = "{ : # x rm -rf x\n\n}", "{ : # x \\\nrm -rf x\n}"
    for typed in (f"{other}\n{harmless}\n", f"{{ :\n{harmless}\n}}\n# c \\\n{other}\n"):
        assert as_read(asked("{ : # x rm -rf x\n}", 3), typed) is None


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
    assert as_read(asked("x" + told, lines, cut=True), typed) is None
    assert as_read(asked("x" * 4_096, 1, cut=True), "x" * 5_000) == "x" * 5_000
    assert as_read(asked("x" * 4_096, 1, cut=True), None) is None
    assert as_read(asked(told, lines, cut=True), typed + "\n" + typed) is None


def test_behind_a_comment_it_is_what_was_typed_there() -> None:
    assert as_read(asked("ls", 1, sure=False), "# list\nls\n") == "ls"
    assert as_read(asked("ls", 1, sure=False), "# list\nrm -rf x\n") is None
    assert as_read(asked("ls", 1, sure=False), None) is None


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

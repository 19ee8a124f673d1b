"""The line that bash is about to run, told from its history and from what was typed."""

import pytest

from duetty.shell import line_as_read, plain_text


@pytest.mark.parametrize(
    ("told", "lines"),
    [("ls", 1), ("for i in 1\ndo echo $i\ndone", 3), ("echo 'a\n\nb'", 3), ("ls", None)],
)
def test_what_has_as_many_lines_as_were_read_is_the_line(told: str, lines: int | None) -> None:
    assert line_as_read(told, lines, ()) == told


@pytest.mark.parametrize(
    ("told", "lines"),
    [
        ("{ echo a rm -rf x\n}", 4),
        ("{ : # x rm -rf x\n}", 3),
        ("ls  -l", 2),
        ("{ cat <<E\nE\n\n: # rm -rf x\n}", 5),  # one too many, and one too few
        ("ls", -1),
        ("ls", 0),
    ],
)
def test_what_has_not_is_told_by_nobody(told: str, lines: int) -> None:
    assert line_as_read(told, lines, ()) is None
    assert line_as_read(told, lines, (None, "", "something else", "ls\n" * 20)) is None


@pytest.mark.parametrize(
    ("told", "typed"),
    [
        ("ls  -l", "ls \\\n -l"),
        (
            "f() {\n echo x\n\n # com\n echo y   z\n}",
            "f() {\n\n echo x\n\n # com\n echo y \\\n  z\n}",
        ),
        ("cat <<E\na\n\nb c\n\nE", "cat <<E\na\n\nb \\\nc\n\nE"),
    ],
)
def test_what_was_typed_tells_the_rest(told: str, typed: str) -> None:
    lines = typed.count("\n") + 1
    assert line_as_read(told, lines, (None, typed)) == typed
    assert line_as_read(told, lines, (f"true\n{typed}\npwd\n",)) == typed
    assert line_as_read(told, lines + 1, (typed,)) is None


def test_two_that_look_alike_tell_nothing() -> None:
    harmless, other = "{ : # x rm -rf x\n\n}", "{ : # x \\\nrm -rf x\n}"
    assert line_as_read("{ : # x rm -rf x\n}", 3, (f"{harmless}\n{other}\n",)) is None
    assert line_as_read("{ : # x rm -rf x\n}", 3, (harmless, other)) is None


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        (b"ls -l\r", "ls -l\n"),
        (b"\x1b[200~a\tb\r\nc\x1b[201~\r", "a\tb\nc\n"),
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

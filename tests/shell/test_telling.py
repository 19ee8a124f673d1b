"""The line that bash is about to run, told from its history and from what was typed."""

import pytest

from duetty.shell import Mark, MarkKind, line_as_read, plain_text


def asked(told: str | None, lines: int | None, at: int = 0, *, sure: bool = True) -> Mark:
    kind = MarkKind.QUESTION
    return Mark(kind, 0, 0, command_line=told, lines=lines, at=at, sure=sure)


def test_one_line_is_what_history_has_of_it() -> None:
    for typed in (None, "", "!!\n", "ls\n"):
        assert line_as_read(asked("ls", 1), typed) == "ls"


def test_a_shell_that_tells_the_text_itself_is_believed() -> None:
    assert line_as_read(asked("echo a\necho b", None), None) == "echo a\necho b"
    assert line_as_read(asked(None, None), "ls") is None


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
    assert line_as_read(asked(told, lines), typed) is None


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
    assert line_as_read(asked(told, lines), typed) == typed
    assert line_as_read(asked(told, lines, 2), f"true\n# c\n{typed}\npwd\n") == typed
    assert line_as_read(asked(told, lines, 1), f"true\n# c\n{typed}\npwd\n") is None
    assert line_as_read(asked(told, lines + 1), typed) is None


def test_what_looks_like_it_elsewhere_is_not_it() -> None:
    harmless, other = "{ : # x rm -rf x\n\n}", "{ : # x \\\nrm -rf x\n}"
    both = f"{other}\n{harmless}\n"
    assert line_as_read(asked("{ : # x rm -rf x\n}", 3), both) == other
    assert line_as_read(asked("{ : # x rm -rf x\n}", 3, 3), both) == harmless


def test_what_history_put_in_is_not_what_was_typed() -> None:
    typed = "{ : # x \\\nrm -rf x\n!echo\n}"
    assert line_as_read(asked("{ : # x rm -rf x\necho 'a\nb'\n}", 4), typed) is None
    decoy = "{ : # x rm -rf x\n\n}\n{ : # x \\\n!echo:1*\n}"
    assert line_as_read(asked("{ : # x rm -rf x\n}", 3, 3), decoy) is None


@pytest.mark.parametrize("more", ["", "echo a \\\nb\n"])
def test_what_history_put_in_is_seen_be_it_a_line_end(more: str) -> None:
    typed = f'{more}: "$(: # !:1:h:t rm -rf x\n)"'
    told = f'{more}: "$(: # !:1:h:t\\\n rm -rf x\n)"'
    lines = typed.count("\n") + 1
    assert line_as_read(asked(told, lines), typed) is None
    assert line_as_read(asked(told.replace("a \\\nb", "a b"), lines), typed) is None


def test_behind_a_comment_it_is_what_was_typed_there() -> None:
    assert line_as_read(asked("ls", 1, 1, sure=False), "# list\nls\n") == "ls"
    assert line_as_read(asked("ls", 1, 1, sure=False), "# list\nrm -rf x\n") is None
    assert line_as_read(asked("ls", 1, 1, sure=False), None) is None


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

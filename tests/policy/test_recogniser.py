"""The strict recogniser: what it accepts, what it does not, and what is rebuilt."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from duetty.policy.proving import recogniser
from duetty.policy.proving.recogniser import (
    MAX_BYTES,
    MAX_COMMANDS,
    MAX_GLOB_CHARS,
    MAX_GLOBS,
    MAX_WORDS,
    SHELLS,
    Command,
    Glob,
    Line,
    Unproven,
    recognise,
)


def line(text: str) -> Line:
    found = recognise(text)
    assert isinstance(found, Line), found
    return found


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ls", ("ls",)),
        ("ls -la  src\t", ("ls", "-la", "src")),
        ("echo 'a b' \"c d\"", ("echo", "a b", "c d")),
        ("echo a'b'\"c\"", ("echo", "abc")),
        ("echo ''", ("echo", "")),
        (r"echo 'it'\''s fine'", ("echo", "it's fine")),
        ("printf '%s\\n' done", ("printf", "%s\\n", "done")),
        ("git show HEAD~2", ("git", "show", "HEAD~2")),
        ("git show stash@{0}", ("git", "show", "stash@{0}")),
        ('printf "%s\\n" a', ("printf", "%s\\n", "a")),
        ("stat -c %s f", ("stat", "-c", "%s", "f")),
        ("echo 'straße'", ("echo", "straße")),
        ("[ -f x ]", ("[", "-f", "x", "]")),
        ("[[ -f x ]]", ("[", "-f", "x", "]")),
        ("[[ ! a == 'b c' ]]", ("[", "!", "a", "==", "b c", "]")),
        ("[ a = b ]", ("[", "a", "=", "b", "]")),
        ("find . ! -name a", ("find", ".", "!", "-name", "a")),
        (r"echo $'a\tb' $'it\'s' x$'\n'", ("echo", "a\tb", "it's", "x\n")),
        (r"echo $'\\n\"' $'\r'", ("echo", '\\n"', "\r")),
        (r'echo "a\"b" "\$HOME" "\`x\`" "\\n" "\n"', ("echo", 'a"b', "$HOME", "`x`", "\\n", "\\n")),
        (r"ls a\ b \* \$x \(c\)", ("ls", "a b", "*", "$x", "(c)")),
        ("ls a # it's a list", ("ls", "a")),
        ("# first\nls\n# last", ("ls",)),
        ("/usr/bin/git log", ("/usr/bin/git", "log")),
    ],
)
def test_words_are_what_the_shell_would_hand_over(text: str, words: tuple[str, ...]) -> None:
    assert line(text).commands == (Command(words),)


def test_commands_may_be_joined() -> None:
    found = line("cd src && ls || pwd; date\nwho | wc -l\n")

    assert [command.words[0] for command in found.commands] == [
        "cd",
        "ls",
        "pwd",
        "date",
        "who",
        "wc",
    ]
    assert found.joins == ("&&", "||", ";", ";", "|")


def test_only_redirections_that_write_nothing_are_known() -> None:
    found = line("ls 2>/dev/null src > /dev/null 2>&1 </dev/null")

    assert found.commands == (
        Command(("ls", "src"), ("2>/dev/null", ">/dev/null", "2>&1", "</dev/null")),
    )


def test_a_glob_is_kept_apart_from_a_word() -> None:
    found = line("ls src/*.py '*'").commands[0].words

    assert [type(word) for word in found] == [str, Glob, str]


HOSTILE = [
    "$x",
    "`id`",
    "$(id)",
    "ls $x",
    "ls `id`",
    'ls "$(id)"',
    "ls ~",
    "ls ~/x",
    "ls {a,b}",
    "ls [a]*",
    "ls \\a",
    "ls a\\nb",
    "ls a\\",
    "ls a\\\nb",
    "\\ls",
    "'ls'",
    "l's'",
    "X=1 ls",
    "X=1",
    "ls &",
    "ls & pwd",
    "(ls)",
    "{ ls; }",
    "! ls",
    "time ls",
    "if ls",
    "ls;;",
    ";ls",
    "ls && ",
    "&& ls",
    "ls > x",
    "ls >> x",
    "ls < x",
    "ls 2> x",
    "ls > /dev/nullx",
    "ls >/dev/null&",
    "ls <<EOF",
    "ls <<< x",
    "ls <(x)",
    "ls a#b",
    "ls ''# x",
    "ls a\\ b#c",
    "ls $'a'# x",
    "ls >/dev/null# x",
    "ls # $(id)",
    "ls # `id`",
    "ls # x; id",
    "ls # a && id",
    "ls # x\\",
    "ls # !!",
    "ls && # x",
    "# x",
    "echo !!",
    'echo "a!b"',
    "=ls",
    "ls =ls",
    "ls *",
    "ls -*",
    "ls **/x",
    "ls 'a'*",
    "ls a'",
    'ls "a',
    "-",
    "- ls",
    ".",
    "./ls",
    "../ls",
    "/tmp/ls",
    "ls 3>/dev/null",
    "ls>/dev/null",
    "ls 2>&3",
    "ls a2>&1",
    "echo ]",
    "exec ls",
    "repeat 3 ls",
    "begin",
    "not ls",
    "noglob ls",
    "ls ^x",
    "^a^b",
    "ls @(a)",
    "ls a=~",
    "ls (a)",
    "ls é",
    'ls "\\!x"',
    'ls $"x"',
    "ls @{1..3}",
    "ls @{a,b}",
    "ls {0}",
    "ls $'\\e[2J'",
    "ls $'\\x41'",
    "ls $'\\101'",
    "ls $'\\u0041'",
    "ls $'\\cA'",
    "ls $'\\a'",
    "ls $'a!b'",
    "ls $'a\nb'",
    "ls $'a",
    "$'ls'",
    "[[ a",
    "[[ a && b ]]",
    "[[ a < b ]]",
    "[[ a >/dev/null ]]",
    "[[ a == b* ]]",
    "[[ a\n]]",
    "ls [[ a ]]",
    "ls ]]",
    "[ a ]]",
    "ls && ! cat",
    "ls !x",
    "ls !;cat",
    "ls ]",
    "ls |& cat",
    "ls | | wc",
    "ls || || x",
    "ls ||| x",
    "ls &&\nls",
    "ls |\ncat",
    "ls | ",
    "| ls",
    "2>&1 ls",
    ">/dev/null ls",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_what_a_shell_might_read_otherwise_is_not_proven(text: str) -> None:
    assert isinstance(recognise(text), Unproven)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "\n",
        "ls\rid",
        "ls\x0b",
        "ls \u202ea",
        "ls\u200b",
        "echo '\u00a0'",
        "l\u0455",
        "echo '\u0430'",
        "\x00",
        "\ud800",
    ],
)
def test_nothing_and_what_hides_is_not_proven(text: str) -> None:
    assert isinstance(recognise(text), Unproven)


def test_length_words_and_commands_are_bounded() -> None:
    assert isinstance(recognise("echo " + "a" * MAX_BYTES), Unproven)
    assert isinstance(recognise("echo '" + "é" * (MAX_BYTES // 2) + "'"), Unproven)
    assert isinstance(recognise("ls" + " a" * MAX_WORDS), Unproven)
    assert isinstance(recognise("ls 'x'" + " a" * MAX_WORDS), Unproven)
    assert isinstance(recognise("; ".join(["ls"] * (MAX_COMMANDS + 1))), Unproven)
    assert isinstance(recognise("; ".join(["ls"] * MAX_COMMANDS)), Line)
    assert isinstance(recognise("ls" + " a*" * MAX_GLOBS), Line)
    assert isinstance(recognise("ls" + " a*" * (MAX_GLOBS + 1)), Unproven)
    assert isinstance(recognise("ls a*" + "b" * (MAX_GLOB_CHARS - 2)), Line)
    assert isinstance(recognise("ls a*" + "b" * (MAX_GLOB_CHARS - 1)), Unproven)


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("ls src", set[str]()),
        ("ls &>/dev/null", {"dash"}),
        ("git show HEAD^", {"zsh"}),
        ("echo 'a''b'", {"zsh"}),
        ("echo 'a\\'", {"fish"}),
        ("echo 'a\\\\b'", {"fish"}),
        ("echo %self", {"fish"}),
        ("git show @{u}", {"fish", "zsh"}),
        ("echo $'a'", {"fish", "dash"}),
        ('echo "a\\"b"', set[str]()),
        ('echo "\\`a"', {"fish"}),
        ('echo "\\\\"', {"fish"}),
        ('echo "\\\'"', {"fish"}),
        ("ls a\\ b", set[str]()),
        ("ls # x", {"zsh"}),
        ("[[ -f x ]]", {"fish", "dash"}),
        ("[ a = b ]", set[str]()),
        ("[ a == b ]", {"zsh"}),
    ],
)
def test_shells_that_read_a_line_otherwise_are_left_out(text: str, missing: set[str]) -> None:
    assert line(text).shells == SHELLS - missing


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("ls   -la", "ls -la"),
        ("cd 'src' && ls \"x y\"", "cd src && ls 'x y'"),
        (r"echo 'it'\''s'", "echo 'it'\"'\"'s'"),
        ("ls;\npwd\n", "ls ; pwd"),
        ("ls src/*.py", "ls src/*.py"),
        ("echo '*'", "echo '*'"),
        ("ls >/dev/null a", "ls a >/dev/null"),
        ("[ -f 'a b' ] && ls", "[ -f 'a b' ] && ls"),
    ],
)
def test_the_canonical_form_is_rebuilt_from_the_words(text: str, canonical: str) -> None:
    found = line(text)

    assert found.canonical == canonical
    assert line(canonical).commands == found.commands


def test_a_lone_command_needs_no_shell() -> None:
    assert line("ls 'a b'").argv == ("ls", "a b")
    assert line("ls | wc").argv is None
    assert line("ls a*").argv is None
    assert line("ls 2>/dev/null").argv is None


never = recogniser._NEVER  # pyright: ignore[reportPrivateUsage]
read_through = recogniser._read  # pyright: ignore[reportPrivateUsage]
"""Not part of what the package offers, but what these tests are about."""

PIECES = [
    *(
        "ls",
        " ",
        "a",
        "'b c'",
        '"d e"',
        "/dev/null",
        " >>/dev/null",
        ">",
        "<",
        "&",
        "&&",
        "|",
        "||",
        ";",
        "=",
    ),
    *("~", "$x", "`", "(", ")", "#", "!", "\\", "'", '"', "2>&1", ">&2", "&>", "{", "}", "*"),
    *("@{0}", "\n", "\t", "é", "A=1", "[", "]"),
]


@settings(max_examples=500)
@given(st.lists(st.sampled_from(PIECES), max_size=8).map("".join))
def test_what_is_refused_at_first_sight_is_refused_by_a_whole_reading(text: str) -> None:
    assert not never.match(text) or not isinstance(read_through(text), Line)


def test_why_a_line_is_refused_is_worked_out_when_it_is_asked() -> None:
    text = "echo $(id)"
    refused = recognise(text)

    assert never.match(text)
    assert isinstance(refused, Unproven)
    assert (refused.why, refused.offset) == read_through(text) == ("'$' is not literal", 5)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("printf '%s' 'a\nb'", "a line end within quotes"),
        ('echo "a\nb"', "a line end within quotes"),
        ("echo 'a", "a quote that is not closed"),
        ("echo 'a\nb", "a quote that is not closed"),
        ("echo $a", "'$' is not literal"),
    ],
)
def test_a_quote_that_cannot_be_read_says_what_is_in_it(text: str, why: str) -> None:
    refused = recognise(text)

    assert isinstance(refused, Unproven)
    assert refused.why == why

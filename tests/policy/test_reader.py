"""The reader: words and commands of a text, as a POSIX shell would have them."""

import time

import pytest

from duetty.policy.scanning.findings import PIPED, UNKNOWN, Reading
from duetty.policy.scanning.reader import MAX_CODE, read
from duetty.policy.scanning.scan import scan_text


def words_of(text: str) -> list[list[str]]:
    reading = read(text)
    assert reading.unreadable == []
    return [each.words for each in reading.commands if each.words]


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("""r\\m 'a b' "c d"e $'\\x41\\n' "it's" """, [["rm", "a b", "c de", "A\n", "it's"]]),
        ("a; b && c || d | e & f\ng", [["a"], ["b"], ["c"], ["d"], ["e"], ["f"], ["g"]]),
        ("X='a b'; echo $X \"$X\" ${X} $Y", [["echo", "a", "b", "a b", "a", "b", UNKNOWN]]),
        ("export X=a; read X; echo $X", [["export", "X=a"], ["read", "X"], ["echo", UNKNOWN]]),
        ("for x in a; do b $x; done", [["b", "a"]]),
        ("for x in a b; do c $x; done", [["c", UNKNOWN]]),
        ("for ((i=0; i<$(n); i++)); do a; done", [["n"], ["a"]]),
        ("if a; then b; elif c; then d; else e; fi", [["a"], ["b"], ["c"], ["d"], ["e"]]),
        ("case $x in (a|b) c;; d) e ;& *) f; esac; g", [["c"], ["e"], ["f"], ["g"]]),
        ("f() { a; }; function g { b; }; f", [["a"], ["b"], ["f"]]),
        ("[[ -f a && $(b) =~ (c|d) ]] && e", [["b"], ["[[", "-f", "a", UNKNOWN, "=~", "c", "d", "]]"], ["e"]]),
        ("a=(b $(c)) d", [["c"], ["d"]]),
        ("((x = $(a))); b", [["a"], ["b"]]),
        ("echo $((1 + $(a))) ${x:-$(b)} ${y/<(c)/d}", [["a"], ["b"], ["c"], ["echo", *[UNKNOWN] * 3]]),
        ("a <(b) >(c)", [["b"], ["c"], ["a", PIPED, PIPED]]),
        ("a `b \\`c\\`` d", [["c"], ["b", UNKNOWN], ["a", UNKNOWN, "d"]]),
        ("cp x{,.bak} {1,2}/{3,4}", [["cp", "x", "x.bak", "1/3", "1/4", "2/3", "2/4"]]),
        ("a # b; c\nd e#f", [["a"], ["d", "e#f"]]),
        ("rm$IFS-rf${IFS}x", [["rm", "-rf", "x"]]),
        ("$(which rm) $(pwd)/x $(mktemp -d)", [["which", "rm"], ["pwd"], ["mktemp", "-d"], ["rm", "./x", "/tmp/mktemp"]]),
        ("ls !(keep) @(a|b)", [["ls", "*", "*"]]),
        ("if [[ -d x ]] { a }", [["[[", "-d", "x", "]]"], ["a", "}"]]),
    ],
)  # fmt: skip
def test_words_are_what_a_shell_would_hand_over(text: str, commands: list[list[str]]) -> None:
    assert words_of(text) == commands


def only(reading: Reading, program: str) -> list[list[str]]:
    return [
        [each.words[0] for each in simple.producers if each.words]
        for simple in reading.commands
        if simple.words == [program]
    ]


@pytest.mark.parametrize(
    ("text", "fed"),
    [
        ("a | b | sh", ["a", "b"]),
        ("{ a; b; } | sh", ["a", "b"]),
        ("for x in 1 2; do a; done | sh", ["a"]),
        ("a | { sh; }", ["a"]),
        ("a | while b; do sh; done", ["a"]),
        ("a > >(sh)", ["a"]),
        ("a; sh", []),
        ("a | b; sh", []),
    ],
)
def test_what_is_piped_into_a_command_is_known(text: str, fed: list[str]) -> None:
    assert only(read(text), "sh") == [fed]


def test_the_body_of_a_here_document_is_kept_for_whoever_reads_it() -> None:
    reading = read("cat <<'A' > x <<-B\n$(not run) 'quote\nA\n\tsaid $(run)\n\tB\nls")

    cat, run, ls = reading.commands
    assert (cat.words, run.words, ls.words) == (["cat"], ["run"], ["ls"])
    assert cat.bodies == ["$(not run) 'quote\n", f"\tsaid {UNKNOWN}\n"]
    assert cat.redirects == [(">", "x")]


def test_a_subshell_has_a_place_of_its_own() -> None:
    reading = read("a; (b; (c)); $(d)")

    scopes = {each.words[0]: each.scope for each in reading.commands}
    assert scopes["a"] == 0
    assert reading.parents[scopes["c"]] == scopes["b"]
    assert len(set(scopes.values())) == 4


@pytest.mark.parametrize(
    "text",
    [
        *(
            "echo 'a",
            'echo "a',
            "echo `a",
            "echo $(a",
            "echo ${a",
            "a )",
            "ls (a)",
            "[[ a",
            "a >",
            "a=(",
        ),
        "$(" * 30 + ")" * 30,
        "ls\rid",
        "ls \u202e-la",
        "x " * MAX_CODE,
    ],
)
def test_what_cannot_be_read_is_said(text: str) -> None:
    assert read(text).unreadable


@pytest.mark.parametrize(
    "text",
    [
        "cat <<'E' > a.py\n" + "print('x') # ⚠️ (see `y`)\n" * 8_000 + "E",
        "git commit -m '" + "a (b) `c` $(d) \u202e!x " * 8_000 + "'",
        "echo a #" + "' $( (" * 30_000,
    ],
)
def test_the_bound_is_on_code_and_not_on_data(text: str) -> None:
    assert len(text) > 150_000
    assert (scan_text(text).findings, scan_text(text).unreadable) == ((), ())


@pytest.mark.parametrize(
    "piece",
    [
        *("a;", "$(", "`a`", '"$(a)"', "<<A\n", "<<'A'\n", "{a,b}", "((", "a=(", "${a:-", "'", '"', "\\", "|", "(", ")", "case a in ", "#\n", "[[ ", "if "),
        *("a <<A <<B\n", "$((", "<(", "a | ", "f() { ", "x=$x$x; ", "!(", "\u202e", "*", "sh -c '", "python3 -c '"),
        "python3 - <<E\nopen('x', 'w'); os.system('ls ' + \"",
    ],
)  # fmt: skip
@pytest.mark.sampled(4)
def test_a_text_of_200_kb_is_looked_at_in_little_time(piece: str) -> None:
    text = (piece * (200_000 // len(piece) + 1))[:200_000]
    began = time.process_time()

    scan_text(text)
    scan_text(f"cat > x <<'END'\n{text}\nEND")
    scan_text(f"python3 - <<'END'\n{text}\nEND")

    # Linear work takes a tenth of it here; what is quadratic takes minutes.
    assert time.process_time() - began < 1.5

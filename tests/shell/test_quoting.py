import subprocess

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from duetty.shell.quoting import split_fields, unquoted

WRITERS = {
    "bash %q": ["bash", "-c", 'for x; do printf "%q\\0" "$x"; done', "bash"],
    "bash @Q": ["bash", "-c", 'for x; do printf "%s\\0" "${x@Q}"; done', "bash"],
    "zsh q": ["zsh", "-fc", 'for x; do printf "%s\\0" "${(q)x}"; done', "zsh"],
    "zsh qqqq": ["zsh", "-fc", 'for x; do printf "%s\\0" "${(qqqq)x}"; done', "zsh"],
}

WORDS = st.lists(
    st.text("aé €😀\n\t\x1b\x07\x7f\x85'\"\\$`;%!#~*?[]{}()<>|&=- \r", max_size=12).map(str.encode)
    | st.binary(max_size=8).map(lambda raw: raw.replace(b"\0", b"")),
    min_size=40,
    max_size=40,
)


@pytest.mark.shells
@pytest.mark.parametrize("locale", ["C.UTF-8", "C"])
@pytest.mark.parametrize("writer", WRITERS)
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(words=WORDS)
def test_what_a_shell_quotes_reads_back_as_it_was(
    writer: str, locale: str, words: list[bytes]
) -> None:
    shell = subprocess.run(
        [*(part.encode() for part in WRITERS[writer]), *words],
        capture_output=True,
        check=True,
        timeout=60,
        env={"LC_ALL": locale, "PATH": "/usr/bin:/bin"},
    )
    quoted = shell.stdout.split(b"\0")[:-1]

    assert [unquoted(word) for word in quoted] == words
    fields = [b"x=" + word for word in quoted]
    assert split_fields(b";".join(fields)) == fields


@given(st.binary() | st.text("'\\$;x0e{u", max_size=20).map(str.encode))
def test_no_bytes_raise(text: bytes) -> None:
    unquoted(text)

    assert b";".join(split_fields(text)) in (text, text[:-1])


@pytest.mark.parametrize(
    ("word", "value"),
    [
        (rb"$'\u20ac\U1F600\x41\101\cA\c?\e\"\?'", '€😀AA\x01\x7f\x1b"?'.encode()),
        (rb"$'\C-a\M-a'", b"\x01\xe1"),
        (rb"$'\ud800'", "\N{REPLACEMENT CHARACTER}".encode()),
        (rb"$'\UFFFFFFFF'", "\N{REPLACEMENT CHARACTER}".encode()),
        (b"a$b", b"a$b"),
        (b"''", b""),
        (b"", b""),
        (b"'open", None),
        (b"$'open", None),
        (b"end\\", None),
    ],
)
def test_a_word_means_what_its_shell_means(word: bytes, value: bytes | None) -> None:
    assert unquoted(word) == value


def test_a_quote_that_never_closes_ends_at_the_next_semicolon() -> None:
    assert split_fields(b"a='x;b=y") == [b"a='x", b"b=y"]

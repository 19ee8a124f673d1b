import mmap
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from duetty.shell import MAX_SEQUENCE_BYTES, Mark, MarkKind, MarkScanner, strip_nonce

NONCE = "c0ffee00"

# Bytes that make sequences likely: pieces of marks between arbitrary bytes.
PIECES = st.sampled_from(
    [
        b"\x1b",
        b"\x1b]",
        b"\x1b]133;",
        b"33;",
        b"A",
        b"D;0",
        b";",
        b";k=s",
        b";nonce=c0ffee00",
        b";cmdline='a;b'",
        b";cmdline=$'\\n",
        b";cwd_url=%2Ftmp",
        b";cwd_raw=/a;b",
        b"\x07",
        b"\x1b\\",
        b"\\",
        b"\x18",
        b"\x9d133;A\x9c",
        "Ü".encode(),
    ]
)

FIELDS = st.sampled_from(
    [
        b"0",
        b"k=s",
        b"nonce=c0ffee00",
        b"nonce=c0ffee0",
        b"nonce=c0ffee000",
        b"nonce=",
        b"x=nonce=c0ffee00",
        b"cmdline='a;nonce=c0ffee00'",
        b"cmdline_url=a%20b",
        b"cmdline_url=%FF%2",
        b"cwd_url=%C3",
        b"cwd=$'\\377'",
        b"t=1700000000.5",
        b"took=9",
        b"id=\xff",
    ]
)


def a_mark(kind: bytes, fields: list[bytes], end: bytes) -> bytes:
    return b"\x1b]133;" + b";".join([kind, *fields]) + end


MARKS = st.builds(
    a_mark,
    st.sampled_from([b"A", b"B", b"C", b"D", b"Q"]),
    st.lists(FIELDS, max_size=4),
    st.sampled_from([b"\x07", b"\x1b\\"]),
)
"""Whole ones, which pieces seldom are."""

STREAMS = st.lists(PIECES | MARKS | st.binary(max_size=8), max_size=30).map(b"".join)


def scanned(*chunks: bytes, nonce: str = NONCE) -> list[Mark]:
    scanner, offset, marks = MarkScanner(nonce), 0, list[Mark]()
    for chunk in chunks:
        marks += scanner.scan(chunk, offset)
        offset += len(chunk)
    return marks


@given(STREAMS, st.lists(st.integers(0, 200), max_size=8))
@example(b"\x1b]133;A\x1b]133;B\x07", [8])
@example(b"x\x1b]133;A;nonce=c0ffee00\x1b\\y", list(range(30)))
def test_marks_are_the_same_however_the_stream_is_cut(stream: bytes, cuts: list[int]) -> None:
    places = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    chunks = [stream[a:b] for a, b in pairwise(places)]

    assert scanned(*chunks) == scanned(stream)


@given(STREAMS)
def test_marks_are_the_same_byte_by_byte(stream: bytes) -> None:
    assert scanned(*(stream[i : i + 1] for i in range(len(stream)))) == scanned(stream)


@given(st.binary() | STREAMS)
def test_no_bytes_raise(stream: bytes) -> None:
    for mark in scanned(stream):
        assert 0 <= mark.start < mark.end <= len(stream)


@given(STREAMS)
def test_a_mark_without_the_nonce_is_never_trusted(stream: bytes) -> None:
    assert not any(mark.trusted for mark in scanned(stream, nonce="0ther"))


@given(STREAMS)
def test_an_export_has_the_same_length_and_nothing_trusted(stream: bytes) -> None:
    exported = strip_nonce(stream, NONCE)

    assert len(exported) == len(stream)
    assert not any(mark.trusted for mark in scanned(exported))


@given(STREAMS, STREAMS)
def test_a_scanner_goes_on_from_a_saved_carry(before: bytes, after: bytes) -> None:
    first = MarkScanner(NONCE)
    marks = [*first.scan(before, 0)]

    second = MarkScanner(NONCE, carry=first.carry)
    marks += second.scan(after, len(before))

    assert marks == scanned(before + after)


@pytest.mark.parametrize("end", [b"\x07", b"\x1b\\"])
def test_a_mark_tells_where_it_is_and_what_it_says(end: bytes) -> None:
    sequence = b"\x1b]133;D;130;nonce=c0ffee00;cmdline='a; b'\\''c';cwd_url=/tmp/%C3%BC" + end

    marks = scanned(b"out" + sequence + b"more")

    assert marks == [
        Mark(
            kind=MarkKind.DONE,
            start=3,
            end=3 + len(sequence),
            trusted=True,
            exit_code=130,
            command_line="a; b'c",
            cwd="/tmp/ü",
        )
    ]


def test_a_raw_directory_is_the_rest_of_the_mark() -> None:
    marks = scanned(b"\x1b]133;D;0;nonce=c0ffee00;cwd_raw=/a;nonce=x 'b\r\nc\x07")

    assert [(mark.trusted, mark.cwd) for mark in marks] == [(True, "/a;nonce=x 'b\nc")]


@pytest.mark.parametrize(
    "body",
    [
        b"D;0;cmdline=';nonce=c0ffee00'",
        b"D;0;nonce=;nonce=c0ffee00",
        b"D;0;nonce=C0FFEE00",
        b"D;0;cwd_raw=/x;nonce=c0ffee00",
        b"D;0",
    ],
)
def test_a_nonce_that_is_not_its_own_first_field_is_no_nonce(body: bytes) -> None:
    assert [mark.trusted for mark in scanned(b"\x1b]133;" + body + b"\x07")] == [False]


def test_an_empty_nonce_trusts_nothing() -> None:
    assert [mark.trusted for mark in scanned(b"\x1b]133;A;nonce=\x07", nonce="")] == [False]


@pytest.mark.parametrize(
    ("body", "exit_code"),
    [(b"D", None), (b"D;", None), (b"D;x", None), (b"D;7", 7), (b"D;nonce=1;7", None)],
)
def test_an_exit_code_is_the_first_field_or_unknown(body: bytes, exit_code: int | None) -> None:
    assert [mark.exit_code for mark in scanned(b"\x1b]133;" + body + b"\x07")] == [exit_code]


@pytest.mark.parametrize("sequence", [b"\x1b]133;P\x07", b"\x1b]1337;A\x07", b"\x1b]133\x07"])
def test_another_sequence_is_not_a_mark(sequence: bytes) -> None:
    assert scanned(sequence) == []


@pytest.mark.parametrize("abandoned", [b"\x18", b"\x1a", b"\x1b[m"])
def test_a_sequence_that_is_abandoned_is_not_a_mark(abandoned: bytes) -> None:
    assert scanned(b"\x1b]133;A" + abandoned + b"\x07") == []


@pytest.mark.parametrize("chunk_bytes", [1000, 4096, 1 << 20])
def test_a_sequence_without_an_end_is_given_up(chunk_bytes: int) -> None:
    longest = b"\x1b]133;A;".ljust(MAX_SEQUENCE_BYTES - 1, b"x") + b"\x07"
    too_long = b"\x1b]133;B;".ljust(MAX_SEQUENCE_BYTES, b"x") + b"\x07"
    too_long += b"\x1b]133;B;".ljust(MAX_SEQUENCE_BYTES - 1, b"x") + b"\x1b\\"
    endless = b"\x1b]133;C;".ljust(3 * MAX_SEQUENCE_BYTES, b"x")
    stream = longest + too_long + endless + b"\x1b]133;D\x07"

    chunks = [stream[i : i + chunk_bytes] for i in range(0, len(stream), chunk_bytes)]
    scanner = MarkScanner(NONCE)
    offset, kinds, carry_bytes = 0, "", 0
    for chunk in chunks:
        kinds += "".join(mark.kind for mark in scanner.scan(chunk, offset))
        offset += len(chunk)
        carry_bytes = max(carry_bytes, len(scanner.carry))

    assert kinds == "AD"
    assert carry_bytes <= MAX_SEQUENCE_BYTES


def test_a_memory_map_is_scanned_where_it_lies() -> None:
    with mmap.mmap(-1, 4096) as memory:
        memory.write(b"x" * 100 + b"\x1b]133;A;nonce=c0ffee00\x07")
        with memoryview(memory) as view:
            marks = MarkScanner(NONCE).scan(view, 1000)

    assert marks == [Mark(kind=MarkKind.PROMPT, start=1100, end=1123, trusted=True)]


def test_marks_as_other_shells_write_them_are_read_but_not_trusted() -> None:
    marks = scanned(b"\x1b]133;A;k=s;aid=1\x07\x1b]133;C;cmdline=ls\\ -l\x07")

    assert marks == [
        Mark(kind=MarkKind.PROMPT, start=0, end=18, secondary=True),
        Mark(kind=MarkKind.OUTPUT, start=18, end=41, command_line="ls -l"),
    ]


@pytest.mark.parametrize(
    ("fields", "at_ns", "took_ns"),
    [
        (b"t=1700000000.000001", 1_700_000_000_000_001_000, None),
        (b"t=1700000000,25", 1_700_000_000_250_000_000, None),
        (b"took=12", None, 12_000_000),
        (b"took=0", None, None),
        (b"t=", None, None),
        (b"t=1e9", None, None),
        (b"took=-1", None, None),
    ],
)
def test_a_mark_tells_when_and_for_how_long(
    fields: bytes, at_ns: int | None, took_ns: int | None
) -> None:
    (mark,) = MarkScanner(NONCE).scan(
        b"\x1b]133;D;0;nonce=" + NONCE.encode() + b";" + fields + b"\x07", 0
    )

    assert (mark.at_ns, mark.took_ns) == (at_ns, took_ns)

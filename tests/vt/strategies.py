"""Byte streams as programs print them, and as hostile programs do."""

from hypothesis import strategies as st

_NUMBER = st.integers(0, 70_000).map(lambda number: b"%d" % number)
_SMALL = st.integers(0, 30).map(lambda number: b"%d" % number)


def _joined(*parts: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
    return st.tuples(*parts).map(b"".join)


def _params(values: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
    return st.lists(values, max_size=4).map(b";".join)


TEXT = st.sampled_from(
    [
        "plain words ",
        "0123456789",
        "日本語",
        "e\u0301e\u0301",
        "👩\u200d👩\u200d👧",
        "🇩🇪",
        "\t",
        "wide at the edge 日",
        "   ",
    ]
).map(str.encode)
CONTROLS = st.sampled_from([b"\r\n", b"\n", b"\r", b"\b", b"\x07", b"\x0e", b"\x0f", b"\x18"])
SGR = _joined(
    st.just(b"\x1b["),
    _params(
        st.sampled_from(
            [
                b"0",
                b"1",
                b"2",
                b"3",
                b"4",
                b"4:3",
                b"5",
                b"7",
                b"8",
                b"9",
                b"31",
                b"42",
                b"53",
                b"38;5;200",
                b"48;2;1;2;3",
                b"48;2;0;216;0",
                b"48;2;255;255;255",
                b"58;5;9",
            ]
        )
    ),
    st.just(b"m"),
)
MOVES = _joined(
    st.just(b"\x1b["),
    _params(_SMALL),
    st.sampled_from([bytes([c]) for c in b"ABCDEFGHJKLMPSTX@dr"]),
)
MODES = _joined(
    st.just(b"\x1b[?"),
    st.sampled_from([b"1", b"5", b"6", b"7", b"25", b"66", b"1000", b"1004", b"1006", b"1049"])
    | st.sampled_from([b"2004", b"47", b"69", b"1003", b"1015"]),
    st.sampled_from([b"h", b"l"]),
)
OSCS = st.sampled_from(
    [
        b"\x1b]0;title\x07",
        b"\x1b]2;\xc3\xa9\x1b\\",
        b"\x1b]7;file:///tmp/a%20b\x07",
        b"\x1b]8;;https://example.org/\x1b\\",
        b"\x1b]8;;\x1b\\",
        b"\x1b]133;A\x07",
        b"\x1b]11;#102030\x07",
    ]
)
ESCAPES = st.sampled_from([b"\x1b7", b"\x1b8", b"\x1bM", b"\x1bD", b"\x1bE", b"\x1bH", b"\x1b(B"])
QUERIES = st.sampled_from(
    [
        b"\x1b[c",
        b"\x1b[>c",
        b"\x1b[=c",
        b"\x1b[5n",
        b"\x1b[6n",
        b"\x1b[>q",
        b"\x1b[?2004$p",
        b"\x1b[14t",
        b"\x1b[16t",
        b"\x1b[18t",
        b"\x1b]10;?\x07",
        b"\x1b[?u",
        b"\x1b[?2048h",
    ]
)

PROGRAM = st.lists(
    TEXT | CONTROLS | SGR | MOVES | MODES | OSCS | ESCAPES | QUERIES, max_size=25
).map(b"".join)
"""What programs print: every sequence is well formed."""

_WILD = st.lists(
    _joined(
        st.sampled_from([b"\x1b[", b"\x1b[?", b"\x1b]", b"\x1bP", b"\x1b_", b"\x1b^", b"\x1bX"]),
        _params(_NUMBER),
        st.binary(max_size=6),
        st.sampled_from([b"", b"\x07", b"\x1b\\", b"m", b"h", b"t", b"\x18"]),
    )
    | st.binary(max_size=12)
    | TEXT,
    max_size=20,
).map(b"".join)

HOSTILE = _WILD | PROGRAM
"""Anything at all."""


def cuts(stream: bytes) -> st.SearchStrategy[list[bytes]]:
    """The stream in pieces, cut anywhere."""
    places = st.lists(st.integers(0, len(stream)), max_size=6).map(sorted)
    return places.map(
        lambda at: [
            stream[start:end] for start, end in zip([0, *at], [*at, len(stream)], strict=True)
        ]
    )

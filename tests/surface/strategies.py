"""Elements as hypothesis makes them: any text, any place, any order."""

from hypothesis import strategies as st

from duetty.surface import COLOUR_NAMES, Overlay, Panel, RegionWrite, TextSpan
from duetty.vt import Rgb

colours = st.none() | st.sampled_from(COLOUR_NAMES) | st.just(Rgb(1, 2, 3))

texts = st.text(
    st.sampled_from("ab \n\t日本é👍\u0301\u200d\x1b\x07\x9b\x7f[31m]0;\u202e\ud800")
    | st.characters(),
    max_size=30,
)

spans = st.lists(
    st.builds(
        TextSpan,
        text=texts,
        id=st.none() | st.sampled_from(["label", "value"]),
        fg=colours,
        bg=colours,
        bold=st.booleans(),
    ),
    max_size=4,
).map(tuple)

writes = st.lists(
    st.builds(
        RegionWrite,
        row=st.integers(0, 6),
        col=st.integers(0, 12),
        text=texts,
        bg=colours,
        underline=st.booleans(),
    ),
    max_size=4,
).map(tuple)

ids = st.uuids(version=4).map(str)
modes = st.sampled_from(["normal", "alt"])

overlays = st.builds(
    Overlay,
    id=ids,
    x=st.integers(-30, 40),
    y=st.integers(-10, 12),
    z=st.integers(-3, 3),
    width=st.integers(0, 40),
    height=st.integers(0, 12),
    background=colours,
    spans=spans,
    region_writes=writes,
    screen_mode=modes,
    made=st.integers(0, 5),
)

panels = st.builds(
    Panel,
    id=ids,
    position=st.sampled_from(["top", "bottom"]),
    height=st.integers(0, 8),
    z=st.integers(-3, 3),
    background=colours,
    spans=spans,
    region_writes=writes,
    screen_mode=modes,
    made=st.integers(0, 5),
)

printed = st.lists(
    st.sampled_from(
        [
            "plain text",
            "日本語",
            "\x1b[31mred\x1b[m",
            "\r\n",
            "é",
            "\x1b[44m\x1b[K",
            "👍",
            "e\u0301",
        ]
    ),
    max_size=12,
).map("".join)

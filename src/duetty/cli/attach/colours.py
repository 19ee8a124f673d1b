"""Colours for terminals that know fewer of them."""

from functools import lru_cache

from duetty.vt.values import Rgb

_STEPS = (0, 95, 135, 175, 215, 255)
_ANSI = (
    (0, 0, 0), (205, 0, 0), (0, 205, 0), (205, 205, 0),
    (0, 0, 238), (205, 0, 205), (0, 205, 205), (229, 229, 229),
    (127, 127, 127), (255, 0, 0), (0, 255, 0), (255, 255, 0),
    (92, 92, 255), (255, 0, 255), (0, 255, 255), (255, 255, 255),
)  # fmt: skip
"""xterm's own; every theme has others, so this is a guess at what is near."""


@lru_cache(maxsize=4096)
def nearest_256(colour: Rgb) -> int:
    """The colour of the 256 that looks most like it: of the cube or of the greys."""
    wanted = (colour.r, colour.g, colour.b)
    steps = [min(range(6), key=lambda at: abs(_STEPS[at] - part)) for part in wanted]
    cube = 16 + 36 * steps[0] + 6 * steps[1] + steps[2]
    grey = 232 + max(0, min(23, round((sum(wanted) / 3 - 8) / 10)))
    return min((cube, grey), key=lambda index: _distance(_rgb(index), wanted))


@lru_cache(maxsize=256)
def nearest_16(index: int) -> int:
    """The ANSI colour nearest to one of the palette's others."""
    return min(range(16), key=lambda at: _distance(_ANSI[at], _rgb(index)))


def _rgb(index: int) -> tuple[int, int, int]:
    if index < 16:
        return _ANSI[index]
    if index >= 232:
        level = 8 + 10 * (index - 232)
        return (level, level, level)
    index -= 16
    return (_STEPS[index // 36], _STEPS[index // 6 % 6], _STEPS[index % 6])


def _distance(one: tuple[int, int, int], other: tuple[int, int, int]) -> int:
    return sum((a - b) ** 2 for a, b in zip(one, other, strict=True))

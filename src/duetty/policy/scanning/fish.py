"""Text as fish reads it: the same reader, with what fish writes otherwise."""

from duetty.policy.scanning.reader import Reader
from duetty.policy.scanning.reading import Reading


def read_fish(text: str) -> Reading:
    return Reader(text).read()

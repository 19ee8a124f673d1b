"""How tests are spread over processes: a file is one piece, so that its server serves all of it."""

import os

import pytest

LAST = "tests/web/"
"""Playwright leaves a running loop in its thread, in which no anyio test can run after it."""


def processes() -> int:
    """Tests mostly wait, for shells and for browsers: two for each core."""
    return 2 * len(os.sched_getaffinity(0))


def spread(items: list[pytest.Item]) -> None:
    """The order of files; those of one file stay together and in their order."""
    items.sort(key=lambda item: item.nodeid.startswith(LAST))

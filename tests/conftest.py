"""As little as possible; no fixture used by one file."""

import os
import shutil
import signal
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path
from types import FrameType

import pytest
from hypothesis import HealthCheck, settings

from tests import spreading, warm

# On a busy machine any example may take long; and the same tree gives the same answer every time.
# `HYPOTHESIS_PROFILE=default` looks for new examples.
settings.register_profile(
    "duetty", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "duetty"))

NEEDS = {"shells": ("bash", "zsh", "fish", "dash"), "tmux": ("tmux",), "browser": ("chromium",)}


LONGEST_S, AGAIN_S = 600.0, 10.0
"""After that long a test has failed, and the others go on: a run that hangs tells nobody why."""


def pytest_configure() -> None:
    """A run started in the background has Ctrl-C ignored, and every program that a test starts
    would inherit that."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    warm.use()


def pytest_xdist_auto_num_workers() -> int:
    return spreading.processes()


@pytest.hookimpl(tryfirst=True)  # before `-m` is obeyed
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what this machine cannot run, and say why."""
    spreading.mark_slow_cases(items)
    spreading.spread(items)
    missing = {
        marker: [program for program in programs if shutil.which(program) is None]
        for marker, programs in NEEDS.items()
    }
    for item in items:
        for marker, programs in missing.items():
            if programs and item.get_closest_marker(marker):
                item.add_marker(pytest.mark.skip(reason=f"not installed: {', '.join(programs)}"))
        if item.get_closest_marker("root") and os.getuid() != 0:
            item.add_marker(pytest.mark.skip(reason="needs root to mount a small tmpfs"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Generator[None, object, object]:
    """Again and again, as a loop may have swallowed the first one."""
    signal.signal(signal.SIGALRM, _on_too_long)
    signal.setitimer(signal.ITIMER_REAL, LONGEST_S, AGAIN_S)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _on_too_long(_number: int, _frame: FrameType | None) -> None:
    pytest.fail(f"it took more than {LONGEST_S:g} s")


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, bool]]:
    return "asyncio", {"use_uvloop": True}


@pytest.fixture
def home() -> Iterator[Path]:
    """A short private directory: unix sockets do not fit under pytest's own."""
    with tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as path:
        yield Path(path)

"""As little as possible; no fixture used by one file."""

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests import spreading

# On a busy machine any example may take long; and the same tree gives the same answer every time.
# `HYPOTHESIS_PROFILE=default` looks for new examples.
settings.register_profile(
    "duetty", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "duetty"))

NEEDS = {"shells": ("bash", "zsh", "fish", "dash"), "tmux": ("tmux",), "browser": ("chromium",)}


def pytest_configure() -> None:
    """A run started in the background has Ctrl-C ignored, and every program that a test starts
    would inherit that."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)


def pytest_xdist_auto_num_workers() -> int:
    return spreading.processes()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what this machine cannot run, and say why."""
    spreading.spread(items)
    for item in items:
        for marker, programs in NEEDS.items():
            missing = [program for program in programs if shutil.which(program) is None]
            if item.get_closest_marker(marker) and missing:
                item.add_marker(pytest.mark.skip(reason=f"not installed: {', '.join(missing)}"))
        if item.get_closest_marker("root") and os.getuid() != 0:
            item.add_marker(pytest.mark.skip(reason="needs root to mount a small tmpfs"))


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, bool]]:
    return "asyncio", {"use_uvloop": True}


@pytest.fixture
def home() -> Iterator[Path]:
    """A short private directory: unix sockets do not fit under pytest's own."""
    with tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as path:
        yield Path(path)

"""Homes that shells of tests live in."""

from contextlib import suppress
from pathlib import Path


def settle_home(home: Path) -> Path:
    """Keep fish from parsing every manual page in the background, as it does in a new home:
    those processes outlive the test, and a hundred of them take the machine."""
    with suppress(OSError):  # some homes cannot be written, and are tested for that
        (home / ".local/share/fish/generated_completions").mkdir(parents=True, exist_ok=True)
    return home

"""What a shell needs in a sandbox besides: a place for what it must write."""

from collections.abc import Sequence
from pathlib import Path

_SCRIPT = Path(__file__).parent / "scripts" / "fish-confined.sh"

_WITHOUT_CONFIGURATION = frozenset({"-N", "--no-config"})


def confined(argv: Sequence[str]) -> list[str]:
    """The same command, for the inside of a sandbox.

    Only fish is started differently: it writes its universal variables next to
    its configuration, and complains into commands' output where it cannot.
    """
    if not argv or Path(argv[0]).name != "fish" or _WITHOUT_CONFIGURATION.intersection(argv):
        return list(argv)
    return ["/bin/sh", str(_SCRIPT), *argv]

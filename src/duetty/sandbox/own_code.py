"""The code that makes sandboxes: a program that could write it would be in none."""

import os
import site
import sys
from functools import cache
from pathlib import Path

from duetty.platform.capabilities import BWRAP
from duetty.sandbox.stat_checks import stat_of

PACKAGE = Path(__file__).resolve().parents[1]
_PACKAGES = ("site-packages", "dist-packages")


def own_places() -> tuple[Path, ...]:
    """Directories that hold nothing but what this server runs. None of them can be a workspace."""
    own = sys.prefix if sys.prefix != sys.base_prefix else ""  # an environment of its own
    packages = (each for each in sys.path if Path(each).name in _PACKAGES)
    by_user = site.getusersitepackages() if site.ENABLE_USER_SITE else ""
    return _real(str(PACKAGE), os.path.dirname(os.__file__), own, by_user, *packages)  # noqa: PTH120


def own_code() -> tuple[Path, ...]:
    """All that must stay as it is where it lies in a workspace."""
    return own_places() + _real(sys.prefix, sys.base_prefix, sys.executable, *BWRAP)


@cache
def user_site() -> Path | None:
    """Where the next server looks for modules of the person's, whether it is there by now or not."""
    return Path(site.getusersitepackages()).resolve() if site.ENABLE_USER_SITE else None


@cache
def _real(*paths: str) -> tuple[Path, ...]:
    """Where links lead: the interpreter of an environment is one. Looked at once, and not when
    a program has had the time to exchange them.
    """
    real = dict.fromkeys(Path(path).resolve() for path in paths if path)
    return tuple(path for path in real if stat_of(path) is not None)

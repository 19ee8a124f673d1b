"""Rules for Landlock, which can only allow: everything is listed but for what is hidden."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from duetty.sandbox import hidden_files as known
from duetty.sandbox.hidden_files import is_within
from duetty.sandbox.mounts import MountTable
from duetty.sandbox.protected_paths import Hidden, guarded
from duetty.sandbox.request import Places, SandboxRequest

MAX_LISTED = 5_000
"""Entries of one directory that rules are made for."""


def rules_of(
    order: SandboxRequest,
    places: Places,
    table: MountTable,
    *,
    hidden: Hidden,
    workspaces: Sequence[Path],
    shown: Sequence[Path],
    homes: Sequence[Path],
) -> dict[str, object]:
    """What may be read and written; `shown` as in `bubblewrap`.

    Raises:
        SandboxUnavailable: if there is too much to protect.
    """
    left_out = {*map(str, (*hidden.now, *known.private_places(), "/dev")), *hidden.later}
    kept = {*map(str, guarded(order, table, workspaces=workspaces, homes=homes))}
    writable = [path for each in workspaces for path in beside(str(each), kept | left_out)]
    readable = [*beside("/", left_out), *kept, *map(str, workspaces)]
    readable += [path for place in shown for path in beside(str(place), left_out)]
    leading = _leading(left_out)
    # What is protected may be hidden, too.
    readable = [
        each for each in readable if each not in leading and not is_within(each, hidden.now)
    ]
    writable += [str(path) for path in places.shown if path.exists()]
    if places.private is not None:
        writable.append(str(places.private))
    return {
        "read": readable,
        "write": writable,
        "network": order.network,
        "behind_mounts": False,
    }


def rules_behind_mounts(hidden: Hidden, written: Sequence[Path]) -> dict[str, object]:
    """For bubblewrap: the rules of its mounts once more, for files that are not there yet, too.

    A cover goes with the file that it covers, and what is not there has none: both show
    what a program outside puts there while the sandbox runs.
    """
    every = (*map(str, hidden.now), *hidden.later)
    left_out = {each for each in every if not is_within(each, written)}
    return {
        "read": beside("/", left_out),
        "write": [str(path) for path in written],
        "network": True,
        "behind_mounts": True,
    }


# --- by plain strings: each start waits for this ------------------------------------


def beside(root: str, hidden: set[str]) -> list[str]:
    """Everything below `root` but for what is hidden.

    Directories that lead to something hidden are left out themselves: what is
    allowed for one is allowed for all below it.
    """
    return _listed(root, hidden, _leading(hidden))


def _listed(root: str, hidden: set[str], leading: set[str]) -> list[str]:
    if root in hidden:
        return []
    if root not in leading:
        return [root]
    below = root.rstrip("/") + "/"
    try:
        with os.scandir(root) as entries:
            names = sorted(each.name for each in entries if not each.is_symlink())[:MAX_LISTED]
    except OSError:  # it may let us pass all the same (/home)
        ahead = (each.removeprefix(below) for each in leading if each.startswith(below))
        names = [each for each in ahead if each and "/" not in each]
    return [path for name in names for path in _listed(below + name, hidden, leading)]


def _leading(places: Iterable[str]) -> set[str]:
    """Every directory on the way to one of them."""
    found = {"/"}
    for place in places:
        above = place.rpartition("/")[0]
        while above and above not in found:
            found.add(above)
            above = above.rpartition("/")[0]
    return found

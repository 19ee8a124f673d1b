"""Rules for Landlock, which can only allow: everything is listed but for what is hidden."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from duetty.sandbox import places as known
from duetty.sandbox.guarding import Hidden, guarded
from duetty.sandbox.mounted import MountTable
from duetty.sandbox.order import Places, SandboxOrder
from duetty.sandbox.places import is_within

MAX_LISTED = 5_000
"""Entries of one directory that rules are made for."""


def rules_of(
    order: SandboxOrder,
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
    left_out = {*hidden.now, *hidden.later, *known.private_places(), Path("/dev")}
    kept = {*guarded(order, table, workspaces=workspaces, homes=homes)}
    writable = [path for workspace in workspaces for path in beside(workspace, kept | left_out)]
    readable = [*beside(Path("/"), left_out), *kept, *workspaces]
    readable += [path for place in shown for path in beside(place, left_out)]
    leading = _ancestors(left_out)
    # What is protected may be hidden, too.
    readable = [
        each for each in readable if each not in leading and not is_within(each, hidden.now)
    ]
    writable += [path for path in places.shown if path.exists()]
    if places.private is not None:
        writable.append(places.private)
    return {
        "read": [str(path) for path in readable],
        "write": [str(path) for path in writable],
        "network": order.network,
        "behind_mounts": False,
    }


def rules_behind_mounts(hidden: Hidden, written: Sequence[Path]) -> dict[str, object]:
    """For bubblewrap: what its mounts say, said once more, and of files that are not there yet, too.

    A cover goes with the file that it covers, and what is not there has none: both show
    what somebody outside puts there while the sandbox runs.
    """
    left_out = {each for each in (*hidden.now, *hidden.later) if not is_within(each, written)}
    return {
        "read": [str(path) for path in beside(Path("/"), left_out)],
        "write": [str(path) for path in written],
        "network": True,
        "behind_mounts": True,
    }


def beside(root: Path, hidden: set[Path]) -> list[Path]:
    """Everything below `root` but for what is hidden.

    Directories that lead to something hidden are left out themselves: what is
    allowed for one is allowed for all below it.
    """
    return _listed(root, hidden, _ancestors(hidden))


def _listed(root: Path, hidden: set[Path], leading: set[Path]) -> list[Path]:
    if root in hidden:
        return []
    if root not in leading:
        return [root]
    try:
        with os.scandir(root) as entries:
            names = sorted(each.name for each in entries if not each.is_symlink())[:MAX_LISTED]
    except OSError:  # it may let us pass all the same (/home)
        names = [each.name for each in leading if each.parent == root]
    return [path for name in names for path in _listed(root / name, hidden, leading)]


def _ancestors(places: Iterable[Path]) -> set[Path]:
    return {parent for place in places for parent in place.parents}

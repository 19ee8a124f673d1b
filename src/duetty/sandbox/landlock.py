"""Rules for Landlock, which can only allow: everything is listed but for what is hidden."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from duetty.sandbox import places as known
from duetty.sandbox.guarding import guarded, other_paths
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
    workspaces: Sequence[Path],
    shown: Sequence[Path],
    homes: Sequence[Path],
) -> dict[str, object]:
    """What may be read and written; `shown` as in `bubblewrap`.

    Raises:
        SandboxUnavailable: if there is too much to protect or to hide.
    """
    secret = {
        *(path.resolve() for path in places.hidden),
        *(Path(each).expanduser().resolve() for each in order.hidden),
        *known.servers(homes),
        *known.credentials(homes),
    }
    secret |= {*other_paths(secret, table, workspaces=workspaces, homes=homes)}
    hidden = {*secret, *known.private_places(), Path("/dev")}
    kept = {*guarded(order, table, workspaces=workspaces, homes=homes)}
    writable = [path for workspace in workspaces for path in _beside(workspace, kept | hidden)]
    readable = [*_beside(Path("/"), hidden), *kept, *workspaces]
    readable += [path for place in shown for path in _beside(place, hidden)]
    leading = _ancestors(hidden)
    # What is protected may be hidden, too.
    readable = [each for each in readable if each not in leading and not is_within(each, secret)]
    writable += [path for path in places.shown if path.exists()]
    if places.private is not None:
        writable.append(places.private)
    return {
        "read": [str(path) for path in readable],
        "write": [str(path) for path in writable],
        "network": order.network,
    }


def _beside(root: Path, hidden: set[Path]) -> list[Path]:
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
    found: list[Path] = []
    try:
        entries = sorted(root.iterdir())[:MAX_LISTED]
    except OSError:
        return []
    for entry in entries:
        if not entry.is_symlink():
            found += _listed(entry, hidden, leading)
    return found


def _ancestors(places: Iterable[Path]) -> set[Path]:
    return {parent for place in places for parent in place.parents}

"""What both levels hide and protect, by every path that leads there."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from duetty.sandbox.hidden_files import SYSTEM, credentials, is_within, secrets_of_root, servers
from duetty.sandbox.mounts import MountTable
from duetty.sandbox.own_code import own_code, user_site
from duetty.sandbox.placeholders import make_empty
from duetty.sandbox.protected_files import protected
from duetty.sandbox.request import Places, SandboxRequest
from duetty.sandbox.stat_checks import real


@dataclass(frozen=True, slots=True, kw_only=True)
class Hidden:
    """Real paths."""

    now: tuple[Path, ...]
    later: tuple[str, ...]
    """Where nothing is yet, and what comes is hidden, too: only what may be read can be listed then."""


def hidden_places(
    order: SandboxRequest,
    places: Places,
    table: MountTable,
    *,
    workspaces: Sequence[Path],
    homes: Sequence[Path],
    has_landlock: bool,
) -> Hidden:
    """Raises:
    SandboxUnavailable: if there are too many, or one cannot be located.
    """
    named = [*places.hidden, *(Path(each).expanduser() for each in order.hidden)]
    existing, later = credentials(homes)
    found = dict.fromkeys([*map(real, named), *servers(homes), *existing])
    for secret in secrets_of_root():
        # A cover for each is felt at every start, and Landlock keeps them back without one.
        if has_landlock and not is_within(secret, workspaces):
            later.append(str(secret))
        else:
            found[secret] = None
    others = other_paths(found, table, workspaces=workspaces, homes=homes)
    return Hidden(
        now=(*found, *others),
        # In a workspace everything can be read that comes.
        later=tuple(each for each in later if not is_within(each, workspaces)),
    )


def other_paths(
    hidden: Iterable[Path],
    table: MountTable,
    *,
    workspaces: Sequence[Path] = (),
    homes: Sequence[Path] = (),
) -> list[Path]:
    """By which hidden places can be seen, too: what is mounted twice.

    Raises:
        SandboxUnavailable: if there are too many.
    """
    needed = (*SYSTEM, *own_code(), *workspaces, *(home.resolve() for home in homes))
    return table.elsewhere(hidden, needed=needed)


def guarded(
    order: SandboxRequest, table: MountTable, *, workspaces: Sequence[Path], homes: Sequence[Path]
) -> dict[Path, Path]:
    """What stays read-only in the workspaces, each with the one that it is in.

    Our own code in any case: with another launcher a session would say that it has a
    sandbox, and have none.

    Raises:
        SandboxUnavailable: if there is too much to protect.
    """
    found: dict[Path, Path] = {}
    if order.protect:
        found = protected(workspaces, whole_git=order.whole_git, homes=homes)
    found |= _in_workspaces(own_code(), workspaces)
    if (site := user_site()) is not None:
        for path, workspace in _in_workspaces([site], workspaces).items():
            for each in reversed((path, *path.parents)):
                if workspace in each.parents:
                    make_empty(each)
            found[path] = workspace
    # A path that leads to something protected is in a workspace only if one to a workspace is.
    if any(
        is_within(other, workspaces) or is_within(each, [other])
        for other in table.elsewhere(workspaces)
        for each in workspaces
    ):
        found |= _in_workspaces(table.elsewhere(found), workspaces)
    return _outermost(found)


def _outermost(found: dict[Path, Path]) -> dict[Path, Path]:
    """Without those that are in another one, which come right after it in this order."""
    kept: dict[Path, Path] = {}
    last: Path | None = None
    for path in sorted(found, key=lambda path: f"{path}/"):
        if last is None or not is_within(path, [last]):
            kept[path] = found[path]
            last = path
    return kept


def _in_workspaces(paths: Iterable[Path], workspaces: Sequence[Path]) -> dict[Path, Path]:
    return {
        path: workspace for path in paths for workspace in workspaces if workspace in path.parents
    }

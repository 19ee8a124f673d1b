"""By which other paths a file can be reached: what is mounted in two places is hidden in both, or in none."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from duetty.errors import SandboxUnavailable
from duetty.platform.mount_table import Mount, mount_id, mounts
from duetty.sandbox.stat_checks import check_absent

MAX_MOUNTS = 20_000
MAX_FOUND = 1_000
"""Other paths; each is one more mount, or rule, at the start of a sandbox."""


class MountTable:
    """What is mounted where, as it was a moment ago."""

    def __init__(self) -> None:
        """Raises:
        SandboxUnavailable: if there is more than can be looked through.
        """
        self._by_id: dict[int, Mount] = {}
        self._by_device: dict[str, list[Mount]] = {}
        for mount in mounts():
            self._by_id[mount.id] = mount
            self._by_device.setdefault(mount.device, []).append(mount)
            if len(self._by_id) > MAX_MOUNTS:
                raise SandboxUnavailable(
                    f"there are more than {MAX_MOUNTS} mounts, too many to hide a place in all of them",
                    hint="look what made them; nothing was started",
                )

    def points_within(self, places: Iterable[Path]) -> list[str]:
        named = tuple(map(str, places))
        return [
            mount.point
            for mount in self._by_id.values()
            if any(_below(mount.point, each) is not None for each in named)
        ]

    def elsewhere(self, places: Iterable[Path], *, needed: Iterable[Path] = ()) -> list[Path]:
        """Every other path that leads to these places, or to something in them.

        `needed`: what must be seen, even if it is mounted from within one of them
        (`/usr` is part of `/sysroot` on some systems).

        Raises:
            SandboxUnavailable: if there are too many.
        """
        found: dict[str, None] = {}
        kept = tuple(map(str, needed))
        for place in places:
            for path in self._other_paths(str(place), kept):
                found[path] = None
                if len(found) > MAX_FOUND:
                    raise SandboxUnavailable(
                        f"more than {MAX_FOUND} other paths lead to what is to be hidden",
                        hint="look what is mounted twice; nothing was started",
                    )
        return [Path(path) for path in found]

    def _other_paths(self, place: str, kept: tuple[str, ...]) -> Iterator[str]:
        mount = self._by_id.get(_mount_id(place))
        if mount is None or (rest := _below(place, mount.point)) is None:
            return  # not there, or not ours to look at: nor is it inside
        yield from self._others(mount, _joined(mount.root, rest), kept)
        for inner in self._by_id.values():  # file systems of their own, mounted in the place
            if inner.point != place and _below(inner.point, place) is not None:
                yield from self._others(inner, inner.root, kept)

    def _others(self, mount: Mount, inside: str, kept: tuple[str, ...]) -> Iterator[str]:
        """`inside`: the place's path in its file system."""
        for other in self._by_device[mount.device]:
            if other is mount:
                continue
            if (rest := _below(inside, other.root)) is not None:
                path = _joined(other.point, rest)
            elif _below(other.root, inside) is not None and not any(
                _below(each, other.point) is not None for each in kept
            ):
                path = other.point
            else:
                continue
            # Something else may be mounted over it; that is looked at for itself.
            if _mount_id(path) == other.id:
                yield path


def _mount_id(path: str) -> int:
    """Of the mount that this path leads to; -1 if it leads nowhere.

    Raises:
        SandboxUnavailable: if it cannot be found out.
    """
    try:
        return mount_id(path)
    except OSError as error:
        check_absent(path, error)
        return -1


def _below(path: str, place: str) -> str | None:
    """The rest of the path from there, empty for the place itself; None if it is not in it."""
    if place == "/":
        return path[1:]
    if path == place:
        return ""
    return path[len(place) + 1 :] if path.startswith(f"{place}/") else None


def _joined(place: str, rest: str) -> str:
    if not rest:
        return place
    return f"/{rest}" if place == "/" else f"{place}/{rest}"

"""How much memory the processes of a session take together.

Those of its kernel session and all that descend from its first process: under bubblewrap that is
everything, under Landlock not what made itself a daemon. Where a cgroup could bound them, the kernel
would; this looks, and so a session may take more for a moment.
"""

import contextlib
from collections import defaultdict
from collections.abc import Collection, Iterator
from pathlib import Path

PROC = Path("/proc")


def memory_bytes(leaders: Collection[int], *, above: int = 0) -> dict[int, int]:
    """By first process. Shared pages are counted once, where the sum without that is above the bound."""
    members = _members(leaders)
    found = {leader: sum(map(_own_bytes, pids)) for leader, pids in members.items()}
    for leader, taken in found.items():
        if taken > above:
            found[leader] = sum(map(_fair_bytes, members[leader]))
    return found


def _members(leaders: Collection[int]) -> dict[int, set[int]]:
    children: defaultdict[int, list[int]] = defaultdict(list)
    members: dict[int, set[int]] = {leader: {leader} for leader in leaders}
    for pid, parent, session in _processes():
        children[parent].append(pid)
        if session in members:
            members[session].add(pid)
    for pids in members.values():
        waiting = list(pids)
        while waiting:
            for child in children[waiting.pop()]:
                if child not in pids:
                    pids.add(child)
                    waiting.append(child)
    return members


def _processes() -> Iterator[tuple[int, int, int]]:
    try:
        found = list(PROC.iterdir())
    except OSError:  # no descriptor is left: the next look will see them
        return
    for each in found:
        if each.name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):
                # The name before it may contain anything, a bracket too.
                fields = (each / "stat").read_bytes().rpartition(b")")[2].split()
                yield int(each.name), int(fields[1]), int(fields[3])


def _own_bytes(pid: int) -> int:
    return _sum(f"{pid}/status", (b"RssAnon", b"RssShmem", b"VmSwap"))


def _fair_bytes(pid: int) -> int:
    """Pages that several have are shared among them."""
    return _sum(f"{pid}/smaps_rollup", (b"Pss_Anon", b"Pss_Shmem", b"SwapPss"))


def _sum(file: str, names: tuple[bytes, ...]) -> int:
    try:
        lines = (PROC / file).read_bytes().splitlines()
    except OSError:
        return 0
    values = (line.split() for line in lines if line.split(b":")[0] in names)
    return sum(int(each[1]) * 1024 for each in values)

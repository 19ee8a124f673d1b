"""Who runs below a process, as the kernel lists children."""

from pathlib import Path


def descendants(pid: int) -> list[int]:
    """Its children, theirs, and so on, parents first; empty where the kernel keeps no such lists."""
    found: list[int] = []
    front = [pid]
    while front:
        try:
            for tasks in Path(f"/proc/{front.pop(0)}/task").iterdir():
                words = (tasks / "children").read_text(encoding="ascii").split()
                found += (children := [int(word) for word in words])
                front += children
        except OSError:
            continue  # it ended meanwhile
    return found


def first_child(pid: int) -> int | None:
    """The first that its first thread started and that is there; None if none is known."""
    try:
        words = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    except OSError:
        return None
    return int(words[0]) if words else None


def has_children(pid: int) -> bool:
    """Whether a shell has started something; bubblewrap stands before the shell that it confines.

    Raises:
        OSError: if it is gone, or the kernel keeps no such lists.
    """
    proc = Path(f"/proc/{pid}/task/{pid}")
    children = proc.joinpath("children").read_text(encoding="ascii").split()
    if proc.joinpath("comm").read_text(encoding="utf-8", errors="replace") == "bwrap\n":
        return any(has_children(int(child)) for child in children)
    return bool(children)


def started_at(pid: int) -> str:
    """When a process began, in the kernel's own count; tells it from a later one of its number."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return stat.rpartition(")")[2].split()[19]

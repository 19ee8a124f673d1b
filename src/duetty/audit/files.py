"""The files of a trail: numbered, oldest first."""

import re
from pathlib import Path

_NAME = re.compile(r"trail-(\d{6,})\.jsonl\Z")


def path_of(directory: Path, number: int) -> Path:
    return directory / f"trail-{number:06}.jsonl"


def numbered(directory: Path) -> list[tuple[int, Path]]:
    """Oldest first; nothing if there is no such directory."""
    if not directory.is_dir():
        return []
    found = ((_NAME.match(path.name), path) for path in directory.iterdir())
    return sorted((int(match[1]), path) for match, path in found if match is not None)

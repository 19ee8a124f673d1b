"""Packages that a lock names, kept on this machine for the next virtual environment.

`kept_packages.py take LOCK` links into this interpreter's environment what was kept before; pip then installs
what is missing, checking the lock's hashes; `kept_packages.py keep LOCK` keeps what pip installed. So a second
clone, or CI on the same machine, downloads nothing, and installs also while the registry cannot be reached.

A package is kept under its name, version, the lock's hashes for it and the interpreter: another hash is another
package. As with any cache of wheels, who can write the user's cache directory can change what is installed.
`DUETTY_KEPT=` (empty) turns it off; any other value is the directory.
"""

import hashlib
import os
import re
import shutil
import sys
import sysconfig
import tempfile
import time
from importlib.metadata import Distribution, distributions
from pathlib import Path

Pins = dict[str, str]
"""Package to the name that it is kept under."""

LONGEST_UNUSED_S = 30 * 24 * 3600
SITE = Path(sysconfig.get_path("purelib"))
ROOT = Path(sys.prefix)


def directory() -> Path | None:
    """Of this interpreter; packages with compiled parts fit no other."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    said = os.environ.get("DUETTY_KEPT", str(Path(cache) / "duetty-make"))
    built_for = f"{sys.implementation.cache_tag}-{sysconfig.get_platform()}"
    return Path(said) / built_for if said else None


def pins(lock: str) -> Pins:
    """What the lock asks for, each with a digest of the hashes that it allows."""
    found: Pins = {}
    for entry in re.finditer(
        r"^([\w.-]+)(?:\[[\w.,-]+\])?==([\w.!+-]+)((?:.*\\\n)*.*)", lock, re.MULTILINE
    ):
        hashes = sorted(re.findall(r"--hash=(\S+)", entry[3]))
        digest = hashlib.sha256("\n".join(hashes).encode()).hexdigest()[:16]
        found[normal(entry[1])] = f"{normal(entry[1])}-{entry[2]}-{digest}"
    return found


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def take(kept: Path, wanted: Pins) -> int:
    """Link every kept package that is wanted and not here; return how many there were."""
    here = {normal(found.name) for found in distributions(path=[str(SITE)])}
    taken = 0
    for name, place in wanted.items():
        source = kept / place
        if name in here or not source.is_dir():
            continue
        for file in source.rglob("*"):
            if file.is_file():
                put(file, ROOT / file.relative_to(source))
        os.utime(source)
        taken += 1
    return taken


def put(file: Path, target: Path) -> None:
    """A script begins with its interpreter's path, so it is written anew; anything else is linked."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    if file.parent.name == "bin" and target.parent == ROOT / "bin":
        head, line, rest = file.read_bytes().partition(b"\n")
        if head.startswith(b"#!") and b"python" in head:
            target.write_bytes(f"#!{ROOT}/bin/python".encode() + line + rest)
            shutil.copymode(file, target)
            return
    link(file, target)


def link(file: Path, target: Path) -> None:
    try:
        os.link(file, target)
    except OSError:  # another file system, or one without links
        shutil.copy2(file, target)


def keep(kept: Path, wanted: Pins) -> None:
    """Keep every wanted package that is here and was not kept; drop what nobody took for a month."""
    kept.mkdir(parents=True, exist_ok=True)
    for found in distributions(path=[str(SITE)]):
        place = wanted.get(normal(found.name))
        if place is None or (kept / place).exists() or f"-{found.version}-" not in place:
            continue
        part = Path(tempfile.mkdtemp(dir=kept, prefix=".part-"))
        for file in files(found):
            target = part / file.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            link(file, target)
        try:
            part.rename(kept / place)
        except OSError:  # another make was first
            shutil.rmtree(part)
    for place in kept.iterdir():
        if time.time() - place.stat().st_mtime > LONGEST_UNUSED_S:
            shutil.rmtree(place)


def files(found: Distribution) -> list[Path]:
    """What pip recorded, less what lies outside the environment."""
    recorded = (Path(os.path.normpath(str(found.locate_file(file)))) for file in found.files or ())
    return [file for file in recorded if file.is_relative_to(ROOT) and file.is_file()]


def main(arguments: list[str]) -> None:
    task, lock = arguments
    kept = directory()
    if kept is None:
        return
    wanted = pins(Path(lock).read_text(encoding="utf-8"))
    try:
        if task == "keep":
            keep(kept, wanted)
        elif taken := take(kept, wanted):
            print(f"{taken} of {len(wanted)} packages were kept in {kept}")
    except OSError as error:  # a cache that fails costs time, never the installation
        print(f"Kept packages are not used: {error}", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])

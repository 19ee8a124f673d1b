"""Files to print: made, not kept, and the same on every machine."""

import random
from collections.abc import Callable
from pathlib import Path

WORDS = (
    *("request", "response", "session", "terminal", "keeper", "journal", "accepted", "refused"),
    *("timeout", "retry", "queue", "worker", "started", "finished", "cache", "miss", "bytes"),
    *("offset", "mark", "prompt", "exit", "code", "user", "token"),
)
LEVELS = (
    "\x1b[32mINFO\x1b[0m",
    "\x1b[33mWARN\x1b[0m",
    "\x1b[1;31mERROR\x1b[0m",
    "\x1b[2mDEBUG\x1b[0m",
)
UNIT_BYTES = 1_000_000


def plain_log(path: Path, *, size_bytes: int) -> Path:
    """Lines of 40 to 120 ASCII characters, like the log of a server."""
    chance = random.Random(1)
    return _write(path, lambda: _sentence(chance, chance.randint(40, 120)), size_bytes)


def coloured_log(path: Path, *, size_bytes: int) -> Path:
    """The same with colours, and some characters beyond ASCII."""
    chance = random.Random(2)

    def line() -> str:
        mark = chance.choice(("✓", "→", "é", "日本", "│"))
        return f"{chance.choice(LEVELS)} {mark} \x1b[36m{chance.random():.6f}\x1b[0m {_sentence(chance, 60)}"

    return _write(path, line, size_bytes)


def wide_rows(path: Path, *, rows: int, cols: int) -> Path:
    """Exactly this many rows, each as wide as the terminal lets it be without a wrap."""
    chance = random.Random(3)
    path.write_text("".join(_sentence(chance, cols) + "\n" for _ in range(rows)))
    return path


def _sentence(chance: random.Random, width: int) -> str:
    text = f"{chance.randrange(10**9):09d}"
    while len(text) < width:
        text += f" {chance.choice(WORDS)}"
    return text[:width]


def _write(path: Path, line: Callable[[], str], size_bytes: int) -> Path:
    unit = bytearray()
    while len(unit) < min(UNIT_BYTES, size_bytes):
        unit += line().encode() + b"\n"
    with path.open("wb") as file:
        for _ in range(max(1, size_bytes // len(unit))):
            file.write(unit)
    return path

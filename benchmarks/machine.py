"""Where and with what it was measured."""

import os
import platform
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

BUSY_LOAD = 0.5

PACKAGES = ("duetty", "pyghostty", "uvloop", "anyio", "pydantic")


def describe(load_before: float) -> list[str]:
    """Lines of Markdown."""
    return [
        f"- **When:** {datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        f"- **Machine:** {_cpu()}, {os.cpu_count()} cores, {_memory_gb():.0f} GB; load average "
        f"before the run {load_before:.2f}"
        + (
            " (**busy with something else: take the figures as a first look**)"
            if load_before > BUSY_LOAD
            else ""
        ),
        f"- **System:** {_system()}, Linux {platform.release()}; homes and journals on {_file_system()}",
        f"- **Python:** {platform.python_version()}; "
        + ", ".join(f"{name} {version(name)}" for name in PACKAGES),
        f"- **Beside it:** {', '.join(_programs())}",
    ]


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.machine()


def _memory_gb() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9


def _system() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except OSError:
        return platform.system()


def _file_system() -> str:
    return f"{_output(['stat', '-f', '-c', '%T', '/tmp']) or 'an unknown file system'} (/tmp)"


def _programs() -> list[str]:
    asked: dict[str, Sequence[str]] = {
        "bash": ["bash", "-c", "echo $BASH_VERSION"],
        "zsh": ["zsh", "-c", "echo $ZSH_VERSION"],
        "fish": ["fish", "--version"],
        "dash": ["dpkg-query", "-W", "-f", "${Version}", "dash"],
        "tmux": ["tmux", "-V"],
    }
    found = {name: _output(argv) for name, argv in asked.items()}
    return [f"{name} {said.split()[-1]}" if said else f"no {name}" for name, said in found.items()]


def _output(argv: Sequence[str]) -> str:
    try:
        return subprocess.run(argv, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        return ""

"""What an MCP host's configuration needs to start the bridge to this very server."""

import os
import sys
from pathlib import Path

from duetty.wire.results import HostEntry


def duetty_words() -> list[str]:
    """`duetty` as it is installed here, by its whole path: hosts have another PATH."""
    executable = Path(sys.executable).with_name("duetty")
    return [str(executable)] if executable.exists() else [sys.executable, "-m", "duetty"]


def host_entry(instance: str) -> HostEntry:
    """Hosts pass on little environment, so a home that was moved is named."""
    words = duetty_words()
    named = [] if instance == "default" else ["--instance", instance]
    home = os.environ.get("DUETTY_HOME")
    return HostEntry(
        command=words[0],
        args=[*words[1:], "mcp", *named],
        env={"DUETTY_HOME": home} if home else {},
    )

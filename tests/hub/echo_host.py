"""The tool host of `examples/`, as a process of its own."""

import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


@contextmanager
def echo_host(url: str, token: str, title: str = "Echo") -> Generator[str]:
    """The id of its room."""
    process = subprocess.Popen(
        [sys.executable, EXAMPLES / "echo_host.py", f"ws{url[4:]}/ws/room", title],
        env={**os.environ, "DUETTY_TOKEN": token},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        word, _, room = process.stdout.readline().strip().partition(" ")
        assert word == "room", "the host did not join"
        yield room
    finally:
        process.kill()
        process.communicate()

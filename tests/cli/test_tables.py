"""A table in a narrow terminal keeps the columns that matter."""

import os
import pty
import re
import subprocess
import sys
from fcntl import ioctl
from struct import pack
from termios import TIOCSWINSZ

import pytest

COLUMNS = ("WHEN", "SESSION", "DIRECTORY", "COMMAND")
ROW = ("2026-11-18 13:58:47", "work", "/home/ada/project/src", "make test")
SCRIPT = f"from duetty.cli.show import as_table; as_table({COLUMNS!r}, [{ROW!r}], spare=('DIRECTORY', 'WHEN'))"


def shown(cols: int) -> list[str]:
    leader, follower = pty.openpty()
    ioctl(follower, TIOCSWINSZ, pack("HHHH", 24, cols, 0, 0))
    environment = {**os.environ, "TERM": "xterm"}
    environment.pop("COLUMNS", None)
    subprocess.run(
        [sys.executable, "-c", SCRIPT], stdin=follower, stdout=follower, env=environment, check=True
    )
    os.close(follower)
    text = os.read(leader, 65_536).decode()
    os.close(leader)
    return re.sub(r"\x1b\[[0-9;]*m", "", text).splitlines()


@pytest.mark.parametrize(
    ("cols", "headings"),
    [
        (100, ["WHEN", "SESSION", "DIRECTORY", "COMMAND"]),
        (45, ["WHEN", "SESSION", "COMMAND"]),
        (30, ["SESSION", "COMMAND"]),
    ],
)
def test_a_narrow_terminal_loses_spare_columns_and_no_others(
    cols: int, headings: list[str]
) -> None:
    heading, row = shown(cols)

    assert heading.split() == headings
    assert "make test" in row
    assert len(row) <= cols

"""A table in a narrow terminal keeps the columns that matter; lists for people line up."""

import os
import pty
import re
import subprocess
import sys
from argparse import Namespace
from fcntl import ioctl
from pathlib import Path
from struct import pack
from termios import TIOCSWINSZ

import pytest

from duetty.cli.checks import Finding
from duetty.cli.commands import doctor

ROOT = Path(__file__).parents[2]
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


def test_what_doctor_found_begins_in_one_column(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [Finding("disk", "ok", "FOUND"), Finding("a_name_that_is_long", "ok", "FOUND", "FOUND")]

    def findings(_paths: object) -> list[Finding]:
        return found

    monkeypatch.setattr(doctor, "findings", findings)

    doctor.run(Namespace(json=False, instance="default"))

    rows = [row for row in capsys.readouterr().out.splitlines() if "FOUND" in row]
    assert [row.replace("→ ", "").index("FOUND") for row in rows] == [23, 23, 23]


def test_what_doctor_found_fits_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = " ".join(["words"] * 40)

    def findings(_paths: object) -> list[Finding]:
        return [Finding("disk", "warning", words, words)]

    monkeypatch.setattr(doctor, "findings", findings)
    monkeypatch.setenv("COLUMNS", "80")

    doctor.run(Namespace(json=False, instance="default"))

    found = capsys.readouterr().out.partition("\n\n")[0]
    assert found.count("words") == 80
    assert max(len(line) for line in found.splitlines()) <= 80


def test_make_help_writes_no_escape_codes_into_a_pipe() -> None:
    done = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, check=True)

    assert b"install-dev" in done.stdout
    assert b"\033" not in done.stdout

"""`duetty record`."""

import argparse
import os
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

from duetty.cli.reach import add_instance, add_server, reach
from duetty.client import session_path
from duetty.errors import BadArguments, Conflict, Unavailable

EXAMPLES = (
    (
        "duetty record build -o build.cast",
        "everything it printed, for asciinema and `duetty replay`",
    ),
    ("duetty record build --format 2 > old.cast", "for players that know version 2 only"),
)


class FileExists(Conflict):
    code = "file_exists"


class FileUnwritable(Unavailable):
    code = "file_unwritable"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_instance(parser)
    add_server(parser)
    parser.add_argument("session", metavar="SESSION")
    parser.add_argument("-o", "--output", metavar="FILE", help="standard output when left out")
    parser.add_argument(
        "--format", choices=("2", "3"), default="3", help="version of asciicast (default 3)"
    )
    parser.add_argument("-f", "--force", action="store_true", help="replace the file")


def run(arguments: argparse.Namespace) -> int:
    target = arguments.output
    if target is None and sys.stdout.isatty():
        raise BadArguments("a recording is nothing to read", hint="give -o FILE, or a pipe")
    if target is not None and Path(target).is_dir():
        raise FileUnwritable(f"{target} is a directory", hint="give the name of a file")
    if target is not None and Path(target).is_file() and not arguments.force:
        raise FileExists(f"{target} exists", hint="give --force to replace it")
    client = reach(arguments)
    with client.lines(
        session_path(arguments.session, "/recording"), version=arguments.format, wait_s=300
    ) as lines:
        if target is None:
            for line in lines:
                sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()
            return 0
        _save(Path(target), lines)
    print(f"Saved to {target}.", file=sys.stderr)
    return 0


def _save(target: Path, lines: Iterator[bytes]) -> None:
    """Whole or not at all; for its owner alone, since a recording may hold anything."""
    if target.exists() and not target.is_file():
        # A pipe or a device: never a file in its place.
        with _writing(target), target.open("wb") as file:
            file.writelines(lines)
        return
    target = target.resolve()  # a link stays one
    unfinished = target.with_name(target.name + f".{os.getpid()}.tmp")
    try:
        with (
            _writing(target),
            open(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file,
        ):
            file.writelines(lines)
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)


@contextmanager
def _writing(target: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise FileUnwritable(f"{target} cannot be written: {error.strerror}") from error

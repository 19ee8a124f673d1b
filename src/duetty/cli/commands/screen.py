"""`duetty screen`."""

import argparse

from duetty.cli.reach import add_instance, add_server, reach
from duetty.cli.show import add_json, as_json, wants_colour
from duetty.cli.styled import ansi_of, text_of
from duetty.client import session_path

EXAMPLES = (
    ("duetty screen build", "what it shows now"),
    ("duetty screen build --json", "with cursor, size and styles"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_instance(parser)
    add_server(parser)
    parser.add_argument("session", metavar="SESSION")
    add_colour(parser)
    add_json(parser)


def add_colour(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--colour",
        "--color",
        choices=("auto", "always", "never"),
        default="auto",
        help="colours in the output (default: on a terminal, unless NO_COLOR is set)",
    )


def run(arguments: argparse.Namespace) -> int:
    screen = reach(arguments).get(session_path(arguments.session, "/screen"))
    if arguments.json:
        as_json(screen)
        return 0
    print_rows(screen["lines"], arguments.colour)
    return 0


def print_rows(rows: list[object], colour: str) -> None:
    """Without the blank rows at the end."""
    show = ansi_of if wants_colour(colour) else text_of
    while rows and not text_of(rows[-1]).strip():  # type: ignore[arg-type]  # JSON
        rows = rows[:-1]
    for row in rows:
        print(show(row).rstrip() if show is text_of else show(row))  # type: ignore[arg-type]  # JSON

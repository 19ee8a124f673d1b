"""`duetty scrollback`."""

import argparse

from duetty.cli.commands.screen import add_colour, print_rows
from duetty.cli.reach import add_instance, add_server, reach
from duetty.cli.show import add_json, as_json
from duetty.client import session_path

PAGE_ROWS = 10_000

EXAMPLES = (
    ("duetty scrollback build", "the last 100 rows, the screen included"),
    ("duetty scrollback build --all | less", "everything"),
    ("duetty scrollback build --offset 0 -n 20", "the oldest 20 rows"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_instance(parser)
    add_server(parser)
    parser.add_argument("session", metavar="SESSION")
    parser.add_argument("-n", "--rows", type=int, default=100, help="how many (default 100)")
    parser.add_argument(
        "--offset", type=int, help="first row, counted from the oldest; negative from the newest"
    )
    parser.add_argument("-a", "--all", action="store_true", help="every row there is")
    add_colour(parser)
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    rows = PAGE_ROWS if arguments.all else max(0, arguments.rows)
    offset = 0 if arguments.all else arguments.offset if arguments.offset is not None else -rows
    client = reach(arguments)
    path = session_path(arguments.session, "/scrollback")
    page = client.get(path, offset=offset, limit=min(rows, PAGE_ROWS))
    while arguments.all and page["offset"] + len(page["lines"]) < page["total_lines"]:
        more = client.get(path, offset=page["offset"] + len(page["lines"]), limit=PAGE_ROWS)
        if not more["lines"]:
            break  # rows went while we read
        page["lines"] += more["lines"]
    if arguments.json:
        as_json(page)
    else:
        print_rows(page["lines"], arguments.colour)
    return 0

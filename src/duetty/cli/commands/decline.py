"""`duetty decline`."""

import argparse
from urllib.parse import quote

from duetty.cli.commands.approvals import approval_lines
from duetty.cli.commands.approve import find
from duetty.cli.reach import add_instance, add_server, reach_each

EXAMPLES = (
    ("duetty decline", "the only question that waits"),
    ("duetty decline 3f2a --note 'ask me tomorrow'", "and say why"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_instance(parser)
    add_server(parser)
    parser.add_argument("id", nargs="?", help="as `duetty approvals` shows it")
    parser.add_argument("--note", help="a note for the caller")


def run(arguments: argparse.Namespace) -> int:
    client, approval = find(reach_each(arguments), arguments.id)
    declined = client.post(
        f"/approvals/{quote(approval['id'])}/decline", {"note": arguments.note, "via": "cli"}
    )
    print("\n".join(["Declined:", *approval_lines(declined)]))
    return 0

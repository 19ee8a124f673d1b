"""`duetty kill`."""

import argparse
from typing import cast

from duetty.cli.main import complain
from duetty.cli.reach import add_instance, add_server, reach
from duetty.client import Client, RemoteError, session_path
from duetty.errors import BadArguments

EXAMPLES = (
    ("duetty kill build", "end its programs and forget it; its history stays"),
    ("duetty kill build --keep", "end its programs; screen and scrollback stay readable"),
    ("duetty kill box/build", "session build of the machine box, at the hub of `duetty login`"),
    ("duetty kill --all", "every session of this server"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_instance(parser)
    add_server(parser)
    parser.add_argument("session", nargs="*", metavar="SESSION")
    parser.add_argument("-a", "--all", action="store_true", help="every session of the server")
    parser.add_argument("-k", "--keep", action="store_true", help="keep it readable")
    parser.add_argument(
        "-s",
        "--signal",
        choices=("HUP", "INT", "TERM", "KILL"),
        default="HUP",
        help="what its programs get first (default HUP); KILL follows",
    )


def own_names(client: Client, server: str | None) -> list[str]:
    """Of this server's sessions, or of the one that was named; not of all that there are."""
    local = "local" if server is None else None
    return [str(each["name"]) for each in client.get("/sessions", server=local)]


def run(arguments: argparse.Namespace) -> int:
    names = cast("list[str]", arguments.session)
    if arguments.all:
        names = own_names(reach(arguments), arguments.server)
    elif not names:
        raise BadArguments("which session?", hint="name one, or give --all")
    failed = 0
    for name in names:
        meant = argparse.Namespace(**{**vars(arguments), "session": name})
        try:
            client = reach(meant)  # MACHINE/SESSION may be at a hub, and each at another
            if arguments.keep:
                client.post(session_path(meant.session, "/close"), {"signal": arguments.signal})
            else:
                client.delete(session_path(meant.session) + f"?signal={arguments.signal}")
        except (RemoteError, BadArguments) as error:
            complain(error)
            failed += 1
    return 1 if failed else 0

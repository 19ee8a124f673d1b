"""`duetty attach`."""

import argparse
import os
import sys
from pathlib import Path

from duetty.cli.reach import add_instance, hub_place, paths_of
from duetty.client.hub_address import HubAddress
from duetty.config import Paths
from duetty.errors import BadArguments, Conflict, ServerUnreachable

EXAMPLES = (
    ("duetty attach", "the only session, or the one used last"),
    ("duetty attach build", "the session named build"),
    ("duetty attach laptop/build", "the session build of the machine laptop, through its hub"),
    ("duetty attach build --read-only", "look, without touching"),
    ("duetty attach build --hold", "in the size of this terminal, for all viewers"),
    ("duetty attach build --scrollback none", "only what is on its screen now"),
)
EXIT_UNREACHABLE = 3


class Nested(Conflict):
    """A session inside a session shows itself for ever."""

    code = "nested_session"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_instance(parser)
    parser.add_argument(
        "session", nargs="?", metavar="SESSION", help="name; the session used last when left out"
    )
    add_view_arguments(parser)


def add_view_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-r", "--read-only", action="store_true", help="look, without typing or setting the size"
    )
    parser.add_argument(
        "--hold",
        action="store_true",
        help="this terminal sets the size, whatever other viewers have",
    )
    parser.add_argument(
        "--scrollback",
        default="1000",
        metavar="N",
        help="rows above the screen to bring along: a number, all or none (default 1000)",
    )
    parser.add_argument(
        "--nest", action="store_true", help="allow it inside a session of Duetty itself"
    )
    parser.add_argument(
        "--give-up",
        type=float,
        default=30,
        metavar="S",
        help="seconds to wait for a server that went away (default 30)",
    )
    parser.add_argument("--no-hints", action="store_true", help="show no hints on the last row")


def run(arguments: argparse.Namespace) -> int:
    refuse_nesting(arguments)
    paths = paths_of(arguments)
    machine, slash, _ = (arguments.session or "").rpartition("/")
    if slash or arguments.hub:
        return attach(hub_place(arguments, machine), arguments.session or "", arguments)
    if not paths.server_socket.exists():
        raise ServerUnreachable(
            f"no server runs for instance {paths.instance!r}",
            hint="`duetty` alone starts one and opens a session",
        )
    return attach(paths.server_socket, arguments.session or _last_used(paths), arguments)


def refuse_nesting(arguments: argparse.Namespace) -> None:
    """Raises:
    Nested: inside a session, unless that was asked for.
    """
    inside = os.environ.get("DUETTY_SESSION")
    if inside and not arguments.nest:
        raise Nested(
            f"this is session {inside!r} already",
            hint="`duetty list` shows the others; --nest attaches all the same",
        )


def _last_used(paths: Paths) -> str:
    from duetty.client import Client

    sessions = Client(paths.server_socket).get("/sessions", server="local")
    open_ones = [each for each in sessions if each["state"] != "exited"]
    if not open_ones:
        raise BadArguments("there is no session to attach to", hint="`duetty` alone opens one")
    return str(min(open_ones, key=lambda each: each["last_activity_ms"])["name"])


def scrollback_rows(text: str) -> int:
    """Raises:
    BadArguments: if it is neither a number nor all or none.
    """
    known = {"all": 10_000, "none": 0}
    if text in known:
        return known[text]
    if not text.isdigit():
        raise BadArguments(f"--scrollback takes a number, all or none, not {text!r}")
    return min(int(text), 10_000)


def attach(place: Path | HubAddress, session: str, arguments: argparse.Namespace) -> int:
    from duetty.cli.attach.loop import Attachment, Options, describe
    from duetty.cli.attach.outer import Outer, abilities_of

    if arguments.hold and arguments.read_only:
        raise BadArguments("--hold sets the size, and --read-only sets nothing")
    options = Options(
        session=session,
        scrollback_rows=scrollback_rows(arguments.scrollback),
        read_only=arguments.read_only,
        hold=arguments.hold,
        give_up_s=arguments.give_up,
        hints=not arguments.no_hints,
    )
    outer = Outer()
    try:
        attachment = Attachment(place, options, outer, abilities_of(os.environ))
        ending = attachment.run()
    finally:
        outer.close()
    if ending.reason != "hangup":
        print(describe(ending, session), file=sys.stderr)
    if ending.reason == "signalled":
        return 128 + (ending.signum or 15)
    return EXIT_UNREACHABLE if ending.reason == "unreachable" else 0

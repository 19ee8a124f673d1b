"""`duetty list`."""

import argparse
import sys
from typing import Any

from duetty.cli import logins
from duetty.cli.reach import add_instance, add_server, paths_of, reach
from duetty.cli.show import add_json, age, as_json, as_table, second, state_style
from duetty.client import Client, HubClient
from duetty.errors import DuettyError

EXAMPLES = (
    ("duetty list", "what there is, and what each is doing"),
    ("duetty list --server build1", "those of another server"),
    ("duetty list --everywhere", "those of every machine of the hubs that you logged in to"),
    ("duetty list --tag ci --json", "for scripts"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_instance(parser)
    add_server(parser)
    parser.add_argument(
        "--tag", action="append", help="only sessions with this tag; may be repeated"
    )
    parser.add_argument(
        "--everywhere", action="store_true", help="of every hub that you logged in to as well"
    )
    parser.add_argument("--names", action="store_true", help="only names, one a line")
    add_json(parser)


def _everywhere(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Of the server here, if one runs, and of each hub; one that does not answer is named."""
    paths = paths_of(arguments)
    clients: dict[str, Client] = {
        url: HubClient(logins.address_of(paths, url)) for url in logins.known(paths)
    }
    if paths.server_socket.exists():
        clients = {"this server": Client(paths.server_socket), **clients}
    found: dict[str, dict[str, Any]] = {}
    for name, client in clients.items():
        try:
            for each in client.get("/sessions", tag=arguments.tag):
                found.setdefault(each["id"], each)
        except DuettyError as error:
            print(f"duetty: {name}: {error.message}", file=sys.stderr)
    return list(found.values())


def _state(session: dict[str, Any]) -> str:
    if since := session.get("away_since"):  # a server may be older than this word
        return f"away since {second(since)}"
    code = session["exit_code"]
    return str(session["state"]) + ("" if code is None else f" ({code})")


def run(arguments: argparse.Namespace) -> int:
    # Names alone are for completion, which is about sessions that can be named alone.
    only = "local" if arguments.names and arguments.server is None else None
    if arguments.everywhere:
        sessions = _everywhere(arguments)
    else:
        sessions = reach(arguments).get("/sessions", tag=arguments.tag, server=only)
    if arguments.json:
        as_json(sessions)
    elif arguments.names:
        for each in sessions:
            print(f"{each['server']}/{each['name']}" if arguments.everywhere else each["name"])
    elif not sessions:
        print("No sessions. `duetty` alone opens one.")
    else:
        is_far = arguments.everywhere or arguments.hub is not None
        _show(sessions, with_server=is_far or len({each["server"] for each in sessions}) > 1)
    return 0


def _show(sessions: list[dict[str, Any]], *, with_server: bool) -> None:
    # One of another server may be older than this word.
    levels = [each.get("sandbox", "none") for each in sessions]
    confined = any(level != "none" for level in levels)
    as_table(
        (
            "NAME",
            *(("SERVER",) if with_server else ()),
            "STATE",
            *(("SANDBOX",) if confined else ()),
            "COMMAND",
            "DIRECTORY",
            "SIZE",
            "VIEWERS",
            "LAST ACTIVITY",
            "TAGS",
        ),
        [
            (
                each["name"],
                *((each["server"],) if with_server else ()),
                _state(each),
                *((level if level != "none" else "",) if confined else ()),
                each["command"],
                each["cwd"],
                f"{each['cols']}x{each['rows']}" if each["cols"] else "",
                str(each["clients"]),
                age(each["last_activity_ms"]),
                ", ".join(each["tags"]),
            )
            for each, level in zip(sessions, levels, strict=True)
        ],
        styles={"NAME": lambda _: "bold", "STATE": state_style},
        spare=("VIEWERS", "SIZE", "LAST ACTIVITY", "TAGS", "DIRECTORY"),
    )

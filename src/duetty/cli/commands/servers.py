"""`duetty servers`."""

import argparse
import getpass
import sys
from pathlib import Path
from urllib.parse import quote

from duetty.cli.reach import add_instance, reach
from duetty.cli.show import add_json, as_json, as_table
from duetty.errors import BadArguments

EXAMPLES = (
    ("duetty servers", "this one and those that it speaks for"),
    (
        "duetty servers add https://build1:9315",
        "asks for that server's token, or reads it piped in",
    ),
    ("duetty servers add http://127.0.0.1:9400 --token-file t", "the token from a file"),
    ("duetty list", "the sessions of all of them"),
    ("duetty run --server build1 make", "on one of them"),
    ("duetty servers remove build1", "nothing changes on it"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_instance(parser)
    add_json(parser)
    parser.set_defaults(act="list")
    actions = parser.add_subparsers(title="actions", metavar="ACTION")
    listing = actions.add_parser("list", help="every server, and how it is")
    listing.set_defaults(act="list")
    add_json(listing)
    # An abbreviation would take `--token SECRET` for a file, and print it.
    add = actions.add_parser("add", help="speak for another server too", allow_abbrev=False)
    add.set_defaults(act="add")
    add.add_argument("address", metavar="ADDRESS", help="http:// or https://, name, port")
    add.add_argument("--token-file", metavar="FILE", help="file with a token of that server")
    remove = actions.add_parser("remove", help="speak for it no more")
    remove.set_defaults(act="remove")
    remove.add_argument("hostname", metavar="HOSTNAME", help="or host:port of its address")


def run(arguments: argparse.Namespace) -> int:
    return {"list": _list, "add": _add, "remove": _remove}[arguments.act](arguments)


def _list(arguments: argparse.Namespace) -> int:
    servers = reach(arguments).get("/servers")
    if arguments.json:
        as_json(servers)
        return 0
    as_table(
        ("HOSTNAME", "ADDRESS", "HEALTH", "VERSION", "SESSIONS", "REASON"),
        [
            (
                each["hostname"] or "-",
                each["address"],
                each["health"],
                each["version"] or "-",
                "-" if each["sessions"] is None else str(each["sessions"]),
                each["reason"] or "",
            )
            for each in servers
        ],
        styles={"HOSTNAME": lambda _: "bold", "HEALTH": _health_style},
    )
    return 0


def _health_style(health: str) -> str:
    return {"healthy": "green", "connecting": "yellow"}.get(health, "red")


def _add(arguments: argparse.Namespace) -> int:
    token = _token(arguments.token_file)
    added = reach(arguments).post("/servers", {"address": arguments.address, "token": token})
    print(f"{added['address']} is being connected to; `duetty servers` shows how it is.")
    return 0


def _token(file: str | None) -> str:
    """Never from the command line, where every user of the machine could read it."""
    if file is not None:
        try:
            text = Path(file).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise BadArguments(f"{file}: cannot be read: {error}") from error
    elif sys.stdin.isatty():
        text = getpass.getpass("Token of that server: ")
    else:
        text = sys.stdin.read(10_000)
    if not text.strip():
        raise BadArguments(
            "a token of that server is needed",
            hint="`duetty token create hub --scope read --scope input --scope control` there",
        )
    return text.strip()


def _remove(arguments: argparse.Namespace) -> int:
    reach(arguments).delete(f"/servers/{quote(arguments.hostname, safe=':[]')}")
    return 0

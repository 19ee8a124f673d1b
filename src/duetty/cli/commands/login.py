"""`duetty login`."""

import argparse
import os

from duetty.cli import logins
from duetty.cli.hub_token import token_for
from duetty.cli.reach import add_instance, paths_of
from duetty.client import HubClient
from duetty.client.client import OWN_TOKEN
from duetty.client.hub_address import HubAddress
from duetty.errors import BadArguments

EXAMPLES = (
    ("duetty login https://hub.example", "asks for your token, or reads it piped in"),
    ("duetty list --everywhere", "your sessions on every machine of every hub"),
    ("duetty attach MACHINE/SESSION", "a session of a machine that joined"),
    ("duetty run --hub https://hub.example -s build make", "any command, through that hub"),
    ("duetty login --out https://hub.example", "forget the token"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_instance(parser, hub=False)
    parser.add_argument("url", metavar="HUB", nargs="?", help="address; none lists the known ones")
    parser.add_argument("--token-file", metavar="FILE", help="file with the token")
    parser.add_argument("--out", action="store_true", help="forget the token")


def run(arguments: argparse.Namespace) -> int:
    paths = paths_of(arguments)
    if arguments.url is None:
        print("\n".join(logins.known(paths)) or "Not logged in to any hub.")
        return 0
    url = arguments.url.rstrip("/")
    if arguments.out:
        logins.forget(paths, url)
        return 0
    token = token_for(url, arguments.token_file, hint=OWN_TOKEN)
    address = HubAddress(url=url, token=token, ca_file=os.environ.get("DUETTY_HUB_TLS_CA", ""))
    who = HubClient(address).get("/auth/whoami")
    if "read" not in who["scopes"]:
        raise BadArguments("this token only lets a machine or tool host join", hint=OWN_TOKEN)
    where = logins.store(paths, url, address.token)
    print(f"Logged in to {url} as {who['user'] or who['name']}; the token is in {where}.")
    return 0

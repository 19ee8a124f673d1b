"""`duetty join`."""

import argparse

from duetty.cli.hub_token import token_for
from duetty.cli.reach import add_instance, reach, reach_or_spawn
from duetty.cli.show import add_json, as_json
from duetty.errors import BadArguments

EXAMPLES = (
    ("duetty join https://hub.example", "asks for a token of that hub, or reads it piped in"),
    ("duetty join", "which hub it is, and how the connection is"),
    ("duetty join --leave", "be reached through it no more"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_instance(parser, hub=False)
    add_json(parser)
    parser.add_argument("url", metavar="URL", nargs="?", help="address of the hub")
    parser.add_argument("--token-file", metavar="FILE", help="file with a token of that hub")
    parser.add_argument("--leave", action="store_true", help="leave the hub")


def run(arguments: argparse.Namespace) -> int:
    if arguments.leave:
        if arguments.url:
            raise BadArguments("--leave takes no address")
        client = reach(arguments)
        left = client.get("/server/hub")["hub"]
        status = client.delete("/server/hub")
        if left is not None and not arguments.json:
            print(f"Left {left}.")
            return 0
    elif arguments.url:
        token = token_for(arguments.url, arguments.token_file)
        client = reach_or_spawn(arguments)
        status = client.post("/server/hub", {"address": arguments.url, "token": token})
        client.put("/server/persist", {"persistent": True})
    else:
        status = reach(arguments).get("/server/hub")
    if arguments.json:
        as_json(status)
    elif status["hub"] is None:
        print("This server has joined no hub.")
    else:
        whose = f" as a machine of {status['user']}" if status["user"] else ""
        reason = f": {status['reason']}" if status["reason"] else ""
        print(f"{status['hub']}: {status['state']}{whose}{reason}")
    return 0

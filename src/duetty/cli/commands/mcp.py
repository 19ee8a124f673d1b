"""`duetty mcp`.

`cli.reach` is imported only when a server has to be started: with it come HTTP and
TLS, a fifth of the memory that this process holds for as long as its host lives.
"""

import argparse
import os
import sys

from duetty.cli.bridge import Bridge
from duetty.config import find_paths


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-L",
        "--instance",
        default=os.environ.get("DUETTY_INSTANCE", "default"),
        help="name of the server instance (default: %(default)s)",
    )


def run(arguments: argparse.Namespace) -> int:
    if sys.stdin.isatty():
        print(
            "This is for an MCP host, which speaks to it in JSON-RPC. End it with Ctrl-D.",
            file=sys.stderr,
        )
    bridge = Bridge(
        find_paths(os.environ, instance=arguments.instance).mcp_socket,
        start_server=lambda: _start_server(arguments),
        stdin=sys.stdin.fileno(),
        stdout=sys.stdout.fileno(),
    )
    bridge.run()
    return 0


def _start_server(arguments: argparse.Namespace) -> None:
    from duetty.cli.reach import reach_or_spawn

    reach_or_spawn(arguments)

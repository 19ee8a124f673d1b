"""`duetty mcp`."""

import argparse
import sys

from duetty.cli.bridge import Bridge
from duetty.cli.reach import add_instance, paths_of, reach_or_spawn


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_instance(parser)


def run(arguments: argparse.Namespace) -> int:
    if sys.stdin.isatty():
        print(
            "This is for an MCP host, which speaks to it in JSON-RPC. End it with Ctrl-D.",
            file=sys.stderr,
        )
    bridge = Bridge(
        paths_of(arguments).mcp_socket,
        start_server=lambda: reach_or_spawn(arguments),
        stdin=sys.stdin.fileno(),
        stdout=sys.stdout.fileno(),
    )
    bridge.run()
    return 0

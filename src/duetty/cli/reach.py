"""Reaching the server of this user and instance, starting one where that is wanted."""

import argparse
import os
import time

from duetty.cli.server_start import SPAWN_S, SpawnedServer
from duetty.client import Client
from duetty.config import Paths, find_paths
from duetty.errors import ServerUnreachable


def add_instance(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-L",
        "--instance",
        default=os.environ.get("DUETTY_INSTANCE", "default"),
        help="name of the server instance (default: %(default)s)",
    )


def add_server(parser: argparse.ArgumentParser) -> None:
    """For commands that can mean sessions of another server."""
    parser.add_argument(
        "--server", metavar="HOSTNAME", help="a server from `duetty servers` (default: this one)"
    )


def paths_of(arguments: argparse.Namespace) -> Paths:
    return find_paths(os.environ, instance=arguments.instance)


def reach(arguments: argparse.Namespace) -> Client:
    """A client of the running server.

    Raises:
        ServerUnreachable: if none runs.
    """
    paths = paths_of(arguments)
    if not paths.server_socket.exists():
        raise ServerUnreachable(
            f"no server runs for instance {paths.instance!r}",
            hint="start one with `duetty server`, or `make run` in a checkout",
        )
    return Client(paths.server_socket, server=getattr(arguments, "server", None))


def reach_or_spawn(arguments: argparse.Namespace) -> Client:
    """A client of the running server, or of an ephemeral one that ends when nobody needs it."""
    paths = paths_of(arguments)
    client = Client(paths.server_socket, server=getattr(arguments, "server", None))
    if paths.server_socket.exists() and client.is_up():
        return client
    _spawn(paths)
    return client


def _spawn(paths: Paths) -> None:
    server = SpawnedServer(paths.instance)
    deadline_s = time.monotonic() + SPAWN_S
    client = Client(paths.server_socket)
    while not (paths.server_socket.exists() and client.is_up()):
        server.check()
        if time.monotonic() > deadline_s:
            raise server.give_up()
        time.sleep(0.02)
    server.came_up()

"""Reaching the server of this user and instance, starting one where that is wanted."""

import argparse
import os
import sys
import time
from contextlib import suppress
from pathlib import Path

from duetty.cli.server_start import SPAWN_S, SpawnedServer
from duetty.client import Client, HubClient
from duetty.client.hub_address import HubAddress
from duetty.config import Paths, find_paths
from duetty.errors import BadArguments, DuettyError, ServerUnreachable


def add_instance(
    parser: argparse.ArgumentParser, *, hub: bool = True, default: str | None = None
) -> None:
    """`hub`: whether it can be done through a hub as well."""
    usual = default or os.environ.get("DUETTY_INSTANCE", "default")
    parser.add_argument(
        "-L",
        "--instance",
        default=usual,
        help="name of the server instance (default: %(default)s)",
    )
    if hub:
        parser.add_argument(
            "--hub", metavar="URL", help="through this hub, with the token of `duetty login`"
        )


def hub_place(arguments: argparse.Namespace, machine: str) -> Path | HubAddress:
    """Where a session of another machine is reached: the hub that was named, else this server if it
    knows the machine, else the hub that does.

    Raises:
        BadArguments: if none does.
    """
    from duetty.cli import logins

    paths = paths_of(arguments)
    if arguments.hub:
        return logins.address_of(paths, arguments.hub)
    places: list[Path | HubAddress] = [logins.address_of(paths, url) for url in logins.known(paths)]
    if paths.server_socket.exists():
        places.insert(0, paths.server_socket)
    for place in places:
        client = HubClient(place) if isinstance(place, HubAddress) else Client(place)
        with suppress(DuettyError):
            listed = client.get("/servers", wait_s=5)
            if any(machine in (each["hostname"], each["server_id"]) for each in listed):
                return place
            shared = client.get("/sessions", wait_s=10)  # of another user's machine
            if any(machine == each["server"] for each in shared):
                return place
    raise BadArguments(
        f"no hub knows a machine {machine!r}",
        hint="`duetty login HUB`, then `duetty list --everywhere`",
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
    place = _place(arguments, paths)
    server = getattr(arguments, "server", None)
    if isinstance(place, HubAddress):
        return HubClient(place, server=server)
    if not place.exists():
        raise ServerUnreachable(
            f"no server runs for instance {paths.instance!r}",
            hint="start one with `duetty server`, or `make run` in a checkout",
        )
    return Client(place, server=server)


def reach_each(arguments: argparse.Namespace) -> dict[str, Client]:
    """A client of each machine that is meant, by its name: of every one of a hub, unless one is named.

    A single client has no name. A machine that is away is named on stderr, and left out.
    """
    client = reach(arguments)
    place = client.place
    if not isinstance(place, HubAddress) or arguments.server:
        return {"": client}
    servers = client.get("/servers")
    if len(servers) < 2:
        return {"": client}
    names = [each["hostname"] for each in servers]
    found: dict[str, Client] = {}
    for each in servers:
        name = str(each["hostname"])
        if each["health"] != "healthy":
            print(f"duetty: {name}: {each['reason'] or each['health']}", file=sys.stderr)
            continue
        key = name if names.count(name) == 1 else str(each["server_id"])
        found[key] = HubClient(place, server=each["server_id"])
    if not found:
        raise ServerUnreachable("none of your machines is in this hub now")
    return found


def _session_of(arguments: argparse.Namespace) -> str:
    """As it was named; empty where the command has none, or none that can be on another machine."""
    named = getattr(arguments, "session", None) if hasattr(arguments, "hub") else None
    return named if isinstance(named, str) else ""


def _place(arguments: argparse.Namespace, paths: Paths) -> Path | HubAddress:
    """The server here, the hub that was named, or whichever knows the machine of MACHINE/SESSION.

    From here on the arguments are as if the caller had named it in the long way.
    """
    machine, _, session = _session_of(arguments).rpartition("/")
    if not machine:
        is_hub = getattr(arguments, "hub", None)
        return hub_place(arguments, machine) if is_hub else paths.server_socket
    place = hub_place(arguments, machine)
    if isinstance(place, HubAddress):
        arguments.hub = place.url
        found = [
            each["id"]
            for each in HubClient(place).get("/sessions")
            if each["server"] == machine and session in (each["name"], each["id"])
        ]
        if len(found) == 1:  # its machine may be another user's, who shares it
            arguments.session = found[0]
            return place
    arguments.session, arguments.server = session, machine
    return place


def reach_or_spawn(arguments: argparse.Namespace) -> Client:
    """A client of the running server, or of an ephemeral one that ends when it is idle."""
    if getattr(arguments, "hub", None) or "/" in _session_of(arguments):
        return reach(arguments)
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

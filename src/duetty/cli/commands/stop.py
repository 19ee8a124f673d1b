"""`duetty stop`."""

import argparse
import time

from duetty.cli.reach import add_instance, paths_of
from duetty.client import Client
from duetty.config import Paths
from duetty.errors import KeeperUnavailable, Unavailable
from duetty.keeper.client import KeeperClient

STOP_S = 20.0
GRACE_S = 2.0

EXAMPLES = (
    ("duetty stop", "end the server and every session"),
    ("duetty stop --keep-sessions", "end only the server; the next one takes the sessions back"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_instance(parser, hub=False)
    parser.add_argument(
        "--keep-sessions", action="store_true", help="end only the server; programs live on"
    )


def run(arguments: argparse.Namespace) -> int:
    paths = paths_of(arguments)
    client = Client(paths.server_socket)
    if paths.server_socket.exists() and client.is_up():
        client.post("/server/stop", {"keep_sessions": arguments.keep_sessions})
        _wait_gone(paths)
        print("Stopped." if not arguments.keep_sessions else "Stopped; the sessions live on.")
        return 0
    if not arguments.keep_sessions and _stop_keeper(paths):
        print("No server ran; the sessions that outlived it are ended.")
        return 0
    # What was asked for is so already: no error, and a script may say it twice.
    print(f"No server running (instance {paths.instance}).")
    return 0


def _wait_gone(paths: Paths) -> None:
    deadline_s = time.monotonic() + STOP_S
    while paths.server_socket.exists():
        if time.monotonic() > deadline_s:
            raise Unavailable(
                f"the server did not end within {STOP_S:.0f} s", hint=f"see {paths.log_file}"
            )
        time.sleep(0.01)


def _stop_keeper(paths: Paths) -> bool:
    """A keeper without a server: it holds what outlived a server that was killed."""
    try:
        keeper = KeeperClient.connect(paths.keeper_socket)
    except KeeperUnavailable:
        return False
    keeper.call("stop", {"grace_s": GRACE_S})
    keeper.close()
    return True

"""`duetty mcp`, and under it `install`, `uninstall` and `test`.

What those three need is imported only when it is used: with it come HTTP and TLS,
a fifth of the memory that the bridge holds for as long as its host lives.
"""

import argparse
import os
import sys

from duetty.cli.bridge import Bridge
from duetty.cli.first_answers import FirstAnswers
from duetty.cli.lost_calls import cut_off_answer
from duetty.cli.sandbox_options import add_sandbox, host_confinement
from duetty.cli.server_start import SpawnedServer
from duetty.config import Paths, find_paths, load_settings
from duetty.errors import DuettyError

HOSTS = ("claude-code", "claude-desktop", "cursor", "vscode", "codex", "gemini", "zed")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    _add_common(parser, default=os.environ.get("DUETTY_INSTANCE", "default"))
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    install = actions.add_parser("install", help="write Duetty into a host's configuration")
    uninstall = actions.add_parser("uninstall", help="take Duetty out of it again")
    for each in (install, uninstall):
        each.add_argument("host", choices=HOSTS, help="the host: %(choices)s")
        each.add_argument(
            "--print", action="store_true", help="show what would be written, and write nothing"
        )
        each.add_argument(
            "--project", action="store_true", help="this directory's configuration, not the user's"
        )
        each.add_argument(
            "--name", default="duetty", help="name of the entry (default: %(default)s)"
        )
        _add_common(each, default=argparse.SUPPRESS)
    log_in = actions.add_parser("login", help="the same as `duetty login HUB`")
    log_in.add_argument("url", metavar="HUB", nargs="?", help="address; none lists the known ones")
    log_in.add_argument("--token-file", metavar="FILE", help="file with the token")
    log_in.add_argument("--out", action="store_true", help="forget the token")
    _add_common(log_in, default=argparse.SUPPRESS)
    test = actions.add_parser("test", help="connect as a host does, run a command, show the times")
    _add_common(test, default=argparse.SUPPRESS)


def _add_common(parser: argparse.ArgumentParser, *, default: str) -> None:
    parser.add_argument(
        "-L", "--instance", default=default, help="name of the server instance (default: default)"
    )
    parser.add_argument(
        "--dialect",
        default=None if default != argparse.SUPPRESS else default,
        help="vocabulary to speak, or several with commas: wsh, command, terminal, elwood, gateway, "
        "rooms, front (default: as the server is set)",
    )
    add_sandbox(parser, default=default if default == argparse.SUPPRESS else None)


def run(arguments: argparse.Namespace) -> int:
    match arguments.action:
        case "install" | "uninstall":
            from duetty.cli.commands import mcp_hosts

            return mcp_hosts.run(arguments)
        case "login":
            from duetty.cli.commands import login

            return login.run(arguments)
        case "test":
            from duetty.cli.commands import mcp_test

            return mcp_test.run(arguments)
        case _:
            return _bridge(arguments)


def _bridge(arguments: argparse.Namespace) -> int:
    if sys.stdin.isatty():
        print(
            "This is for an MCP host, which speaks to it in JSON-RPC. End it with Ctrl-D.",
            file=sys.stderr,
        )
    paths = find_paths(os.environ, instance=arguments.instance)
    sandbox, workspaces = host_confinement(arguments)
    bridge = Bridge(
        paths.mcp_socket,
        start_server=lambda: SpawnedServer(paths.instance),
        stdin=sys.stdin.fileno(),
        stdout=sys.stdout.fileno(),
        dialect=arguments.dialect,
        sandbox=sandbox,
        workspaces=workspaces,
        cut_off=cut_off_answer,
        first_answer=FirstAnswers(lambda: arguments.dialect or _default_dialects(paths)),
    )
    bridge.run()
    return 0


def _default_dialects(paths: Paths) -> str:
    """As the server will find them; none, where it will refuse its settings."""
    try:
        return ",".join(load_settings(paths, os.environ).settings.mcp_dialects)
    except DuettyError:
        return ""

"""`duetty server`."""

import argparse
import json
import os
import sys
import time
from dataclasses import replace

from duetty.cli.hub_token import HUB_TOKEN, token_for
from duetty.cli.reach import add_instance, paths_of
from duetty.client import Client
from duetty.config import Paths, load_settings, make_private
from duetty.errors import InstanceBusy
from duetty.ops.mcp_host import duetty_words, host_entry
from duetty.ops.sandbox_choice import boundary_of
from duetty.server import Announcement, Server
from duetty.startup.instance_lock import is_locked
from duetty.startup.log_files import log_to

BRIDGE_SECRET = "BRIDGE_SECRET"  # noqa: S105 - the name of a variable
HUB_BIND = "127.0.0.1:9320"
HUB_DIALECTS = ("wsh", "rooms")
"""What an MCP client of a hub gets where no setting says otherwise."""

REPLACE_S = 15.0
"""How long the old server gets to hand over."""

EXAMPLES = (
    ("duetty server", "in this terminal, until Ctrl-C"),
    ("duetty server --bind 127.0.0.1:0", "on any free port"),
    ("duetty server --join https://hub.example", "and be reached through that hub (docs/hub.md)"),
    ("duetty server --replace", "take over from the running one; sessions go on"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_instance(parser, hub=False)
    parser.add_argument(
        "--bind",
        metavar="HOST:PORT",
        help=f"address to listen on (default 127.0.0.1:9315; a hub's: {HUB_BIND})",
    )
    parser.add_argument(
        "--hostname",
        metavar="NAME",
        help="what this server is called (default: the machine's name)",
    )
    parser.add_argument("--base-prefix", metavar="PATH", help="path that every address begins with")
    parser.add_argument("--tls-cert", metavar="FILE", help="certificate chain, PEM")
    parser.add_argument("--tls-key", metavar="FILE", help="key of the certificate, PEM")
    parser.add_argument(
        "--cors-origin",
        metavar="ORIGIN",
        action="append",
        help="another site whose pages may call with a token; may be given several times",
    )
    parser.add_argument(
        "--host",
        metavar="NAME",
        action="append",
        help="a further name by which clients may call; may be given several times",
    )
    parser.add_argument(
        "--rate-limit", metavar="N", type=int, help="requests a second from one address"
    )
    parser.add_argument(
        "--join",
        metavar="URL",
        help="join this hub; the token is asked for, or DUETTY_HUB_TOKEN, or from `duetty login`",
    )
    parser.add_argument(
        "--replace",
        action="store_true",
        help="take over from the running server; its sessions go on",
    )
    parser.add_argument(
        "--ephemeral", action="store_true", help="end when no session and no client is left"
    )
    parser.add_argument("--quiet", action="store_true", help="print nothing")


def run(arguments: argparse.Namespace) -> int:
    return serve(arguments, hub=False)


def serve(arguments: argparse.Namespace, *, hub: bool) -> int:
    if hub and arguments.bind is None:
        arguments.bind = HUB_BIND
    paths = paths_of(arguments)
    loaded = load_settings(
        paths,
        os.environ,
        flags={
            "server_bind": arguments.bind,
            "server_hostname": arguments.hostname,
            "server_base_prefix": arguments.base_prefix,
            "server_tls_cert": arguments.tls_cert,
            "server_tls_key": arguments.tls_key,
            "server_cors_origins": arguments.cors_origin,
            "server_hosts": arguments.host,
            "server_rate_limit": arguments.rate_limit,
            "hub_join": arguments.join,
            "hub_engine": arguments.engine if hub else None,
        },
    )
    settings = loaded.settings
    if hub and loaded.origins["mcp_dialects"] == "default":
        settings = replace(settings, mcp_dialects=HUB_DIALECTS)
    make_private(paths.state)
    log_to(paths.log_file)
    if arguments.replace:
        _replace(paths)
    environment = dict(os.environ)
    # Programs in sessions see neither.
    hub_token = environment.pop(HUB_TOKEN, "")
    bridge_secret = environment.pop(BRIDGE_SECRET, "")
    if settings.hub_join and not hub_token and not paths.join_file.exists():
        hub_token = token_for(settings.hub_join)
    server = Server(
        paths,
        settings,
        environment=environment,
        ephemeral=arguments.ephemeral,
        hub_token=hub_token,
        bridge_secret=bridge_secret,
    )
    safety = f"guardrail: {settings.policy_profile} · boundary: {boundary_of(settings)}"
    if settings.session_sandbox == "none":
        safety += " (`duetty mcp install HOST --sandbox` sets one for an agent)"
    server.run(
        announce=lambda announcement: (
            None if arguments.quiet else _announce(announcement, arguments.instance, safety)
        )
    )
    return 0


def _replace(paths: Paths) -> None:
    """Ask the running server to leave its sessions to the keeper, and wait until it has."""
    client = Client(paths.server_socket)
    if not paths.server_socket.exists() or not client.is_up():
        return
    client.post("/server/stop", {"keep_sessions": True})
    deadline_s = time.monotonic() + REPLACE_S
    while paths.server_socket.exists() or is_locked(paths):
        if time.monotonic() > deadline_s:
            raise InstanceBusy(
                "the running server did not hand over in time", hint="end it with `duetty stop`"
            )
        time.sleep(0.01)


def _announce(announcement: Announcement, instance: str, safety: str) -> None:
    command = " ".join(duetty_words())
    entry = host_entry(instance).model_dump(exclude_defaults=True)
    block = {"mcpServers": {"duetty": {name: value for name, value in entry.items() if value}}}
    lines = [
        f"Duetty is running at {announcement.url}",
        safety,
        "",
        f"  In a browser (works once):  {announcement.link}",
        f"  Token for HTTP clients:     {command} token",
        f"  Run a command:              {command} run -- echo hello",
        "",
        "MCP configuration for an agent's host:",
        json.dumps(block, indent=2),
    ]
    if announcement.restored:
        lines.insert(1, f"{announcement.restored} sessions were taken back.")
    if announcement.warnings:
        print(
            "\n".join(f"WARNING: {warning}" for warning in announcement.warnings), file=sys.stderr
        )
    print("\n".join(lines), flush=True)

"""`duetty server`."""

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from duetty.cli.hub_token import HUB_TOKEN, token_for
from duetty.cli.reach import add_instance, paths_of
from duetty.client import Client
from duetty.config import Paths, load_settings, make_private
from duetty.errors import InstanceBusy
from duetty.ops.mcp_host import duetty_words, host_entry
from duetty.ops.sandbox_choice import boundary_of
from duetty.server import Announcement, Server
from duetty.startup.instance_lock import command_for, is_locked
from duetty.startup.log_files import log_to
from duetty.startup.private_files import read_text, write_private

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
    ("duetty server --replace", "take over from the running one; sessions and its flags go on"),
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
        help="take over from the running server; its sessions and the flags that it was given go on",
    )
    parser.add_argument(
        "--ephemeral", action="store_true", help="end when no session and no client is left"
    )
    parser.add_argument("--quiet", action="store_true", help="print nothing")


def run(arguments: argparse.Namespace) -> int:
    return serve(arguments, hub=False)


def serve(arguments: argparse.Namespace, *, hub: bool) -> int:
    paths = paths_of(arguments)
    flags = _given(arguments)
    old = Client(paths.server_socket)
    replaces = arguments.replace and paths.server_socket.exists() and old.is_up()
    if replaces:
        kept = _kept_flags(paths)
        hub = hub or bool(kept.pop("hub", False))
        flags = {**kept, **flags}
    loaded = load_settings(
        paths, os.environ, flags={"server_bind": HUB_BIND, **flags} if hub else flags
    )
    settings = loaded.settings
    if hub and loaded.origins["mcp_dialects"] == "default":
        settings = replace(settings, mcp_dialects=HUB_DIALECTS)
    make_private(paths.state)
    log_to(paths.log_file, settings.server_log_level)
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

    def announce(announcement: Announcement) -> None:
        # A server that a client started chose none of its flags: nothing to keep.
        used = {} if arguments.ephemeral else {**flags, "hub": hub}
        if str(used.get("server_bind", "")).endswith(":0"):
            host = str(used["server_bind"]).rpartition(":")[0]
            used["server_bind"] = f"{host}:{urlsplit(announcement.url).port}"
        write_private(paths.flags_file, json.dumps(used))
        if not arguments.quiet:
            show = _hub_lines if hub else _server_lines
            _show(announcement, [*show(announcement, arguments.instance, safety)])

    server.run(announce=announce, take_over=(lambda: _end(old, paths)) if replaces else None)
    return 0


def _given(arguments: argparse.Namespace) -> dict[str, Any]:
    """By setting. A file is named by its whole path: who takes over may stand elsewhere."""
    flags = {
        "server_bind": arguments.bind,
        "server_hostname": arguments.hostname,
        "server_base_prefix": arguments.base_prefix,
        "server_tls_cert": arguments.tls_cert and str(Path(arguments.tls_cert).absolute()),
        "server_tls_key": arguments.tls_key and str(Path(arguments.tls_key).absolute()),
        "server_cors_origins": arguments.cors_origin,
        "server_hosts": arguments.host,
        "server_rate_limit": arguments.rate_limit,
        "hub_join": arguments.join,
        "hub_engine": getattr(arguments, "engine", None),
    }
    return {name: value for name, value in flags.items() if value is not None}


def _kept_flags(paths: Paths) -> dict[str, Any]:
    """The flags of the server that runs."""
    with suppress(ValueError):
        kept = json.loads(read_text(paths.flags_file))
        if isinstance(kept, dict):
            return cast("dict[str, Any]", kept)
    return {}


def _end(old: Client, paths: Paths) -> None:
    """Ask the running server to leave its sessions to the keeper, and wait until it has."""
    old.post("/server/stop", {"keep_sessions": True})
    deadline_s = time.monotonic() + REPLACE_S
    while paths.server_socket.exists() or is_locked(paths):
        if time.monotonic() > deadline_s:
            raise InstanceBusy(
                "the running server did not hand over in time",
                hint=f"end it with `{command_for(paths.instance)} stop`",
            )
        time.sleep(0.01)


def _server_lines(announcement: Announcement, instance: str, safety: str) -> Iterator[str]:
    command = _words(instance)
    entry = host_entry(instance).model_dump(exclude_defaults=True)
    block = {"mcpServers": {"duetty": {name: value for name, value in entry.items() if value}}}
    yield f"Duetty is running at {announcement.url}"
    yield safety
    yield ""
    yield f"  In a browser (works once):  {announcement.link}"
    yield f"  Token for HTTP clients:     {command} token"
    yield f"  Run a command:              {command} run -- echo hello"
    yield ""
    yield "MCP configuration for an agent's host:"
    yield json.dumps(block, indent=2)


def _hub_lines(announcement: Announcement, instance: str, safety: str) -> Iterator[str]:
    command = " ".join(duetty_words())
    named = "" if instance == "hub" else f" -L {instance}"
    yield f"A hub of Duetty is running at {announcement.url}"
    yield safety
    yield ""
    yield "Next:"
    yield f"  1. A user, and her own token:  {command} hub user add ann{named}"
    yield f"  2. On each of her machines:    duetty join {announcement.url}"
    yield ""
    yield f"  The hub's own page (works once):  {announcement.link}"
    yield f"  The hub's own token:              {_words(instance)} token"
    yield f"  Agents:                           MCP at {announcement.url}/mcp, with a token of"
    yield f"                                    {command} hub token create ann{named}"


def _words(instance: str) -> str:
    return " ".join([*duetty_words(), *([] if instance == "default" else ["-L", instance])])


def _show(announcement: Announcement, lines: list[str]) -> None:
    if announcement.restored:
        lines.insert(1, f"{announcement.restored} sessions were taken back.")
    if announcement.warnings:
        print(
            "\n".join(f"WARNING: {warning}" for warning in announcement.warnings), file=sys.stderr
        )
    print("\n".join(lines), flush=True)

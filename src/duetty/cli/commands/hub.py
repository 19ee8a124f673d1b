"""`duetty hub`."""

import argparse
import os
import re
import sys
from urllib.parse import quote

from duetty.cli.commands import server
from duetty.cli.reach import add_instance, reach
from duetty.cli.show import add_json, as_json, as_table, second
from duetty.edges.http import tls_context
from duetty.errors import BadArguments
from duetty.hub import Bridge

FRONT_BIND = "127.0.0.1:9321"

EXAMPLES = (
    ("duetty hub", "serve one at 127.0.0.1:9320; put TLS in front, or give --tls-cert"),
    ("duetty hub user add ann", "a user, and her own token: she types `duetty login HUB`"),
    ("duetty hub token create ann --scope join", "for a machine: there, `duetty join HUB`"),
    ("duetty hub token create ann", "for an agent: MCP at HUB/mcp, with it as bearer token"),
    ("duetty hub link ann", "a link that signs her browser in, once"),
    ("BRIDGE_SECRET=… duetty hub front HUB", "MCP here, for rooms of a hub elsewhere"),
    ("duetty hub machines", "every machine that joined, whose it is, and since when it is away"),
    ("duetty hub machines remove laptop", "list it no more; it may join again"),
    ("duetty hub user remove ann", "her tokens, machines and connections end now"),
)

DESCRIPTION = """\
Serve a hub: every machine's terminals, and any tool host, behind one address.

Machines dial in (`duetty join HUB`), from behind any router; nothing on them listens. Each belongs to
the user whose token brought it, and only that user sees it, unless she shares a session
(`duetty share`). Agents and people use the hub as they would one server: the same page, HTTP,
WebSockets, MCP and command line; a session is named by its id, its name or MACHINE/SESSION.
A hub is one process and needs no other; with --engine nats://… several replicas are one hub.
docs/hub.md tells the rest.
"""

OWN_SCOPES = ("read", "input", "control", "approve", "join")
"""Of a person's own token."""

SPANS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    server.add_arguments(parser)
    parser.add_argument(
        "--engine", metavar="URL", help="nats://… that the replicas of this hub share"
    )
    parser.set_defaults(act="serve", instance="hub", bind=None)
    actions = parser.add_subparsers(title="actions", metavar="ACTION")
    user = actions.add_parser("user", help="add, list and remove users")
    user.add_argument("what", choices=("add", "list", "remove"))
    user.add_argument("name", nargs="?", metavar="NAME")
    user.set_defaults(act="user")
    token = actions.add_parser("token", help="create, list and revoke users' tokens")
    token.add_argument("what", choices=("create", "list", "revoke"))
    token.add_argument("name", nargs="?", metavar="USER|ID")
    token.add_argument("--label", default="token", help="what it is for")
    token.add_argument(
        "--scope",
        action="append",
        choices=OWN_SCOPES,
        help="default: read, input and control; with --person all of them",
    )
    token.add_argument(
        "--person",
        action="store_true",
        help="the person's own, as `hub user add` makes one: for `duetty login`, to answer questions, to join",
    )
    token.add_argument(
        "--for", dest="span", metavar="TIME", help="as 12h or 30d; default: until revoked"
    )
    token.set_defaults(act="token")
    link = actions.add_parser("link", help="a link that signs a user's browser in, once")
    link.add_argument("name", metavar="USER")
    link.set_defaults(act="link")
    machines = actions.add_parser("machines", help="list machines that joined; forget one")
    machines.add_argument(
        "what",
        nargs="?",
        choices=("list", "remove"),
        default="list",
        help="remove: list one no more that is away",
    )
    machines.add_argument("name", nargs="?", metavar="MACHINE", help="its name or its id")
    machines.set_defaults(act="machines")
    front = actions.add_parser("front", help="serve MCP here, for rooms of a bridge elsewhere")
    front.add_argument(
        "bridge",
        nargs="?",
        metavar="URL",
        help="the bridge (default: DUETTY_BRIDGE, or PARTYKIT_HOST); BRIDGE_SECRET is its secret",
    )
    front.add_argument(
        "--bind", default=FRONT_BIND, metavar="HOST:PORT", help="(default: %(default)s)"
    )
    front.add_argument(
        "--host", action="append", metavar="NAME", help="a further name of this front"
    )
    front.add_argument(
        "--cors-origin", action="append", metavar="ORIGIN", help="a site that may call"
    )
    front.add_argument("--tls-cert", metavar="FILE", default="", help="certificate chain, PEM")
    front.add_argument("--tls-key", metavar="FILE", default="", help="key of the certificate, PEM")
    front.set_defaults(act="front")
    for each in (user, token, link, machines):
        # Not set again here: `duetty -L work hub user list` is about the hub of that instance.
        add_instance(each, hub=False, default=argparse.SUPPRESS)
        add_json(each)


def run(arguments: argparse.Namespace) -> int:
    acts = {
        "serve": _serve,
        "user": _user,
        "token": _token,
        "link": _link,
        "machines": _machines,
        "front": _front,
    }
    return acts[arguments.act](arguments)


def _serve(arguments: argparse.Namespace) -> int:
    return server.serve(arguments, hub=True)


def _front(arguments: argparse.Namespace) -> int:
    from duetty.front import Front  # with the MCP edge, which no other action needs

    environment = os.environ
    address = (
        arguments.bridge or environment.get("DUETTY_BRIDGE") or environment.get("PARTYKIT_HOST")
    )
    if not address:
        raise BadArguments(
            "which bridge?", hint="name its URL, or set DUETTY_BRIDGE or PARTYKIT_HOST"
        )
    bridge = Bridge(
        address,
        environment.get(server.BRIDGE_SECRET, ""),
        ca_file=environment.get("DUETTY_HUB_TLS_CA", ""),
    )
    front = Front(
        bridge,
        bind=arguments.bind,
        tls=tls_context(arguments.tls_cert, arguments.tls_key),
        hosts=arguments.host or (),
        cors_origins=arguments.cors_origin or (),
    )
    front.run(announce=lambda url: print(f"MCP at {url}/mcp, for rooms of {address}", flush=True))
    return 0


def _named(arguments: argparse.Namespace) -> str:
    if not arguments.name:
        raise BadArguments(f"{arguments.what}: a name is missing")
    return str(arguments.name)


def _user(arguments: argparse.Namespace) -> int:
    client = reach(arguments)
    if arguments.what == "list":
        users = client.get("/users")
        if arguments.json:
            as_json(users)
            return 0
        as_table(
            ("USER", "TOKENS", "MACHINES", "ROOMS", "SINCE"),
            [
                (
                    each["name"],
                    str(each["tokens"]),
                    str(each["machines"]),
                    str(each["rooms"]),
                    second(each["created_at"]),
                )
                for each in users
            ],
        )
        return 0
    name = _named(arguments)
    if arguments.what == "remove":
        client.delete(f"/users/{quote(name, safe='')}")
        return 0
    client.post("/users", {"name": name})
    made = client.post(
        f"/users/{quote(name, safe='')}/tokens",
        {"label": "own", "scopes": OWN_SCOPES, "person": True},
    )
    if arguments.json:
        as_json(made)
        return 0
    print(made["token"])
    print(f"{name}'s own token, shown once: `duetty login HUB` asks for it.", file=sys.stderr)
    return 0


def _token(arguments: argparse.Namespace) -> int:
    client = reach(arguments)
    if arguments.what == "list":
        users = {each["name"] for each in client.get("/users")}
        found = [each for each in client.get("/tokens") if each["user"] in users]
        if arguments.json:
            as_json(found)
            return 0
        as_table(
            ("ID", "USER", "LABEL", "SCOPES", "VALID", "LAST USED"),
            [
                (
                    each["id"],
                    each["user"],
                    each["name"],
                    ",".join(each["scopes"]),
                    "yes" if each["valid"] else "no",
                    second(each["last_used_at"]),
                )
                for each in found
            ],
        )
        return 0
    name = _named(arguments)
    if arguments.what == "revoke":
        client.delete(f"/tokens/{quote(name, safe='')}")
        return 0
    scopes = arguments.scope or (OWN_SCOPES if arguments.person else None)
    made = client.post(
        f"/users/{quote(name, safe='')}/tokens",
        {
            "label": arguments.label,
            "person": arguments.person,
            **({"scopes": scopes} if scopes else {}),
            **({"expires_in_s": seconds(arguments.span)} if arguments.span else {}),
        },
    )
    if arguments.json:
        as_json(made)
        return 0
    print(made["token"])
    print(f"A token of {name} ({', '.join(made['scopes'])}), shown once.", file=sys.stderr)
    return 0


def _link(arguments: argparse.Namespace) -> int:
    print(reach(arguments).post("/server/link", {"user": arguments.name})["link"])
    return 0


def _machines(arguments: argparse.Namespace) -> int:
    if arguments.what == "remove":
        reach(arguments).delete(f"/users/machines/{quote(_named(arguments), safe='')}")
        return 0
    found = reach(arguments).get("/users/machines")
    if arguments.json:
        as_json(found)
        return 0
    as_table(
        ("MACHINE", "USER", "ID", "HEALTH", "SESSIONS", "VERSION"),
        [
            (
                machine["hostname"],
                each["user"] or "(the hub)",
                machine["server_id"],
                f"away since {second(since)}"
                if (since := machine["away_since"])
                else machine["health"],
                str(machine["sessions"]),
                machine["version"],
            )
            for each, machine in ((each, each["machine"]) for each in found)
        ],
    )
    return 0


def seconds(span: str) -> float:
    """Raises:
    BadArguments: if it is no time.
    """
    found = re.fullmatch(r"(\d+)([smhd])", span)
    if found is None:
        raise BadArguments(f"{span!r} is no time", hint="as 30m, 12h or 30d")
    return int(found[1]) * SPANS[found[2]]

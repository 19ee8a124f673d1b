"""`duetty token`."""

import argparse
import re
import sys

from duetty.cli.reach import add_instance, paths_of, reach
from duetty.cli.show import add_json, as_json, as_table
from duetty.errors import BadArguments, NotFound, Refused

SCOPES = ("read", "input", "control", "approve", "admin")

EXAMPLES = (
    ("duetty token", "the server's own token, for HTTP clients"),
    ("duetty token link", "a link that signs one browser in, once"),
    ("duetty token create ci --scope read --expires 8h", "one that can only look, for a shift"),
    ("duetty token create bot --scope read --scope input --session build", "one session only"),
    ("duetty token list", "who has one"),
    ("duetty token revoke 3f2a…", "and who had; live connections end"),
)

_UNITS_S = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400, "w": 604_800}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_instance(parser)
    parser.add_argument("--link", action="store_true", help="the same as `duetty token link`")
    parser.set_defaults(act="show")
    actions = parser.add_subparsers(title="actions", metavar="ACTION")
    actions.add_parser("show", help="print the server's own token").set_defaults(act="show")
    link = actions.add_parser("link", help="a link that signs one browser in, once")
    link.set_defaults(act="link")
    create = actions.add_parser("create", help="make one, and print it this once")
    create.set_defaults(act="create")
    create.add_argument("name", help="whose it is, for lists and history")
    create.add_argument(
        "--scope", action="append", choices=SCOPES, help="what it allows; may be repeated"
    )
    create.add_argument("--session", metavar="SESSION", help="the only session it reaches")
    create.add_argument("--expires", metavar="TIME", help="30min, 8h, 7d …; never when left out")
    add_json(create)
    listing = actions.add_parser("list", help="every token, without the tokens themselves")
    listing.set_defaults(act="list")
    add_json(listing)
    revoke = actions.add_parser("revoke", help="refuse it from now on")
    revoke.set_defaults(act="revoke")
    revoke.add_argument("id", help="as `duetty token list` shows it; its beginning is enough")


def run(arguments: argparse.Namespace) -> int:
    if arguments.link or arguments.act == "link":
        print(reach(arguments).post("/server/link")["link"])
        return 0
    return {"show": _show, "create": _create, "list": _list, "revoke": _revoke}[arguments.act](
        arguments
    )


def _show(arguments: argparse.Namespace) -> int:
    path = paths_of(arguments).token_file
    try:
        sys.stdout.write(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise NotFound(
            "there is no token yet", hint="the server makes one when it first starts"
        ) from None
    except OSError as error:
        raise Refused(
            f"cannot read {path}: {error.strerror}", hint="inside a sandbox it is hidden"
        ) from error
    return 0


def _create(arguments: argparse.Namespace) -> int:
    if not arguments.scope:
        raise BadArguments("what may it do?", hint=f"give --scope, one of {', '.join(SCOPES)}")
    made = reach(arguments).post(
        "/tokens",
        {
            "name": arguments.name,
            "scopes": sorted(set(arguments.scope), key=SCOPES.index),
            "session": arguments.session,
            "expires_in_s": None if arguments.expires is None else seconds(arguments.expires),
        },
    )
    if arguments.json:
        as_json(made)
        return 0
    print(made["token"])
    print("It is shown this once; keep it where it belongs.", file=sys.stderr)
    return 0


def seconds(text: str) -> int:
    """Raises:
    BadArguments: if it is no time.
    """
    found = re.fullmatch(r"(\d+)\s*([a-z]+)", text.strip().lower())
    if found is None or found[2] not in _UNITS_S:
        raise BadArguments(f"{text!r} is no time", hint="for example 30min, 8h or 7d")
    return int(found[1]) * _UNITS_S[found[2]]


def _list(arguments: argparse.Namespace) -> int:
    tokens = reach(arguments).get("/tokens")
    if arguments.json:
        as_json(tokens)
        return 0
    if not tokens:
        print("No tokens but the server's own.")
        return 0
    as_table(
        ("ID", "NAME", "KIND", "SCOPES", "SESSION", "EXPIRES", "LAST USED", "STATE"),
        [
            (
                each["id"],
                each["name"],
                each["kind"],
                " ".join(each["scopes"]),
                each["session"] or "-",
                _minute(each["expires_at"]),
                _minute(each["last_used_at"]),
                "valid" if each["valid"] else "revoked" if each["revoked_at"] else "expired",
            )
            for each in tokens
        ],
    )
    return 0


def _minute(at: str | None) -> str:
    return "-" if at is None else at[:16].replace("T", " ")


def _revoke(arguments: argparse.Namespace) -> int:
    client = reach(arguments)
    found = [each for each in client.get("/tokens") if each["id"].startswith(arguments.id)]
    if len(found) != 1:
        raise NotFound(
            f"{len(found)} tokens have an id that begins with {arguments.id!r}",
            hint="`duetty token list` shows them",
        )
    client.delete(f"/tokens/{found[0]['id']}")
    return 0

"""`duetty share`."""

import argparse
import os
from urllib.parse import quote

from duetty.cli import logins
from duetty.cli.commands.hub import seconds
from duetty.cli.reach import add_instance, paths_of, reach
from duetty.cli.show import add_json, as_json, as_table, second
from duetty.errors import BadArguments

EXAMPLES = (
    (
        "duetty share build bob",
        "bob watches session build for an hour, at the hub of `duetty login`",
    ),
    ("duetty share box/build bob --role drive --for 2d", "and types into it, for two days"),
    ("duetty share", "what you share, and what others share with you"),
    ("duetty share --revoke ID", "end a share; its connections close at once"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_instance(parser)
    parser.add_argument(
        "session", metavar="SESSION", nargs="?", help="its id, name or MACHINE/SESSION"
    )
    parser.add_argument("user", metavar="USER", nargs="?", help="another user of the hub")
    parser.add_argument("--role", choices=("watch", "drive", "moderate"), default="watch")
    parser.add_argument("--for", dest="span", metavar="TIME", help="as 30m or 2d (default 1h)")
    parser.add_argument("--revoke", metavar="ID", help="end this share")
    add_json(parser)


def _find_hub(arguments: argparse.Namespace) -> None:
    """Shares are a hub's: the one that was logged in to, unless another server was named.

    Raises:
        BadArguments: if there are several.
    """
    known = list(logins.known(paths_of(arguments)))
    is_named = arguments.hub or arguments.instance != os.environ.get("DUETTY_INSTANCE", "default")
    if is_named or not known or "/" in (arguments.session or ""):
        return
    if len(known) > 1:
        raise BadArguments("which hub?", hint=f"--hub URL; you are logged in to {', '.join(known)}")
    arguments.hub = known[0]


def run(arguments: argparse.Namespace) -> int:
    _find_hub(arguments)
    client = reach(arguments)
    if arguments.revoke is not None:
        client.delete(f"/shares/{quote(arguments.revoke, safe='')}")
        return 0
    if arguments.session is None:
        shares = client.get("/shares")
    elif arguments.user is None:
        raise BadArguments("a user is missing", hint="`duetty share SESSION USER`")
    else:
        shares = [
            client.post(
                "/shares",
                {
                    "session": arguments.session,
                    "user": arguments.user,
                    "role": arguments.role,
                    "expires_in_s": seconds(arguments.span or "1h"),
                },
            )
        ]
    if arguments.json:
        as_json(shares)
        return 0
    rows = [
        (
            each["id"],
            f"{each['machine'] or '?'}/{each['session'] or each['session_id']}",
            each["owner"] or "the hub",
            each["user"],
            each["role"],
            second(each["expires_at"]) if each["expires_at"] else "until revoked",
        )
        for each in shares
    ]
    as_table(("ID", "SESSION", "OWNER", "USER", "ROLE", "UNTIL"), rows)
    return 0

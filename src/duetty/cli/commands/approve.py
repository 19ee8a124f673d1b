"""`duetty approve`."""

import argparse
import sys
from typing import Any
from urllib.parse import quote

from duetty.cli.commands.approvals import told
from duetty.cli.reach import add_instance, reach
from duetty.cli.show import visible
from duetty.client import Client
from duetty.errors import BadArguments, NotFound

EXAMPLES = (
    ("duetty approve", "the only question that waits"),
    ("duetty approve 3f2a", "one of several; the beginning of its id is enough"),
    ("duetty approve --for-session", "and the same line again in this session"),
    ("duetty approve --always", "by a standing rule, which is shown first"),
    ("duetty approve --edit 'rm -r build/tmp'", "something else in its place, judged again"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_instance(parser)
    parser.add_argument("id", nargs="?", help="as `duetty approvals` shows it")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--for-session", action="store_true", help="the same line in this session too")
    how.add_argument("--always", action="store_true", help="the same line, wherever it comes again")
    how.add_argument("--edit", metavar="LINE", help="run this instead")
    parser.add_argument("--note", help="kept in the audit trail")
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask before --always")


def run(arguments: argparse.Namespace) -> int:
    client = reach(arguments)
    approval = find(client, arguments.id)
    rule = _shown_rule(approval, arguments) if arguments.always else None
    client.post(
        f"/approvals/{quote(approval['id'])}/approve",
        {
            "covers": "session"
            if arguments.for_session
            else "standing"
            if arguments.always
            else "once",
            "command_line": arguments.edit,
            "rule": rule,
            "note": arguments.note,
            "via": "cli",
        },
    )
    print("\n".join(["Approved:", *told(approval)]))
    return 0


def find(client: Client, beginning: str | None) -> dict[str, Any]:
    """The question that is meant.

    Raises:
        NotFound: if none is, or several are.
    """
    waiting: list[dict[str, Any]] = client.get("/approvals")["approvals"]
    found = [each for each in waiting if each["id"].startswith(beginning or "")]
    if len(found) == 1:
        return found[0]
    if not waiting:
        raise NotFound("nothing waits for an answer", hint="it may have expired: approvals --all")
    if not found:
        raise NotFound(f"no question has an id that begins with {beginning!r}")
    raise NotFound(
        f"{len(found)} questions wait; which one?",
        hint=", ".join(each["id"] for each in found[:10]),
    )


def _shown_rule(approval: dict[str, Any], arguments: argparse.Namespace) -> str:
    rule: str | None = approval["standing_rule"]
    if rule is None:
        raise BadArguments("this can only be approved once", hint="leave --always out")
    print(f"This rule will be saved:\n\n    {visible(rule)}\n", file=sys.stderr)
    if arguments.yes:
        return rule
    if not sys.stdin.isatty():
        raise BadArguments(
            "a standing rule is saved only when somebody has seen it", hint="give --yes"
        )
    sys.stderr.write("Save it? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise BadArguments("not saved, and not approved")
    return rule

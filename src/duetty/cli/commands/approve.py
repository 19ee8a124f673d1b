"""`duetty approve`."""

import argparse
import sys
from typing import Any
from urllib.parse import quote

from duetty.cli.commands.approvals import told
from duetty.cli.reach import add_instance, reach
from duetty.cli.show import visible
from duetty.client import Client, RemoteError
from duetty.errors import BadArguments, EditUnconfirmed, NotFound

EXAMPLES = (
    ("duetty approve", "the only question that waits"),
    ("duetty approve 3f2a", "one of several; the beginning of its id is enough"),
    ("duetty approve --for-session", "and the same line again in this session"),
    ("duetty approve --always", "by a standing rule, which is shown first"),
    ("duetty approve --edit 'rm -r build/tmp'", "something else in its place, judged again"),
    (
        "duetty approve --edit 'rm -r build' --confirm",
        "though it does what the question did not say",
    ),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_instance(parser)
    parser.add_argument("id", nargs="?", help="as `duetty approvals` shows it")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--for-session", action="store_true", help="the same line in this session too")
    how.add_argument("--always", action="store_true", help="the same line, wherever it comes again")
    how.add_argument("--edit", metavar="LINE", help="run this instead")
    parser.add_argument(
        "--confirm",
        action="store_true",
        help="with --edit, the second time: what was told is meant",
    )
    parser.add_argument("--note", help="kept in the audit trail")
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask before --always")


def run(arguments: argparse.Namespace) -> int:
    client = reach(arguments)
    approval = find(client, arguments.id)
    rule = _shown_rule(approval, arguments) if arguments.always else None
    answer = {
        "covers": "session"
        if arguments.for_session
        else "standing"
        if arguments.always
        else "once",
        "command_line": arguments.edit,
        "confirm": arguments.confirm,
        "rule": rule,
        "note": arguments.note,
        "via": "cli",
    }
    path = f"/approvals/{quote(approval['id'])}/approve"
    try:
        approved = client.post(path, answer)
    except RemoteError as error:
        if error.code != EditUnconfirmed.code or arguments.confirm or not _means(error):
            raise
        approved = client.post(path, answer | {"confirm": True})
    print("\n".join(["Approved:", *told(approved)]))
    return 0


def _means(error: RemoteError) -> bool:
    """Whether the person at this terminal, being told what it does, wants the changed line."""
    if not sys.stdin.isatty():
        error.hint = "change it again, decline, or give the same again with --confirm"
        return False
    print(visible(error.message), file=sys.stderr)
    if suggestion := error.details.get("suggestion"):
        print(f"safer: {visible(str(suggestion))}", file=sys.stderr)
    return _says_yes("Run it all the same? [y/N] ")


def find(client: Client, beginning: str | None) -> dict[str, Any]:
    """The question that is meant.

    Raises:
        NotFound: if none is, or several are.
    """
    waiting: list[dict[str, Any]] = client.get("/approvals")["approvals"]
    found = [each for each in waiting if each["id"].startswith(beginning or "")]
    if len(found) == 1:
        return found[0]
    if beginning and not found:
        # Somebody may have been quicker: the server says who, and what they said.
        ended = client.get("/approvals", settled="true")["approvals"]
        found = [each for each in ended if each["id"].startswith(beginning)]
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
    if not _says_yes("Save it? [y/N] "):
        raise BadArguments("not saved, and not approved")
    return rule


def _says_yes(question: str) -> bool:
    sys.stderr.write(question)
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")

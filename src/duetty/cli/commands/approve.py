"""`duetty approve`."""

import argparse
import re
import sys
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from duetty.cli.commands.approvals import approval_lines, questions, standing_lines, where
from duetty.cli.reach import add_instance, add_server, reach_each
from duetty.cli.show import visible
from duetty.client import Client, RemoteError
from duetty.errors import AnswerNotOffered, BadArguments, EditUnconfirmed, NotFound

EXAMPLES = (
    ("duetty approve", "the only question that waits"),
    ("duetty approve 3f2a", "one of several; the beginning of its id is enough"),
    ("duetty approve --for session", "and the same line again, until this session ends"),
    ("duetty approve --for project", "and the same line again, anywhere in this project"),
    ("duetty approve --for 2h", "and what is asked for the same reason there, for two hours"),
    ("duetty approve --always", "by a standing rule, which is shown first"),
    ("duetty approve --edit 'rm -r build/tmp'", "something else in its place, judged again"),
    (
        "duetty approve --edit 'rm -r build' --confirm",
        "though it does what the question did not say",
    ),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_instance(parser)
    add_server(parser)
    parser.add_argument("id", nargs="?", help="as `duetty approvals` shows it")
    how = parser.add_mutually_exclusive_group()
    how.add_argument(
        "--for",
        dest="stands",
        metavar="HOW_LONG",
        type=_how_long,
        help="and later calls too: conversation, session, project, or a time up to 8h (hour, 2h, 30m);"
        " `duetty approvals` says what each lets through",
    )
    how.add_argument(
        "--always", action="store_true", help="the same line in the same directory, from now on"
    )
    how.add_argument("--edit", metavar="LINE", help="run this instead")
    parser.add_argument(
        "--confirm",
        action="store_true",
        help="with --edit, the second time: the check's warning is known; approve all the same",
    )
    parser.add_argument("--note", help="kept in the audit trail")
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask before --always")


def run(arguments: argparse.Namespace) -> int:
    client, approval = find(reach_each(arguments), arguments.id)
    rule = _shown_rule(approval, arguments) if arguments.always else None
    covers, hours = ("always", None) if arguments.always else arguments.stands or ("once", None)
    answer = {
        "covers": covers,
        "hours": hours,
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
    print("\n".join(["Approved:", *approval_lines(approved)]))
    if (id_ := approved["standing"]) is not None:
        standing = [each for each in client.get("/approvals/standing") if each["id"] == id_]
        for each in standing:
            print("\n".join(["From now on unasked:", *standing_lines(each)]))
        print(f"Take it back with: duetty approvals revoke {id_[:4]}{where(arguments)}")
    return 0


def _how_long(text: str) -> tuple[str, float | None]:
    """What `--for` says: `covers`, and for a time its hours."""
    if text in ("conversation", "session", "project"):
        return text, None
    if text == "hour":
        return "hours", 1.0
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(h|m|min)", text)
    if found is None:
        raise argparse.ArgumentTypeError(
            f"{text!r} is none of session, project, hour, or a time such as 2h or 30m"
        )
    return "hours", float(found[1]) / (1 if found[2] == "h" else 60)


def _means(error: RemoteError) -> bool:
    """Whether the person at this terminal, knowing what it does, wants the changed line."""
    if not sys.stdin.isatty():
        error.hint = "change it again, decline, or give the same again with --confirm"
        return False
    print(visible(error.message), file=sys.stderr)
    if suggestion := error.details.get("suggestion"):
        print(f"safer: {visible(str(suggestion))}", file=sys.stderr)
    return _says_yes("Run it all the same? [y/N] ")


def find(clients: Mapping[str, Client], beginning: str | None) -> tuple[Client, dict[str, Any]]:
    """The question that is meant, and where it waits.

    Raises:
        NotFound: if none is, or several are.
    """
    waiting = questions(clients)
    found = [each for each in waiting if each["id"].startswith(beginning or "")]
    if beginning and not found:
        # Another person may have answered first: the record has their name and answer.
        ended = questions(clients, settled=True)
        found = [each for each in ended if each["id"].startswith(beginning)]
    if len(found) == 1:
        return clients[found[0].get("machine", "")], found[0]
    if not waiting:
        raise NotFound("nothing waits for an answer", hint="it may have expired: approvals --all")
    if not found:
        raise NotFound(f"no question has an id that begins with {beginning!r}")
    raise NotFound(
        f"{len(found)} questions wait; which one?",
        hint=", ".join(each["id"] for each in found[:10]),
    )


def _shown_rule(approval: dict[str, Any], arguments: argparse.Namespace) -> str:
    rules = [each["rule"] for each in approval["choices"] if each["covers"] == "always"]
    if not rules:
        raise AnswerNotOffered("this can only be approved once", hint="leave --always out")
    [rule] = rules
    print(f"This rule will be saved:\n\n    {visible(rule)}\n", file=sys.stderr)
    if arguments.yes:
        return rule
    if not sys.stdin.isatty():
        raise BadArguments(
            "a standing rule is saved only after a person has seen it", hint="give --yes"
        )
    if not _says_yes("Save it? [y/N] "):
        raise BadArguments("not saved, and not approved")
    return rule


def _says_yes(question: str) -> bool:
    sys.stderr.write(question)
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")

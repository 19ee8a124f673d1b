"""`duetty approvals`."""

import argparse
from typing import Any

from duetty.cli.reach import add_instance, reach
from duetty.cli.show import add_json, as_json, as_table, visible
from duetty.errors import BadArguments

EXAMPLES = (
    ("duetty approvals", "what waits for an answer"),
    ("duetty approvals --all", "and how the last ones ended"),
    ("duetty approvals --wait", "until there is something to answer"),
    ("duetty approvals standing", "answers that also cover later calls"),
    ("duetty approvals revoke 3f2a…", "take one of those back"),
)

WAIT_MS = 60_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_instance(parser)
    parser.add_argument("--all", action="store_true", help="settled ones too")
    parser.add_argument("--wait", action="store_true", help="until one waits for an answer")
    add_json(parser)
    parser.add_argument("act", nargs="?", choices=("standing", "revoke"), help="standing approvals")
    parser.add_argument("id", nargs="?", help="of the standing approval to revoke")


def run(arguments: argparse.Namespace) -> int:
    client = reach(arguments)
    if arguments.act == "revoke":
        if not arguments.id:
            raise BadArguments(
                "which standing approval?", hint="`duetty approvals standing` lists them"
            )
        client.delete(f"/approvals/standing/{arguments.id}")
        print(f"Revoked {arguments.id}: what it allowed is asked about again.")
        return 0
    if arguments.act == "standing":
        return _standing(client.get("/approvals/standing"), arguments)
    found = client.get("/approvals", settled=str(arguments.all).lower())
    while arguments.wait and not found["approvals"]:
        found = client.get(
            "/approvals", after=found["seq"], wait_ms=WAIT_MS, wait_s=WAIT_MS / 1000 + 30
        )
    if arguments.json:
        as_json(found["approvals"])
    elif not found["approvals"]:
        print("Nothing waits for an answer.")
    else:
        for approval in found["approvals"]:
            print("\n".join(told(approval)))
    return 0


def told(approval: dict[str, Any]) -> list[str]:
    """A question as a person reads it: the whole line, and nothing in it that hides."""
    state = approval["state"]
    head = f"{approval['id']}  {state}" + (
        f" by {visible(approval['settled_by'] or '-')} at {_second(approval['settled_at'])}"
        if state != "pending"
        else f" until {_second(approval['expires_at'])}"
    )
    lines = [head, f"    {visible(approval['actor'])} asks for {approval['operation']}"]
    if approval["session"]:
        lines[-1] += f" in session {visible(approval['session'])}"
    if approval["cwd"]:
        lines[-1] += f", directory {visible(approval['cwd'])}"
    if approval["shown"] is not None:
        lines.append(f"    $ {visible(approval['shown'])}")
    if approval["edited"]:
        lines.append(f"    changed to: {visible(approval['edited'])}")
    lines.append(f"    because: {visible(approval['reason'])}")
    if approval["suggestion"]:
        lines.append(f"    safer: {visible(approval['suggestion'])}")
    return lines


def _standing(found: list[dict[str, Any]], arguments: argparse.Namespace) -> int:
    if arguments.json:
        as_json(found)
    elif not found:
        print("No standing approvals.")
    else:
        as_table(
            ("ID", "RULE", "BY", "SINCE"),
            [
                (each["id"], each["rule"], each["created_by"], _second(each["created_at"]))
                for each in found
            ],
        )
    return 0


def _second(at: str | None) -> str:
    return "-" if at is None else at[:19].replace("T", " ")

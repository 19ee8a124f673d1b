"""`duetty approvals`."""

import argparse
import os
import sys
from collections.abc import Callable, Mapping
from queue import Queue
from shutil import get_terminal_size
from textwrap import wrap
from threading import Thread
from typing import Any
from urllib.parse import quote

from duetty.cli.reach import add_instance, add_server, reach_each
from duetty.cli.show import PIPE_COLS, add_json, as_json, asks, second, visible
from duetty.client import Client
from duetty.errors import BadArguments, DuettyError, NotFound

EXAMPLES = (
    ("duetty approvals", "what waits for an answer, and which answers still stand"),
    ("duetty approvals --all", "and how the last ones ended"),
    ("duetty approvals --wait", "until there is something to answer"),
    ("duetty approvals standing", "answers that also cover later calls"),
    ("duetty approvals revoke 3f2a", "take one of those back; the beginning of its id is enough"),
)

WAIT_MS = 60_000

OPTIONS = {
    "once": "",
    "session": "--for session",
    "project": "--for project",
    "hours": "--for hour",
    "always": "--always",
}
"""How `duetty approve` says each choice."""

STANDS = {
    "session": "for its session",
    "project": "for its project",
    "hours": "for a time",
    "always": "always",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_instance(parser)
    add_server(parser)
    parser.add_argument("--all", action="store_true", help="settled ones too")
    parser.add_argument("--wait", action="store_true", help="until one waits for an answer")
    add_json(parser)
    parser.add_argument("act", nargs="?", choices=("standing", "revoke"), help="standing approvals")
    parser.add_argument("id", nargs="?", help="of the standing approval to revoke")


def run(arguments: argparse.Namespace) -> int:
    clients = reach_each(arguments)
    if arguments.act == "revoke":
        return _revoke(clients, arguments.id)
    if arguments.act == "standing":
        return _standing(standing_of(clients), arguments)
    found = questions(clients, settled=arguments.all)
    if arguments.wait and not found:
        found = _awaited(clients)
    if arguments.json:
        as_json(found)
        return 0
    if not found:
        print("Nothing waits for an answer.")
    for approval in found:
        print("\n".join(approval_lines(approval, where=where(arguments))))
    if standing := standing_of(clients):
        print(f"\nAnswers that still stand ({len(standing)}):")
        for each in standing:
            print("\n".join(standing_lines(each)))
    return 0


def questions(clients: Mapping[str, Client], *, settled: bool = False) -> list[dict[str, Any]]:
    """Of every machine; where there are several, each question has the name of its own."""
    state = str(settled).lower()
    return _listed(clients, lambda client: client.get("/approvals", settled=state)["approvals"])


def standing_of(clients: Mapping[str, Client]) -> list[dict[str, Any]]:
    return _listed(clients, lambda client: client.get("/approvals/standing"))


def _listed(
    clients: Mapping[str, Client], ask: Callable[[Client], list[dict[str, Any]]]
) -> list[dict[str, Any]]:
    """One of several that does not answer is named; the others count."""
    found: list[dict[str, Any]] = []
    for name, client in clients.items():
        try:
            found += [_of(name, each) for each in ask(client)]
        except DuettyError as error:
            if not name:
                raise
            print(f"duetty: {name}: {error.message}", file=sys.stderr)
    return found


def _of(machine: str, shape: dict[str, Any]) -> dict[str, Any]:
    return {**shape, "machine": machine} if machine else shape


def _awaited(clients: Mapping[str, Client]) -> list[dict[str, Any]]:
    """The first questions that come up. All machines are waited at side by side: at each of them
    this person counts as present all the while.
    """
    first: Queue[list[dict[str, Any]] | DuettyError] = Queue()

    def wait(name: str, client: Client) -> None:
        try:
            first.put([_of(name, each) for each in _awaited_at(client)])
        except DuettyError as error:
            first.put(error)

    for name, client in clients.items():
        Thread(target=wait, args=(name, client), daemon=True).start()
    for _ in range(len(clients) - 1):  # one that went away leaves the others
        if isinstance(found := first.get(), list):
            return found
        print(f"duetty: {found.message}", file=sys.stderr)
    found = first.get()
    if isinstance(found, DuettyError):
        raise found
    return found


def _awaited_at(client: Client) -> list[dict[str, Any]]:
    seq: int | None = None
    while True:
        found = client.get("/approvals", after=seq, wait_ms=WAIT_MS, wait_s=WAIT_MS / 1000 + 30)
        if found["approvals"]:
            return found["approvals"]
        seq = found["seq"]


def where(arguments: argparse.Namespace) -> str:
    """The options by which an answer reaches the server that asks."""
    server = f" --server {arguments.server}" if arguments.server else ""
    if arguments.hub:
        return f" --hub {arguments.hub}{server}"
    usual = os.environ.get("DUETTY_INSTANCE", "default")
    return ("" if arguments.instance == usual else f" -L {arguments.instance}") + server


def approval_lines(approval: dict[str, Any], *, where: str = "") -> list[str]:
    """A question as a person reads it: the whole line, and nothing in it that hides."""
    state = approval["state"]
    head = f"{approval['id']}  {state}" + (
        f" by {visible(approval['settled_by'] or '-')} at {second(approval['settled_at'])}"
        if state != "pending"
        else f" until {second(approval['expires_at'])}"
    )
    head += _on(approval)
    question = f"{visible(approval['actor'])} {asks(approval['operation'])}"
    if approval["session"]:
        question += f" in session {visible(approval['session'])}"
    if approval["cwd"]:
        question += f", directory {visible(approval['cwd'])}"
    lines = [head, *_wrapped(question)]
    if approval["shown"] is not None:
        lines.append(f"    $ {visible(approval['shown'])}")
    if approval["edited"]:
        lines.append(f"    changed to: {visible(approval['edited'])}")
    lines += _wrapped(f"because: {visible(approval['reason'])}")
    if approval["suggestion"]:
        lines += _wrapped(f"safer: {visible(approval['suggestion'])}")
    return lines + (_answers(approval, where) if state == "pending" else [])


def _on(shape: dict[str, Any]) -> str:
    return f"  on {visible(shape['machine'])}" if shape.get("machine") else ""


def _answers(approval: dict[str, Any], where: str) -> list[str]:
    """The ways to say yes, each with what it lets through."""
    id_ = approval["id"][:4]
    lines: list[str] = []
    for choice in approval["choices"]:
        say = f"duetty approve {id_} {OPTIONS[choice['covers']]}".rstrip() + where
        lines += [f"    {say}", *_wrapped(visible(choice["says"]), indent=8)]
    return [*lines, f"    duetty decline {id_}{where}"]


def standing_lines(standing: dict[str, Any]) -> list[str]:
    until = standing["expires_at"]
    head = f"{standing['id']}  {STANDS.get(standing['covers'], standing['covers'])}"
    uses = standing["uses"]
    used = "not used yet" if not uses else f"used {uses} time{'s' if uses > 1 else ''}"
    if standing["used_at"]:
        used += f", last at {second(standing['used_at'])}"
    return [
        head + (f", until {second(until)}" if until else "") + _on(standing),
        *_wrapped(visible(standing["rule"])),
        *_wrapped(
            f"by {visible(standing['created_by'])} ({visible(standing['via'])})"
            f" at {second(standing['created_at'])}; {used}"
        ),
    ]


def _standing(found: list[dict[str, Any]], arguments: argparse.Namespace) -> int:
    if arguments.json:
        as_json(found)
    elif not found:
        print("No standing approvals.")
    for each in [] if arguments.json else found:
        print("\n".join(standing_lines(each)))
    return 0


def _revoke(clients: Mapping[str, Client], beginning: str | None) -> int:
    if not beginning:
        raise BadArguments(
            "which standing approval?", hint="`duetty approvals standing` lists them"
        )
    found = [each for each in standing_of(clients) if each["id"].startswith(beginning)]
    if len(found) > 1:
        ids = ", ".join(each["id"] for each in found)
        raise NotFound(f"{len(found)} begin with {beginning!r}; which one?", hint=ids)
    id_ = found[0]["id"] if found else beginning
    client = clients[found[0].get("machine", "")] if found else next(iter(clients.values()))
    client.delete(f"/approvals/standing/{quote(id_)}")
    print(f"Revoked {id_}: what it allowed is asked about again.")
    return 0


def _wrapped(text: str, *, indent: int = 4) -> list[str]:
    """In rows of the terminal; in one row where the output is no terminal."""
    cols = get_terminal_size().columns if sys.stdout.isatty() else PIPE_COLS
    room = " " * indent
    return wrap(
        text, max(20, cols - 1), initial_indent=room, subsequent_indent=room, break_on_hyphens=False
    )

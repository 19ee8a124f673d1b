"""`duetty agent`."""

import argparse
import os
import sys
from contextlib import suppress
from itertools import pairwise
from urllib.parse import quote

from duetty.cli.agent_stream import AgentStream
from duetty.cli.reach import add_instance, add_server, reach
from duetty.cli.show import add_json, as_json, as_table, harmless, visible
from duetty.errors import DuettyError

EXAMPLES = (
    ("duetty agent list", "conversations, newest first"),
    ("duetty agent show 3f2a", "its messages and calls"),
    ("duetty agent stop 3f2a --interrupt", "and press Ctrl-C where it works"),
    ("duetty agent resume 3f2a", "after a stop, a failure, or the end of a server"),
    ("duetty agent log 3f2a > log.md", "all of it, as Markdown"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_instance(parser)
    add_server(parser)
    commands = parser.add_subparsers(dest="action", required=True)
    listing = commands.add_parser("list", help="conversations, newest first")
    add_json(listing)
    for name, meaning in (
        ("show", "its messages and calls"),
        ("stop", "stop it in the middle"),
        ("resume", "let it go on; nothing runs twice"),
        ("log", "all of it, as Markdown"),
        ("status", "what the agent is doing"),
    ):
        action = commands.add_parser(name, help=meaning)
        action.add_argument(
            "conversation", nargs="?" if name == "status" else None, help="its id, or the beginning"
        )
        if name != "log":
            add_json(action)
        if name == "stop":
            action.add_argument(
                "--interrupt", action="store_true", help="also press Ctrl-C in its session"
            )
    completing = commands.add_parser("complete", help="what an @ could name; for your shell")
    completing.add_argument("begun", help="the word that begins with @, so far")
    completing.add_argument("line", nargs=argparse.REMAINDER, help="the words before it")


def run(arguments: argparse.Namespace) -> int:
    if arguments.action == "complete":
        print("\n".join(_completions(arguments)))
        return 0
    client = reach(arguments)
    if arguments.action == "list":
        return _list(client.get("/agent/conversations"), arguments)
    if arguments.action == "status":
        status = client.get("/agent/status", conversation=arguments.conversation)
        if arguments.json:
            as_json(status)
        else:
            print(f"{status['state']}: {visible(status['message'])}")
        return 0
    path = f"/agent/conversations/{quote(arguments.conversation, safe='')}"
    match arguments.action:
        case "log":
            sys.stdout.write(harmless(client.get(f"{path}/log")["markdown"]))
            return 0
        case "stop":
            info = client.post(f"{path}/stop", {"interrupt": arguments.interrupt})
            if arguments.json:
                as_json(info)
            else:
                print(f"{info['id']} is {info['state']}")
            return 0
        case "resume":
            info = client.post(f"{path}/resume", {}, wait_s=120)
            return AgentStream(client, info["id"], arguments, after=info["seq"]).run()
        case _:
            shown = client.get(path)
            if arguments.json:
                as_json(shown)
                return 0
            return AgentStream(client, shown["info"]["id"], arguments, after=0).show(shown)


def _list(found: list[dict[str, object]], arguments: argparse.Namespace) -> int:
    if arguments.json:
        as_json(found)
        return 0
    as_table(
        ("ID", "STATE", "TITLE", "SESSION", "TOKENS", "COST"),
        [
            (
                str(each["id"]),
                str(each["state"]),
                str(each["title"]),
                str(each["session"] or "-"),
                f"{each['tokens_in']}+{each['tokens_out']}",
                "-" if each["cost_usd"] is None else f"${each['cost_usd']:.4f}",
            )
            for each in found
        ],
        spare=("SESSION", "COST", "TOKENS"),
    )
    return 0


def _completions(arguments: argparse.Namespace) -> list[str]:
    """Words that could stand there; none without a server: a shell shows them while a person types."""
    begun = arguments.begun.removeprefix("@")
    session = next(
        (name for flag, name in pairwise(arguments.line) if flag in ("-s", "--session")), None
    )
    found: list[str] = []
    if session is None:  # the agent will begin where the person is
        with suppress(OSError):
            found = _paths(begun)
    with suppress(DuettyError):
        named = reach(arguments).get("/agent/completions", text=begun, session=session)["values"]
        found += [
            each
            for each in named
            if session is not None or each.startswith(("block:", "session", "mcp:"))
        ]
    return [f"@{each}" for each in dict.fromkeys(found)]


def _paths(begun: str) -> list[str]:
    """Files and directories here; a name with a blank in it cannot stand behind an @."""
    directory, slash, name = begun.rpartition("/")
    with os.scandir(f"{directory}{slash}" or ".") as entries:
        return sorted(
            f"{directory}{slash}{each.name}" + ("/" if each.is_dir() else "")
            for each in entries
            if each.name.startswith(name)
            and (name.startswith(".") or not each.name.startswith("."))
            and each.name.isprintable()
            and not set(each.name) & set(" ,;:@")
        )

"""`duetty repair`."""

import argparse
from dataclasses import asdict

from duetty.cli.kept import Kept, discard, found, kept, restore
from duetty.cli.reach import add_instance, paths_of
from duetty.cli.show import add_json, as_json
from duetty.config import Paths
from duetty.errors import BadArguments, InstanceBusy

EXAMPLES = (
    ("duetty repair", "what was found damaged and kept, and what can be done about it"),
    ("duetty repair restore NAME", "bring back what can be read of it (no server may run)"),
    ("duetty repair discard NAME", "remove it for good"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_instance(parser)
    parser.add_argument("action", nargs="?", choices=("list", "restore", "discard"), default="list")
    parser.add_argument("name", nargs="?", metavar="NAME", help="as listed")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    paths = paths_of(arguments)
    if arguments.action == "list" or arguments.name is None:
        _list(list(kept(paths)), json=arguments.json)
        return 0
    each = found(paths, arguments.name)
    _check(each, arguments.action, paths)
    if arguments.action == "restore":
        sentence = restore(each, paths)
    else:
        discard(each)
        sentence = f"{each.path} is gone"
    if arguments.json:
        as_json({"name": each.name, "done": sentence})
    else:
        print(sentence)
    return 0


def _list(all_kept: list[Kept], *, json: bool) -> None:
    if json:
        as_json([{**asdict(each), "path": str(each.path)} for each in all_kept])
        return
    for each in all_kept:
        print(f"{each.name}\n    {each.summary}.")
        ways = [("restore", each.can_restore), ("discard", each.can_discard)]
        for action in (action for action, possible in ways if possible):
            print(f"    duetty repair {action} {each.name}")
    if not all_kept:
        print("Nothing is damaged.")


def _check(each: Kept, action: str, paths: Paths) -> None:
    from duetty.startup.instance_lock import is_locked

    if not (each.can_restore if action == "restore" else each.can_discard):
        raise BadArguments(f"{each.name} cannot be {action}ed: {each.summary}")
    if (action == "restore" or each.kind == "journal") and is_locked(paths):
        raise InstanceBusy(
            "a server uses this state", hint="`duetty stop --keep-sessions` first; programs go on"
        )

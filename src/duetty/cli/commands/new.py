"""`duetty`, alone or as `duetty new`: a session in this directory, in this terminal."""

import argparse
import os
import shlex
from pathlib import Path

from duetty.cli.commands.attach import add_view_arguments, attach, refuse_nesting
from duetty.cli.commands.run import command_words
from duetty.cli.environment import callers_environment
from duetty.cli.reach import add_instance, add_server, reach_or_spawn
from duetty.cli.sandbox_options import add_sandbox, confinement
from duetty.cli.show import add_json, as_json
from duetty.errors import BadArguments

EXAMPLES = (
    ("duetty", "a shell here"),
    ("duetty --name build", "the same, under a name"),
    ("duetty new -- htop", "a program instead of a shell"),
    ("duetty --sandbox=any", "a shell that can write in this directory only"),
    ("duetty new -d --name srv -- npm start", "opened, not shown"),
    ("duetty new -d --hub https://hub.example --server laptop", "on a machine of a hub"),
    ("duetty new -d --json | jq -r .id", "its name, id, process … for scripts"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_instance(parser)
    add_server(parser)
    parser.add_argument("-n", "--name", help="name of the session; a number when left out")
    parser.add_argument(
        "--keep-name",
        action="store_true",
        help="no other session gets its name after its exit, until it is removed",
    )
    parser.add_argument("-t", "--tag", action="append", default=[], help="a tag; may be repeated")
    parser.add_argument("-d", "--detached", action="store_true", help="open it, and do not show it")
    add_json(parser, note=", with -d: the session")
    add_sandbox(parser)
    add_view_arguments(parser)
    parser.add_argument(
        "command",
        nargs=argparse.REMAINDER,
        metavar="COMMAND",
        help="what to run, to the end of the line; the shell when left out",
    )


def run(arguments: argparse.Namespace) -> int:
    if arguments.json and not arguments.detached:
        raise BadArguments("--json tells of a session that is not shown here", hint="give -d too")
    if not arguments.detached:
        refuse_nesting(arguments)
        _need_terminal()
    words = command_words(arguments.command)
    elsewhere = bool(arguments.server or arguments.hub)
    client = reach_or_spawn(arguments)
    body: dict[str, object] = {
        "name": arguments.name,
        "command": words[0] if len(words) == 1 else shlex.join(words) if words else None,
        "tags": arguments.tag,
        "keep_name": arguments.keep_name,
        **confinement(arguments, here=not elsewhere),
    }
    if not elsewhere:  # this directory and these variables are of this machine
        body |= {
            "cwd": str(Path.cwd()),
            "env": callers_environment(os.environ),
            "inherit_env": False,
        }
    if not arguments.detached:
        size = os.get_terminal_size(1)
        body |= {"cols": size.columns or 80, "rows": size.lines or 24}
    opened = client.post("/sessions", body)
    name = str(opened["name"])
    if arguments.detached:
        if arguments.json:
            as_json(opened)
        else:
            print(f"{opened['server']}/{name}" if elsewhere else name)
        return 0
    if elsewhere:
        name = f"{opened['server']}/{name}"
    return attach(client.place, name, arguments)


def _need_terminal() -> None:
    """Refuse before a session is opened that no terminal could show."""
    from duetty.cli.attach.outer import Outer

    Outer().close()

"""`--sandbox` and `--workspace`, of every command that opens something."""

import argparse
from pathlib import Path

from duetty.errors import BadArguments


def add_sandbox(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--sandbox",
        nargs="?",
        const="any",
        choices=("none", "any", "landlock", "bubblewrap"),
        help="confine it; without a word the best there is",
    )
    parser.add_argument(
        "--workspace",
        action="append",
        metavar="DIR",
        help="what it may write in a sandbox (default: this directory; without --sandbox, the settings')",
    )


def confinement(arguments: argparse.Namespace, *, here: bool = True) -> dict[str, object]:
    """Fields of the call. `here`: this directory is one of the server's.

    Raises:
        BadArguments: if which directory may be written is left open.
    """
    workspaces: list[str] = arguments.workspace or []
    is_confined = arguments.sandbox not in (None, "none")
    if not here:
        if is_confined and not workspaces:
            raise BadArguments(
                "which directory of that machine may be written?", hint="give --workspace DIR too"
            )
        return {"sandbox": arguments.sandbox, "workspaces": workspaces or None}
    # A person who asks for a sandbox here means this directory, unless they say another.
    chosen = [str(Path(each).absolute()) for each in workspaces]
    if is_confined and not chosen:
        chosen = [str(Path.cwd())]
    return {"sandbox": arguments.sandbox, "workspaces": chosen or None}

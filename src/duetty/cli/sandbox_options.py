"""`--sandbox` and `--workspace`, of every command that opens something."""

import argparse
from pathlib import Path

from duetty.errors import BadArguments
from duetty.workspaces import workspace_of


def add_sandbox(parser: argparse.ArgumentParser, *, default: str | None = None) -> None:
    """`default`: of a parser below another one that has these, `argparse.SUPPRESS`."""
    parser.add_argument(
        "--sandbox",
        nargs="?",
        const="any",
        default=default,
        choices=("none", "any", "landlock", "bubblewrap"),
        help="confine it; without a word the best there is",
    )
    parser.add_argument(
        "--workspace",
        action="append",
        default=default,
        metavar="DIR",
        help="what it may write in a sandbox (default: this directory; without --sandbox, the settings')",
    )


def host_confinement(arguments: argparse.Namespace) -> tuple[str | None, list[str]]:
    """The sandbox of an MCP host's connection, and what may be written there.

    That is the repository in which the host was started, or else its directory. A home, or the
    whole machine, is nothing to hand over unasked: then only what the settings name is written.
    """
    if arguments.sandbox in (None, "none"):
        return None, []
    if arguments.workspace:
        return arguments.sandbox, [str(Path(each).absolute()) for each in arguments.workspace]
    try:
        here = workspace_of(str(Path.cwd()), str(Path.home()))
    except OSError:
        here = ""  # it was removed under us
    return arguments.sandbox, [here] if here else []


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

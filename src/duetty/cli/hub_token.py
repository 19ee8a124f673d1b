"""A hub's token for this user: from the environment, a file, what `duetty login` stored, or asked for."""

import getpass
import os
import sys
from pathlib import Path

from duetty.errors import BadArguments

HUB_TOKEN = "DUETTY_HUB_TOKEN"  # noqa: S105 - the name of a variable

MACHINE_TOKEN = "who runs the hub makes one: `duetty hub token create USER --scope join`"  # noqa: S105 - how to get one


def token_for(hub: str, file: str | None = None, *, hint: str = MACHINE_TOKEN) -> str:
    """Never from the command line, where every user of the machine could read it.

    Args:
        hub: its address, to ask with.
        file: holds the token.
        hint: where one comes from.

    Raises:
        BadArguments: if there is none.
    """
    if file is not None:
        try:
            text = Path(file).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise BadArguments(f"{file}: cannot be read: {error}") from error
    elif text := os.environ.get(HUB_TOKEN, ""):
        pass
    elif sys.stdin.isatty():
        text = getpass.getpass(f"Token of {hub}: ")
    else:
        text = sys.stdin.read(10_000)
    if not text.strip():
        raise BadArguments("a token of that hub is needed", hint=hint)
    return text.strip()

"""A hub's token for this user: from the environment, a file, what `duetty login` stored, or asked for."""

import getpass
import os
import sys
from pathlib import Path

from duetty.errors import BadArguments

HUB_TOKEN = "DUETTY_HUB_TOKEN"  # noqa: S105 - the name of a variable


def token_for(hub: str, file: str | None = None) -> str:
    """Never from the command line, where every user of the machine could read it.

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
        raise BadArguments(
            "a token of that hub is needed",
            hint="who runs the hub makes one: `duetty hub token create USER --scope join`",
        )
    return text.strip()

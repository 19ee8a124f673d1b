"""The key that makes a shell take the next line as it stands.

bash and zsh let history expansion change a line after Enter, and zsh reads no comments at its
prompt. A run is exactly its text, so where that matters the run presses this key first. The
integration scripts bind it, and give the options back at the next prompt.
"""

import re

EXACT_LINE = b"\x1b[133;9~"
"""No keyboard sends it."""

_CHANGED = {
    "bash": re.compile(r"!|^\s*\^", re.MULTILINE),
    "zsh": re.compile(r"[!#]|^\s*\^", re.MULTILINE),
}


def needs_exact_line(shell: str | None, text: str) -> bool:
    """Whether this shell may make another line of the text."""
    changed = _CHANGED.get(shell or "")
    return changed is not None and changed.search(text) is not None

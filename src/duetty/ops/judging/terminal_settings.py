"""Settings of the terminal itself: by which key a line ends, is dropped or taken back.

A line editor binds what the terminal calls erase or kill, so that after `stty kill '^M'` Enter ends no
line. Only what is known to change nothing of that is let pass.
"""

import re
from collections.abc import Sequence
from posixpath import basename

from duetty.policy.scanning.reader import read
from duetty.policy.scanning.reading import Simple
from duetty.policy.scanning.wrappers import SHELLS

CHANGES = "it changes keys or modes of the terminal, by which lines end"

_HARMLESS = re.compile(
    r"-a|--all|-g|--save|--help|--version|size|speed|sane|-?echo|rows|cols|columns|\d{1,7}"
    r"|-[Ff]|--file(?:=.*)?|/dev/\S+|[io]speed|cs8|-cstopb|-parenb"
)
"""Show, put everything back, or say how large the screen and how fast the line is."""

_KEYS_OF_TSET = re.compile(r"-\w*[eik]")
_STARTS = frozenset(
    [
        *("sudo", "doas", "env", "nohup", "timeout", "setsid", "nice", "ionice", "stdbuf", "xargs", "strace"),
        *("busybox", "toybox", "coreutils", "exec", "command", "builtin", "time", "unbuffer", "script", "eval"),
    ]
)  # fmt: skip
"""Programs that run another in the same terminal."""

_DEPTH = 3


def set_by(simple: Simple, depth: int = _DEPTH) -> str | None:
    """What a command would change of the terminal; None if nothing is seen."""
    words = [word.text for word in simple.words]
    if not words:
        return None
    name = basename(words[0])
    if name in SHELLS and depth:
        inner = (each for word in words[1:] if "stty" in word for each in read(word).commands)
        return next((why for each in inner if (why := set_by(each, depth - 1))), None)
    if name in _STARTS:
        for at, word in enumerate(words[1:], 1):
            if basename(word) in ("stty", "tset", "reset") or basename(word) in SHELLS:
                return set_by(Simple(simple.words[at:]), depth - 1) if depth else CHANGES
        return None
    return _of_program(name, words[1:])


def _of_program(name: str, given: Sequence[str]) -> str | None:
    if name == "stty":
        return None if all(map(_HARMLESS.fullmatch, given)) else CHANGES
    if name in ("tset", "reset") and any(map(_KEYS_OF_TSET.match, given)):
        return CHANGES
    return None

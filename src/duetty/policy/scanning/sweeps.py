"""Commands of the catalogue anywhere in a text: where they begin, and how far they go."""

import re
from collections.abc import Iterator, Sequence

from duetty.policy.scanning.patterns import BY_PROGRAM
from duetty.policy.scanning.traits import SQL
from duetty.policy.scanning.wrappers import SHELLS

_COMMON_WORDS = frozenset(
    "service net http https now init sc route skill format history migrate mirror del erase rd wipe install pkg port render render tc op mount find sysctl reg defaults cf mc atlas snow fly"
    " neon vault nomad flux rake rails mix goose artisan console now stack java guix nft tea hub salt rc-update wp atlas R installer python sv arp exim".split()
)
"""Words that are programs too, but seldom meant so within a sentence."""

SWEPT = frozenset(name for name in BY_PROGRAM if name not in _COMMON_WORDS) | {
    "rm",
    "rmdir",
    "dd",
    "mkfs.ext4",
    "mkfs.xfs",
    "mkfs",
    "kill",
    "chmod",
    "chown",
    "shred",
    "unlink",
}
TRIED = SWEPT | SHELLS
"""Single words that are tried as programs with what follows them."""

TRIED_ELSEWHERE = TRIED | SQL | frozenset("python python3 node ruby perl php rails rake".split())
"""… after `docker exec`, `kubectl exec` and their like."""

_WORD = re.compile(
    r"(?<![\w.$-])(?:/(?:usr/)?(?:local/)?s?bin/|\\)?(?P<program>[A-Za-z_][\w.-]*)(?=[ \t]+[^ \t])"
)
_TASKS = re.compile(r"[ \t]+(?:-\S+[ \t]+)*(?:db|ecto|doctrine|migrate)[:.][a-z]")
_TASKED = frozenset("rails rake mix artisan console".split())
"""Words that are programs where one of their tasks follows."""
_SEGMENT = re.compile(r"[^\n\"'`);|&<>]*")


_STARTERS = frozenset("exec run create start shell ssh rsh console debug attach -- -C -c".split())


def tried_after(name: str, texts: Sequence[str]) -> frozenset[str]:
    """Which later words of this command, of a program that starts others elsewhere, are tried as programs."""
    if name == "wsl" or not _STARTERS.isdisjoint(texts):
        return TRIED_ELSEWHERE
    return frozenset()


def segments(text: str) -> Iterator[str]:
    """Each part of the text that begins with a program of the catalogue and could be a command."""
    for found in _WORD.finditer(text):
        program = found["program"]
        if (
            program in SWEPT
            or program.startswith("mkfs.")
            or (program in _TASKED and _TASKS.match(text, found.end()))
        ):
            segment = _SEGMENT.match(text, found.start())
            assert segment is not None
            yield segment[0]

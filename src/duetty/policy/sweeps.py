"""Commands of the catalogue anywhere in a text: where they begin, and how far they go."""

import re

from duetty.policy.patterns import BY_PROGRAM
from duetty.policy.traits import RUNNERS, SQL
from duetty.policy.wrappers import SHELLS

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

SWEEP = re.compile(
    r"(?<![\w.$-])(?:/(?:usr/)?(?:local/)?s?bin/|\\)?(?P<program>"
    + "|".join(sorted(map(re.escape, SWEPT), key=len, reverse=True))
    + r"|mkfs\.\w+)(?=[ \t]+[^ \t])"
)
SEGMENT = re.compile(r"[^\n\"'`);|&<>]*")


def tried_after(name: str) -> frozenset[str]:
    return TRIED_ELSEWHERE if name in RUNNERS else TRIED

"""Aliases that change what the lines behind them mean.

What an alias runs is judged when it is made, with whatever it may be given. That is no help where it
leaves its words to be a command of their own (`alias ls=`), or takes the rest of the line away
(`alias ls='ls #'`), so that quotes open and close elsewhere than in the text that is judged.
"""

import re
from collections.abc import Iterator, Sequence

from duetty.policy.proving.recogniser import RESERVED
from duetty.policy.scanning.reading import UNKNOWN

GRAMMAR = "it makes an alias by which later lines mean something else than they say"

_KEYWORDS = RESERVED | frozenset(
    ["in", "begin", "end", "and", "or", "not", "foreach", "repeat", "always", "nocorrect", "noglob"]
)
_PUNCTUATION = re.compile(rf"[][{{}}()!;&|<>\"'\\`$#*?\s{UNKNOWN}]")
_QUOTED = re.compile(r"""\\.|'[^']*'|"(?:\\.|[^"\\])*\"""", re.DOTALL)
_COMMENT = re.compile(r"(?:^|[\s;&|()<>])#")
_IS_OPEN = re.compile(r"\n|['\"`]|\\\Z|<<(?!<)|[;&|<>({]\s*\Z")


def changes_grammar(given: Sequence[str], shell: str | None) -> str | None:
    """Whether what `alias` is given makes one that changes how lines are read."""
    if shell == "zsh" and any(re.match(r"[-+]\w*g", word) for word in given):
        return GRAMMAR if any(word[:1] not in "-+" for word in given) else None
    for name, text in _defined(given, shell):
        if name in _KEYWORDS or (shell != "fish" and _PUNCTUATION.search(name)):
            return GRAMMAR
        bare = _QUOTED.sub("_", text)
        if not bare.strip() or _IS_OPEN.search(bare):
            return GRAMMAR
        if shell != "fish" and _COMMENT.search(bare):
            return GRAMMAR
    return None


def _defined(given: Sequence[str], shell: str | None) -> Iterator[tuple[str, str]]:
    words = [word for word in given if not re.fullmatch(r"[-+][a-zA-Z]+|--\w*", word)]
    if shell == "fish" and len(words) > 1:
        yield words[0].rstrip("="), " ".join(words[1:])
        return
    for word in words:
        name, sign, text = word.partition("=")
        if sign:
            yield name, text

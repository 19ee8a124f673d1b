"""Which of many tools fits some words: BM25 over name, title, description and parameters.

SQLite's full-text index in memory, with word stems. Names are taken apart first:
`create_issue` and `createIssue` are found by "issues". People and servers have different
words for the same: each word of a query counts by the best of itself and its synonyms.
"""

import re
import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from math import sqrt
from typing import Any, cast

from duetty.upstreams.tools import Tool

MAX_WORDS = 32
MAX_PARAMETERS = 100

_SENTENCE = re.compile(r"(?<=[.!?])\s|\n")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|[0-9]+")
_WEIGHTS = (6.0, 4.0, 3.0, 0.5, 0.5, 3.0)
"""Of the columns below: most tools say in their name what they do, and in their first sentence."""

_SMALL = re.compile(
    r"a|an|and|are|as|at|be|by|can|do|for|from|how|i|in|into|is|it|its|me|my|of|on|or|our|out|please|so|some|that|the"
    r"|their|them|then|there|these|this|those|to|up|us|want|was|we|what|which|with|you|your"
)
"""Words that every description has."""


_SAME = (
    "add append insert attach put",
    "answer reply respond",
    "app application",
    "begin start launch trigger",
    "branch fork",
    "bug issue ticket",
    "change edit update modify patch replace rewrite alter",
    "check verify test status",
    "chat channel conversation",
    "close end stop finish quit",
    "colleague member user person people account",
    "config configuration settings",
    "copy duplicate clone fork",
    "create make new open write generate",
    "delete remove drop erase forget uninstall",
    "directory folder dir",
    "download fetch get retrieve read load",
    "execute run invoke",
    "field column property input",
    "file document doc",
    "find search lookup query locate",
    "history log past recent",
    "image picture photo screenshot",
    "info information details metadata",
    "link url relation",
    "list show all every everything which enumerate",
    "log output",
    "merge combine",
    "message post text",
    "move rename relocate",
    "mr merge-request",
    "name title",
    "page website site",
    "pr pull-request",
    "record video screencast",
    "remember memory store save keep",
    "repo repository project",
    "send post tell publish",
    "show describe display get view read",
    "tab page window",
    "watch monitor observe follow",
    "web internet online",
)
"""Words of one meaning, in English and among programmers; none is here for one server's sake."""

_SYNONYM = 0.6
"""What another word for the same counts, beside the word itself."""


class Index:
    def __init__(self, tools: Sequence[Tool]) -> None:
        self._tools = list(tools)
        self._db = sqlite3.connect(":memory:", check_same_thread=False)
        self._db.execute(
            "CREATE VIRTUAL TABLE tools USING fts5"
            "(name, title, lead, description, parameters, upstream, tokenize = 'porter unicode61')"
        )
        self._db.executemany(
            "INSERT INTO tools(rowid, name, title, lead, description, parameters, upstream)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                (
                    place,
                    words(tool.name),
                    words(tool.title or ""),
                    words(lead_of(tool.description)),
                    words(tool.description),
                    words(" ".join(_parameters(tool.input_schema))),
                    words(tool.upstream),
                )
                for place, tool in enumerate(self._tools)
            ),
        )

    def find(self, query: str) -> list[Tool]:
        """All that fit, the best first; none, where no word of it occurs."""
        asked = dict.fromkeys(words(query).lower().split())
        wanted = [each for each in asked if not _SMALL.fullmatch(each)] or list(asked)
        if not wanted:
            return []
        found = [self._scores(word) for word in wanted[:MAX_WORDS]]
        fits = Counter(place for scores in found for place in scores)
        total = {place: sum(scores.get(place, 0.0) for scores in found) for place in fits}
        # Two words that fit a little are better than one that fits well.
        best = sorted(total, key=lambda place: (-total[place] * sqrt(fits[place]), place))
        return [self._tools[place] for place in best]

    def _scores(self, word: str) -> dict[int, float]:
        """By place, how well this word, or another one for the same, fits."""
        found: dict[int, float] = {}
        for text, weight in _alternatives(word).items():
            rows = self._db.execute(
                "SELECT rowid, bm25(tools, ?, ?, ?, ?, ?, ?) FROM tools WHERE tools MATCH ?",
                (*_WEIGHTS, f'"{text}"'),
            )
            for place, rank in rows:
                found[place] = max(found.get(place, 0.0), -rank * weight)
        return found


def _alternatives(word: str) -> dict[str, float]:
    """The word itself, and its synonyms; two words are found as a phrase."""
    others = dict.fromkeys(_SYNONYMS.get(word, _SYNONYMS.get(word.removesuffix("s"), ())), _SYNONYM)
    return others | {word: 1.0}


def _synonyms() -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for group in _SAME:
        same = frozenset(each.replace("-", " ") for each in group.split())
        for each in same:
            found[each] = found.get(each, frozenset()) | same
    return found


_SYNONYMS = _synonyms()


def lead_of(description: str) -> str:
    """Its first sentence, which says what it does."""
    return _SENTENCE.split(description.strip(), maxsplit=1)[0]


def words(text: str) -> str:
    """Taken apart where names are put together."""
    return " ".join(_PART.findall(text))


def _parameters(schema: Mapping[str, Any]) -> list[str]:
    """Names and descriptions of what a tool takes."""
    found: list[str] = []
    properties = schema.get("properties")
    if isinstance(properties, dict):
        for name, each in list(cast("dict[str, Any]", properties).items())[:MAX_PARAMETERS]:
            found.append(name)
            if isinstance(each, dict):
                found.append(str(cast("dict[str, Any]", each).get("description") or ""))
    return found

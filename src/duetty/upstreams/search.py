"""Which of many tools fits some words: BM25 over name, title, description and parameters.

SQLite's full-text index in memory, with word stems. Names are taken apart first:
`create_issue` and `createIssue` are found by "issues".
"""

import re
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any, cast

from duetty.upstreams.tools import Tool

MAX_WORDS = 32
MAX_PARAMETERS = 100

_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|[0-9]+")
_WEIGHTS = (6.0, 4.0, 2.0, 1.0, 2.0)
"""Of the columns below: most tools say in their name what they do."""

_SMALL = re.compile(
    r"a|an|and|are|as|at|be|by|can|do|for|from|how|i|in|into|is|it|its|me|my|of|on|or|our|out|please|so|some|that|the"
    r"|their|them|then|there|these|this|those|to|up|us|want|was|we|what|which|with|you|your"
)
"""Words that every description has."""


class Index:
    def __init__(self, tools: Sequence[Tool]) -> None:
        self._tools = list(tools)
        self._db = sqlite3.connect(":memory:", check_same_thread=False)
        self._db.execute(
            "CREATE VIRTUAL TABLE tools USING fts5"
            "(name, title, description, parameters, upstream, tokenize = 'porter unicode61')"
        )
        self._db.executemany(
            "INSERT INTO tools(rowid, name, title, description, parameters, upstream)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (
                (
                    place,
                    words(tool.name),
                    words(tool.title or ""),
                    words(tool.description),
                    words(" ".join(_parameters(tool.input_schema))),
                    words(tool.upstream),
                )
                for place, tool in enumerate(self._tools)
            ),
        )

    def find(self, query: str, *, limit: int) -> list[Tool]:
        """The best first; none, where no word of it occurs."""
        asked = dict.fromkeys(words(query).lower().split())
        wanted = [each for each in asked if not _SMALL.fullmatch(each)] or list(asked)
        if not wanted:
            return []
        match = " OR ".join(f'"{each}"' for each in wanted[:MAX_WORDS])
        rows = self._db.execute(
            "SELECT rowid FROM tools WHERE tools MATCH ?"
            " ORDER BY bm25(tools, ?, ?, ?, ?, ?), rowid LIMIT ?",
            (match, *_WEIGHTS, limit),
        )
        return [self._tools[place] for (place,) in rows]


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

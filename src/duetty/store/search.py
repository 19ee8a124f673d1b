"""Search: what a person types in, blocks out, newest first.

    word        that word
    src/main.py --flag
                punctuation stands for itself
    "two words" these words next to each other
    conf*       words that begin so

Words are ANDed, over command line and output together; case and accents do not
matter. There is no other syntax: any other text is searched for, never an error.

The index knows words only. It finds `src/main.py` as three words in a row, and
the punctuation is then compared on the text of what it found.
"""

import re
import sqlite3
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from duetty.store.blocks import COLUMNS, BlockRecord, from_row, page
from duetty.store.rows import storable

MAX_QUERY_CHARS = 1_000
MAX_TERMS = 32
"""SQLite refuses expressions that are too deep; no person types this many words."""

SNIPPET_CHARS = 160
LEAD_CHARS = 40
"""Of a snippet, how much stands before the first match."""

_COMMAND_LINE = 4
_OUTPUT = 15
"""Places in a candidate's row."""

_MAX_INT = 2**63 - 1

_WORDS = re.compile(r'"([^"]*)"?(\*?)|([^\s"]+)')


@dataclass(frozen=True, slots=True, kw_only=True)
class SnippetPart:
    text: str
    matched: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Snippet:
    """A stretch of the text around its first match."""

    parts: tuple[SnippetPart, ...]
    cut_before: bool
    cut_after: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    block: BlockRecord
    snippet: Snippet
    field: Literal["command", "output"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One word or phrase of a query, folded."""

    text: str
    prefix: bool = False

    @property
    def has_words(self) -> bool:
        return any(_is_word_char(char) for char in self.text)

    @property
    def literals(self) -> tuple[str, ...]:
        """The pieces whose punctuation the index cannot see."""
        return tuple(
            piece for piece in self.text.split() if not all(_is_word_char(char) for char in piece)
        )

    @property
    def pattern(self) -> str:
        """Where the term stands in folded text.

        The gap is bounded: the text is hostile, and an open one could be
        searched in quadratic time.
        """
        body = r"[\W_]{1,8}".join(re.escape(piece) for piece in self.text.split())
        starts = r"(?<![^\W_])" if _is_word_char(self.text[0]) else ""
        ends = r"(?![^\W_])" if _is_word_char(self.text[-1]) and not self.prefix else ""
        return f"{starts}{body}{ends}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    session: str | None = None
    """Name or id."""

    cwd: str | None = None
    """That directory and everything below it."""

    failed: bool | None = None
    """A block whose exit code is unknown neither failed nor succeeded."""

    since_ns: int | None = None


def parse_query(query: str) -> tuple[Term, ...]:
    """The terms of what was typed; total."""
    # NUL would end the expression inside SQLite.
    text = fold(composed(storable(query[:MAX_QUERY_CHARS]).replace("\0", " ")))
    terms: list[Term] = []
    for found in _WORDS.finditer(text):
        phrase, phrase_star, word = found.groups()
        if word is None:
            term = Term(text=" ".join(phrase.split()), prefix=bool(phrase_star))
        elif word.endswith("*") and any(_is_word_char(char) for char in word):
            term = Term(text=word.rstrip("*"), prefix=True)
        else:
            term = Term(text=word)
        if term.text:
            terms.append(term)
    return tuple(terms[:MAX_TERMS])


def match_expression(terms: Iterable[Term]) -> str:
    """The terms as an FTS5 expression: quoted strings, so nothing in them is syntax.

    Strings are set side by side rather than joined by AND, since FTS5 then
    passes over one in which its tokenizer finds no word.
    """
    return " ".join(
        '"' + term.text.replace('"', " ") + '"' + ("*" if term.prefix else "")
        for term in terms
        if term.has_words
    )


def search(
    connection: sqlite3.Connection, query: str, *, filters: Filters, limit: int
) -> list[Hit]:
    """Blocks that match, newest first; with an empty query, all that pass the filters."""
    terms = parse_query(query)
    wanted = page(limit)
    hits: list[Hit] = []
    literals = tuple(literal for term in terms for literal in term.literals)
    for row in _candidates(connection, terms, filters):
        if len(hits) == wanted:
            break
        texts = _Texts(row[_COMMAND_LINE], row[_OUTPUT])
        if all(texts.contain(literal) for literal in literals):
            hits.append(_hit(from_row(row), texts, terms))
    return hits


def _candidates(
    connection: sqlite3.Connection, terms: tuple[Term, ...], filters: Filters
) -> Iterator[tuple[Any, ...]]:
    """Rows of `COLUMNS` and the output, newest first."""
    conditions, values = _conditions(filters)
    expression = match_expression(terms)
    if expression:
        # CROSS JOIN keeps the index outermost: it yields rows newest first and stops early.
        source = (
            "block_index CROSS JOIN texts ON texts.place = block_index.rowid"
            " CROSS JOIN blocks ON blocks.place = texts.place"
        )
        output, order = "texts.output", "block_index.rowid"
        conditions.insert(0, "block_index MATCH ?")
        values.insert(0, expression)
    else:
        # Without a word the index does not help: punctuation alone is sought in command lines
        # only, since reading all output would take seconds.
        source = "blocks"
        output, order = "NULL", "blocks.place"
    where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
    return connection.execute(
        f"SELECT {COLUMNS}, {output} FROM {source} {where} ORDER BY {order} DESC",  # noqa: S608 - constants
        values,
    )


def _conditions(filters: Filters) -> tuple[list[str], list[Any]]:
    conditions: list[str] = []
    values: list[Any] = []
    if filters.session is not None:
        conditions.append("(blocks.session_name = ? OR blocks.session_id = ?)")
        values += [storable(filters.session)] * 2
    if filters.cwd is not None:
        directory = storable(filters.cwd).rstrip("/")
        conditions.append("(blocks.cwd = ? OR substr(blocks.cwd, 1, ?) = ?)")
        values += [directory or "/", len(directory) + 1, directory + "/"]
    if filters.failed is not None:
        conditions.append("blocks.exit_code != 0" if filters.failed else "blocks.exit_code = 0")
    if filters.since_ns is not None:
        conditions.append("blocks.started_at_ns >= ?")
        values.append(max(-_MAX_INT, min(filters.since_ns, _MAX_INT)))
    return conditions, values


class _Texts:
    """The two texts of a block, each folded once and only when asked for."""

    __slots__ = ("_folded_output", "command_line", "folded_command_line", "output")

    def __init__(self, command_line: str | None, output: str | None) -> None:
        self.command_line = composed(command_line or "")
        self.folded_command_line = fold(self.command_line)
        self.output = composed(output or "")
        self._folded_output: str | None = None

    @property
    def folded_output(self) -> str:
        if self._folded_output is None:
            self._folded_output = fold(self.output)
        return self._folded_output

    def contain(self, literal: str) -> bool:
        return literal in self.folded_command_line or literal in self.folded_output


def _hit(block: BlockRecord, texts: _Texts, terms: tuple[Term, ...]) -> Hit:
    pattern = re.compile("|".join(term.pattern for term in terms)) if terms else None
    if pattern is None or not texts.output or pattern.search(texts.folded_command_line):
        snippet = _snippet(texts.command_line, texts.folded_command_line, pattern)
        return Hit(block=block, snippet=snippet, field="command")
    snippet = _snippet(texts.output, texts.folded_output, pattern)
    return Hit(block=block, snippet=snippet, field="output")


def _snippet(text: str, folded: str, pattern: re.Pattern[str] | None) -> Snippet:
    first = pattern.search(folded) if pattern is not None else None
    start = max(0, first.start() - LEAD_CHARS) if first is not None else 0
    end = min(len(text), start + SNIPPET_CHARS)
    parts: list[SnippetPart] = []
    done = start
    for found in pattern.finditer(folded, start, end) if pattern is not None else ():
        if found.start() > done:
            parts.append(SnippetPart(text=text[done : found.start()], matched=False))
        if found.end() > found.start():
            parts.append(SnippetPart(text=text[found.start() : found.end()], matched=True))
        done = found.end()
    if done < end:
        parts.append(SnippetPart(text=text[done:end], matched=False))
    return Snippet(parts=tuple(parts), cut_before=start > 0, cut_after=end < len(text))


# --- folding ------------------------------------------------------------------
# As the tokenizer folds: lower case, no accents. Length stays, so places stay.


class _Folding(dict[int, str]):
    def __missing__(self, code: int) -> str:
        base = unicodedata.normalize("NFD", chr(code))[0]
        folded = self[code] = base.lower()[0]
        return folded


_FOLDING = _Folding()


def composed(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def fold(text: str) -> str:
    return text.lower() if text.isascii() else text.translate(_FOLDING)


def _is_word_char(char: str) -> bool:
    """As `unicode61` sees it: letters, numbers and private use."""
    category = unicodedata.category(char)
    return category[0] in "LN" or category == "Co"

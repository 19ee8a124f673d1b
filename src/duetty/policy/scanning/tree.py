"""tree-sitter-bash: a second pair of eyes for the scan, and a picture for `explain`.

It misreads some lines (escaped blanks, back-quotes in here-documents), so nothing
here ever allows: it can only add commands to what the reader found, and say that a
line is not valid.
"""

from typing import NamedTuple

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from duetty.policy.values import new

MAX_OPENINGS = 200
"""Brackets, quotes and pipes that may nest: the grammar takes quadratic time over thousands of them."""

MAX_NODES = 4_000

_OPENINGS = (b"(", b"{", b"[", b"$", b"`", b"|")

_PARSER = Parser(Language(tree_sitter_bash.language()))

_SHADOW = bytes(range(128)) + b"." * 128
"""The grammar's scanner looks up letters beyond ASCII in a table that is too short, and ends the
process. So it is shown a dot for each of their bytes: like them, a dot is part of a word and of no name."""


class Seen(NamedTuple):
    valid: bool
    commands: tuple[str, ...]
    """Source text of every command node."""


def look(text: str) -> Seen | None:
    """What the grammar sees; None when there is too much of it."""
    source = text.encode("utf-8", "replace")
    root = _parse(source)
    if root is None or root.descendant_count > MAX_NODES:
        return None
    return new(Seen, (not root.has_error, _commands(root, source)))


def _commands(root: Node, source: bytes) -> tuple[str, ...]:
    commands: list[str] = []
    waiting = [root]
    while waiting:
        node = waiting.pop()
        kind = node.type
        if kind == "command":
            commands.append(source[node.start_byte : node.end_byte].decode("utf-8", "replace"))
        if kind != "word":
            waiting += node.named_children
    return tuple(reversed(commands))


def drawn(text: str) -> str:
    """The tree as indented lines, for people."""
    source = text.encode("utf-8", "replace")
    root = _parse(source)
    if root is None:
        return "(too deeply nested to draw)"
    lines: list[str] = []
    waiting = [(root, 0)]
    while waiting and len(lines) < MAX_NODES:
        node, level = waiting.pop()
        mark = "!" if node.is_error or node.is_missing else ""
        shown = (
            ""
            if node.named_child_count
            else " " + repr(source[node.start_byte : node.end_byte].decode("utf-8", "replace"))
        )
        lines.append("  " * level + mark + node.type + shown)
        waiting += [(child, level + 1) for child in reversed(node.named_children)]
    return "\n".join(lines)


def _parse(source: bytes) -> Node | None:
    if len(source) > MAX_OPENINGS and sum(map(source.count, _OPENINGS)) > MAX_OPENINGS:
        return None
    return _PARSER.parse(source.translate(_SHADOW)).root_node

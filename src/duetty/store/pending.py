"""Writes that wait for the disk: merged by key, bounded, given up in a fixed order.

Holds final states, not steps: a later write of the same session, token or
block takes the place of an earlier one, so a write can be repeated safely.
Knows no thread and no database.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from sqlite3 import Connection

from duetty.ids import BlockId
from duetty.store.blocks import BlockRecord, Limits

OutputText = str | Callable[[], str]
"""The text of a block, or how to make it; the writer thread makes it."""

Apply = Callable[[Connection], None]
FactKey = tuple[str, str]
"""Noun and id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """What did not reach the disk since the store was opened."""

    texts: int = 0
    """Output given up at the bound of the queue, or whose making failed."""

    blocks: int = 0
    """Blocks given up at the bound of the queue, after all text."""

    refused: int = 0
    """Writes that the database could not take whatever its state."""


def _facts() -> dict[FactKey, Apply]:
    return {}


@dataclass(slots=True)
class Pending:
    facts: dict[FactKey, Apply] = field(default_factory=_facts)
    """Sessions and tokens. Never dropped: there are only as many as sessions and tokens."""

    blocks: OrderedDict[BlockId, BlockRecord] = field(
        default_factory=OrderedDict[BlockId, BlockRecord]
    )
    texts: OrderedDict[BlockId, OutputText] = field(
        default_factory=OrderedDict[BlockId, OutputText]
    )
    text_chars: int = 0
    dropped_texts: int = 0
    dropped_blocks: int = 0

    def __bool__(self) -> bool:
        return bool(self.facts or self.blocks or self.texts)

    def put_fact(self, key: FactKey, apply: Apply) -> None:
        self.facts[key] = apply

    def put_block(self, record: BlockRecord, text: OutputText | None, limits: Limits) -> None:
        """Take the block's newest state; None leaves a text that still waits."""
        self.blocks[record.id] = record
        if text is not None:
            self._remove_text(record.id)
            self._set_text(record.id, text)
        self._bound(limits)

    def take(self) -> "Pending":
        """Everything that waits; the counts stay here."""
        taken = Pending(
            facts=self.facts, blocks=self.blocks, texts=self.texts, text_chars=self.text_chars
        )
        self.facts, self.blocks, self.texts = {}, OrderedDict(), OrderedDict()
        self.text_chars = 0
        return taken

    def give_back(self, taken: "Pending", limits: Limits) -> None:
        """Put an older batch in front again; what was written meanwhile is newer and wins."""
        self.facts = taken.facts | self.facts
        for block, record in reversed(taken.blocks.items()):
            if block not in self.blocks:
                self.blocks[block] = record
            self.blocks.move_to_end(block, last=False)
        for block, text in reversed(taken.texts.items()):
            if block not in self.texts:
                self._set_text(block, text)
            self.texts.move_to_end(block, last=False)
        self._bound(limits)

    def _bound(self, limits: Limits) -> None:
        while len(self.texts) > limits.queued_texts or self.text_chars > limits.queued_text_chars:
            self._remove_text(next(iter(self.texts)))
            self.dropped_texts += 1
        while len(self.blocks) > limits.queued_blocks:
            block, _ = self.blocks.popitem(last=False)
            self.dropped_blocks += 1
            self.dropped_texts += self._remove_text(block)

    def _set_text(self, block: BlockId, text: OutputText) -> None:
        self.texts[block] = text
        self.text_chars += _chars(text)

    def _remove_text(self, block: BlockId) -> bool:
        text = self.texts.pop(block, None)
        if text is None:
            return False
        self.text_chars -= _chars(text)
        return True


def _chars(text: OutputText) -> int:
    return len(text) if isinstance(text, str) else 0

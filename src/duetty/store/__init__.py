"""What must survive: sessions, blocks with full-text search, tokens.

One SQLite file. The event loop hands writes over and goes on; one writer
thread puts them on disk; reads run in worker threads on connections of their
own. Knows nothing of terminals: it is given values and text, and returns them.
"""

from duetty.store.approval_rows import ApprovalRecord, Covers, StandingRecord
from duetty.store.audit import TrailAnchor
from duetty.store.blocks import BlockRecord, Limits
from duetty.store.conversations import (
    ConversationEntry,
    ConversationRecord,
    ConversationState,
    EntryKind,
)
from duetty.store.database import Repair
from duetty.store.pending import Dropped, OutputText
from duetty.store.search import Hit, Snippet, SnippetPart
from duetty.store.sessions import SessionRecord
from duetty.store.store import ReadOnlyStore, Store
from duetty.store.tokens import TokenRecord, hash_token, new_token

__all__ = [
    "ApprovalRecord",
    "BlockRecord",
    "ConversationEntry",
    "ConversationRecord",
    "ConversationState",
    "Covers",
    "Dropped",
    "EntryKind",
    "Hit",
    "Limits",
    "OutputText",
    "ReadOnlyStore",
    "Repair",
    "SessionRecord",
    "Snippet",
    "SnippetPart",
    "StandingRecord",
    "Store",
    "TokenRecord",
    "TrailAnchor",
    "hash_token",
    "new_token",
]

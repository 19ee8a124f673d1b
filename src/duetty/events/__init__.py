"""What happens in a session: event types, the numbered log, bounded subscriptions.

Knows nothing of who listens: a subscriber that falls behind gets `Lagged`, and is not waited for.
"""

from duetty.events.log import EventLog
from duetty.events.queue import SUBSCRIBER_ENTRIES, Subscription
from duetty.events.sessions import (
    SessionCreated,
    SessionEnded,
    SessionRemoved,
    SessionRenamed,
    SessionsEntry,
    SessionsEvent,
    SessionsLog,
    SessionTagged,
    SessionUpdated,
)
from duetty.events.types import (
    Bell,
    BlockFinished,
    BlockStarted,
    Degraded,
    ElementsChanged,
    Entry,
    Event,
    Exited,
    InputModeChanged,
    KeysTyped,
    Lagged,
    Resized,
    StateChanged,
    TitleChanged,
    ViewersChanged,
)

__all__ = [
    "SUBSCRIBER_ENTRIES",
    "Bell",
    "BlockFinished",
    "BlockStarted",
    "Degraded",
    "ElementsChanged",
    "Entry",
    "Event",
    "EventLog",
    "Exited",
    "InputModeChanged",
    "KeysTyped",
    "Lagged",
    "Resized",
    "SessionCreated",
    "SessionEnded",
    "SessionRemoved",
    "SessionRenamed",
    "SessionTagged",
    "SessionUpdated",
    "SessionsEntry",
    "SessionsEvent",
    "SessionsLog",
    "StateChanged",
    "Subscription",
    "TitleChanged",
    "ViewersChanged",
]

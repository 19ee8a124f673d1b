"""What happens in a session: event types, the numbered log, bounded subscriptions."""

from duetty.events.log import SUBSCRIBER_BYTES, SUBSCRIBER_ENTRIES, EventLog, Subscription
from duetty.events.types import (
    Bell,
    BlockFinished,
    BlockStarted,
    Degraded,
    Entry,
    Event,
    Exited,
    Lagged,
    Output,
    Resized,
    StateChanged,
    TitleChanged,
)

__all__ = [
    "SUBSCRIBER_BYTES",
    "SUBSCRIBER_ENTRIES",
    "Bell",
    "BlockFinished",
    "BlockStarted",
    "Degraded",
    "Entry",
    "Event",
    "EventLog",
    "Exited",
    "Lagged",
    "Output",
    "Resized",
    "StateChanged",
    "Subscription",
    "TitleChanged",
]

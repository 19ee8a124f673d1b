"""Entries as JSON: the same shapes on every WebSocket and in server-sent events."""

from dataclasses import fields
from typing import Any, assert_never, get_args

from duetty.events import (
    Entry,
    Event,
    KeysTyped,
    SessionCreated,
    SessionEnded,
    SessionRemoved,
    SessionRenamed,
    SessionsEvent,
    SessionTagged,
    SessionUpdated,
)

EventShape = dict[str, Any]

FIELDS: dict[type[Event], tuple[str, ...]] = {
    kind: tuple(field.name for field in fields(kind)) for kind in get_args(Event)
}
"""Of each event, in the order in which they are written."""


def entry_shape(entry: Entry) -> EventShape:
    """`event` names it; see docs/events.md for the fields of each."""
    return {
        "seq": entry.seq,
        "at_ms": entry.at_ns // 1_000_000,
        **event_shape(entry.event),
    }


def event_shape(event: Event) -> EventShape:
    """As its class says it; only keys are written otherwise than they are kept."""
    if isinstance(event, KeysTyped):
        return _keys_shape(event)
    return {**event.WIRE, **{name: getattr(event, name) for name in FIELDS[type(event)]}}


def _keys_shape(event: KeysTyped) -> EventShape:
    keys = [{"key": key.name, "modifiers": list(key.modifiers)} for key in event.keys]
    shape: EventShape = {
        **event.WIRE,
        "mode": event.mode,
        "raw": list(event.raw),
        "parsed": keys[0] if len(keys) == 1 and keys[0]["key"] is not None else None,
        "keys": keys,
    }
    return shape if event.target is None else {**shape, "target": event.target}


def lifecycle_shape(event: SessionsEvent) -> EventShape | None:
    """A change of the list of sessions as published; None for changes that the contract does not publish."""
    match event:
        case SessionCreated(name=name):
            return {"event": "session_created", "params": {"name": name}}
        case SessionRenamed(name=name, old_name=old_name):
            renamed = {"old_name": old_name, "new_name": name}
            return {"event": "session_renamed", "params": renamed}
        case SessionTagged(name=name, added=added, removed=removed):
            tags = {"name": name, "added": added, "removed": removed}
            return {"event": "session_tags_changed", "params": tags}
        case SessionEnded(name=name, exit_code=exit_code):
            return {"event": "session_exited", "params": {"name": name, "exit_code": exit_code}}
        case SessionRemoved(name=name):
            return {"event": "session_destroyed", "params": {"name": name}}
        case SessionUpdated():
            return None
        case _:
            assert_never(event)


CHANGE_WORDS = {
    SessionCreated: "created",
    SessionRenamed: "renamed",
    SessionTagged: "updated",
    SessionUpdated: "updated",
    SessionEnded: "exited",
    SessionRemoved: "removed",
}
"""The names of changes in messages to viewers of the list."""


def change_word(event: SessionsEvent) -> str:
    return CHANGE_WORDS[type(event)]

"""Entries as JSON: the same shapes on every WebSocket and in server-sent events."""

from typing import Any, assert_never

from duetty.events import (
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
    Resized,
    SessionCreated,
    SessionEnded,
    SessionRemoved,
    SessionRenamed,
    SessionsEvent,
    SessionTagged,
    SessionUpdated,
    StateChanged,
    TitleChanged,
    ViewersChanged,
)

EventShape = dict[str, Any]


def entry_shape(entry: Entry) -> EventShape:
    """`event` names it; see docs/events.md for the fields of each."""
    return {
        "seq": entry.seq,
        "at_ms": entry.at_ns // 1_000_000,
        **event_shape(entry.event),
    }


def event_shape(event: Event) -> EventShape:
    match event:
        case Resized(cols=cols, rows=rows, program_rows=program_rows, top=top):
            return {
                "event": "resize",
                "cols": cols,
                "rows": rows,
                "program_rows": program_rows,
                "top": top,
            }
        case StateChanged(state=state, known_by=known_by):
            return {"event": "state", "state": state, "known_by": known_by}
        case BlockStarted(block=block, command_line=line):
            return {"event": "block", "change": "started", "block": block, "command_line": line}
        case BlockFinished(block=block, exit_code=exit_code):
            return {
                "event": "block",
                "change": "finished",
                "block": block,
                "exit_code": exit_code,
            }
        case TitleChanged(title=title):
            return {"event": "title", "title": title}
        case Bell(count=count):
            return {"event": "bell", "count": count}
        case Degraded(part=part, reason=reason):
            return {"event": "degraded", "part": part, "reason": reason}
        case ViewersChanged(viewers=viewers):
            return {"event": "viewers", "viewers": viewers}
        case ElementsChanged():
            return {"event": "elements"}
        case InputModeChanged(mode=mode, reason=reason):
            return {"event": "mode", "mode": mode, "reason": reason}
        case KeysTyped(raw=raw, keys=keys, mode=mode, target=target):
            parsed = (
                {"key": keys[0].name, "modifiers": list(keys[0].modifiers)}
                if len(keys) == 1 and keys[0].name is not None
                else None
            )
            shape: EventShape = {
                "event": "input",
                "mode": mode,
                "raw": list(raw),
                "parsed": parsed,
                "keys": [{"key": key.name, "modifiers": list(key.modifiers)} for key in keys],
            }
            return shape if target is None else {**shape, "target": target}
        case Exited(exit_code=exit_code, signal=signal):
            return {"event": "exit", "exit_code": exit_code, "signal": signal}
        case _:
            assert_never(event)


def lifecycle_shape(event: SessionsEvent) -> EventShape | None:
    """A change of the list of sessions as published; None for what lists show and nobody published."""
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
"""What a list of sessions is told about a change."""


def change_word(event: SessionsEvent) -> str:
    return CHANGE_WORDS[type(event)]

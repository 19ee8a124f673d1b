"""Which conversations a caller may see, where each works, and its entries there."""

import anyio.to_thread

from duetty.agent import step_text
from duetty.calls import Actor
from duetty.ops.services import Services
from duetty.platform.descendants import has_children
from duetty.session import Registry, Session
from duetty.store import ConversationEntry, ConversationRecord, Store

MAX_ENTRIES = 2_000
"""The newest entries of one session."""

MARK_CHARS = 4_000
"""Of a message in a recording."""


def may_see(record: ConversationRecord, actor: Actor) -> bool:
    """Who reaches one session sees what was begun by who reaches no other. A session by its id:
    another one may have its old name by now.
    """
    if actor.session is None:
        return True
    if actor.session_id is None:
        return record.only_session_id is None and actor.session == record.only_session
    return actor.session_id == record.only_session_id


def session_of(record: ConversationRecord, registry: Registry) -> Session | None:
    """Where a conversation works, whatever that is called by now."""
    name = record.session_id or record.session
    return registry.find(name) if name is not None and registry.has(name) else None


def is_at_rest(session: Session) -> bool:
    """Whether its shell waits at a prompt, and nothing of it runs in the background."""
    if session.state().word != "prompt":
        return False
    try:
        return not has_children(session.profile.pid)
    except OSError:
        return False


async def entries_in(session: Session, services: Services, actor: Actor) -> list[ConversationEntry]:
    """Messages and calls of conversations in a session, as far as the caller may see them."""
    records = [
        each
        for each in await services.agents.records()
        if may_see(each, actor) and session_of(each, services.registry) is session
    ]
    if not records:
        return []
    return await anyio.to_thread.run_sync(_entries, services.store, records)


def _entries(store: Store, records: list[ConversationRecord]) -> list[ConversationEntry]:
    store.flush()
    found = [entry for each in records for entry in store.conversation_entries(each.id)]
    return sorted(found, key=lambda entry: entry.at_ns)[-MAX_ENTRIES:]


def as_mark(entry: ConversationEntry) -> str | None:
    """An entry beside a recording: a message with its sender, or a call of the agent; None for all else."""
    body = entry.body
    match entry.kind:
        case "message":
            text = f"{body['by']}: {body['text']}"
        case "answer" if body["text"]:
            text = f"agent: {body['text']}"
        case "call":
            text = f"agent ● {step_text(body['tool'], body['arguments'])}"
        case _:
            return None
    return text[:MARK_CHARS]

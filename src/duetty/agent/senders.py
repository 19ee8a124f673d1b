"""Whose messages count: those of whoever the agent works for."""

from collections.abc import Sequence

from duetty.store import ConversationEntry


def meant_messages(entries: Sequence[ConversationEntry]) -> set[int]:
    """Messages of whoever the agent works for. Where a person began, what a program sends is none:
    it may be one that the agent itself has started.
    """
    messages = [each for each in entries if each.kind == "message"]
    for_person = bool(messages) and _is_of_person(messages[0])
    return {each.seq for each in messages if _is_of_person(each) or not for_person}


def _is_of_person(message: ConversationEntry) -> bool:
    return bool(message.body.get("is_person", True))

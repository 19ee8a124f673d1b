"""The messages that give the agent work: of the person, or of the program that began the conversation."""

from collections.abc import Sequence

from duetty.store import ConversationEntry


def meant_messages(entries: Sequence[ConversationEntry]) -> set[int]:
    """Their seqs. Where a person began, a message of a program is none:
    the agent itself may have started that program.
    """
    messages = [each for each in entries if each.kind == "message"]
    for_person = bool(messages) and _is_of_person(messages[0])
    return {each.seq for each in messages if _is_of_person(each) or not for_person}


def _is_of_person(message: ConversationEntry) -> bool:
    return bool(message.body.get("is_person", True))

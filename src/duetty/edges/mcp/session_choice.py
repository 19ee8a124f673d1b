"""The session of a tool call that names none: found, asked for, or refused with the candidates.

What was chosen is remembered for the connection, and forgotten when that session ends. A choice is
an answer to `multiple_sessions`: given to the question at the caller's host, or by the next call
that names one of the candidates.
"""

from dataclasses import replace
from typing import Any, cast

from duetty.edges.mcp.dialect import Answer, Calls, Json, Tool
from duetty.edges.mcp.peer import Choice
from duetty.errors import HostUnavailable, MultipleSessions, NoActiveSession

_CHOOSE = "call again with the `name` of one as `{}`; if you cannot tell which, show a person this sentence"

ASK_S = 120.0
"""For the person at the host to choose."""


async def run_in_session(tool: Tool, calls: Calls, given: Json, known: Json) -> Answer:
    """Run the tool in the session that is meant; `known` gets its name, for who reports on the call.

    Raises:
        NoActiveSession: if there is none, and the tool opens none.
        MultipleSessions: if it could be one of several, and no person chose.
    """
    word = tool.session_word
    if word is None:
        return await tool.run(calls, given)
    choice = calls.room_choice if tool.selecting else calls.choice
    if word in given:
        choice.named(str(given[word]))
        return await tool.run(calls, given)
    if calls.caller.session is not None:
        known[word] = calls.caller.session
    else:
        try:
            known[word] = await _selected(calls, choice, tool.selecting)
        except NoActiveSession as error:
            if tool.opens_session:
                return await tool.run(calls, given)
            hint = calls.how_to_start or error.hint
            raise NoActiveSession(error.message, hint=hint, details=error.details) from error
        except MultipleSessions as error:
            error.hint = _CHOOSE.format(word)  # the candidates are named beside it
            raise
    answer = await tool.run(calls, given | known)
    return _with_session(answer, word, known[word])


async def _selected(calls: Calls, choice: Choice, selecting: Json) -> str:
    try:
        asked = {"remembered": choice.session_id, **selecting}
        found: Any = await calls("session.select", asked)
    except MultipleSessions as error:
        candidates: Any = error.details["candidates"]
        if (chosen := await chosen_of(calls, choice, candidates)) is None:
            raise
        return chosen
    if found.session_id != choice.session_id:
        choice.session_id = None  # that one has ended
    return str(found.session)


async def chosen_of(calls: Calls, choice: Choice, candidates: Any) -> str | None:
    """The name of the one that was chosen before, or is now; None where no person can choose, or did."""
    by_id: dict[str, str] = {each["sessionId"]: str(each["name"]) for each in candidates}
    chosen = choice.session_id if choice.session_id in by_id else await _asked(calls, candidates)
    choice.session_id = chosen
    if chosen is None:
        choice.offered = {id_: id_ for id_ in by_id} | {name: id_ for id_, name in by_id.items()}
        return None
    return by_id[chosen]


async def _asked(calls: Calls, candidates: Any) -> str | None:
    """The id that the person at the caller's host chose; None where no person can, or did."""
    if calls.client is None or "form" not in calls.client.abilities:
        return None
    ids = [each["sessionId"] for each in candidates]
    labels = [_label(each) for each in candidates]
    request = {
        "mode": "form",
        "message": "Several sessions are active. Which one is meant?",
        "requestedSchema": {
            "type": "object",
            "properties": {
                "session": {
                    "type": "string",
                    "title": "Session",
                    "enum": ids,
                    "enumNames": labels,
                }
            },
            "required": ["session"],
        },
    }
    try:
        answer = await calls.client.elicit(request, within_s=ASK_S)
    except HostUnavailable:
        return None
    content: Any = answer.get("content") or {}
    chosen: str | None = content.get("session")
    return chosen if answer.get("action") == "accept" and chosen in ids else None


def _label(candidate: Json) -> str:
    title = candidate.get("documentName") or candidate.get("title", "")
    where = f" in {candidate['cwd']}" if "cwd" in candidate else ""
    machine = f" on {candidate['machine']}" if "machine" in candidate else ""
    return f"{candidate['name']}: {title}{where}{machine}"


def _with_session(answer: Answer, word: str, session: str) -> Answer:
    """The answer says where it comes from."""
    where = {word: session}
    text = answer.text
    if isinstance(text, dict):
        text = where | cast("Json", text)
    blocks = answer.blocks
    if blocks is not None:
        blocks = [*blocks, f"({word}: {session})"]
    return replace(answer, content=where | answer.content, text=text, blocks=blocks)

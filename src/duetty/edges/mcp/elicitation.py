"""Approvals at the agent's own host: the policy's question as an elicitation, in both eras.

The handshake era asks while the call waits. The modern era has no requests to the
client: the call is answered with the question, waits here, and goes on when the
client calls again with the answer.
"""

from typing import Any

import mcp_types as t

from duetty.edges.mcp.dialect import Json
from duetty.edges.mcp.sdk import Context
from duetty.edges.mcp.tasks import Task
from duetty.ops import UNUSABLE, Answer, ApprovalRecord, HostAsk, choices

REJECT = "reject"
WORDS = {
    "once": "allow once",
    "session": "allow in this session",
    "project": "allow in this project",
    "hours": "allow for an hour",
    "always": "always allow",
}
"""How the form says each way to say yes; the question says what it lets through."""


def schema(record: ApprovalRecord) -> Json:
    return {
        "type": "object",
        "properties": {
            "decision": {
                "type": "string",
                "title": "Decision",
                "description": "Whether it may be done, and what else then runs unasked",
                "enum": [*(WORDS[each.covers] for each in choices(record)), REJECT],
            }
        },
        "required": ["decision"],
    }


def can_be_asked(context: Context) -> bool:
    """Whether the client can show a person a form."""
    return context.session.check_client_capability(
        t.ClientCapabilities(elicitation=t.ElicitationCapability())
    )


def by_request(context: Context) -> HostAsk:
    """Asks over the connection, as the handshake era does."""

    async def ask(record: ApprovalRecord) -> Answer | None:
        said = await context.session.elicit_form(
            question(record), schema(record), related_request_id=context.request_id
        )
        return _answer(record, said.action, said.content)

    return ask


def by_task(task: Task) -> HostAsk:
    """Puts the question with the call, to be fetched or returned, as the modern era does."""

    async def ask(record: ApprovalRecord) -> Answer | None:
        params = {"mode": "form", "message": question(record), "requestedSchema": schema(record)}
        (said,) = await task.ask({"method": "elicitation/create", "params": params})
        return _answer(record, said.get("action"), said.get("content"))

    return ask


def question(record: ApprovalRecord) -> str:
    """What the person reads; nothing in it can move a cursor or hide a part of the line."""
    where = f" in session {record.session!a}" if record.session else ""
    lines = [f"An agent asks for {record.operation}{where}: {record.reason}"]
    if record.command_line is not None:
        lines.append(f"Command: {record.command_line!a}")
    if record.cwd:
        lines.append(f"Directory: {record.cwd!a}")
    if record.suggestion:
        lines.append(f"Instead: {record.suggestion}")
    for each in choices(record):
        # What is saved by a rule is shown as that rule.
        says = each.rule if each.covers == "always" else each.says
        lines.append(f"{WORDS[each.covers]}: {_plain(says or '')}")
    return "\n".join(lines)


def _plain(text: str) -> str:
    """Without what moves a cursor or hides: a path may hold anything."""
    return ascii(text)[1:-1]


def _answer(record: ApprovalRecord, action: object, content: Any) -> Answer | None:
    match action, content:
        case ("accept", {"decision": "reject"}) | ("decline", _):
            return Answer(granted=False)
        case "accept", {"decision": str(decision)}:
            for each in choices(record):
                if WORDS[each.covers] == decision:
                    return Answer(granted=True, covers=each.covers, rule=each.rule)
            return Answer(granted=False, note=UNUSABLE)
        case "accept", _:
            return Answer(granted=False, note=UNUSABLE)
        case _:
            return None  # put away without an answer: others may still give one

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
from duetty.ops import UNUSABLE, Answer, HostAsk

ALLOW, REJECT = "allow once", "reject"
SCHEMA: Json = {
    "type": "object",
    "properties": {
        "decision": {
            "type": "string",
            "title": "Decision",
            "description": "Whether it may be done, this once",
            "enum": [ALLOW, REJECT],
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

    async def ask(record: Any) -> Answer | None:
        said = await context.session.elicit_form(
            question(record), SCHEMA, related_request_id=context.request_id
        )
        return _answer(said.action, said.content)

    return ask


def by_task(task: Task) -> HostAsk:
    """Puts the question with the call, to be fetched or returned, as the modern era does."""

    async def ask(record: Any) -> Answer | None:
        params = {"mode": "form", "message": question(record), "requestedSchema": SCHEMA}
        (said,) = await task.ask({"method": "elicitation/create", "params": params})
        return _answer(said.get("action"), said.get("content"))

    return ask


def question(record: Any) -> str:
    """What the person reads; nothing in it can move a cursor or hide a part of the line."""
    where = f" in session {record.session!a}" if record.session else ""
    lines = [f"An agent asks for {record.operation}{where}: {record.reason}"]
    if record.command_line is not None:
        lines.append(f"Command: {record.command_line!a}")
    if record.cwd:
        lines.append(f"Directory: {record.cwd!a}")
    if record.suggestion:
        lines.append(f"Instead: {record.suggestion}")
    return "\n".join(lines)


def _answer(action: object, content: Any) -> Answer | None:
    match action, content:
        case "accept", {"decision": "allow once"}:
            return Answer(granted=True)
        case ("accept", {"decision": "reject"}) | ("decline", _):
            return Answer(granted=False)
        case "accept", _:
            return Answer(granted=False, note=UNUSABLE)
        case _:
            return None  # put away without an answer: others may still give one

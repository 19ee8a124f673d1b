"""What the agent's own host is asked, in both eras: the policy's question as an elicitation, and
what an operation wants of it (`HostClient`): a completion by its model, a form for its person.

The handshake era asks while the call waits. The modern era has no requests to the
client: the call is answered with the question, waits here, and goes on when the
client calls again with the answer.
"""

from collections.abc import Mapping
from typing import Any

import anyio
import mcp_types as t
from mcp.server.connection import Connection
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from duetty.calls import Actor
from duetty.edges.mcp.dialect import Json
from duetty.edges.mcp.sdk import Context, Outbound, answered, request_channel
from duetty.edges.mcp.tasks import RELATED_TASK, Task
from duetty.errors import HostUnavailable
from duetty.hosts import Ability, HostClient, Method, Send
from duetty.ops import UNUSABLE, Answer, ApprovalRecord, HostAsk, choices

ASK_S = 600.0
"""For the answer to a question of a task."""

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


def abilities_of(context: Context) -> frozenset[Ability]:
    """What the client declared that it can be asked for."""
    return abilities(context.session.client_capabilities)


def abilities(declared: t.ClientCapabilities | None) -> frozenset[Ability]:
    found: set[Ability] = set()
    if declared is not None and declared.sampling is not None:
        found.add("sampling")
        if declared.sampling.tools is not None:
            found.add("sampling.tools")
    if declared is not None and (elicitation := declared.elicitation) is not None:
        if elicitation.url is not None:
            found.add("url")
        # Revisions before there were two kinds say nothing more.
        if elicitation.form is not None or elicitation.url is None:
            found.add("form")
    return frozenset(found)


def host_by_request(context: Context, actor: Actor) -> HostClient:
    """The caller's host, asked over the connection while its call waits."""
    channel = request_channel(context)
    send = _sending(channel, context.protocol_version)
    return HostClient(actor=actor, abilities=abilities_of(context), send=send)


def host_by_connection(connection: Connection, actor: Actor) -> HostClient:
    """A host that can be asked whenever its connection stands, as the handshake era allows."""
    send = _sending(connection.outbound, connection.protocol_version)
    declared = abilities(connection.client_capabilities)
    return HostClient(actor=actor, abilities=declared, send=send)


def host_by_task(task: Task, abilities: frozenset[Ability]) -> HostClient:
    """The caller's host, asked with the answer to its call, as the modern era does."""

    async def send(method: Method, params: Mapping[str, Any], within_s: float) -> dict[str, Any]:
        with anyio.move_on_after(within_s):
            (answer,) = await task.ask({"method": method, "params": dict(params)})
            return answer
        raise HostUnavailable(f"the host did not answer within {within_s:g} s")

    return HostClient(actor=task.actor, abilities=abilities, send=send)


async def answer_questions(context: Context, task: Task) -> None:
    """Of the 2025-11-25 revision: a task's question goes to the client that waits for its result."""
    client = host_by_request(context, task.actor)
    while not task.done.is_set():
        await task.wait_done_or_question()
        for key, asked in list(task.questions.items()):
            async with anyio.create_task_group() as asking:
                asking.start_soon(_until_answered, task, key, asking.cancel_scope)
                related = {"_meta": {RELATED_TASK: {"taskId": task.id}}}
                try:
                    answer = await client.send(asked["method"], asked["params"] | related, ASK_S)
                except HostUnavailable:
                    answer = {"action": "cancel"}
                task.take({key: answer})


async def _until_answered(task: Task, key: str, asking: anyio.CancelScope) -> None:
    """A person at the page may answer first."""
    while key in task.questions:
        await task.answered.wait()
    asking.cancel()


def _sending(channel: Outbound, version: str) -> Send:
    async def send(method: Method, params: Mapping[str, Any], within_s: float) -> dict[str, Any]:
        try:
            with anyio.fail_after(within_s):
                return await answered(channel, version, method, params)
        except MCPError as error:
            raise HostUnavailable(
                f"the host answered with an error: {error.error.message[:200]!a}",
                details={"rpc_code": error.code},
            ) from error
        except TimeoutError as error:
            raise HostUnavailable(f"the host did not answer within {within_s:g} s") from error
        except ValidationError as error:
            raise HostUnavailable("the host's answer is not as the protocol says") from error
        except (anyio.ClosedResourceError, anyio.BrokenResourceError) as error:
            raise HostUnavailable("the host has gone") from error

    return send


def by_request(context: Context) -> HostAsk:
    """Asks over the connection, as the handshake era does."""

    async def ask(record: ApprovalRecord) -> Answer | None:
        answer = await context.session.elicit_form(
            question(record), schema(record), related_request_id=context.request_id
        )
        return _answer(record, answer.action, answer.content)

    return ask


def by_task(task: Task) -> HostAsk:
    """Puts the question with the call, to be fetched or returned, as the modern era does."""

    async def ask(record: ApprovalRecord) -> Answer | None:
        params = {"mode": "form", "message": question(record), "requestedSchema": schema(record)}
        (answer,) = await task.ask({"method": "elicitation/create", "params": params})
        return _answer(record, answer.get("action"), answer.get("content"))

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

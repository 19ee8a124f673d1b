"""Operations on conversations with the agent: send, follow, stop, resume, read."""

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

import anyio

from duetty.agent import Conversation, HostModel, Model, as_markdown
from duetty.calls import Actor, Confinement, Effect, Scope
from duetty.errors import (
    AgentNotConfigured,
    AgentNotInstalled,
    BadArguments,
    ConversationNotFound,
    ConversationRunning,
    DuettyError,
    Exhausted,
    ModelRefused,
    ModelUnavailable,
    ScopeMissing,
)
from duetty.hosts import HostClient
from duetty.ops.agent_context import completions
from duetty.ops.approval_operations import approval_info
from duetty.ops.conversations import may_see, session_of
from duetty.ops.judgements import PLAIN
from duetty.ops.operation import Operation, Route
from duetty.ops.services import Services
from duetty.ops.shapes import time_text
from duetty.store import ConversationEntry, ConversationRecord
from duetty.wire.agent import (
    AgentStatus,
    AgentStatusParams,
    CompleteMentionParams,
    ConversationDetail,
    ConversationEntryInfo,
    ConversationEvents,
    ConversationInfo,
    ConversationLog,
    ConversationParams,
    ConversationsParams,
    EventsParams,
    Mentions,
    ModelCheck,
    SendParams,
    SentMessage,
    StopParams,
)

ATTACHED = "\n\n<attached>\n{}\n</attached>"

_NO_MODEL = (AgentNotConfigured, AgentNotInstalled, ModelRefused, ModelUnavailable)

GIVEN = frozenset({Scope.READ, Scope.INPUT, Scope.CONTROL})
"""What an agent may ever do: it answers no question and changes nothing of the server."""


async def _send(params: SendParams, services: Services, actor: Actor) -> SentMessage:
    agents = services.agents
    text = params.text
    if params.attached:
        text += ATTACHED.format(params.attached)
    model = _borrowed(services, actor)
    if params.conversation is None:
        await agents.check_model(model)
        conversation = await agents.begin(params.text, **_rights(params, services, actor))
    else:
        conversation = await _found(params.conversation, services, actor)
        _permit(conversation, actor)
    with ExitStack() as stack:
        if (
            params.attends
        ):  # present from the message on: its first question may come before the first events
            stack.enter_context(services.approvals.attendance.attending(actor))
        seq = await agents.send(
            conversation, text, by=actor.name, is_person=actor.kind == "person", model=model
        )
        with anyio.move_on_after(params.wait_ms / 1000):
            while params.wait_ms and conversation.is_working:
                await conversation.wait_change()
    return SentMessage(
        info=_live(conversation, services), seq=seq, answer=_answer_after(conversation, seq)
    )


def _borrowed(services: Services, actor: Actor) -> Model | None:
    """The model of a connected host, where none is set here: the caller's own, or for a person
    that of any host of theirs.
    """
    if services.settings.agent_model:
        return None
    caller, hosts = services.client, services.hosts

    def client() -> HostClient | None:
        lenders = hosts.those_with("sampling")
        own = [each for each in lenders if each.actor.identity == actor.identity]
        if actor.kind == "person":
            own = own or lenders
        if own:
            return own[0]
        return caller if caller is not None and "sampling" in caller.abilities else None

    return None if client() is None else HostModel(client)


def _rights(params: SendParams, services: Services, actor: Actor) -> dict[str, Any]:
    """Of a new conversation: no more than who begins it has."""
    session = params.session
    if actor.session is not None:
        if session not in (None, actor.session, actor.session_id):
            raise ScopeMissing(f"this token is for session {actor.session!r} only")
        session = actor.session
    found = None if session is None else services.registry.find(session)
    if params.workspaces and (actor.kind != "person" or params.sandbox is None):
        raise BadArguments(
            "workspaces go with a sandbox, and a person names them", hint="leave them out"
        )
    confined = actor.confined
    if confined is None and params.sandbox is not None:
        confined = Confinement(sandbox=params.sandbox, workspaces=tuple(params.workspaces or ()))
    return {
        "started_by": actor.identity,
        "scopes": tuple(sorted(each.value for each in actor.scopes & GIVEN)),
        "token": actor.token,
        "only_session": actor.session,
        "only_session_id": actor.session_id,
        "sandbox": None if confined is None else confined.sandbox,
        "workspaces": () if confined is None else confined.workspaces,
        "session": None if found is None else found.name,
        "session_id": None if found is None else found.profile.id,
        "cwd": params.cwd,
    }


def _permit(conversation: Conversation, actor: Actor) -> None:
    """An actor has the agent do only what the actor may do.

    Raises:
        ScopeMissing: if the conversation may do more than this actor.
    """
    record = conversation.record
    missing = {Scope(each) for each in record.scopes} - actor.scopes
    if missing or (actor.confined is not None and record.sandbox is None):
        raise ScopeMissing(
            "this conversation may do more than the one who sends", hint="begin one of your own"
        )


async def _found(name: str, services: Services, actor: Actor) -> Conversation:
    conversation = await services.agents.find(name)
    if not may_see(conversation.record, actor):
        raise ConversationNotFound(name)
    return conversation


async def _list(
    params: ConversationsParams, services: Services, actor: Actor
) -> list[ConversationInfo]:
    agents = services.agents
    seen = [each for each in await agents.records() if may_see(each, actor)][: params.limit]
    return [
        _info(record, services)
        if (live := agents.live(record.id)) is None
        else _live(live, services)
        for record in seen
    ]


async def _show(params: ConversationParams, services: Services, actor: Actor) -> ConversationDetail:
    conversation = await _found(params.conversation, services, actor)
    return ConversationDetail(
        info=_live(conversation, services),
        entries=[_entry(each) for each in conversation.entries],
    )


async def _events(params: EventsParams, services: Services, actor: Actor) -> ConversationEvents:
    conversation = await _found(params.conversation, services, actor)
    await anyio.lowlevel.checkpoint()  # who asks again and again lets the agent work
    with ExitStack() as stack:
        if params.attends:
            stack.enter_context(services.approvals.attendance.attending(actor))
        with anyio.move_on_after(params.wait_ms / 1000):
            while params.wait_ms and not _has_news(conversation, params, services):
                await conversation.wait_change()
    return ConversationEvents(
        info=_live(conversation, services),
        entries=[_entry(each) for each in conversation.entries if each.seq > params.after],
        partial=conversation.partial[params.text_after :],
        partial_chars=len(conversation.partial),
    )


def _has_news(conversation: Conversation, params: EventsParams, services: Services) -> bool:
    return (
        conversation.last_seq > params.after
        or len(conversation.partial) > params.text_after
        or (params.known_state is not None and _state_key(conversation) != params.known_state)
    )


async def _stop(params: StopParams, services: Services, actor: Actor) -> ConversationInfo:
    conversation = await _found(params.conversation, services, actor)
    _permit(conversation, actor)
    session = session_of(conversation.record, services.registry)
    interrupts = params.interrupt and session is not None and not session.is_exited
    await services.agents.stop(conversation, by=actor.name, interrupts=interrupts)
    if interrupts and session is not None:
        await services.registry.interrupt(session, actor=actor)
    return _live(conversation, services)


async def _resume(params: ConversationParams, services: Services, actor: Actor) -> ConversationInfo:
    conversation = await _found(params.conversation, services, actor)
    _permit(conversation, actor)
    await services.agents.resume(conversation, model=_borrowed(services, actor))
    return _live(conversation, services)


async def _log(params: ConversationParams, services: Services, actor: Actor) -> ConversationLog:
    conversation = await _found(params.conversation, services, actor)
    return ConversationLog(
        conversation=conversation.id,
        markdown=as_markdown(conversation.record, conversation.entries),
    )


async def _status(params: AgentStatusParams, services: Services, actor: Actor) -> AgentStatus:
    status = await _plain_status(params, services, actor)
    if not params.check or status.state == "not_configured" or status.model is None:
        return status
    try:
        found = await services.agents.check()
        checked = ModelCheck(code=None, message=found or "its provider cannot be asked about it")
    except DuettyError as error:
        checked = ModelCheck(code=error.code, message=error.message, hint=error.hint or "")
    return status.model_copy(update={"checked": checked})


async def _plain_status(params: AgentStatusParams, services: Services, actor: Actor) -> AgentStatus:
    agents = services.agents
    model = services.settings.agent_model or None
    working = sum(may_see(each.record, actor) for each in agents.working())
    conversation = None
    if params.conversation is not None:
        conversation = await _found(params.conversation, services, actor)
    else:
        seen = [each for each in await agents.records() if may_see(each, actor)]
        busy = [each for each in agents.working() if may_see(each.record, actor)]
        if busy:
            conversation = busy[-1]
        elif seen:
            conversation = await agents.find(seen[0].id)
    problem = await agents.problem() if _borrowed(services, actor) is None else None
    if conversation is None or (problem is not None and not conversation.is_working):
        return AgentStatus(
            state="idle" if problem is None else "not_configured",
            model=model,
            message="nothing was asked yet"
            if problem is None
            else f"{problem.message}: {problem.hint}",
            checked=None,
            conversation=None if conversation is None else _live(conversation, services),
            working=working,
        )
    info = _live(conversation, services)
    doing = info.doing or info.reason or "it has answered"
    return AgentStatus(
        state=info.state,
        model=model,
        message=doing,
        checked=None,
        conversation=info,
        working=working,
    )


async def _complete(params: CompleteMentionParams, services: Services, actor: Actor) -> Mentions:
    assert services.steps is not None
    steps = services.steps

    async def door(operation: str, arguments: Mapping[str, Any]) -> Any:
        return await steps(operation, arguments)

    return Mentions(values=list(await completions(door, params.session, params.text)))


# --- shapes ----------------------------------------------------------------------------


def _answer_after(conversation: Conversation, seq: int) -> str | None:
    if conversation.is_working:
        return None
    answers = [each for each in conversation.entries if each.kind == "answer" and each.seq > seq]
    return answers[-1].body["text"] if answers else None


def _info(record: ConversationRecord, services: Services) -> ConversationInfo:
    """Of one that no agent works on."""
    session = session_of(record, services.registry)
    return ConversationInfo(
        id=record.id,
        title=record.title,
        created_at=time_text(record.created_at_ns),
        session=record.session if session is None else session.name,
        state="failed" if record.state == "failed" else "idle",
        doing=None,
        reason=record.reason,
        code=record.code,
        approval=None,
        turns=record.turns,
        tokens_in=record.tokens_in,
        tokens_out=record.tokens_out,
        cost_usd=record.cost_usd,
        seq=record.seq,
        state_key=record.state,
    )


def _live(conversation: Conversation, services: Services) -> ConversationInfo:
    info = _info(conversation.record, services)
    waiting = [each for each in services.approvals.pending() if each.id == conversation.approval]
    now: dict[str, Any] = {
        "state": conversation.doing,
        "doing": conversation.step,
        "approval": approval_info(waiting[0]) if waiting else None,
        "seq": conversation.last_seq,
        "state_key": _state_key(conversation),
    }
    if conversation.is_working:
        now |= {"reason": None, "code": None}
    return info.model_copy(update=now)


def _state_key(conversation: Conversation) -> str:
    return f"{conversation.doing}|{conversation.approval or ''}|{conversation.step or ''}"


def _entry(entry: ConversationEntry) -> ConversationEntryInfo:
    return ConversationEntryInfo(
        seq=entry.seq, at=time_text(entry.at_ns), kind=entry.kind, body=entry.body
    )


SEND = Operation(
    name="agent.send",
    summary="Say something to the agent, in a new conversation or one that there is.",
    effect=Effect.INPUT,
    judged=PLAIN,
    params=SendParams,
    result=SentMessage,
    run=_send,
    route=Route(method="POST", path="/agent/messages"),
    waits=True,
    shared=True,
    errors=(*_NO_MODEL, ConversationNotFound, Exhausted),
)
LIST = Operation(
    name="agent.list",
    summary="Conversations with the agent, newest first.",
    effect=Effect.READ,
    judged=PLAIN,
    params=ConversationsParams,
    result=list[ConversationInfo],
    run=_list,
    route=Route(method="GET", path="/agent/conversations"),
    shared=True,
)
SHOW = Operation(
    name="agent.show",
    summary="A conversation with every message, call and result.",
    effect=Effect.READ,
    judged=PLAIN,
    params=ConversationParams,
    result=ConversationDetail,
    run=_show,
    route=Route(method="GET", path="/agent/conversations/{conversation}"),
    shared=True,
    errors=(ConversationNotFound,),
)
EVENTS = Operation(
    name="agent.events",
    summary="What happened in a conversation since, word by word; waits for news if there are none.",
    effect=Effect.READ,
    judged=PLAIN,
    params=EventsParams,
    result=ConversationEvents,
    run=_events,
    route=Route(method="GET", path="/agent/conversations/{conversation}/events"),
    waits=True,
    shared=True,
    errors=(ConversationNotFound,),
)
STOP = Operation(
    name="agent.stop",
    summary="Stop the agent in the middle; what runs in its session is left, or interrupted.",
    effect=Effect.INPUT,
    judged=PLAIN,
    params=StopParams,
    result=ConversationInfo,
    run=_stop,
    route=Route(method="POST", path="/agent/conversations/{conversation}/stop"),
    shared=True,
    errors=(ConversationNotFound,),
)
RESUME = Operation(
    name="agent.resume",
    summary="Let the agent go on where it was stopped, failed, or ended with a server; nothing runs twice.",
    effect=Effect.INPUT,
    judged=PLAIN,
    params=ConversationParams,
    result=ConversationInfo,
    run=_resume,
    route=Route(method="POST", path="/agent/conversations/{conversation}/resume"),
    shared=True,
    errors=(*_NO_MODEL, ConversationNotFound, ConversationRunning),
)
LOG = Operation(
    name="agent.log",
    summary="A conversation as Markdown.",
    effect=Effect.READ,
    judged=PLAIN,
    params=ConversationParams,
    result=ConversationLog,
    run=_log,
    route=Route(method="GET", path="/agent/conversations/{conversation}/log"),
    shared=True,
    errors=(ConversationNotFound,),
)
STATUS = Operation(
    name="agent.status",
    summary="What the agent is doing, and what to set where there is no model.",
    effect=Effect.READ,
    judged=PLAIN,
    params=AgentStatusParams,
    result=AgentStatus,
    run=_status,
    route=Route(method="GET", path="/agent/status"),
    shared=True,
    errors=(ConversationNotFound,),
)
COMPLETE = Operation(
    name="agent.complete",
    summary="What could stand behind an @ in a message.",
    effect=Effect.READ,
    judged=PLAIN,
    params=CompleteMentionParams,
    result=Mentions,
    run=_complete,
    route=Route(method="GET", path="/agent/completions"),
    composed=True,
)

AGENT = (SEND, LIST, SHOW, EVENTS, STOP, RESUME, LOG, STATUS, COMPLETE)

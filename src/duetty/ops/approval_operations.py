"""Operations on questions to a person: see them, answer them, take an answer back."""

import anyio

from duetty.approvals import Answer, choices, may_see
from duetty.calls import Actor, Effect
from duetty.errors import (
    AnswerNotOffered,
    ApprovalNotFound,
    ApprovalSettled,
    EditUnconfirmed,
    Exhausted,
    NotAPerson,
    PolicyDenied,
)
from duetty.ops.judgements import PLAIN
from duetty.ops.operation import Operation, Route
from duetty.ops.services import Services
from duetty.ops.shapes import time_text
from duetty.policy import visible
from duetty.store import ApprovalRecord, StandingRecord
from duetty.wire.approval_shapes import (
    ApprovalChoice,
    ApprovalInfo,
    ApprovalList,
    ApprovalsParams,
    ApproveParams,
    DeclineParams,
    StandingInfo,
    StandingParams,
)
from duetty.wire.params import Nothing
from duetty.wire.results import Done

SETTLED = 100


async def _list(params: ApprovalsParams, services: Services, actor: Actor) -> ApprovalList:
    approvals = services.approvals
    if params.after is not None and params.wait_ms:
        with (  # who waits for questions is there to answer them
            approvals.attendance.attending(actor),
            anyio.move_on_after(params.wait_ms / 1000),
            approvals.subscribe() as entries,
        ):
            while approvals.seq <= params.after and not entries.is_closed:
                await entries.wait()
    found = approvals.pending()
    if params.settled:
        stored = await anyio.to_thread.run_sync(lambda: services.store.approvals(limit=SETTLED))
        newest = {each.id: each for each in (*stored, *approvals.settled())}
        ended = sorted(newest.values(), key=lambda each: each.asked_at_ns, reverse=True)
        found += [approvals.current(each) for each in ended if each.state != "pending"][:SETTLED]
    return ApprovalList(
        seq=approvals.seq,
        approvals=[
            approval_info(each)
            for each in found
            if may_see(actor, session=each.session, session_id=each.session_id)
        ],
    )


async def _approve(params: ApproveParams, services: Services, actor: Actor) -> ApprovalInfo:
    answer = Answer(
        granted=True,
        covers=params.covers,
        hours=params.hours,
        command_line=params.command_line,
        confirm=params.confirm,
        rule=params.rule,
        note=params.note,
    )
    approved = _settled(params.approval, answer, services, actor, params.via)
    if approved.standing is not None:
        await anyio.to_thread.run_sync(services.store.flush)  # on disk before the answer names it
    return approved


async def _decline(params: DeclineParams, services: Services, actor: Actor) -> ApprovalInfo:
    answer = Answer(granted=False, note=params.note)
    return _settled(params.approval, answer, services, actor, params.via)


def _settled(
    approval: str, answer: Answer, services: Services, actor: Actor, via: str
) -> ApprovalInfo:
    approvals = services.approvals
    return approval_info(approvals.current(approvals.settle(approval, answer, by=actor, via=via)))


async def _standing(params: Nothing, services: Services, actor: Actor) -> list[StandingInfo]:
    return [standing_info(each) for each in services.approvals.standing.in_force()]


async def _revoke(params: StandingParams, services: Services, actor: Actor) -> Done:
    services.approvals.standing.revoke(params.standing, by=actor)
    await anyio.to_thread.run_sync(services.store.flush)  # a killed server must not have it again
    return Done()


def approval_info(record: ApprovalRecord) -> ApprovalInfo:
    return ApprovalInfo(
        id=record.id,
        state=record.state,
        operation=record.operation,
        session=record.session,
        session_id=record.session_id,
        actor=f"{record.actor_kind}:{record.actor_name}",
        command_line=record.command_line,
        shown=None if record.command_line is None else visible(record.command_line),
        cwd=record.cwd,
        reason=record.reason,
        said=record.said,
        rule=record.rule,
        classes=list(record.classes),
        suggestion=record.suggestion,
        choices=[
            ApprovalChoice(covers=each.covers, says=each.says, rule=each.rule)
            for each in choices(record)
        ],
        asked_at=time_text(record.asked_at_ns),
        expires_at=time_text(record.expires_at_ns),
        settled_at=None if record.settled_at_ns is None else time_text(record.settled_at_ns),
        settled_by=record.settled_by,
        via=record.via,
        covers=record.covers,
        standing=record.standing,
        edited=record.edited,
        note=record.note,
    )


def standing_info(record: StandingRecord) -> StandingInfo:
    return StandingInfo(
        id=record.id,
        covers=record.covers,
        rule=record.rule,
        actor=f"{record.actor_kind}:{record.actor_name}",
        session=record.session,
        session_id=record.session_id,
        project=record.project,
        classes=[] if record.command_line is not None else list(record.classes),
        created_at=time_text(record.created_at_ns),
        created_by=record.created_by,
        via=record.via,
        approval=record.approval,
        expires_at=None if record.expires_at_ns is None else time_text(record.expires_at_ns),
        uses=record.uses,
        used_at=None if record.used_at_ns is None else time_text(record.used_at_ns),
    )


LIST = Operation(
    name="approval.list",
    summary="Questions that wait for a person; waits for the next change when asked to.",
    effect=Effect.READ,
    judged=PLAIN,
    params=ApprovalsParams,
    result=ApprovalList,
    run=_list,
    route=Route(method="GET", path="/approvals"),
    waits=True,
    shared=True,
)
APPROVE = Operation(
    name="approval.approve",
    summary="Say yes to a question: once, or for the session, the project, a time, or always. A person's.",
    effect=Effect.CONTROL,
    judged=PLAIN,
    params=ApproveParams,
    result=ApprovalInfo,
    run=_approve,
    route=Route(method="POST", path="/approvals/{approval}/approve"),
    answers=True,
    shared=True,
    errors=(
        AnswerNotOffered,
        ApprovalNotFound,
        ApprovalSettled,
        EditUnconfirmed,
        NotAPerson,
        PolicyDenied,
        Exhausted,
    ),
)
DECLINE = Operation(
    name="approval.decline",
    summary="Say no to a question. A person's.",
    effect=Effect.CONTROL,
    judged=PLAIN,
    params=DeclineParams,
    result=ApprovalInfo,
    run=_decline,
    route=Route(method="POST", path="/approvals/{approval}/decline"),
    answers=True,
    shared=True,
    errors=(ApprovalNotFound, ApprovalSettled, NotAPerson),
)
STANDING = Operation(
    name="approval.standing",
    summary="Answers that also cover later calls: what, until when, given by whom, how often used.",
    effect=Effect.READ,
    judged=PLAIN,
    params=Nothing,
    result=list[StandingInfo],
    run=_standing,
    route=Route(method="GET", path="/approvals/standing"),
)
REVOKE = Operation(
    name="approval.revoke",
    summary="Take a standing approval back. A person's.",
    effect=Effect.CONTROL,
    judged=PLAIN,
    params=StandingParams,
    result=Done,
    run=_revoke,
    route=Route(method="DELETE", path="/approvals/standing/{standing}", status=204),
    errors=(ApprovalNotFound, NotAPerson),
)

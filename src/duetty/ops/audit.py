"""Operations on the audit trail: read it, verify it, take it away."""

from collections.abc import AsyncIterator, Iterator
from functools import partial

import anyio

from duetty.audit import Filters, export, records, verify
from duetty.calls import Actor, Effect
from duetty.ops.documents import Stream
from duetty.ops.judgements import PLAIN
from duetty.ops.operation import Operation, Route
from duetty.ops.services import Services
from duetty.wire.approval_shapes import AuditParams, AuditProblem, AuditRecord, AuditVerified
from duetty.wire.params import Nothing
from duetty.wire.results import Document


async def _list(params: AuditParams, services: Services, actor: Actor) -> list[AuditRecord]:
    now_ns = services.clock.wall_ns()
    filters = Filters(
        kind=params.kind,
        actor=params.actor,
        operation=params.operation,
        session=params.session,
        call=params.call,
        decision=params.decision,
        outcome=params.outcome,
        text=params.text,
        since_ns=None if params.since_s is None else now_ns - int(params.since_s * 1e9),
        until_ns=None if params.until_s is None else now_ns - int(params.until_s * 1e9),
        before=params.before,
    )
    directory = services.trail.directory
    found = await anyio.to_thread.run_sync(partial(records, directory, filters, limit=params.limit))
    return [{**each.fields, "hash": each.hash} for each in found]


async def _verify(params: Nothing, services: Services, actor: Actor) -> AuditVerified:
    def check() -> AuditVerified:
        found = verify(services.trail.directory, services.store.trail_anchor)
        return AuditVerified(
            intact=found.intact,
            records=found.records,
            first_seq=found.first_seq,
            last_seq=found.last_seq,
            last_hash=found.last_hash,
            files=found.files,
            anchored=found.anchored,
            problems=[
                AuditProblem(file=each.file, line=each.line, seq=each.seq, what=each.what)
                for each in found.problems
            ],
        )

    return await anyio.to_thread.run_sync(check)


async def _export(params: Nothing, services: Services, actor: Actor) -> Stream:
    pieces = export(services.trail.directory)
    return Stream(
        media_type="application/x-ndjson", content=_in_threads(pieces), filename="audit.jsonl"
    )


async def _in_threads(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    while (piece := await anyio.to_thread.run_sync(next, pieces, b"")) != b"":
        yield piece


LIST = Operation(
    name="audit.list",
    summary="What was called, decided, asked and answered, newest first.",
    effect=Effect.READ,
    judged=PLAIN,
    params=AuditParams,
    result=list[AuditRecord],
    run=_list,
    route=Route(method="GET", path="/audit"),
    admin=True,
)
VERIFY = Operation(
    name="audit.verify",
    summary="Read the whole audit trail and name every record that was changed or is missing.",
    effect=Effect.READ,
    judged=PLAIN,
    params=Nothing,
    result=AuditVerified,
    run=_verify,
    route=Route(method="GET", path="/audit/verify"),
    admin=True,
)
EXPORT = Operation(
    name="audit.export",
    summary="The audit trail as it stands, oldest first, as JSON lines.",
    effect=Effect.READ,
    judged=PLAIN,
    params=Nothing,
    result=Document,
    run=_export,
    route=Route(method="GET", path="/audit/export", media=("application/x-ndjson",)),
    admin=True,
)

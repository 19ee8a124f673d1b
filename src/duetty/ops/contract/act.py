"""The terminal contract as one operation: bridge, check, gate, route, and failures in its words."""

import logging
from collections.abc import Sequence
from contextlib import suppress
from secrets import token_hex
from typing import Any

from pydantic import ValidationError

from duetty.calls import Actor, Effect
from duetty.errors import BadArguments, DuettyError
from duetty.ops.contract.compat import Bridged, alias_info, bridge
from duetty.ops.contract.failures import (
    ACTIONS,
    FAILURES,
    Disconnected,
    Internal,
    InvalidPayload,
    TerminalFailure,
    failure_of,
)
from duetty.ops.contract.headless_rules import check_headless
from duetty.ops.contract.request import Request, checked
from duetty.ops.contract.routes import MATRIX
from duetty.ops.contract.steps import Doing
from duetty.ops.judgements import PLAIN
from duetty.ops.operation import Operation, Route
from duetty.ops.services import Services
from duetty.wire.contract import Metadata, TerminalAnswer, TerminalParams
from duetty.wire.results import Approved

log = logging.getLogger("duetty.contract")


async def _act(params: TerminalParams, services: Services, actor: Actor) -> TerminalAnswer:
    given, trace_id = params.given(), token_hex(8)
    bridged: Bridged | None = None
    request: Request | None = None
    approved: list[Approved] = []
    try:
        bridged = bridge(given, takes_aliases=services.settings.terminal_aliases)
        request = checked(bridged)
        check_headless(request)
        doing = Doing(
            request=request,
            services=services,
            actor=actor,
            until_s=_until_s(request, services),
            approved=approved,
        )
        target, result = await MATRIX[request.action, request.mode].serve(doing)
    except DuettyError as error:
        timeout_ms = request.timeout_ms if request is not None else None
        failure = failure_of(error, cwd_field=_cwd_field(request), timeout_ms=timeout_ms)
        if isinstance(failure, Internal):
            log.warning("terminal_call_failed", extra={"trace_id": trace_id, "code": error.code})
        answer = failure.with_metadata(
            _metadata(given.get("action"), bridged, request, trace_id, approved)
        )
        raise answer from (None if failure is error else error)
    except Exception as error:
        # The last resort: what happened is for the log, not for the caller.
        log.exception("terminal_call_crashed", extra={"trace_id": trace_id})
        failure = Internal("something went wrong here", reason="crashed")
        raise _with_metadata(failure, given.get("action"), bridged, request, trace_id) from error
    metadata = _metadata(given.get("action"), bridged, request, trace_id, approved)
    return TerminalAnswer(action=request.action, target=target, result=result, metadata=metadata)


def cut_off_failure(request: object, message: str) -> Disconnected:
    """The answer to a request whose server died; total."""
    given: dict[str, Any] = {}
    bridged = whole = None
    with suppress(DuettyError, ValidationError):
        given = TerminalParams.model_validate(request).given()
        bridged = bridge(given)
        whole = checked(bridged)
    failure = Disconnected(message, reason="server_ended")
    failure.with_metadata(_metadata(given.get("action"), bridged, whole, token_hex(8)))
    return failure


def _until_s(request: Request, services: Services) -> float | None:
    """When the caller's own bound is over; without one a person has the time that questions have."""
    if request.timeout_ms is None:
        return None
    return services.clock.monotonic_s() + request.timeout_ms / 1000


def _cwd_field(request: Request | None) -> str:
    if request is None or request.execution.cwd is not None or not request.runtime.default_cwd:
        return "execution.cwd"
    return "runtime.default_cwd"


def _with_metadata(
    failure: TerminalFailure,
    action: object,
    bridged: Bridged | None,
    request: Request | None,
    trace_id: str,
) -> TerminalFailure:
    return failure.with_metadata(_metadata(action, bridged, request, trace_id))


def _metadata(
    action: object,
    bridged: Bridged | None,
    request: Request | None,
    trace_id: str,
    approved: Sequence[Approved] = (),
) -> Metadata:
    return Metadata(
        trace_id=trace_id,
        alias=bridged.alias if bridged is not None else alias_info(action),
        shape=bridged.shape if bridged is not None else "canonical",
        lifted=list(bridged.lifted) if bridged is not None else [],
        mode=request.mode if request is not None else None,
        intent=request.intent if request is not None else None,
        route=MATRIX[request.action, request.mode].name if request is not None else None,
        approval=approved[-1]
        if approved
        else None,  # the command's; before it a terminal is opened
    )


def _malformed(error: DuettyError) -> DuettyError:
    """A request that is no object has no action either; of others the error says which field it is about.

    So it is with a credential that does not reach the contract at all.
    """
    if not isinstance(error, BadArguments):
        return _with_metadata(failure_of(error), None, None, None, token_hex(8))
    fields: Any = error.details.get("fields")
    failure = InvalidPayload(
        error.message,
        hint=error.hint,
        fields=fields or {"request": "one JSON object"},
        allowed=() if fields else ACTIONS,
    )
    return _with_metadata(failure, None, None, None, token_hex(8))


ACT = Operation(
    name="terminal.act",
    summary="The terminal contract: execute, read_output, terminate, list, in one request shape.",
    effect=Effect.CONTROL,
    judged=PLAIN,
    params=TerminalParams,
    result=TerminalAnswer,
    run=_act,
    route=Route(method="POST", path="/terminal"),
    waits=True,
    shared=True,
    composed=True,
    malformed=_malformed,
    cut_off=cut_off_failure,
    errors=FAILURES,
)

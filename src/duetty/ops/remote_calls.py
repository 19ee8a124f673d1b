"""Calls that are meant for another node: permitted and recorded here, decided and done there.

The node's answer becomes what the operation would have answered here: its shape is
checked, its size bounded, its errors keep their codes. The name of a session goes
through the path encoder again, so it cannot lead to another place there.
"""

import base64
import json
import re
import secrets
from collections.abc import AsyncIterator, Generator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, contextmanager
from dataclasses import replace
from functools import cache
from typing import Any, get_type_hints
from urllib.parse import quote, urlencode

import anyio
from pydantic import TypeAdapter, ValidationError

from duetty.calls import Effect
from duetty.errors import (
    AuthInvalid,
    AuthRequired,
    BadArguments,
    Conflict,
    Deadline,
    DuettyError,
    Exhausted,
    NotFound,
    OriginNotAllowed,
    Refused,
    ServerUnavailable,
    Unavailable,
)
from duetty.hub import Answer, Asking, RemoteNode, logged
from duetty.ops.away_sessions import away_sessions
from duetty.ops.documents import Stream
from duetty.ops.guardrail.decision_path import Deciding, denied
from duetty.ops.guardrail.recorded_arguments import recorded_arguments
from duetty.ops.guardrail.trail_fields import caller_fields
from duetty.ops.hub_routing import Reachable, reachable
from duetty.ops.operation import Operation, OperationCall
from duetty.ops.remote_callers import Hearing, caller_of, plain_text
from duetty.ops.services import Services
from duetty.policy import Deny
from duetty.wire.json_values import MAX_ANSWER_VALUES, has_few_values
from duetty.wire.results import Done, SessionInfo

ANSWER_S = 30.0
"""For an answer that needs nothing but the node."""

PERSON_S = 330.0
"""For one that a person at the node may be asked about first, with half a minute to spare."""

LIST_S = 5.0
"""For a node's sessions, when all nodes are asked: one that is slow is left out."""

AGAIN_S = 2.5
"""For a machine that went away within a call to join again, here or at another replica."""

MOVED_S = 10.0
"""The same where this replica sent it away, because it is drained: no call is lost by that."""

CHUNK_S = 30.0
"""Between two parts of a document."""

MAX_LISTED = 2_000
"""Sessions taken from one node."""

_BODY_METHODS = frozenset({"POST", "PUT", "PATCH"})
_WAITS = ("max_wait_ms", "wait_ms", "timeout_ms", "grace_ms", "lease_ms")
_CODE = re.compile(r"[a-z][a-z0-9_]{0,63}")
_KINDS: Mapping[int, type[DuettyError]] = {
    400: BadArguments,
    403: Refused,
    404: NotFound,
    408: Deadline,
    409: Conflict,
    413: BadArguments,
    415: BadArguments,
    429: Exhausted,
    503: Unavailable,
}


def refuse_denied(call: OperationCall, deciding: Deciding) -> None:
    """What our own rules deny is not sent on. What they would ask about, the node asks about.

    Raises:
        PolicyDenied: if they do.
    """
    decided = deciding.judging.of_forwarded(call)
    decision = decided.decision
    if isinstance(decision, Deny):
        error = denied(decision, decided.judged)
        deciding.refused(call.call, call.operation, error)
        raise error


async def forward(
    node: RemoteNode,
    call: OperationCall,
    services: Services,
    hearing: Hearing,
) -> Any:
    """Raises:
    ServerUnavailable: if the node does not answer, or not as it should.
    DuettyError: what it answered.
    """
    refuse_denied(call, services.deciding)
    command_id = call.call.command_id or secrets.token_hex(16)
    call = replace(call, call=replace(call.call, command_id=command_id))
    with (
        recorded(node, call, services),
        logged(
            "call_routed",
            services.clock,
            reads=call.operation.effect is Effect.READ,
            command_id=command_id,
            operation=call.operation.name,
            machine=node.id or node.name,
            user=call.actor.user,
        ),
        services.metrics.calling("machine"),
        services.hub.calling(),
        services.access.lasting(call.actor),
    ):
        if call.operation.route.media:
            return await _document(node, call, hearing)
        with anyio.move_on_after(_answer_s(call)):
            while True:
                try:
                    with node.calling():
                        return await _result(node, call, hearing)
                except ServerUnavailable as error:
                    node = await _again(node, services, error)
        raise node.unavailable("it did not answer in time")


async def _again(node: RemoteNode, services: Services, error: ServerUnavailable) -> RemoteNode:
    """The same machine, when it joined again soon: it runs what has one command id once.

    Raises:
        ServerUnavailable: if it did not.
    """
    if node.has_joined and node.health not in ("healthy", "away"):
        with anyio.move_on_after(MOVED_S if services.hub.is_draining else AGAIN_S):
            return await services.hub.wait_again(node)
    raise error


async def _result(node: RemoteNode, call: OperationCall, hearing: Hearing) -> Any:
    async with _exchange(node, call, hearing) as answer:
        body = await answer.body()
        if answer.status >= 400:
            raise error_of_reply(node, answer.status, body)
        return _shaped(node, call.operation, body)


def _exchange(
    node: RemoteNode, call: OperationCall, hearing: Hearing
) -> AbstractAsyncContextManager[Answer]:
    target, kind, body = _request(call)
    method, target = target.split(" ", 1)
    return node.link.request(
        method,
        target,
        headers={"Content-Type": kind} if kind else {},
        body=body,
        asking=Asking(
            caller=caller_of(call.actor),
            command_id=call.call.command_id or secrets.token_hex(16),
            deadline_s=_answer_s(call),
            dialect=call.call.dialect,
            mode=call.call.mode,
            aside=hearing.aside,
        ),
    )


def _request(call: OperationCall) -> tuple[str, str, bytes | None]:
    """Method and target, content type, body."""
    route, params = call.operation.route, call.params
    rest = {name: value for name, value in call.call.arguments.items() if value is not None}

    def placed(found: re.Match[str]) -> str:
        return quote(str(rest.pop(found[1])), safe="")

    path = re.sub(r"\{(\w+)\}", placed, route.path)
    if route.raw_body is not None:
        rest.pop(route.raw_body, None)
        rest.pop("encoding", None)
        body = _bytes_of(getattr(params, route.raw_body), params.encoding)
        return f"{route.method} {path}{_query(rest)}", "application/octet-stream", body
    if route.method in _BODY_METHODS:
        encoded = json.dumps(rest).encode()
        return f"{route.method} {path}", "application/json", encoded
    return f"{route.method} {path}{_query(rest)}", "", None


def _bytes_of(data: str, encoding: str) -> bytes:
    if encoding != "base64":
        return data.encode("utf-8", "surrogatepass")
    try:
        return base64.b64decode(data, validate=True)
    except ValueError as error:
        raise BadArguments(f"data: not base64: {error}") from error


def _query(fields: Mapping[str, object]) -> str:
    given = {
        name: str(value).lower() if isinstance(value, bool) else value
        for name, value in fields.items()
    }
    return f"?{urlencode(given, doseq=True, errors='replace')}" if given else ""


def _answer_s(call: OperationCall) -> float:
    usual_s = PERSON_S if call.operation.effect in (Effect.INPUT, Effect.CONTROL) else ANSWER_S
    asked = [getattr(call.params, name, None) for name in _WAITS]
    return usual_s + max((each for each in asked if isinstance(each, int)), default=0) / 1000


# --- what comes back ----------------------------------------------------------


@cache
def _returned(operation: str, run: Any) -> TypeAdapter[Any]:
    """What a run here would have returned."""
    return TypeAdapter(get_type_hints(run)["return"])


def _shaped(node: RemoteNode, operation: Operation[Any, Any], body: bytes) -> Any:
    if operation.route.status == 204:
        return Done()
    if not has_few_values(body, MAX_ANSWER_VALUES):
        raise ServerUnavailable(f"its answer has more than {MAX_ANSWER_VALUES} values")
    try:
        parsed = json.loads(body)
        TypeAdapter(operation.result).validate_python(parsed)
        result = _returned(operation.name, operation.function).validate_python(parsed)
    except (ValueError, RecursionError, ValidationError) as error:
        raise ServerUnavailable("its answer is not of the shape that was asked for") from error
    if operation.everywhere:
        return [_of(node, each) for each in result[:MAX_LISTED]]
    if not isinstance(result, SessionInfo):
        return result
    if node.has_joined and operation.name == "session.open":
        node.has_opened(result.id, result.name)
    return _of(node, result)


def _of(node: RemoteNode, info: SessionInfo) -> SessionInfo:
    """Whatever it says it is called: this is the name that reaches it."""
    return info.model_copy(update={"server": node.name})


def error_of_reply(node: RemoteNode, status: int, body: bytes) -> DuettyError:
    """A node's refusal, as if it had been ours; what concerns our credential there is not."""
    try:
        fields = json.loads(body)["error"]
        code, message, hint = str(fields["code"]), str(fields["message"]), fields.get("hint")
        details = fields.get("details")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return node.unavailable(f"it answered with status {status} and no reason")
    if code in (AuthRequired.code, AuthInvalid.code):
        return node.unavailable("it does not take the token that was given for it")
    if code == OriginNotAllowed.code:
        return node.unavailable("it is not called by this name; its setting server.hosts decides")
    kind = _by_code().get(code) or _KINDS.get(status, DuettyError)
    error = kind.__new__(kind)
    DuettyError.__init__(
        error,
        plain_text(message),
        hint=plain_text(hint) if isinstance(hint, str) else None,
        details=details if isinstance(details, dict) else None,  # pyright: ignore[reportUnknownArgumentType] - JSON
    )
    if error.code != code and _CODE.fullmatch(code):
        error.code = code  # type: ignore[misc]  # the wire's code stands for the class's
    return error


def _by_code() -> dict[str, type[DuettyError]]:
    found: dict[str, type[DuettyError]] = {}
    kinds: list[type[DuettyError]] = [DuettyError]
    for kind in kinds:
        kinds += kind.__subclasses__()
        if "code" in kind.__dict__:
            found.setdefault(kind.code, kind)
    return found


async def _document(node: RemoteNode, call: OperationCall, hearing: Hearing) -> Stream:
    """A document passes through as it comes."""
    stack = AsyncExitStack()
    try:
        with node.calling(), anyio.move_on_after(_answer_s(call)):
            answer = await stack.enter_async_context(_exchange(node, call, hearing))
            if answer.status >= 400:
                raise error_of_reply(node, answer.status, await answer.body())
            media = answer.headers.get("content-type", "")
            known = [kind for kind in call.operation.route.media if media.startswith(kind)]
            if not known:
                raise node.unavailable("its answer is of another kind than was asked for")
            return Stream(
                media_type=media if media.isprintable() else known[0],
                content=_chunks(answer, stack),
                filename=_filename(answer.headers.get("content-disposition", "")),
            )
        raise node.unavailable("it did not answer in time")
    except BaseException:
        await stack.aclose()
        raise


async def _chunks(answer: Answer, stack: AsyncExitStack) -> AsyncIterator[bytes]:
    async with stack:
        parts = answer.chunks()
        while True:
            with anyio.fail_after(CHUNK_S):
                part = await anext(parts, None)
            if part is None:
                return
            yield part


def _filename(disposition: str) -> str | None:
    found = re.search(r'filename="([^"]{1,200})"', disposition)
    return None if found is None else found[1]


# --- all of them --------------------------------------------------------------


async def everywhere(call: OperationCall, services: Services) -> list[Any]:
    """What every healthy node answers to this, one after the other in a list, and what those had that are away.

    Nodes are asked side by side for what is their own, so that two that speak for each other
    do not ask in circles.
    """
    asked = [each for each in reachable(call.actor, services) if each.node.health == "healthy"]
    found: dict[Reachable, list[Any]] = {}

    async def ask(each: Reachable) -> None:
        # `server`, so that two that speak for each other do not ask in circles.
        given = {**call.call.arguments, "server": each.node.name}
        own = replace(call, call=replace(call.call, actor=each.actor, arguments=given))
        try:
            with each.node.calling(), anyio.move_on_after(LIST_S):
                found[each] = await _result(each.node, own, Hearing())
        except DuettyError:
            return  # `GET /servers` tells how it is

    async with anyio.create_task_group() as tasks:
        for each in asked:
            tasks.start_soon(ask, each)
    answered = [one for each in asked for one in found.get(each, [])]
    if call.call.dialect or call.call.arguments.get("tag"):
        return answered  # a model hears of them where none else is meant (`selection.py`)
    return [*answered, *away_sessions(call.actor, services)]


# --- the trail ----------------------------------------------------------------


@contextmanager
def recorded(node: RemoteNode, call: OperationCall, services: Services) -> Generator[None]:
    """The trail here has who asked and where it went; what is typed is in the trail there."""
    operation = call.operation
    if operation.effect not in (Effect.INPUT, Effect.CONTROL) or operation.name == "input.type":
        yield
        return
    services.trail.check()
    call_id = secrets.token_hex(6)
    caller, where = caller_fields(call.call), {"call": call_id, "server": node.name}
    services.trail.record(
        "call",
        **where,
        **caller,
        session=call.session_name,
        arguments=recorded_arguments(call, secret=True),
        decision={"decision": "forward"},
    )
    outcome = "cancelled"
    try:
        yield
        outcome = "done"
    except DuettyError as error:
        outcome = error.code
        raise
    finally:
        called = {name: caller[name] for name in ("actor", "operation")}
        services.trail.record("outcome", **where, **called, outcome=outcome)

"""A call that an upstream answers with a task: asked after until it is over, in both eras.

In the 2025-11-25 revision a tool may be called as a task only; in the modern era a server
may answer any call with one, to clients that know tasks.
"""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, Literal, cast

import anyio
from mcp import MCPError
from mcp import types as t

from duetty.errors import DuettyError, UpstreamFault, UpstreamTimeout
from duetty.upstreams.link import Progress

TASKS_IN_CORE = "2025-11-25"
"""The revision in which a tool may be called as a task only."""

TASKS_EXTENSION = "io.modelcontextprotocol/tasks"
"""By which a client of the modern era says that it knows tasks."""

CANCEL_S = 5.0
"""For the cancellation that the upstream gets."""

Send = Callable[[Any], Awaitable[dict[str, Any]]]
Given = Callable[[Mapping[str, Any]], Awaitable[dict[str, Any]]]
"""What it asks for, by its keys; and the answers."""


class _Update(t.RequestParams):
    task_id: str
    input_responses: dict[str, Any]


class _Get(t.GetTaskRequest):
    name_param = "taskId"


class _Cancel(t.CancelTaskRequest):
    name_param = "taskId"


class _Answer(t.Request[_Update, Literal["tasks/update"]]):
    method: Literal["tasks/update"] = "tasks/update"
    params: _Update
    name_param = "taskId"


def task_of(answer: Mapping[str, Any]) -> str:
    """The id of the task that it answered with.

    Raises:
        UpstreamFault: if it has none.
    """
    shape: Any = answer.get("task", answer)
    task: Any = cast("dict[str, Any]", shape).get("taskId") if isinstance(shape, dict) else None
    if not isinstance(task, str):
        raise UpstreamFault("it was asked for a task, and answered with none")
    return task


async def finished(
    task: str,
    *,
    send: Send,
    given: Given | None,
    timeout_s: float,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Its outcome; one whose caller has gone is cancelled. `given`: of the modern era.

    Raises:
        DuettyError, MCPError: if nothing came of it.
    """
    is_over = False
    reported: list[str] = []
    try:
        with anyio.move_on_after(timeout_s):
            while True:
                now = await send(_Get(params=t.GetTaskRequestParams(task_id=task)))
                status = now.get("status")
                is_over = status in ("completed", "failed", "cancelled")
                message = now.get("statusMessage")
                if (
                    progress is not None
                    and isinstance(message, str)
                    and message not in reported[-1:]
                ):
                    reported.append(message)
                    await progress(float(len(reported)), None, message)
                if given is None and (is_over or status == "input_required"):
                    # What it asks for comes to those who ask for its result.
                    payload = t.GetTaskPayloadRequestParams(task_id=task)
                    answer = await send(t.GetTaskPayloadRequest(params=payload))
                    is_over = True
                    return answer
                if is_over:
                    return _outcome(now)
                if given is not None and status == "input_required":
                    answers = await given(now.get("inputRequests") or {})
                    update = _Update(task_id=task, input_responses=answers)
                    await send(_Answer(params=update))
                    continue
                poll_ms = now.get("pollIntervalMs", now.get("pollInterval"))
                await anyio.sleep(_poll_s(poll_ms))
        raise UpstreamTimeout(f"it did not finish within {timeout_s:g} s")
    finally:
        if not is_over:
            with anyio.move_on_after(CANCEL_S, shield=True), suppress(DuettyError):
                await send(_Cancel(params=t.CancelTaskRequestParams(task_id=task)))


def _outcome(now: Mapping[str, Any]) -> dict[str, Any]:
    """Of an ended task of the modern era, which holds its result."""
    result: Any = now.get("result")
    if now.get("status") == "completed" and isinstance(result, dict):
        return cast("dict[str, Any]", result)
    error: Any = now.get("error")
    if isinstance(error, dict):
        raise MCPError.from_error_data(t.ErrorData.model_validate(error))
    raise UpstreamFault(f"its task ended without a result: it is {now.get('status')!s}"[:200])


def _poll_s(poll_ms: object) -> float:
    """As it asks for, within reason."""
    wanted_s = poll_ms / 1000 if isinstance(poll_ms, int | float) else 1.0
    return min(max(wanted_s, 0.05), 10.0)

"""Calls that outlive their request: tasks, as both eras of the protocol know them.

A task belongs to the server, not to the connection that asked for it, and to the
actor who asked: no other actor can read it. Ended ones are kept for a while.
"""

import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from secrets import token_hex
from time import monotonic
from typing import Any, Literal

import anyio
import mcp_types as t
from anyio.abc import TaskGroup
from mcp.shared.exceptions import MCPError
from pydantic import Field

from duetty.calls import Actor
from duetty.edges.mcp.dialect import Json
from duetty.edges.mcp.sdk import TASKS_EXTENSION, Context, declares_tasks, is_modern
from duetty.errors import Exhausted
from duetty.ops import Shares

KEPT_MS = 600_000
"""How long an ended task is kept when its client asked for nothing else."""

MAX_KEPT_MS = 86_400_000
POLL_MS = 500
MISSING_CAPABILITY, HEADER_MISMATCH = -32021, -32020
RELATED_TASK = "io.modelcontextprotocol/related-task"

Status = Literal["working", "input_required", "completed", "failed", "cancelled"]
Outcome = t.CallToolResult | MCPError


class TaskParams(t.RequestParams):
    task_id: str


class TaskUpdateParams(TaskParams):
    input_responses: dict[str, Any] = Field(default_factory=dict[str, Any])


@dataclass(slots=True, kw_only=True, eq=False)
class Task:
    """One call on its way."""

    actor: Actor
    kept_ms: int
    give_back: Callable[[], None]
    """Of its place among all tasks."""

    about: tuple[str, str] | None = None
    """The tool and its arguments, where an answer may come with the same call again."""

    id: str = field(default_factory=lambda: token_hex(16))
    status: Status = "working"
    message: str | None = None
    created_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    updated_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    updated_s: float = field(default_factory=monotonic)
    outcome: Outcome | None = None
    done: anyio.Event = field(default_factory=anyio.Event)
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    questions: dict[str, Json] = field(default_factory=dict[str, Json])
    answers: dict[str, Json] = field(default_factory=dict[str, Json])
    answered: anyio.Event = field(default_factory=anyio.Event)
    asked: anyio.Event = field(default_factory=anyio.Event)

    @property
    def is_over(self) -> bool:
        return self.status in ("completed", "failed", "cancelled")

    def become(self, status: Status) -> None:
        self.status = status
        self.updated_at = datetime.now(UTC)
        self.updated_s = monotonic()

    async def ask(self, *questions: Json) -> list[Json]:
        """Put questions to the client and wait for all the answers."""
        keys = [token_hex(4) for _ in questions]
        self.questions |= dict(zip(keys, questions, strict=True))
        self.become("input_required")
        self.asked.set()
        try:
            while any(key not in self.answers for key in keys):
                self.answered = anyio.Event()
                await self.answered.wait()
            return [self.answers.pop(key) for key in keys]
        finally:
            # The call has ended: the client need not be asked.
            self.take({key: {} for key in keys if key in self.questions})
            for key in keys:
                self.answers.pop(key, None)

    async def wait_done_or_question(self) -> None:
        while not (self.done.is_set() or self.questions):
            self.asked = anyio.Event()
            await self.asked.wait()

    def take(self, answers: Json) -> None:
        for key in list(answers):
            if self.questions.pop(key, None) is not None:
                self.answers[key] = answers[key]
        if self.status == "input_required" and not self.questions:
            self.become("working")
        self.answered.set()


class Tasks:
    """Every task of one dialect's server."""

    def __init__(self, shares: Shares) -> None:
        self._shares = shares
        """Of tasks at once, ended ones that are still kept included."""

        self._tasks: dict[str, Task] = {}
        self.group: TaskGroup | None = None
        """Who owns the work; set while the server runs."""

    def start(
        self,
        actor: Actor,
        work: Callable[[Task], Awaitable[Outcome]],
        *,
        kept_ms: int | None = None,
        about: tuple[str, str] | None = None,
    ) -> Task:
        give_back = self._make_room(actor)
        assert self.group is not None
        kept_ms = max(1, min(kept_ms or KEPT_MS, MAX_KEPT_MS))
        task = Task(actor=actor, kept_ms=kept_ms, about=about, give_back=give_back)
        self._tasks[task.id] = task
        self.group.start_soon(self._work, task, work)
        return task

    def waiting(self, id_: str, actor: Actor) -> Task | None:
        """A call of this actor that put a question."""
        task = self._tasks.get(id_)
        return task if task is not None and task.actor == actor else None

    def forget(self, task: Task) -> None:
        task.give_back()
        self._tasks.pop(task.id, None)

    async def _work(self, task: Task, work: Callable[[Task], Awaitable[Outcome]]) -> None:
        try:
            with task.scope:
                task.outcome = await work(task)
        finally:
            if task.outcome is None:
                task.become("cancelled")
            else:
                task.become("failed" if isinstance(task.outcome, MCPError) else "completed")
            task.questions.clear()
            task.done.set()
            task.asked.set()

    def _make_room(self, actor: Actor) -> Callable[[], None]:
        """The oldest ended tasks of the same actor go for a new one.

        Raises:
            MCPError: if all that it may have are at work.
        """
        self._forget_old()
        ended = [each for each in self._tasks.values() if each.is_over and each.actor == actor]
        while True:
            try:
                return self._shares.take(actor)
            except Exhausted as error:
                if not ended:
                    raise MCPError(code=t.INTERNAL_ERROR, message=error.message) from error
                self.forget(ended.pop(0))

    def _forget_old(self) -> None:
        now_s = monotonic()
        for task in list(self._tasks.values()):
            if task.is_over and (now_s - task.updated_s) * 1000 > task.kept_ms:
                self.forget(task)

    # --- the protocol -----------------------------------------------------------

    def find(self, context: Context, params: TaskParams, actor: Actor) -> Task:
        if is_modern(context):
            require_tasks(context)
            headers = None if context.request is None else context.request.headers
            if headers is not None and headers.get("mcp-name") != params.task_id:
                raise MCPError(
                    code=HEADER_MISMATCH, message="Mcp-Name header does not match params.taskId"
                )
        self._forget_old()
        task = self._tasks.get(params.task_id)
        if task is None or task.actor != actor:
            raise MCPError(code=t.INVALID_PARAMS, message="Unknown taskId")
        return task

    def of(self, actor: Actor) -> list[Task]:
        self._forget_old()
        return [task for task in self._tasks.values() if task.actor == actor]

    def cancel(self, context: Context, task: Task) -> Json:
        if task.is_over and not is_modern(context):
            raise MCPError(
                code=t.INVALID_PARAMS, message=f"Cannot cancel a task that is {task.status}"
            )
        if not task.is_over:
            task.become("cancelled")
            task.scope.cancel()
        return {} if is_modern(context) else wire_2025(task)


def require_tasks(context: Context) -> None:
    """Refuse a client of the modern era that did not declare the extension."""
    if not declares_tasks(context):
        raise MCPError(
            code=MISSING_CAPABILITY,
            message="Missing required client capability",
            data={"requiredCapabilities": {"extensions": {TASKS_EXTENSION: {}}}},
        )


def wire_2026(task: Task) -> Json:
    shape: Json = {
        "taskId": task.id,
        "status": task.status,
        "createdAt": _time(task.created_at),
        "lastUpdatedAt": _time(task.updated_at),
        "ttlMs": task.kept_ms,
        "pollIntervalMs": POLL_MS,
    }
    if task.message is not None:
        shape["statusMessage"] = task.message
    if task.status == "completed":
        assert isinstance(task.outcome, t.CallToolResult)
        shape["result"] = {**dumped(task.outcome), "resultType": "complete"}
    if task.status == "failed":
        assert isinstance(task.outcome, MCPError)
        shape["error"] = task.outcome.error.model_dump(mode="json", exclude_none=True)
    if task.status == "input_required":
        shape["inputRequests"] = dict(task.questions)
    return shape


def wire_2025(task: Task) -> Json:
    failed = isinstance(task.outcome, t.CallToolResult) and task.outcome.is_error
    shape: Json = {
        "taskId": task.id,
        # This revision calls a task failed when its tool's result says so.
        "status": "failed" if failed and task.status == "completed" else task.status,
        "createdAt": _time(task.created_at),
        "lastUpdatedAt": _time(task.updated_at),
        "ttl": task.kept_ms,
        "pollInterval": POLL_MS,
    }
    if task.message is not None:
        shape["statusMessage"] = task.message
    return shape


async def result_2025(task: Task) -> Json:
    """What the call would have answered; waits for it, as the revision says."""
    await task.done.wait()
    if isinstance(task.outcome, MCPError):
        raise task.outcome
    if task.outcome is None:
        raise MCPError(code=t.INVALID_PARAMS, message="The task was cancelled and has no result")
    shape = dumped(task.outcome)
    shape["_meta"] = {**shape.get("_meta", {}), RELATED_TASK: {"taskId": task.id}}
    return shape


def dumped(result: t.CallToolResult) -> Json:
    return result.model_dump(by_alias=True, mode="json", exclude_none=True)


def asked_to_keep_ms(params: Json) -> int | None:
    """The time that a task-augmented request asks for, if it says one."""
    match params:
        case {"task": {"ttl": int() | float() as wanted}} if math.isfinite(wanted):
            return int(wanted)
        case _:
            return None


def _time(at: datetime) -> str:
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")

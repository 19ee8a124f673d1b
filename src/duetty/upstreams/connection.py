"""The official SDK's client around one upstream. Nothing else in this package imports the SDK's client.

Answers are taken as they stood on the wire, after the SDK checked them against the
revision that was agreed on.
"""

import logging
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from json import dumps
from pathlib import Path
from typing import Any, Literal, cast

import anyio
import httpx2
from mcp import Client, MCPError
from mcp import types as t
from mcp.client.extension import advertise
from mcp.client.subscriptions import (
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    SubscriptionLost,
    ToolsListChanged,
)
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.inbound import MCP_NAME_HEADER, encode_header_value
from mcp_types import LOG_LEVEL_META_KEY
from mcp_types.methods import validate_server_result
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import TypeAdapter, ValidationError

from duetty import __version__
from duetty.errors import (
    DuettyError,
    UpstreamFault,
    UpstreamNeedsLogin,
    UpstreamTimeout,
    UpstreamUnavailable,
)
from duetty.sandbox import Level
from duetty.upstreams.child import Child, started
from duetty.upstreams.http import log_in, reaching
from duetty.upstreams.lines import speaking
from duetty.upstreams.link import Asked, Hears, Link, Progress, Surroundings
from duetty.upstreams.oauth import Answers
from duetty.upstreams.tasks import TASKS_EXTENSION, TASKS_IN_CORE, finished, task_of
from duetty.upstreams.tools import shown
from duetty.upstreams.upstream_settings import Program, UpstreamOrder

MAX_PAGES = 100
MAX_LISTED = 5_000
SPARE_S = 5.0
"""Beyond a call's own time, for the cancellation that the upstream gets."""

RELISTEN_S = 1.0
SUBSCRIBE_S = 10.0
STATE_ONLY_S = 0.1
"""Before a request is sent again that was answered with a state and no question."""

ROOTS_S = 1.0
"""Between two looks at which workspaces there are."""

SAMPLING, ELICITATION, ROOTS = "sampling/createMessage", "elicitation/create", "roots/list"
REJECTED = -1
"""What the protocol's own examples say when a person does not let a server ask."""

MAX_ROUNDS = 10
"""How often one call may be answered with a question."""

FIRST_LEVEL = "info"
MAX_REASON_CHARS = 1_000
MAX_DATA = 16_384

RESPONSES: Any = TypeAdapter(t.InputResponses)

# At its own level it logs every request, with its address.
logging.getLogger("httpx2").setLevel(logging.WARNING)
logging.getLogger("mcp").setLevel(logging.WARNING)


__all__ = ["connect", "log_in"]


@asynccontextmanager
async def connect(order: UpstreamOrder, around: Surroundings, hears: Hears) -> AsyncGenerator[Link]:
    """An open connection, closed and (a program) ended when this is left.

    Raises:
        DuettyError: if there can be none, or it broke; some of them in a group.
    """
    if isinstance(order.target, Program):
        async with (
            started(order.name, order.target, around) as child,
            _program(child, order, around, hears) as link,
        ):
            yield link
        return
    answers = Answers()
    transport = reaching(order, around, answers)
    try:
        async with _client(transport, order, around, hears) as client:
            link = _Connection(client, order, around, hears=hears, answers=answers)
            async with link.following(), _telling_roots(client, order, around):
                yield link
    except (httpx2.HTTPError, OSError, MCPError, BaseExceptionGroup) as error:
        raise _coded_reason(error, answers) from error


@asynccontextmanager
async def _program(
    child: Child, order: UpstreamOrder, around: Surroundings, hears: Hears
) -> AsyncGenerator["_Connection"]:
    lost = _Lost()
    try:
        async with _client(speaking(child, lost.set), order, around, hears) as client:
            link = _Connection(client, order, around, hears=hears, child=child, lost=lost)
            async with link.following(), _telling_roots(client, order, around):
                yield link
    except (MCPError, BaseExceptionGroup) as error:
        reason = _coded_reason(error)
        if lost.event.is_set() and (
            type(reason) is UpstreamUnavailable or not isinstance(reason, DuettyError)
        ):
            reason = await _why_ended(child, lost)  # more is known than that it is gone
        raise reason from error


def _client(transport: Any, order: UpstreamOrder, around: Surroundings, hears: Hears) -> Client:
    async def roots(context: object) -> t.ListRootsResult:
        return t.ListRootsResult.model_validate(_roots(around))

    async def sample(
        context: object, params: t.CreateMessageRequestParams
    ) -> t.CreateMessageResult | t.ErrorData:
        try:
            answer = await hears.asked(SAMPLING, _wire(params))
            return t.CreateMessageResult.model_validate(answer, by_name=False)
        except (DuettyError, ValidationError) as error:
            return _refused(error)

    async def elicit(
        context: object, params: t.ElicitRequestParams
    ) -> t.ElicitResult | t.ErrorData:
        try:
            answer = await _filled_in(hears.asked, _wire(params))
            return t.ElicitResult.model_validate(answer, by_name=False)
        except (DuettyError, ValidationError) as error:
            return _refused(error)

    async def note(message: object) -> None:
        match message:
            case t.ToolListChangedNotification():
                hears.changed("tools")
            case t.ResourceListChangedNotification():
                hears.changed("resources")
            case t.PromptListChangedNotification():
                hears.changed("prompts")
            case t.ResourceUpdatedNotification(params=params):
                hears.updated(str(params.uri))
            case t.LoggingMessageNotification(params=params):
                hears.logged(params.level, params.logger, params.data)
            case _:
                pass

    return Client(
        transport,
        read_timeout_seconds=order.timeout_s,
        message_handler=note,
        list_roots_callback=roots if order.has_roots else None,
        sampling_callback=sample if order.may_sample else None,
        elicitation_callback=elicit if order.may_elicit else None,
        log_level=FIRST_LEVEL,
        client_info=t.Implementation(name="duetty", version=__version__),
        extensions=[advertise(TASKS_EXTENSION)],
        cache=None,
    )


def _roots(around: Surroundings) -> dict[str, Any]:
    return {"roots": [{"uri": Path(each).as_uri()} for each in around.roots()]}


def _wire(params: Any) -> dict[str, Any]:
    dumped: dict[str, Any] = params.model_dump(by_alias=True, mode="json", exclude_none=True)
    dumped.pop("_meta", None)
    return dumped


async def _filled_in(asked: Asked, params: Mapping[str, Any]) -> dict[str, Any]:
    """A person's answers to a form; fields that they left alone have the form's defaults."""
    answer = await asked(ELICITATION, params)
    if answer.get("action") != "accept" or params.get("mode", "form") != "form":
        return answer
    schema: dict[str, Any] = params.get("requestedSchema") or {}
    fields: dict[str, Any] = schema.get("properties") or {}
    defaults: dict[str, Any] = {
        name: each["default"]
        for name, each in fields.items()
        if isinstance(each, dict) and "default" in each
    }
    return {**answer, "content": defaults | (answer.get("content") or {})}


def _refused(error: DuettyError | ValidationError) -> t.ErrorData:
    """The upstream hears that it got nothing, and nothing of ours besides."""
    reason = error.message if isinstance(error, DuettyError) else "the answer was none"
    return t.ErrorData(code=REJECTED, message=reason)


@asynccontextmanager
async def _telling_roots(
    client: Client, order: UpstreamOrder, around: Surroundings
) -> AsyncGenerator[None]:
    """Meanwhile it gets a notification when workspaces come and go; the modern era has none."""
    if not order.has_roots or client.protocol_version in MODERN_PROTOCOL_VERSIONS:
        yield
        return

    async def watch() -> None:
        known = around.roots()
        while True:
            await anyio.sleep(ROOTS_S)
            if (now := around.roots()) != known:
                known = now
                await client.session.send_notification(t.RootsListChangedNotification())

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch)
        yield
        tasks.cancel_scope.cancel()


class _Lost:
    def __init__(self) -> None:
        self.event = anyio.Event()
        self.reason: DuettyError | None = None

    def set(self, reason: DuettyError | None) -> None:
        if not self.event.is_set():
            self.reason = reason
            self.event.set()


class _Connection:
    def __init__(
        self,
        client: Client,
        order: UpstreamOrder,
        around: Surroundings,
        *,
        hears: Hears,
        child: Child | None = None,
        lost: _Lost | None = None,
        answers: Answers | None = None,
    ) -> None:
        self._client = client
        self._order = order
        self._around = around
        self._hears = hears
        self._changed = hears.changed
        self._level = FIRST_LEVEL
        self._watched: set[str] = set()
        self._listening: anyio.CancelScope | None = None
        self._child = child
        self._lost = lost or _Lost()
        self._answers = answers
        self.pid: int | None = None if child is None else child.pid
        self.sandbox: Level | None = None if child is None else child.sandbox

    @property
    def protocol(self) -> str:
        return self._client.protocol_version

    @property
    def implementation(self) -> str | None:
        info = self._client.server_info
        return None if info is None else shown(f"{info.name} {info.version}")[:200]

    @property
    def instructions(self) -> str | None:
        return self._client.instructions

    @property
    def can_subscribe(self) -> bool:
        resources = self._client.server_capabilities.resources
        return resources is not None and resources.subscribe is True

    @property
    def _is_refused(self) -> bool:
        """Whether everything is, and not one call for which more is needed."""
        return self._answers is not None and self._answers.refused == 401

    async def wait_lost(self) -> None:
        await self._lost.event.wait()
        if self._child is not None:
            raise await _why_ended(self._child, self._lost)
        raise self._lost.reason or UpstreamUnavailable("it closed the connection")

    @asynccontextmanager
    async def following(self) -> AsyncGenerator[None]:
        """Of the modern era: hear of changed lists, which come only to those who ask for it."""
        if self.protocol not in MODERN_PROTOCOL_VERSIONS:
            yield
            return
        async with anyio.create_task_group() as tasks:
            await tasks.start(self._listen)
            yield
            tasks.cancel_scope.cancel()

    async def _listen(self, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        is_first = True
        while True:
            watched = sorted(self._watched)
            try:
                with anyio.CancelScope() as self._listening:
                    async with self._client.listen(
                        tools_list_changed=True,
                        prompts_list_changed=True,
                        resources_list_changed=True,
                        resource_subscriptions=watched,
                    ) as events:
                        if is_first:
                            task_status.started()
                        else:
                            # Changes while no stream was open are not repeated.
                            self._changed("tools")
                            for uri in watched:
                                self._hears.updated(uri)
                        is_first = False
                        async for event in events:
                            match event:
                                case ToolsListChanged():
                                    self._changed("tools")
                                case ResourcesListChanged():
                                    self._changed("resources")
                                case PromptsListChanged():
                                    self._changed("prompts")
                                case ResourceUpdated(uri=uri):
                                    self._hears.updated(uri)
                if self._listening.cancelled_caught:
                    continue  # others are watched now
            except SubscriptionLost:
                pass
            except (MCPError, TimeoutError) as error:
                if not is_first and isinstance(error, MCPError):
                    self._note_loss(error)
                if is_first:
                    task_status.started()  # it announces no changes, which is allowed
                return
            await anyio.sleep(RELISTEN_S)

    # --- lists ------------------------------------------------------------------------

    async def tools(self) -> list[dict[str, Any]]:
        if self._client.server_capabilities.tools is None:
            return []
        found = await self._pages(lambda params: t.ListToolsRequest(params=params), "tools")
        session = self._client.session
        try:
            listed = t.ListToolsResult.model_validate({"tools": found}, by_name=False)
        except ValidationError as error:
            raise UpstreamFault("its list of tools is not as the protocol says") from error
        # Arguments that the modern era sends as headers too are known from the listing.
        kept = session._absorb_tool_listing(listed, complete=True)  # pyright: ignore[reportPrivateUsage]
        names = {tool.name for tool in kept.tools}
        return [each for each in found if each.get("name") in names]

    async def resources(self) -> list[dict[str, Any]]:
        if self._client.server_capabilities.resources is None:
            return []
        return await self._pages(lambda params: t.ListResourcesRequest(params=params), "resources")

    async def templates(self) -> list[dict[str, Any]]:
        if self._client.server_capabilities.resources is None:
            return []
        return await self._pages(
            lambda params: t.ListResourceTemplatesRequest(params=params), "resourceTemplates"
        )

    async def prompts(self) -> list[dict[str, Any]]:
        if self._client.server_capabilities.prompts is None:
            return []
        return await self._pages(lambda params: t.ListPromptsRequest(params=params), "prompts")

    async def _pages(
        self, request: Callable[[t.PaginatedRequestParams | None], Any], key: str
    ) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            params = None if cursor is None else t.PaginatedRequestParams(cursor=cursor)
            try:
                answer = await self._send(request(params), timeout_s=self._order.start_timeout_s)
            except UpstreamFault as error:
                if error.details.get("rpc_code") == t.METHOD_NOT_FOUND:
                    return found
                raise
            found += cast("list[dict[str, Any]]", answer.get(key) or [])
            after = answer.get("nextCursor")
            if not isinstance(after, str) or after == cursor or len(found) >= MAX_LISTED:
                break
            cursor = after
        return found[:MAX_LISTED]

    # --- calls ------------------------------------------------------------------------

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        timeout_s: float,
        progress: Progress | None = None,
        asked: Asked | None = None,
        as_task: bool = False,
    ) -> dict[str, Any]:
        """`as_task`: the tool is called in no other way; in the revision that has such tools."""
        params = t.CallToolRequestParams(name=tool, arguments=dict(arguments))
        if as_task and self.protocol == TASKS_IN_CORE:
            params.task = t.TaskMetadata(ttl=int(timeout_s * 1000))
        request = t.CallToolRequest(params=params)
        if params.task is None:
            return await self._completed(
                request, timeout_s=timeout_s, progress=progress, asked=asked
            )
        answer = await self._send(request, timeout_s=timeout_s, is_checked=False)
        return await self._finished(answer, timeout_s=timeout_s, progress=progress, asked=asked)

    async def _finished(
        self,
        answer: Mapping[str, Any],
        *,
        timeout_s: float,
        progress: Progress | None,
        asked: Asked | None,
    ) -> dict[str, Any]:
        """What came of the task that it answered with."""

        async def given(wanted: Mapping[str, Any]) -> dict[str, Any]:
            return {key: await self._given(each, asked) for key, each in wanted.items()}

        tell = None if progress is None else _forwarded(progress)
        try:
            return await finished(
                task_of(answer),
                send=partial(self._send, timeout_s=timeout_s),
                given=given if self.protocol in MODERN_PROTOCOL_VERSIONS else None,
                timeout_s=timeout_s,
                progress=tell,
            )
        except MCPError as error:
            raise _fault(error, self._answers) from error

    async def complete(
        self,
        kind: Literal["prompt", "resource"],
        about: str,
        argument: tuple[str, str],
        *,
        given: Mapping[str, str],
        timeout_s: float,
    ) -> dict[str, Any]:
        if self._client.server_capabilities.completions is None:
            return {}
        ref = (
            t.PromptReference(name=about)
            if kind == "prompt"
            else t.ResourceTemplateReference(uri=about)
        )
        name, value = argument
        params = t.CompleteRequestParams(
            ref=ref,
            argument=t.CompletionArgument(name=name, value=value),
            context=t.CompletionContext(arguments=dict(given)) if given else None,
        )
        answer = await self._send(t.CompleteRequest(params=params), timeout_s=timeout_s)
        return cast("dict[str, Any]", answer.get("completion") or {})

    async def read(
        self, uri: str, *, timeout_s: float, asked: Asked | None = None
    ) -> dict[str, Any]:
        request = t.ReadResourceRequest(params=t.ReadResourceRequestParams(uri=uri))
        return await self._completed(request, timeout_s=timeout_s, asked=asked)

    async def prompt(
        self,
        name: str,
        arguments: Mapping[str, str],
        *,
        timeout_s: float,
        asked: Asked | None = None,
    ) -> dict[str, Any]:
        params = t.GetPromptRequestParams(name=name, arguments=dict(arguments) or None)
        request = t.GetPromptRequest(params=params)
        return await self._completed(request, timeout_s=timeout_s, asked=asked)

    async def subscribe(self, uri: str, *, on: bool) -> None:
        if self.protocol in MODERN_PROTOCOL_VERSIONS:
            (self._watched.add if on else self._watched.discard)(uri)
            if self._listening is not None:
                self._listening.cancel()
            return
        request: Any = t.UnsubscribeRequest(params=t.UnsubscribeRequestParams(uri=uri))
        if on:
            request = t.SubscribeRequest(params=t.SubscribeRequestParams(uri=uri))
        await self._send(request, timeout_s=SUBSCRIBE_S)

    async def set_level(self, level: str) -> None:
        if self._client.server_capabilities.logging is None:
            return
        self._level = level  # of each request from now on, in the modern era
        if self.protocol not in MODERN_PROTOCOL_VERSIONS:
            params = t.SetLevelRequestParams(level=cast("Any", level))
            await self._send(t.SetLevelRequest(params=params), timeout_s=SUBSCRIBE_S)

    async def _completed(
        self,
        request: Any,
        *,
        timeout_s: float,
        progress: Progress | None = None,
        asked: Asked | None = None,
    ) -> dict[str, Any]:
        """The result. What it asks for first (the modern era) is answered, and the request sent again.

        Raises:
            UpstreamFault: if it asks for what it does not get, or asks without end.
        """
        for _ in range(MAX_ROUNDS):
            answer = await self._send(request, timeout_s=timeout_s, progress=progress)
            kind: object = answer.get("resultType", "complete")
            if kind == "complete":
                return answer
            if kind == "task":
                return await self._finished(
                    answer, timeout_s=timeout_s, progress=progress, asked=asked
                )
            if kind != "input_required":
                raise UpstreamFault(
                    "it answered with something that is not passed on",
                    details={"result_type": shown(str(kind))[:100]},
                )
            wanted: dict[str, Any] = answer.get("inputRequests") or {}
            given = {key: await self._given(each, asked) for key, each in wanted.items()}
            if not given:
                await anyio.sleep(STATE_ONLY_S)
            responses = RESPONSES.validate_python(given) if given else None
            again = {"input_responses": responses, "request_state": answer.get("requestState")}
            request = request.model_copy(update={"params": request.params.model_copy(update=again)})
        raise UpstreamFault(f"it asks again and again: {MAX_ROUNDS} times in one call")

    async def _given(self, wanted: Mapping[str, Any], asked: Asked | None) -> dict[str, Any]:
        method = wanted.get("method")
        params: dict[str, Any] = wanted.get("params") or {}
        if method == ROOTS and self._order.has_roots:
            return _roots(self._around)
        allowed = {SAMPLING: self._order.may_sample, ELICITATION: self._order.may_elicit}
        if asked is None or not allowed.get(str(method)):
            raise UpstreamFault(
                "it asks for input of its own, which its table does not let it ask for",
                hint="`sampling` and `elicitation` in its table let it ask",
                details={"asks_for": shown(str(method))[:100]},
            )
        if method == ELICITATION:
            return await _filled_in(asked, params)
        return await asked(str(method), params)

    async def _exchanged(
        self, request: Any, *, timeout_s: float, progress: Progress | None, is_checked: bool
    ) -> dict[str, Any]:
        """The answer as it stood on the wire, after a look at it; the SDK's own way would make a
        model of it, which leaves out what it does not know, and knows of no task in place of a result.
        """
        session: Any = self._client.session
        data: dict[str, Any] = request.model_dump(by_alias=True, mode="json", exclude_none=True)
        method: str = data["method"]
        options: dict[str, Any] = {}
        session._stamp(data, options)
        options["timeout"] = timeout_s
        if progress is not None:
            options["on_progress"] = _forwarded(progress)
        key: str | None = request.name_param
        if key is not None:
            named: str = data["params"][key]
            options.setdefault("headers", {})[MCP_NAME_HEADER] = encode_header_value(named)
        raw = await session._dispatcher.send_raw_request(method, data.get("params"), options)
        if self.protocol in MODERN_PROTOCOL_VERSIONS:
            raw.setdefault("resultType", "complete")  # the protocol's default
        if is_checked and raw.get("resultType") != "task":
            with suppress(KeyError):  # a method whose answer the SDK does not know
                validate_server_result(method, self.protocol, raw)
        return raw

    async def _send(
        self,
        request: Any,
        *,
        timeout_s: float,
        progress: Progress | None = None,
        is_checked: bool = True,
    ) -> dict[str, Any]:
        try:
            with anyio.fail_after(timeout_s + SPARE_S):
                if self._level != FIRST_LEVEL and self.protocol in MODERN_PROTOCOL_VERSIONS:
                    request = _with_level(request, self._level)
                return await self._exchanged(
                    request, timeout_s=timeout_s, progress=progress, is_checked=is_checked
                )
        except MCPError as error:
            self._note_loss(error)
            fault = _fault(error, self._answers)
            if isinstance(fault, UpstreamNeedsLogin) and self._is_refused:
                self._lost.set(fault)
            raise fault from error
        except TimeoutError as error:
            raise UpstreamTimeout(f"it did not answer within {timeout_s:g} s") from error
        except ValidationError as error:
            raise UpstreamFault("its answer is not as the protocol says") from error
        except (anyio.ClosedResourceError, anyio.BrokenResourceError, RuntimeError) as error:
            raise UpstreamUnavailable("the connection is gone") from error

    def _note_loss(self, error: MCPError) -> None:
        """A server elsewhere that has forgotten us is connected to anew."""
        forgotten = error.code == t.INVALID_REQUEST and error.error.message == "Session terminated"
        closed = error.code == t.CONNECTION_CLOSED and not _is_unreadable(error)
        if self._child is None and (forgotten or closed):
            self._lost.set(UpstreamUnavailable("it ended the session"))


def _with_level(request: Any, level: str) -> Any:
    if request.params is None:
        return request
    before: dict[str, Any] = request.params.meta or {}
    meta = {**before, LOG_LEVEL_META_KEY: level}
    return request.model_copy(update={"params": request.params.model_copy(update={"meta": meta})})


def _forwarded(tell: Progress) -> ProgressFnT:

    async def forward(progress: float, total: float | None, message: str | None) -> None:
        await tell(progress, total, None if message is None else shown(message)[:MAX_REASON_CHARS])

    return forward


def _fault(error: MCPError, answers: Answers | None = None) -> DuettyError:
    if error.code == t.REQUEST_TIMEOUT:
        return UpstreamTimeout("it did not answer in time")
    if _is_unreadable(error):
        return UpstreamFault(
            f"its answer cannot be read: {error.error.message[len(_UNREADABLE) :]}"
        )
    if error.code == t.CONNECTION_CLOSED:
        return UpstreamUnavailable("the connection is gone")
    if answers is not None and answers.login is not None:
        return answers.login
    if answers is not None and answers.refused is not None:
        return UpstreamUnavailable(
            f"it refused us (HTTP {answers.refused})", hint="check the token in its table"
        )
    return UpstreamFault(
        f"it answered with an error: {shown(error.error.message)[:MAX_REASON_CHARS]}",
        details={
            "rpc_code": error.code,
            "rpc_message": shown(error.error.message)[:MAX_REASON_CHARS],
            **_data_of(error),
        },
    )


_UNREADABLE = "SSE stream failed: "


def _is_unreadable(error: MCPError) -> bool:
    """The stream of one answer broke off, as the SDK says it: it is too long, or no events; the session stands."""
    return error.code == t.CONNECTION_CLOSED and error.error.message.startswith(_UNREADABLE)


def _data_of(error: MCPError) -> dict[str, object]:
    """The error's data, where it is short; in the upstream's own words."""
    data: object = error.error.data
    if data is None or len(dumps(data, default=str)) > MAX_DATA:
        return {}
    return {"rpc_data": data}


async def _why_ended(child: Child, lost: _Lost) -> DuettyError:
    if lost.reason is not None:
        return lost.reason
    with anyio.move_on_after(1.0):
        return await child.wait_ended()
    return UpstreamUnavailable("it closed its output")


def _coded_reason(error: BaseException, answers: Answers | None = None) -> BaseException:
    """A coded reason, out of all that task groups wrap around it; it names no address or value."""
    if isinstance(error, BaseExceptionGroup):
        wrapped = cast("BaseExceptionGroup[BaseException]", error).exceptions
        inner = [_coded_reason(each, answers) for each in wrapped]
        coded = [each for each in inner if isinstance(each, DuettyError)]
        return coded[0] if coded else inner[0]
    match error:
        case MCPError():
            return _fault(error, answers)
        case httpx2.HTTPError() if answers is not None and answers.login is not None:
            return answers.login
        case httpx2.TimeoutException():
            return UpstreamTimeout("it cannot be reached in time")
        case httpx2.HTTPError() | OSError():
            return UpstreamUnavailable(f"it cannot be reached: {type(error).__name__}")
        case _:
            return error

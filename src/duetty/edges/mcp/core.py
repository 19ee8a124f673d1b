"""A dialect as a server of the official SDK, for both eras of the protocol.

What the SDK leaves to its user is done here: unknown tools and wrong arguments
are errors of the protocol, a coded error has the shape of the dialect's contract,
and no exception escapes (an escaped one would show its text to the client).
"""

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

import anyio
import mcp_types as t
from anyio.abc import TaskGroup
from mcp.server.context import CallNext, HandlerResult
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError

from duetty.calls import Actor
from duetty.edges.mcp.arguments import Check, check_of, refuse_token
from duetty.edges.mcp.deferred import later
from duetty.edges.mcp.dialect import (
    Answer,
    Caller,
    Calls,
    Completing,
    Dialect,
    Dispatching,
    Json,
    Resource,
    Telling,
    Tool,
    failed,
)
from duetty.edges.mcp.elicitation import (
    abilities_of,
    answer_questions,
    by_request,
    by_task,
    host_by_connection,
    host_by_request,
    host_by_task,
)
from duetty.edges.mcp.errors import json_rpc_code, protocol_error
from duetty.edges.mcp.peer import Choice, Peer
from duetty.edges.mcp.plain_calls import (
    MAX_ENVELOPES,
    Envelope,
    PlainCall,
    envelope_of,
    passed_on_json,
    response_json,
    result_json,
)
from duetty.edges.mcp.results import (
    contents_of,
    json_text,
    listed_prompt,
    listed_resource,
    listed_template,
    listed_tool,
    passed_on,
    tool_result,
)
from duetty.edges.mcp.sdk import (
    TASKS_EXTENSION,
    TASKS_IN_CORE,
    Context,
    DuettyServer,
    cancelled_id,
    client_name,
    connection_of,
    declares_tasks,
    http_session,
    is_modern,
    server_info,
    set_level,
    tell_client,
)
from duetty.edges.mcp.session_choice import run_in_session
from duetty.edges.mcp.shutdown import Ending
from duetty.edges.mcp.subscriptions import Watches
from duetty.edges.mcp.tasks import (
    Outcome,
    Task,
    TaskParams,
    Tasks,
    TaskUpdateParams,
    asked_to_keep_ms,
    result_2025,
    wire_2025,
    wire_2026,
)
from duetty.errors import DuettyError, NotFound, ServerStopping
from duetty.hosts import Ability
from duetty.ops import timed

SDK_S = 0.0005
"""What the SDK takes of the loop for a message besides its answer, about."""

PROGRESS_S = 1.0
"""Between two signs of life of a call that waits, for callers that asked for them."""

TASK_AFTER_S = 5.0
"""A call that takes longer becomes a task, for clients of the modern era that know tasks."""

MAX_LATER = 64
"""Background runs whose end one client waits for."""

LIST_TTL_MS = 300_000
"""How long a client may keep the list of tools; it changes only with the server's version."""

PAGE_SIZE = 200
"""Resources in one answer; each session has two."""

COMPLETIONS = 100
"""Names in one answer, as the protocol says."""

RESOURCE_NOT_FOUND = -32002
"""Of the handshake era; in the modern one that number means nothing."""

SCOPE_CALLER = "duetty.caller"
"""Where the HTTP side leaves the caller in the request's scope."""

log = logging.getLogger("duetty.mcp")

Shape = TypeVar("Shape")
Report = Callable[[float, float | None, str | None], Awaitable[None]]
"""Tells a caller who asked for it how far a call is: seconds, of how many, the newest output."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """One call of one tool, ready to run."""

    tool: Tool
    check: Check
    calls: Calls
    arguments: Json
    ending: Ending
    abilities: frozenset[Ability]
    """What the client can be asked for."""

    version: str = ""
    """The revision that the client speaks, where the SDK does not answer it."""

    known: Json = field(default_factory=dict[str, Any])
    """Arguments that were left out and found meanwhile: the session."""

    @property
    def about(self) -> tuple[str, str]:
        """What an answer to a question of this call is bound to."""
        return self.tool.name, json_text(self.arguments)

    @property
    def may_ask(self) -> bool:
        """Whether the client may be asked something before this has its result."""
        return may_ask(self.tool, self.abilities, self.arguments)

    async def outcome(self, task: Task | None = None) -> Outcome:
        calls = self.calls
        if task is not None and self.may_ask:
            client = host_by_task(task, self.abilities)
            calls = replace(calls, host=by_task(task) if self.can_ask else None, client=client)
        return await self.shaped(tool_result, calls)

    @property
    def can_ask(self) -> bool:
        """Whether the client can show a person a question of ours."""
        return "form" in self.abilities and not self.tool.is_read_only

    async def shaped(self, shape: Callable[[Answer], Shape], calls: Calls) -> Shape | MCPError:
        """What came of it; an error that is no answer is returned, so that no task group wraps it."""
        try:
            given = self.arguments
            if self.tool.description:  # else an upstream's, whose arguments are its own
                refuse_token(given, self.tool.parameters)
            if not self.tool.checks_itself:
                given = self.check(given)
            with self.ending.cutting():
                return shape(await run_in_session(self.tool, calls, given, self.known))
            return shape(self._cut_off())
        except DuettyError as error:
            error = calls.of_hub(error)
            if json_rpc_code(error) is None:
                return shape(failed(error))
            return protocol_error(error)
        except Exception as error:  # noqa: BLE001 - the last resort, and it is logged
            return crashed(error)

    def _cut_off(self) -> Answer:
        stopping = self.calls.of_hub(ServerStopping())
        if self.tool.cut_off is None:
            return failed(stopping)
        return self.tool.cut_off(self.arguments, stopping.message)


def may_ask(tool: Tool, abilities: frozenset[Ability], arguments: Json) -> bool:
    """Policy's question about it, which session is meant, or what the tool itself wants of the host."""
    has_question = not tool.is_read_only or tool.needs_choice(arguments)
    return ("form" in abilities and has_question) or (tool.asks_host and bool(abilities))


class Core:
    """One dialect over the dispatcher."""

    takes_plain_calls = True

    def __init__(self, dialect: Dialect, dispatcher: Dispatching) -> None:
        self._dialect = dialect
        self._dispatcher = dispatcher
        self._schemas = {tool.name: tool.input_schema() for tool in dialect.tools}
        self._tools = {
            tool.name: (tool, check_of(self._schemas[tool.name])) for tool in dialect.tools
        }
        self._dialect_of = {
            tool.name: part.name for part in dialect.parts or (dialect,) for tool in part.tools
        }
        self._how_to_start = {part.name: part.how_to_start for part in dialect.parts or (dialect,)}
        self._of_resources = dialect.part_with(lambda part: bool(part.resources))
        self._of_prompts = dialect.part_with(lambda part: bool(part.prompts))
        self._prompts = {prompt.name: prompt for prompt in dialect.prompts}
        self._completes = bool(dialect.resources) or any(
            argument.complete for prompt in dialect.prompts for argument in prompt.arguments
        )
        self._listed_tools = t.ListToolsResult(
            tools=[listed_tool(tool) for tool in dialect.tools], ttl_ms=LIST_TTL_MS
        )
        # A client repeats some arguments as headers where a schema says so; the SDK compares them.
        self._has_plain_way = {
            name
            for name, schema in self._schemas.items()
            if "x-mcp-header" not in json_text(schema)
        }
        self.ending = Ending()
        self._envelopes: dict[bytes, Envelope] = {}
        self._http_peers: dict[str, Peer] = {}
        self._server_info = b""
        self._group: TaskGroup | None = None
        self.tasks = Tasks(dispatcher.bounds["tasks"])
        self.watches = Watches(self._find_resource, dispatcher.bounds["subscriptions"])

    @property
    def group(self) -> TaskGroup:
        """For what goes on beside a request, or outlives it."""
        assert self._group is not None
        return self._group

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Owns what outlives a request: tasks, and watches of subscribers."""
        async with anyio.create_task_group() as group:
            self._group = self.tasks.group = self.watches.group = group
            yield
            group.cancel_scope.cancel()

    def server(self) -> DuettyServer:
        has = self._dialect
        server = DuettyServer(
            has.server.name,
            version=has.server.version,
            title=has.server.title,
            description=has.server.description,
            instructions=has.instructions,
            lifespan=_no_lifespan,
            # Without it every modern HTTP call of a tool would list all tools first.
            get_tool_input_schema=self._schemas.get,
            on_list_tools=self._list_tools,
            on_list_resources=self._list_resources if has.resources else None,
            on_list_resource_templates=self._list_templates if has.resources else None,
            on_read_resource=self._read_resource if has.resources else None,
            on_subscribe_resource=self._subscribe if has.resources else None,
            on_unsubscribe_resource=self._unsubscribe if has.resources else None,
            on_subscriptions_listen=self._listen,
            on_completion=self._complete if self._completes else None,
            on_list_prompts=self._list_prompts if has.prompts else None,
            on_get_prompt=self._get_prompt if has.prompts else None,
        )
        server.add_request_handler("tools/call", t.CallToolRequestParams, self.call_tool)
        server.add_request_handler("logging/setLevel", t.SetLevelRequestParams, set_level)
        if has.live is not None or any(tool.may_be_task for tool in has.tools):
            self._serve_tasks(server)
        # In place of OpenTelemetry, which this server does not collect.
        server.middleware[:] = [self._observe]
        self._server_info = server_info(server)
        return server

    async def _observe(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """The SDK answers in tasks of its own: what that takes of the loop is its caller's all the same."""
        owner = self._caller(ctx).actor.identity
        fairness = self._dispatcher.bounds.fairness
        fairness.ran(owner, SDK_S)
        return await timed(self._observed(ctx, call_next), partial(fairness.ran, owner))

    async def _observed(self, context: Context, call_next: CallNext) -> HandlerResult:
        """What the handshake era needs and the SDK has no handler for; and who the client is."""
        if context.method == "notifications/cancelled":
            self._cancel_plain(context)
        elif is_modern(context):
            self._meet_modern(context)
        elif context.method == "notifications/initialized":
            if self._dialect.resources:
                self.watches.follow_list(connection_of(context), self._reading(context))
            result = await call_next(context)
            self._meet(context)
            return result
        elif context.method == "initialize":
            self._part(context)
        elif (
            context.method == "tools/call"
            and context.protocol_version == TASKS_IN_CORE
            and (context.params or {}).get("task") is not None
            and connection_of(context).initialize_accepted
        ):
            return self._call_as_task(context)
        return await call_next(context)

    # --- plain calls, past the SDK ----------------------------------------------

    def _peer(self, context: Context) -> Peer | None:
        if context.request is None:
            return context.lifespan_context.peer if context.lifespan_context is not None else None
        return self._http_peers.get(http_session(context) or "")

    def _meet_modern(self, context: Context) -> None:
        peer = self._peer(context)
        if peer is not None:  # a line; over HTTP every request stands alone
            peer.version, peer.is_modern = context.protocol_version, True

    def _meet(self, context: Context) -> None:
        """The handshake is over: notifications of changes begin."""
        connection = connection_of(context)
        peer = self._peer(context)
        if not connection.initialize_accepted:
            return
        if context.request is not None and peer is None:
            session = http_session(context)
            if session is None:
                return
            owner = self.calls(context).caller.actor
            peer = self._http_peers[session] = Peer(owner=owner, connection=session)
            connection.exit_stack.callback(self._lose, session)
            connection.exit_stack.callback(self.connect(peer))
        if peer is not None:
            peer.version, peer.is_modern = context.protocol_version, False
            peer.abilities = abilities_of(context)
            peer.client = client_name(context)
            peer.tell = partial(tell_client, connection)
            if context.request is None:
                self.tell_of_left(peer, self._caller(context))
        if "host" not in connection.state and abilities_of(context):
            client = host_by_connection(connection, self.calls(context).caller.actor)
            connection.state["host"] = client
            connection.exit_stack.callback(self._dispatcher.hosts.join(client))

    def connect(self, peer: Peer) -> Callable[[], None]:
        """Its host is there, until what this returns is called."""
        assert peer.connection is not None
        return self._dispatcher.hosts.connect(peer.connection)

    def _lose(self, session: str) -> None:
        self._http_peers.pop(session).go()

    def _part(self, context: Context) -> None:
        """A handshake begins, perhaps again: until it is over, the SDK alone knows what holds."""
        peer = self._peer(context)
        if peer is not None:
            peer.version = None

    def _cancel_plain(self, context: Context) -> None:
        peer, gone = self._peer(context), cancelled_id(context)
        if peer is not None and gone is not None:
            peer.cancel(gone)

    def _remember_envelope(self, context: Context) -> None:
        """This client's own part of a request was found good; the same again will be, too."""
        meta: Json = (context.params or {}).get("_meta") or {}
        if len(self._envelopes) >= MAX_ENVELOPES:
            self._envelopes.clear()
        self._envelopes[envelope_of(meta)] = Envelope(
            abilities=abilities_of(context),
            declares_tasks=declares_tasks(context),
            client=client_name(context),
        )

    def http_peer(self, session: str, actor: Actor) -> Peer | None:
        """The client of this HTTP session, for the actor who opened it."""
        peer = self._http_peers.get(session)
        return peer if peer is not None and peer.owner == actor else None

    def plain_use(self, call: PlainCall, peer: Peer | None, caller: Caller) -> Use | None:
        """The call, ready to run, if nothing in it or about its client needs the SDK.

        A `peer` of None stands for HTTP of the modern era, where no request knows of another.
        """
        chosen = self._plain_tool(call.name) if self.takes_plain_calls else None
        if chosen is None:
            return None
        tool, check, dialect = chosen
        version = call.version
        if call.envelope is not None:
            found = self._envelopes.get(call.envelope)
            if found is None or not (peer is None or peer.is_modern):
                return None
            asks, tasks, client = found.abilities, found.declares_tasks, found.client
        elif peer is None or peer.version is None or peer.is_modern:
            return None
        else:
            asks, tasks, client = peer.abilities, False, peer.client
            version = peer.version
        if may_ask(tool, asks, call.arguments) or (tasks and tool.may_be_task):
            return None
        return Use(
            tool=tool,
            check=check,
            calls=self._calls(caller, client, dialect, peer),
            arguments=_without_nulls(call.arguments, tool),
            ending=self.ending,
            abilities=asks,
            version=str(version),
        )

    def _plain_tool(self, name: str) -> tuple[Tool, Check, str] | None:
        """The tool, what checks its arguments, and whose vocabulary it is of, if it may go the short way."""
        if name not in self._has_plain_way:
            return None
        return *self._tools[name], self._dialect_of[name]

    async def answer_plain(
        self, call: PlainCall, use: Use, report: Report | None
    ) -> bytes | MCPError:
        """The whole response; an error is left to the transport, as each tells it in its own way."""
        if call.progress_token is None:
            report = None
        stamp = None if call.envelope is None else self._server_info

        def shape(answer: Answer) -> bytes:
            if answer.passed_on is None:
                return result_json(answer, stamp)
            return passed_on_json(passed_on(answer.passed_on, use.version), stamp)

        outcome = await self._with_progress(report, use, partial(use.shaped, shape, use.calls))
        return outcome if isinstance(outcome, MCPError) else response_json(call.id, outcome)

    async def _with_progress(
        self, report: Report | None, use: Use, wait: Callable[[], Awaitable[Any]]
    ) -> Any:
        """Wait, and meanwhile tell a caller who asked for it how it goes."""
        if use.tool.tail is None or report is None:
            return await wait()
        is_over = False

        async def tell(progress: float, total: float | None, message: str | None) -> None:
            if not is_over:
                await report(progress, total, message)

        with later(self.group, PROGRESS_S, partial(_tell_progress, tell, use)):
            try:
                return await wait()
            finally:
                is_over = True

    # --- tools ----------------------------------------------------------------

    async def _list_tools(
        self, context: Context, params: t.PaginatedRequestParams | None
    ) -> t.ListToolsResult:
        return self._listed_tools

    async def call_tool(self, context: Context, params: t.CallToolRequestParams) -> HandlerResult:
        if is_modern(context):
            self._remember_envelope(context)
        use = self._use(context, params.name, params.arguments)
        if params.request_state is not None:
            return await self._gone_on(context, use, params)
        becomes_task = use.tool.may_be_task and declares_tasks(context)
        if becomes_task or (is_modern(context) and use.may_ask):
            task = self.tasks.start(use.calls.caller.actor, use.outcome, about=use.about)
            return await self._answered(context, use, task, becomes_task=becomes_task)
        if use.may_ask:
            host = by_request(context) if use.can_ask else None
            client = host_by_request(context, use.calls.caller.actor)
            use = replace(use, calls=replace(use.calls, host=host, client=client))
        outcome = await self._with_progress(_reporter(context), use, use.outcome)
        return _result_or_raise(outcome)

    def _use(self, context: Context, name: str, arguments: Json | None) -> Use:
        found = self._tools.get(name)
        if found is None:
            raise MCPError(
                code=t.INVALID_PARAMS,
                message=f"Unknown tool: {name[:100]}",
                data={"executed": False},
            )
        tool, check = found
        return Use(
            tool=tool,
            check=check,
            calls=self.calls(context, self._dialect_of[name]),
            arguments=_without_nulls(arguments or {}, tool),
            ending=self.ending,
            abilities=abilities_of(context),
        )

    def _caller(self, context: Context) -> Caller:
        request = context.request
        caller = context.lifespan_context if request is None else request.scope[SCOPE_CALLER]
        assert isinstance(caller, Caller)
        return caller

    def calls(self, context: Context, dialect: str | None = None) -> Calls:
        caller = self._caller(context)
        name = dialect or self._dialect.name
        return self._calls(caller, client_name(context), name, self._peer(context))

    def _reading(self, context: Context) -> Calls:
        return self.calls(context, self._of_resources)

    def _calls(self, caller: Caller, client: str | None, dialect: str, peer: Peer | None) -> Calls:
        connection = peer.connection if peer is not None else None
        if client is not None or connection is not None:
            actor = replace(caller.actor, client=client, connection=connection)
            caller = replace(caller, actor=actor)
        calls = Calls(
            dispatcher=self._dispatcher,
            caller=caller,
            dialect=dialect,
            how_to_start=self._how_to_start.get(dialect),
            choice=Choice() if peer is None else peer.choice,
            room_choice=Choice() if peer is None else peer.room_choice,
        )
        if peer is None or peer.tell is None:
            return calls
        return replace(calls, later=partial(self._later, peer, calls))

    def tell_of_left(self, peer: Peer, caller: Caller) -> None:
        """A client is back, and has a stream: it hears of what it left running before."""
        if self._dialect.left is None:
            return
        name = self._dialect.part_with(lambda part: part.left is not None)
        calls = self._calls(caller, peer.client, name, peer)

        async def tell(left: Callable[[Calls], Awaitable[Sequence[tuple[str, Telling]]]]) -> None:
            with suppress(DuettyError):
                for what, telling in await left(calls):
                    self._later(peer, calls, what, telling)

        self.group.start_soon(tell, self._dialect.left)

    def _later(self, peer: Peer, calls: Calls, what: str, telling: Telling) -> None:
        """Tell the client when it is over, for as long as it is there."""
        key = f"later {what}"
        under_way = sum(str(each).startswith("later ") for each in peer.calls)
        if key in peer.calls or what in peer.heard or under_way >= MAX_LATER or peer.is_gone:
            return
        scope = peer.calls[key] = anyio.CancelScope()

        async def tell() -> None:
            with scope, suppress(DuettyError):
                try:
                    news = await telling(calls)
                    if peer.tell is not None and news is not None:
                        peer.heard.append(what)
                        await peer.tell(news)
                finally:
                    peer.calls.pop(key, None)

        self.group.start_soon(tell)

    # --- tasks ----------------------------------------------------------------

    def _serve_tasks(self, server: DuettyServer) -> None:
        server.has_tasks = True
        server.extensions[TASKS_EXTENSION] = {}
        server.add_request_handler("tasks/get", TaskParams, self._task_get)
        server.add_request_handler("tasks/update", TaskUpdateParams, self._task_update)
        server.add_request_handler("tasks/cancel", TaskParams, self._task_cancel)
        server.add_request_handler("tasks/result", TaskParams, self._task_result)
        server.add_request_handler("tasks/list", t.PaginatedRequestParams, self._task_list)

    async def _answered(
        self, context: Context, use: Use, task: Task, *, becomes_task: bool
    ) -> HandlerResult:
        """The result, if it comes soon; a question, if there is one; a task to ask after, if not."""
        try:
            with anyio.move_on_after(TASK_AFTER_S if becomes_task else None):
                await self._with_progress(_reporter(context), use, task.wait_done_or_question)
        except BaseException:
            task.scope.cancel()
            self.tasks.forget(task)
            raise
        if task.outcome is not None:
            self.tasks.forget(task)
            return _result_or_raise(task.outcome)
        if task.questions:
            # The call waits for the answer as long as the approval does, and no longer.
            return {
                "resultType": "input_required",
                "inputRequests": dict(task.questions),
                "requestState": task.id,
            }
        return {"resultType": "task", **wire_2026(task)}

    async def _gone_on(
        self, context: Context, use: Use, params: t.CallToolRequestParams
    ) -> HandlerResult:
        """A call that was answered with a question, and now brings the answer."""
        task = self.tasks.waiting(str(params.request_state), use.calls.caller.actor)
        if task is None or task.about != use.about:
            raise MCPError(
                code=t.INVALID_PARAMS,
                message="Unknown or expired requestState: call again without it",
            )
        given = params.input_responses or {}
        task.take({key: _plain(value) for key, value in given.items()})
        becomes_task = use.tool.may_be_task and declares_tasks(context)
        return await self._answered(context, use, task, becomes_task=becomes_task)

    def _call_as_task(self, context: Context) -> Json:
        given = dict(context.params or {})
        params = t.CallToolRequestParams.model_validate(given, by_name=False)
        use = self._use(context, params.name, params.arguments)
        if not use.tool.may_be_task:
            raise MCPError(code=t.METHOD_NOT_FOUND, message=f"{params.name} does not run as a task")
        actor = use.calls.caller.actor
        task = self.tasks.start(actor, use.outcome, kept_ms=asked_to_keep_ms(given))
        return {"task": wire_2025(task)}

    def _task(self, context: Context, params: TaskParams) -> Task:
        return self.tasks.find(context, params, self.calls(context).caller.actor)

    async def _task_get(self, context: Context, params: TaskParams) -> HandlerResult:
        task = self._task(context, params)
        return wire_2026(task) if is_modern(context) else wire_2025(task)

    async def _task_update(self, context: Context, params: TaskUpdateParams) -> HandlerResult:
        self._only_modern(context, modern=True)
        self._task(context, params).take(params.input_responses)
        return {}

    async def _task_cancel(self, context: Context, params: TaskParams) -> HandlerResult:
        return self.tasks.cancel(context, self._task(context, params))

    async def _task_result(self, context: Context, params: TaskParams) -> HandlerResult:
        self._only_modern(context, modern=False)
        task = self._task(context, params)
        await answer_questions(context, task)
        return await result_2025(task)

    async def _task_list(self, context: Context, params: t.PaginatedRequestParams) -> HandlerResult:
        self._only_modern(context, modern=False)
        actor = self.calls(context).caller.actor
        return {"tasks": [wire_2025(task) for task in self.tasks.of(actor)]}

    @staticmethod
    def _only_modern(context: Context, *, modern: bool) -> None:
        if is_modern(context) is not modern:
            raise MCPError(code=t.METHOD_NOT_FOUND, message="Method not found", data=context.method)

    # --- resources ------------------------------------------------------------

    async def _list_resources(
        self, context: Context, params: t.PaginatedRequestParams | None
    ) -> t.ListResourcesResult:
        names = await guarded(_session_names(self._reading(context), ""))
        listed = [
            listed_resource(each, None) for each in self._dialect.resources if "{" not in each.begin
        ]
        listed += [
            listed_resource(each, name)
            for name in names
            for each in self._dialect.resources
            if each.is_of_session
        ]
        first = place_of(params)
        after = first + PAGE_SIZE
        return t.ListResourcesResult(
            resources=listed[first:after],
            next_cursor=str(after) if after < len(listed) else None,
            ttl_ms=0,
        )

    async def _list_templates(
        self, context: Context, params: t.PaginatedRequestParams | None
    ) -> t.ListResourceTemplatesResult:
        return t.ListResourceTemplatesResult(
            resource_templates=[
                listed_template(each) for each in self._dialect.resources if each.is_template
            ],
            ttl_ms=LIST_TTL_MS,
        )

    async def _read_resource(
        self, context: Context, params: t.ReadResourceRequestParams
    ) -> t.ReadResourceResult:
        uri = str(params.uri)
        for resource in self._dialect.resources:
            places = resource.match(uri)
            if places is None:
                continue
            with missing_by_era(context):
                found = await guarded(resource.read(self._reading(context), places))
            return t.ReadResourceResult(contents=[contents_of(uri, resource, found)], ttl_ms=0)
        code = missing_code(context)
        raise MCPError(code=code, message="Resource not found", data={"uri": uri[:500]})

    async def _complete(
        self, context: Context, params: t.CompleteRequestParams
    ) -> t.CompleteResult:
        if self._dialect.live is None and not self._can_complete(params.ref):
            raise MCPError(code=t.INVALID_PARAMS, message="Nothing of this name can be completed")
        complete = self._completing(params.ref, params.argument.name)
        begun = params.argument.value
        found: Sequence[str] = ()
        if complete is not None:
            found = await guarded(complete(self._reading(context), begun))
        fitting = [each for each in found if each.startswith(begun)]
        return t.CompleteResult(
            completion=t.Completion(
                values=fitting[:COMPLETIONS],
                total=len(fitting),
                has_more=len(fitting) > COMPLETIONS,
            )
        )

    def _completing(
        self, ref: t.ResourceTemplateReference | t.PromptReference, place: str
    ) -> Completing | None:
        """Where the words for this place come from."""
        if isinstance(ref, t.PromptReference):
            prompt = self._prompts.get(ref.name)
            arguments = () if prompt is None else prompt.arguments
            return next((each.complete for each in arguments if each.name == place), None)
        for resource in self._dialect.resources:
            if resource.uri != ref.uri:
                continue
            if place in resource.completes:
                return resource.completes[place]
            if place == resource.session_place and resource.is_of_session:
                return _session_names
        return None

    def _can_complete(self, ref: t.ResourceTemplateReference | t.PromptReference) -> bool:
        if isinstance(ref, t.PromptReference):
            return ref.name in self._prompts
        return any(each.uri == ref.uri for each in self._dialect.resources) or (
            self._find_resource(ref.uri) is not None
        )

    def _find_resource(self, uri: str) -> tuple[Resource, dict[str, str]] | None:
        for resource in self._dialect.resources:
            places = resource.match(uri)
            if places is not None:
                return resource, places
        return None

    # --- subscriptions ----------------------------------------------------------

    async def _subscribe(self, context: Context, params: t.SubscribeRequestParams) -> t.EmptyResult:
        calls = self._reading(context)
        await guarded(self.watches.subscribe(connection_of(context), calls, str(params.uri)))
        return t.EmptyResult()

    async def _unsubscribe(
        self, context: Context, params: t.UnsubscribeRequestParams
    ) -> t.EmptyResult:
        self.watches.unsubscribe(connection_of(context), str(params.uri))
        return t.EmptyResult()

    async def _listen(
        self, context: Context, params: t.SubscriptionsListenRequestParams
    ) -> t.SubscriptionsListenResult:
        return await self.watches.listen(context, params, self._reading(context))

    # --- prompts ----------------------------------------------------------------

    async def _list_prompts(
        self, context: Context, params: t.PaginatedRequestParams | None
    ) -> t.ListPromptsResult:
        return t.ListPromptsResult(
            prompts=[listed_prompt(prompt) for prompt in self._dialect.prompts],
            ttl_ms=LIST_TTL_MS,
        )

    async def _get_prompt(
        self, context: Context, params: t.GetPromptRequestParams
    ) -> t.GetPromptResult:
        prompt = self._prompts.get(params.name)
        if prompt is None:
            raise MCPError(code=t.INVALID_PARAMS, message=f"Unknown prompt: {params.name[:100]}")
        text = prompt.text
        if prompt.make is not None:
            given = params.arguments or {}
            missing = [
                each.name
                for each in prompt.arguments
                if each.is_required and each.name not in given
            ]
            if missing:
                raise MCPError(code=t.INVALID_PARAMS, message=f"Missing argument: {missing[0]}")
            text = await guarded(prompt.make(self.calls(context, self._of_prompts), given))
        message = t.PromptMessage(role="user", content=t.TextContent(text=text))
        return t.GetPromptResult(description=prompt.description, messages=[message])


@asynccontextmanager
async def _no_lifespan(server: Server[Caller | None]) -> AsyncGenerator[Caller | None]:
    """HTTP connections have many callers; each request carries its own."""
    yield None


async def _session_names(calls: Calls, begun: str) -> list[str]:
    sessions: list[Any] = await calls("session.list")
    return [info.name for info in sessions]


def missing_code(context: Context) -> int:
    """For a resource that is not there: each era has its own."""
    return t.INVALID_PARAMS if is_modern(context) else RESOURCE_NOT_FOUND


@contextmanager
def missing_by_era(context: Context) -> Generator[None]:
    """What a read names does not exist, here or at an upstream: raised with the code of the client's era."""
    try:
        yield
    except MCPError as error:
        if isinstance(error.__cause__, NotFound) or error.code == RESOURCE_NOT_FOUND:
            raise MCPError(
                code=missing_code(context), message=error.error.message, data=error.error.data
            ) from error.__cause__
        raise


async def guarded(work: Awaitable[Any]) -> Any:
    try:
        return await work
    except DuettyError as error:
        raise protocol_error(error) from error
    except MCPError:
        raise
    except Exception as error:
        raise crashed(error) from error


def crashed(error: Exception) -> MCPError:
    log.error("mcp_call_crashed", exc_info=error)
    return MCPError(
        code=t.INTERNAL_ERROR,
        message="something went wrong here; the server's log says what",
        data={"executed": "unknown"},
    )


def _plain(answer: Any) -> Json:
    dumped: Json = answer.model_dump(by_alias=True, mode="json", exclude_none=True)
    return dumped


def _result_or_raise(outcome: Outcome) -> t.CallToolResult:
    if isinstance(outcome, MCPError):
        raise outcome
    return outcome


def place_of(params: t.PaginatedRequestParams | None) -> int:
    """Where the page begins that is asked for."""
    cursor = params.cursor if params is not None else None
    if cursor is None:
        return 0
    if not cursor.isdecimal() or len(cursor) > 9:
        raise MCPError(code=t.INVALID_PARAMS, message="Unknown cursor")
    return int(cursor)


def _without_nulls(arguments: Json, tool: Tool) -> Json:
    """Models send null for what they leave out; what is not known is not known by null either."""
    return {
        name: value
        for name, value in arguments.items()
        if value is not None or name not in tool.parameters
    }


def _reporter(context: Context) -> Report | None:
    if not context.meta or context.meta.get("progress_token") is None:
        return None
    return context.session.report_progress


async def _tell_progress(report: Report, use: Use) -> None:
    """Seconds gone by, the first ones already, and the newest output, until cancelled."""
    assert use.tool.tail is not None
    bound_ms = use.tool.bound_ms(use.arguments)
    elapsed_s = 0.0
    while True:
        elapsed_s += PROGRESS_S
        try:
            tail = None
            if not use.tool.needs_choice(use.arguments | use.known):
                tail = await use.tool.tail(use.calls, use.arguments | use.known)
        except DuettyError:
            tail = None  # not there yet, or gone: the call itself says so
        await report(elapsed_s, None if bound_ms is None else bound_ms / 1000, tail)
        await anyio.sleep(PROGRESS_S)

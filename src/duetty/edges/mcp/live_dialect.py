"""A dialect whose tools, resources and prompts come and go: listed anew each time, with notifications.

The rest is the core's: a call of such a tool is decided, asked about, cancelled and
answered like any other.
"""

from collections.abc import Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import anyio
import mcp_types as t
from mcp.server.context import CallNext, HandlerResult
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    PromptsListChanged,
    ResourcesListChanged,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPError
from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json

from duetty.edges.mcp.arguments import Check
from duetty.edges.mcp.core import Core, Report, Use, guarded, missing_by_era, place_of
from duetty.edges.mcp.dialect import (
    Caller,
    Calls,
    Dialect,
    Dispatching,
    Json,
    Live,
    LogsWanted,
    Offered,
    Tool,
)
from duetty.edges.mcp.elicitation import abilities_of
from duetty.edges.mcp.live_parts import live_of
from duetty.edges.mcp.peer import Peer
from duetty.edges.mcp.plain_calls import PlainCall
from duetty.edges.mcp.sdk import (
    Context,
    DuettyServer,
    connection_of,
    is_acceptable,
    is_modern,
    log_level,
    send_log,
    set_level,
)
from duetty.edges.mcp.subscriptions import COALESCE_S, Tell, Watching
from duetty.errors import DuettyError
from duetty.ops import Progress

LISTS, LOGS = "lists of others", "logs of others"
"""What the watches of a connection are known by."""

LOG_LEVEL = t.LOG_LEVEL_META_KEY.encode()
SEND_S = 5.0
"""For log messages to a client that may not read."""

PAGE_BYTES = 512 * 1024
"""Of tools in one answer: the SDK's client takes an event of at most a megabyte."""

MAX_LISTS, MAX_PAGES = 4, 8
"""Lists that are kept, of callers who may see different tools; and answers of each."""

_TOOLS = TypeAdapter(list[t.Tool])
_RESOURCES = TypeAdapter(list[t.Resource])
_TEMPLATES = TypeAdapter(list[t.ResourceTemplate])
_PROMPTS = TypeAdapter(list[t.Prompt])


@dataclass(frozen=True, slots=True)
class _List:
    """The tools of others as some callers see them, and the answers that were made of it."""

    offered: Sequence[Json]
    tools: list[t.Tool]
    answers: dict[tuple[str, str | None], Json] = field(
        default_factory=dict[tuple[str, str | None], Json]
    )
    """By revision and cursor, as they go on the wire: to make one of a thousand tools takes 80 ms."""


_ASKED: ContextVar[_List] = ContextVar("asked")
"""What the request that the SDK is given lists."""


class LiveCore(Core):
    def __init__(self, dialect: Dialect, dispatcher: Dispatching) -> None:
        super().__init__(dialect, dispatcher)
        self._live: Live = live_of(dialect)
        self._of_live = dialect.part_with(lambda part: part.live is not None)
        self.watches.extend(also=self._also, of_others=self._watch_of)
        self._lists: list[_List] = []
        """The last ones, newest first: most are the same as the one before."""

    def server(self) -> DuettyServer:
        server = super().server()
        server.is_live = True
        page = t.PaginatedRequestParams
        server.add_request_handler("resources/list", page, self._list_resources)
        server.add_request_handler("resources/templates/list", page, self._list_templates)
        server.add_request_handler(
            "resources/read", t.ReadResourceRequestParams, self._read_resource
        )
        server.add_request_handler("prompts/list", page, self._list_prompts)
        server.add_request_handler("completion/complete", t.CompleteRequestParams, self._complete)
        server.add_request_handler("prompts/get", t.GetPromptRequestParams, self._get_prompt)
        server.add_request_handler("resources/subscribe", t.SubscribeRequestParams, self._subscribe)
        server.add_request_handler(
            "resources/unsubscribe", t.UnsubscribeRequestParams, self._unsubscribe
        )
        server.add_request_handler("logging/setLevel", t.SetLevelRequestParams, self._set_level)
        return server

    def _theirs(self, context: Context) -> Calls:
        return self.calls(context, self._of_live)

    # --- tools ----------------------------------------------------------------------

    async def _observed(self, context: Context, call_next: CallNext) -> HandlerResult:
        if context.method == "tools/list" and is_acceptable(context):
            call_next = partial(self._listed, call_next)
        return await super()._observed(context, call_next)

    async def _listed(self, call_next: CallNext, context: Context) -> HandlerResult:
        """The answer that was made before, where nothing has changed; else the SDK's, which is kept."""
        offered: Offered = await guarded(self._live.offered(self._theirs(context)))
        listed = self._list_of(offered.tools)
        cursor: str | None = (context.params or {}).get("cursor")
        key = context.protocol_version, cursor
        if (kept := listed.answers.get(key)) is not None:
            return kept
        _ASKED.set(listed)
        answer: Any = await call_next(context)
        # Not of places that a client thought of itself: there are as many as tools.
        if cursor is None or any(
            each.get("nextCursor") == cursor for each in listed.answers.values()
        ):
            if len(listed.answers) >= MAX_PAGES:
                listed.answers.clear()
            listed.answers[key] = answer
        return answer

    def _list_of(self, offered: Sequence[Json]) -> _List:
        found = next((each for each in self._lists if each.offered == offered), None)
        if found is None:
            found = _List(offered, _valid(_TOOLS, offered))
        self._lists = [found, *(each for each in self._lists if each is not found)][:MAX_LISTS]
        return found

    async def _list_tools(
        self, context: Context, params: t.PaginatedRequestParams | None
    ) -> t.ListToolsResult:
        own = await super()._list_tools(context, params)
        tools = [*own.tools, *_ASKED.get().tools]
        first = place_of(params)
        after = _page_end(tools, first)
        return t.ListToolsResult(
            tools=tools[first:after],
            next_cursor=str(after) if after < len(tools) else None,
            ttl_ms=0,
        )

    def _use(self, context: Context, name: str, arguments: Json | None) -> Use:
        tool = None if name in self._tools else self._live.tool(name)
        if tool is None:
            return super()._use(context, name, arguments)
        calls = self.calls(context, self._dialect.part_with(partial(_has_tool, name)))
        calls = replace(calls, progress=_quiet(context))
        return Use(
            tool=tool,
            check=_unchecked,
            calls=calls,
            arguments=arguments or {},  # as they were given: null may mean something there
            ending=self.ending,
            abilities=abilities_of(context),
        )

    def _plain_tool(self, name: str) -> tuple[Tool, Check, str] | None:
        tool = None if name in self._tools else self._live.tool(name)
        if tool is None:
            return super()._plain_tool(name)
        return tool, _unchecked, self._dialect.part_with(partial(_has_tool, name))

    def plain_use(self, call: PlainCall, peer: Peer | None, caller: Caller) -> Use | None:
        use = super().plain_use(call, peer, caller)
        if use is None or call.name in self._tools:
            return use
        if call.envelope is not None and LOG_LEVEL in call.envelope:
            return None  # what is logged meanwhile comes beside the answer
        return replace(use, arguments=call.arguments)

    async def answer_plain(
        self, call: PlainCall, use: Use, report: Report | None
    ) -> bytes | MCPError:
        if call.progress_token is not None and call.name not in self._tools:
            use = replace(use, calls=replace(use.calls, progress=report))
        return await super().answer_plain(call, use, report)

    async def call_tool(self, context: Context, params: t.CallToolRequestParams) -> HandlerResult:
        level, logs = log_level(context), self._live.logs
        if level is None or logs is None or params.name in self._tools:
            return await super().call_tool(context, params)
        # Of the modern era: what is logged during a call comes beside its answer, to who asked for it.
        calls, last = self._theirs(context), 0

        async def tell(*, waits: bool) -> None:
            nonlocal last
            wanted = LogsWanted(level=level, tool=params.name, after=last, waits=waits)
            logged = await logs(calls, wanted)
            last = logged.seq
            with anyio.move_on_after(SEND_S, shield=True):  # the call may end meanwhile
                for message in logged.messages:
                    await send_log(context, message)

        async def follow() -> None:
            with suppress(DuettyError):
                while True:
                    await tell(waits=True)

        try:
            last = (await logs(calls, LogsWanted(level=level, tool=params.name))).seq
        except DuettyError:
            return await super().call_tool(context, params)
        following = anyio.CancelScope()

        ended = anyio.Event()

        async def followed() -> None:
            with following:
                await follow()
            ended.set()

        self.group.start_soon(followed)
        try:
            return await super().call_tool(context, params)
        finally:
            following.cancel()
            await ended.wait()
            with suppress(DuettyError):
                await tell(waits=False)

    # --- resources and prompts --------------------------------------------------------

    async def _list_resources(
        self, context: Context, params: t.PaginatedRequestParams | None
    ) -> t.ListResourcesResult:
        own = t.ListResourcesResult(resources=[], ttl_ms=0)
        if self._dialect.resources:
            own = await super()._list_resources(context, params)
        if own.next_cursor is not None:
            return own
        found, _ = await guarded(self._live.resources(self._theirs(context)))
        return t.ListResourcesResult(
            resources=[*own.resources, *_valid(_RESOURCES, found)], ttl_ms=0
        )

    async def _list_templates(
        self, context: Context, params: t.PaginatedRequestParams | None
    ) -> t.ListResourceTemplatesResult:
        own = await super()._list_templates(context, params)
        _, found = await guarded(self._live.resources(self._theirs(context)))
        return t.ListResourceTemplatesResult(
            resource_templates=[*own.resource_templates, *_valid(_TEMPLATES, found)], ttl_ms=0
        )

    async def _read_resource(
        self, context: Context, params: t.ReadResourceRequestParams
    ) -> t.ReadResourceResult:
        with missing_by_era(context):
            found = await guarded(self._live.read(self._theirs(context), str(params.uri)))
        if found is None:
            return await super()._read_resource(context, params)
        return t.ReadResourceResult.model_validate({"contents": found, "ttlMs": 0}, by_name=False)

    async def _list_prompts(
        self, context: Context, params: t.PaginatedRequestParams | None
    ) -> t.ListPromptsResult:
        own = await super()._list_prompts(context, params)
        theirs = _valid(_PROMPTS, await guarded(self._live.prompts(self._theirs(context))))
        return t.ListPromptsResult(prompts=[*own.prompts, *theirs], ttl_ms=0)

    async def _get_prompt(
        self, context: Context, params: t.GetPromptRequestParams
    ) -> t.GetPromptResult:
        given = params.arguments or {}
        found = await guarded(self._live.prompt(self._theirs(context), params.name, given))
        if found is None:
            return await super()._get_prompt(context, params)
        return t.GetPromptResult.model_validate(found, by_name=False)

    async def _complete(
        self, context: Context, params: t.CompleteRequestParams
    ) -> t.CompleteResult:
        ref = params.ref
        is_prompt = isinstance(ref, t.PromptReference)
        found = await guarded(
            self._live.complete(
                self._theirs(context),
                "prompt" if is_prompt else "resource",
                ref.name if isinstance(ref, t.PromptReference) else ref.uri,
                (params.argument.name, params.argument.value),
                (params.context.arguments if params.context is not None else None) or {},
            )
        )
        if found is None:
            return await super()._complete(context, params)
        values = list(found)
        return t.CompleteResult(completion=t.Completion(values=values, total=len(values)))

    # --- changes ----------------------------------------------------------------------

    async def _watch_of(self, uri: str, calls: Calls) -> Watching | None:
        """A watch of a resource of others; None for one that is none of theirs."""
        first = await self._live.updates(self._with_live(calls), uri, None)
        if first is None:
            return None

        async def watch(tell: Tell) -> None:
            known = first
            while True:
                now = await self._live.updates(self._with_live(calls), uri, known)
                if now is None:
                    return
                if now > known:
                    known = now
                    await tell()
                    await anyio.sleep(COALESCE_S)

        return watch

    def _with_live(self, calls: Calls) -> Calls:
        return replace(calls, dialect=self._of_live)

    async def _set_level(self, context: Context, params: t.SetLevelRequestParams) -> t.EmptyResult:
        """Of the handshake era: from now on this connection gets the logs of upstreams."""
        if (logs := self._live.logs) is None:
            return await set_level(context, params)
        connection, calls = connection_of(context), self._theirs(context)
        level = params.level
        now = await guarded(logs(calls, LogsWanted(level=level)))

        async def watch(_tell: Tell) -> None:
            last = now.seq
            while True:
                wanted = LogsWanted(level=level, after=last, waits=True)
                logged = await logs(calls, wanted)
                last = logged.seq
                for message in logged.messages:
                    await connection.notify("notifications/message", message)

        self.watches.unsubscribe(connection, LOGS)  # at another level
        self.watches.follow(connection, calls, LOGS, watch=watch, tell=_nothing)
        return t.EmptyResult()

    async def _with_their_words(self, context: Context, result: HandlerResult) -> HandlerResult:
        """The server's instructions, with those of upstreams."""
        with suppress(DuettyError):
            theirs = await self._live.instructions(self._theirs(context))
            if theirs and isinstance(result, (t.InitializeResult, t.DiscoverResult)):
                instructions = "\n\n".join(filter(None, (result.instructions, theirs)))
                return result.model_copy(update={"instructions": instructions})
            if theirs and isinstance(result, dict):
                instructions = "\n\n".join(filter(None, (result.get("instructions"), theirs)))
                return {**result, "instructions": instructions}
        return result

    async def _observe(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        result = await super()._observe(ctx, call_next)
        if ctx.method in ("initialize", "server/discover"):
            return await self._with_their_words(ctx, result)
        if ctx.method == "notifications/initialized" and not is_modern(ctx):
            connection, calls = connection_of(ctx), self._theirs(ctx)

            async def tell(what: str) -> None:
                match what:
                    case "tools":
                        await connection.send_tool_list_changed()
                    case "resources":
                        await connection.send_resource_list_changed()
                    case _:
                        await connection.send_prompt_list_changed()

            async def watch(_tell: Tell) -> None:
                await self._watch(calls, tell)

            self.watches.follow(connection, calls, LISTS, watch=watch, tell=_nothing)
        return result

    async def _also(
        self, calls: Calls, wanted: t.SubscriptionFilter, bus: InMemorySubscriptionBus
    ) -> None:
        events = {
            "tools": ToolsListChanged() if wanted.tools_list_changed else None,
            "resources": ResourcesListChanged() if wanted.resources_list_changed else None,
            "prompts": PromptsListChanged() if wanted.prompts_list_changed else None,
        }
        if not any(events.values()):
            return

        async def tell(what: str) -> None:
            if (event := events[what]) is not None:
                await bus.publish(event)

        await self._watch(calls, tell)

    async def _watch(self, calls: Calls, tell: Any) -> None:
        """Tell of what is no longer as it was, a few times a second at most."""
        try:
            known = await self._live.offered(calls)
            while True:
                now = await self._live.changes(calls, known.seq)
                if now.tools != known.tools:
                    await tell("tools")
                if now.resource_changes != known.resource_changes or now.sources != known.sources:
                    await tell("resources")
                if now.prompt_changes != known.prompt_changes or now.sources != known.sources:
                    await tell("prompts")
                known = now
                await anyio.sleep(COALESCE_S)
        except DuettyError:
            return  # no longer allowed


def _has_tool(name: str, part: Dialect) -> bool:
    return part.live is not None and part.live.tool(name) is not None


def _page_end(tools: Sequence[t.Tool], first: int) -> int:
    """The place behind the last tool that fits into an answer which begins with this one."""
    size = 0
    for place in range(first, len(tools)):
        size += len(to_json(tools[place], by_alias=True, exclude_none=True))
        if size > PAGE_BYTES and place > first:
            return place
    return len(tools)


def _unchecked(arguments: Json) -> Json:
    """Whose tool it is checks what it is given."""
    return arguments


async def _nothing() -> None:
    return None


def _quiet(context: Context) -> Progress | None:
    """Reports progress to a caller who asked for it; one that is gone gets nothing."""
    if not context.meta or context.meta.get("progress_token") is None:
        return None

    async def report(done: float, total: float | None, message: str | None) -> None:
        try:
            await context.session.report_progress(done, total, message)
        except (MCPError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            return

    return report


def _valid(kind: TypeAdapter[list[Any]], listed: Sequence[Json]) -> list[Any]:
    """Those that the protocol would let pass: a list with one bad entry is refused as a whole."""
    found: list[Any] = []
    for each in listed:
        try:
            found += kind.validate_python([each], by_name=False)
        except ValidationError:
            continue
    return found

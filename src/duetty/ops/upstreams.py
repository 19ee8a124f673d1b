"""Operations on upstreams: see them, turn, restart and trust them, call their tools."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

import anyio

from duetty.calls import Actor, Effect
from duetty.clock import Clock
from duetty.config import Paths, Settings
from duetty.errors import (
    BadSetting,
    Exhausted,
    FingerprintChanged,
    NotAPerson,
    StateUnwritable,
    ToolNotFound,
    ToolNotTrusted,
    ToolOff,
    UpstreamFault,
    UpstreamNeedsLogin,
    UpstreamNotFound,
    UpstreamTimeout,
    UpstreamUnavailable,
)
from duetty.ops.judgements import PLAIN, CallsTool
from duetty.ops.operation import Operation, Route
from duetty.ops.sandbox_choice import upstream_order
from duetty.ops.services import Services
from duetty.ops.shapes import time_text
from duetty.ops.upstream_questions import asking_for, question_shape
from duetty.policy import Deny
from duetty.session import Registry
from duetty.upstreams import (
    Accepted,
    Address,
    Index,
    Offer,
    OfferNotFound,
    Surroundings,
    Tool,
    Upstream,
    Upstreams,
    lead_of,
    load_upstreams,
    no_upstreams,
    offers_for,
    open_upstreams,
    shown,
)
from duetty.wire.results import Done
from duetty.wire.upstreams import (
    AcceptParams,
    CallToolParams,
    CompleteParams,
    Completions,
    DescribeToolParams,
    Difference,
    FindToolsParams,
    FoundTool,
    FoundTools,
    LoginPage,
    LoginParams,
    LogsParams,
    MarkParams,
    OfferedServer,
    OfferedTool,
    OfferParams,
    PromptParams,
    PromptText,
    ReadUpstreamParams,
    ResourceContents,
    ToolInfo,
    ToolResult,
    TrustParams,
    TurnParams,
    Updates,
    UpdatesParams,
    UpstreamError,
    UpstreamInfo,
    UpstreamList,
    UpstreamListParams,
    UpstreamLog,
    UpstreamLogs,
    UpstreamOffer,
    UpstreamParams,
    UpstreamPrompts,
    UpstreamResources,
    UpstreamsParams,
    UpstreamTools,
    UpstreamToolsParams,
)

FOUND_CHARS = 600
"""Of a description in a list of what was found; `upstreams.describe` has all of it."""

LEAD_CHARS = 100
"""Of its first sentence, in the same list."""

_CALLING = (
    UpstreamNotFound,
    UpstreamUnavailable,
    UpstreamFault,
    UpstreamTimeout,
    UpstreamNeedsLogin,
    ToolNotTrusted,
)


def upstreams_of(
    paths: Paths,
    settings: Settings,
    environment: Mapping[str, str],
    *,
    hidden: tuple[Path, ...],
    clock: Clock,
    roots: Callable[[], list[str]] = list[str],
) -> Upstreams:
    """As the settings file orders them; none is started yet.

    Raises:
        BadSetting: if a table is wrong.
    """
    if not settings.mcp_client_enabled:
        return no_upstreams()
    tokens = [
        Path(order.target.token_file).expanduser()
        for order in load_upstreams(paths.config_file).values()
        if isinstance(order.target, Address) and order.target.token_file is not None
    ]
    surroundings = Surroundings(
        environment=environment,
        logs=paths.state / "upstreams",
        logins=paths.state / "upstream-logins",
        sandbox=lambda program: upstream_order(
            program.sandbox,
            program.workspaces,
            program.network,
            settings,
            home=environment.get("HOME") or "",
            caches=paths.state / "caches",
        ),
        roots=roots,
        hidden=(*hidden, *tokens),
    )
    pins_file = paths.state / "upstreams.json"
    accepted = Accepted(paths.state / "upstream-projects.json")
    return open_upstreams(
        paths.config_file, pins_file, surroundings, clock=clock, accepted=accepted
    )


def workspaces_of(registry: Registry) -> list[str]:
    """Of open sessions, each once."""
    found = {each.profile.workspace for each in registry.sessions() if not each.is_exited}
    return sorted(found - {""})


async def _list(params: UpstreamsParams, services: Services, actor: Actor) -> UpstreamList:
    await _wait(params, services)
    upstreams = services.upstreams
    return UpstreamList(
        seq=upstreams.seq,
        upstreams=[_info(each, services) for each in upstreams.all()],
        # Questions to a person are no agent's to read.
        questions=[question_shape(each) for each in upstreams.questions.all()]
        if actor.kind == "person"
        else [],
        offers=await _offers(services),
    )


async def _offers(services: Services) -> list[UpstreamOffer]:
    """What projects of open sessions name."""
    accepted = services.upstreams.accepted
    if accepted is None:
        return []
    places = {
        (session.cwd, session.profile.workspace)
        for session in services.registry.sessions()
        if not session.is_exited
    }
    found = await anyio.to_thread.run_sync(offers_for, sorted(places))
    return [_offer(each, services) for each in found]


def _offer(offer: Offer, services: Services) -> UpstreamOffer:
    accepted = services.upstreams.accepted
    assert accepted is not None
    own = {each.name for each in services.upstreams.all() if each.order.project != offer.file}
    taken = [
        f"{offer.file}: the name {name!r} is taken by another upstream; rename it here, or that one"
        for name in offer.servers
        if name in own
    ]
    return UpstreamOffer(
        file=offer.file,
        fingerprint=offer.fingerprint,
        state=accepted.state(offer),
        servers=[
            OfferedServer(
                name=order.name,
                transport=order.transport,
                target=order.shown,
                trust=order.trust,
                variables=sorted(order.variables),
            )
            for order in offer.servers.values()
        ],
        problems=[*offer.problems, *taken],
    )


async def _accept(params: AcceptParams, services: Services, actor: Actor) -> list[UpstreamInfo]:
    _only_person(actor, "accept servers of a project")
    if services.upstreams.accepted is None:
        raise OfferNotFound("upstreams are turned off", hint="set mcp.client_enabled")
    started = await services.upstreams.accept(params.file, params.fingerprint)
    return [_info(each, services) for each in started]


async def _withdraw(params: OfferParams, services: Services, actor: Actor) -> Done:
    if services.upstreams.accepted is None:
        raise OfferNotFound("upstreams are turned off", hint="set mcp.client_enabled")
    await services.upstreams.withdraw(params.file)
    return Done()


async def _tools(params: UpstreamToolsParams, services: Services, actor: Actor) -> UpstreamTools:
    await _wait(params, services)
    upstreams = services.upstreams
    if params.settle_ms:
        await upstreams.wait_settled(at_most_s=params.settle_ms / 1000)
    upstreams.recount()
    seq = upstreams.seq
    # Who lists them again gets the same, while nothing has changed: a thousand are much to make.
    key = _key(services, actor)
    kept: UpstreamTools | None = upstreams.kept.get(key)
    if kept is None:
        kept = _offered_tools(services, actor, seq)
        upstreams.keep(key, kept)
    return kept


def _offered_tools(services: Services, actor: Actor, seq: int) -> UpstreamTools:
    upstreams = services.upstreams
    offered = [
        OfferedTool(
            id=tool.id,
            upstream=tool.upstream,
            name=tool.name,
            title=tool.title,
            description=tool.description,
            risk=tool.risk,
            input_schema=tool.input_schema,
            output_schema=tool.output_schema,
            annotations=tool.annotations,
            trust=upstreams.trust_of(tool.upstream),
            marked=upstreams.is_marked(tool.upstream, tool.name),
            uses=upstreams.uses(tool.upstream, tool.name),
        )
        for tool in upstreams.usable()
        if not isinstance(
            services.deciding.judging.decide_tool(actor, tool.upstream, tool.name), Deny
        )
    ]
    return UpstreamTools(
        seq=seq,
        resource_changes=sum(each.resource_changes for each in upstreams.all()),
        prompt_changes=sum(each.prompt_changes for each in upstreams.all()),
        list_at_most=services.settings.mcp_list_at_most,
        tools=sorted(offered, key=lambda each: each.id),
    )


def _key(services: Services, actor: Actor) -> tuple[object, ...]:
    """What the list of tools of this actor depends on."""
    judging = services.deciding.judging
    return services.upstreams.seq, judging.digest, actor.kind, actor.name


async def _find(params: FindToolsParams, services: Services, actor: Actor) -> FoundTools:
    upstreams, key = services.upstreams, ("find", *_key(services, actor))
    index: Index | None = upstreams.kept.get(key)
    allowed = [
        tool
        for tool in upstreams.usable()
        if not isinstance(
            services.deciding.judging.decide_tool(actor, tool.upstream, tool.name), Deny
        )
    ]
    if index is None:
        index = await anyio.to_thread.run_sync(Index, allowed)
        upstreams.keep(key, index)
    fitting = index.find(params.query)
    ids = {tool.id for tool in fitting}
    ranked = fitting + [tool for tool in allowed if tool.id not in ids]
    end = params.offset + params.limit
    if params.offset < len(fitting) < end:
        end = len(fitting)  # the others only when they are asked for
    return FoundTools(
        tools=[_found(tool) for tool in ranked[params.offset : end]],
        fits=len(fitting),
        of=len(ranked),
        next=end if end < len(ranked) else None,
    )


def _found(tool: Tool) -> FoundTool:
    schema = tool.input_schema
    required: list[str] = schema.get("required") or []
    names: dict[str, Any] = schema.get("properties") or {}
    return FoundTool(
        id=tool.id,
        upstream=tool.upstream,
        title=tool.title,
        description=tool.description[:FOUND_CHARS],
        lead=lead_of(tool.description)[:LEAD_CHARS],
        input_schema=schema,
        parameters=[name if name in required else f"{name}?" for name in names],
    )


async def _describe(params: DescribeToolParams, services: Services, actor: Actor) -> OfferedTool:
    offered = await _tools(UpstreamToolsParams.model_validate({}), services, actor)
    for tool in offered.tools:
        if tool.id == params.tool:
            return tool
    _, upstream, name = (*params.tool.split("__", 2), "", "")[:3]
    raise ToolNotFound(upstream, name)


async def _mark(params: MarkParams, services: Services, actor: Actor) -> UpstreamInfo:
    _only_person(actor, "mark tools")
    marked = await services.upstreams.mark(params.upstream, params.tool, on=params.on)
    return _info(marked, services)


async def _turn(params: TurnParams, services: Services, actor: Actor) -> UpstreamInfo:
    if params.on:
        _only_person(actor, "turn an upstream or a tool on")
    turned = await services.upstreams.turn(params.upstream, on=params.on, tool=params.tool)
    return _info(turned, services)


async def _restart(params: UpstreamParams, services: Services, actor: Actor) -> UpstreamInfo | None:
    _only_person(actor, "start what the settings file says now")
    started = await services.upstreams.restart(params.upstream)
    return None if started is None else _info(started, services)


async def _login(params: LoginParams, services: Services, actor: Actor) -> LoginPage:
    _only_person(actor, "sign in")
    if params.returned is not None:
        services.upstreams.end_login(params.upstream, params.returned)
        return LoginPage(upstream=params.upstream, url=None)
    url = await services.upstreams.begin_login(params.upstream)
    return LoginPage(upstream=params.upstream, url=url)


async def _trust(params: TrustParams, services: Services, actor: Actor) -> UpstreamInfo:
    _only_person(actor, "accept tools")
    trusted = await services.upstreams.trust(
        params.upstream, fingerprint=params.fingerprint, tools=params.tools
    )
    return _info(trusted, services)


async def _call(params: CallToolParams, services: Services, actor: Actor) -> ToolResult:
    answer = await services.upstreams.call(
        params.upstream,
        params.tool,
        params.arguments,
        timeout_s=None if params.timeout_ms is None else params.timeout_ms / 1000,
        progress=services.progress,
        asking=asking_for(params.upstream, services, actor),
    )
    return ToolResult(
        content=answer.get("content") or [],
        structured_content=answer.get("structuredContent"),
        is_error=answer.get("isError") is True,
        meta=answer.get("_meta"),
    )


async def _complete(params: CompleteParams, services: Services, actor: Actor) -> Completions:
    argument = params.argument, params.value
    values = await services.upstreams.complete(
        params.upstream, params.kind, params.about, argument, params.given
    )
    return Completions(values=values)


async def _resources(
    params: UpstreamListParams, services: Services, actor: Actor
) -> UpstreamResources:
    resources, templates = await services.upstreams.resources(
        params.upstream, late_s=_late_s(params)
    )
    return UpstreamResources(
        resources=[_with_visible_texts(each) for each in resources],
        templates=[_with_visible_texts(each) for each in templates],
    )


async def _read(params: ReadUpstreamParams, services: Services, actor: Actor) -> ResourceContents:
    asking = asking_for(params.upstream, services, actor)
    answer = await services.upstreams.read(params.upstream, params.uri, asking=asking)
    return ResourceContents(contents=answer.get("contents") or [], meta=answer.get("_meta"))


def _late_s(params: UpstreamListParams) -> float | None:
    return None if params.late_ms is None else params.late_ms / 1000


async def _prompts(params: UpstreamListParams, services: Services, actor: Actor) -> UpstreamPrompts:
    found = await services.upstreams.prompts(params.upstream, late_s=_late_s(params))
    return UpstreamPrompts(prompts=[_with_visible_texts(each) for each in found])


async def _prompt(params: PromptParams, services: Services, actor: Actor) -> PromptText:
    asking = asking_for(params.upstream, services, actor)
    answer = await services.upstreams.prompt(
        params.upstream, params.prompt, params.arguments, asking=asking
    )
    description = answer.get("description")
    return PromptText(
        description=description if isinstance(description, str) else None,
        messages=answer.get("messages") or [],
    )


def _with_visible_texts(listed: dict[str, Any]) -> dict[str, Any]:
    """With texts that hide nothing; addresses and names are for machines, and stay."""
    texts = {key: listed[key] for key in ("title", "description") if key in listed}
    return listed | {key: shown(str(text)) for key, text in texts.items() if text is not None}


async def _logs(params: LogsParams, services: Services, actor: Actor) -> UpstreamLogs:
    upstreams = services.upstreams
    if params.upstream is not None:
        upstreams.find(params.upstream)
    if params.want:
        await upstreams.want_level(params.level, params.upstream)
    after = 0 if params.after is None else params.after

    def found() -> list[UpstreamLog]:
        messages = upstreams.logs(after=after, upstream=params.upstream, level=params.level)
        return [
            UpstreamLog(
                seq=each.seq,
                upstream=each.upstream,
                at=time_text(each.at_ns),
                level=cast("Any", each.level),
                logger=each.logger,
                text=each.text,
            )
            for each in messages
        ]

    with anyio.move_on_after(params.wait_ms / 1000):
        seen = after
        while params.wait_ms and not found():
            await upstreams.wait_log(seen)
            seen = upstreams.log_seq
    stderr = ""
    if params.upstream is not None and params.after is None:
        stderr = await anyio.to_thread.run_sync(upstreams.stderr_of, params.upstream)
    return UpstreamLogs(seq=upstreams.log_seq, messages=found(), stderr=stderr)


async def _updates(params: UpdatesParams, services: Services, actor: Actor) -> Updates:
    within_s = params.wait_ms / 1000
    count = await services.upstreams.wait_update(
        params.upstream, params.uri, after=params.after, within_s=within_s
    )
    return Updates(count=count)


async def _wait(params: UpstreamsParams, services: Services) -> None:
    if params.after is not None and params.wait_ms:
        with anyio.move_on_after(params.wait_ms / 1000):
            await services.upstreams.wait_change(params.after)


def _only_person(actor: Actor, what: str) -> None:
    if actor.kind != "person":
        raise NotAPerson(f"an agent cannot {what}", hint="ask the person to do it")


def _info(upstream: Upstream, services: Services) -> UpstreamInfo:
    link, error = upstream.link, upstream.error
    tools = [_tool_info(upstream, tool, services) for tool in upstream.offered.values()]
    return UpstreamInfo(
        name=upstream.name,
        transport=upstream.order.transport,
        target=upstream.order.shown,
        trust=upstream.order.trust,
        project=upstream.order.project,
        state=upstream.state,
        on=upstream.is_on,
        since=time_text(upstream.since_ns),
        error=None
        if error is None
        else UpstreamError(code=error.code, message=error.message, hint=error.hint),
        pid=None if link is None else link.pid,
        restarts=upstream.restarts,
        retry_at=None if upstream.retry_at_ns is None else time_text(upstream.retry_at_ns),
        sandbox=None if link is None else link.sandbox,
        protocol=None if link is None else link.protocol,
        implementation=None if link is None else link.implementation,
        fingerprint=upstream.fingerprint,
        instructions=upstream.instructions,
        may_ask=upstream.may_ask,
        waiting=sum(tool.pin != "known" for tool in tools),
        tools=tools,
    )


def _tool_info(upstream: Upstream, tool: Tool, services: Services) -> ToolInfo:
    pin = upstream.pin(tool)
    refusal = upstream.refusal(tool)
    others = services.upstreams.namesakes(tool)
    warnings = tool.warnings()
    if others:
        warnings.append(f"other upstreams have a tool of this name: {', '.join(others)}")
    differences = services.upstreams.differences(upstream, tool) if pin == "changed" else []
    return ToolInfo(
        name=tool.shown_name,
        id=tool.id,
        title=tool.title,
        description=tool.description,
        risk=tool.risk,
        risk_known_by="nothing" if tool.risk == "unknown" else "annotations",
        pin=pin,
        fingerprint=tool.fingerprint,
        differences=[
            Difference(part=each.part, was=each.was, now=each.now) for each in differences
        ],
        warnings=warnings,
        on=upstream.is_tool_on(tool.name),
        usable=refusal is None,
        why_not=None if refusal is None else refusal.message,
        input_schema=tool.input_schema,
    )


LIST = Operation(
    name="upstreams.list",
    summary="MCP servers behind this one: state, tools, and what waits for a person's trust.",
    effect=Effect.READ,
    judged=PLAIN,
    params=UpstreamsParams,
    result=UpstreamList,
    run=_list,
    route=Route(method="GET", path="/upstreams"),
    waits=True,
)
TOOLS = Operation(
    name="upstreams.tools",
    summary="Tools of upstreams that the caller may call now, as agents get them.",
    effect=Effect.READ,
    judged=PLAIN,
    params=UpstreamToolsParams,
    result=UpstreamTools,
    run=_tools,
    route=Route(method="GET", path="/upstreams/tools"),
    waits=True,
)
TURN = Operation(
    name="upstreams.turn",
    summary="Turn an upstream, or one of its tools, on (a person's) or off; it stays so.",
    effect=Effect.CONTROL,
    judged=PLAIN,
    params=TurnParams,
    result=UpstreamInfo,
    run=_turn,
    route=Route(method="POST", path="/upstreams/{upstream}/turn"),
    errors=(UpstreamNotFound, ToolNotFound, NotAPerson, StateUnwritable),
)
RESTART = Operation(
    name="upstreams.restart",
    summary="End an upstream and start it as the settings file says now; null if it says it is gone. A person's.",
    effect=Effect.CONTROL,
    judged=PLAIN,
    params=UpstreamParams,
    result=UpstreamInfo | None,
    run=_restart,
    route=Route(method="POST", path="/upstreams/{upstream}/restart"),
    errors=(UpstreamNotFound, BadSetting, NotAPerson),
)
LOGIN = Operation(
    name="upstreams.login",
    summary="The page on which a person signs in to an upstream that asks for it; it starts when that is done. A person's.",
    effect=Effect.CONTROL,
    judged=PLAIN,
    params=LoginParams,
    result=LoginPage,
    run=_login,
    route=Route(method="POST", path="/upstreams/{upstream}/login"),
    waits=True,
    errors=(UpstreamNotFound, UpstreamUnavailable, UpstreamTimeout, NotAPerson),
)
TRUST = Operation(
    name="upstreams.trust",
    summary="Accept new or changed tools of an upstream as they were shown. A person's.",
    effect=Effect.CONTROL,
    judged=PLAIN,
    params=TrustParams,
    result=UpstreamInfo,
    run=_trust,
    route=Route(method="POST", path="/upstreams/{upstream}/trust"),
    errors=(
        UpstreamNotFound, UpstreamUnavailable, ToolNotFound, FingerprintChanged, NotAPerson,
        StateUnwritable,
    ),
)  # fmt: skip
ACCEPT = Operation(
    name="upstreams.accept",
    summary="Start the servers that a project's file names, as it was shown. A person's.",
    effect=Effect.CONTROL,
    judged=PLAIN,
    params=AcceptParams,
    result=list[UpstreamInfo],
    run=_accept,
    route=Route(method="POST", path="/upstreams/offers/accept"),
    errors=(OfferNotFound, FingerprintChanged, NotAPerson, StateUnwritable, BadSetting),
)
WITHDRAW = Operation(
    name="upstreams.withdraw",
    summary="End the servers of a project's file, and forget that it was accepted.",
    effect=Effect.CONTROL,
    judged=PLAIN,
    params=OfferParams,
    result=Done,
    run=_withdraw,
    route=Route(method="POST", path="/upstreams/offers/withdraw"),
    errors=(OfferNotFound, StateUnwritable),
)
CALL = Operation(
    name="upstreams.call",
    summary="Call a tool of an upstream; rules know it as mcp__UPSTREAM__TOOL.",
    effect=Effect.CONTROL,
    judged=CallsTool("tool", "arguments"),
    params=CallToolParams,
    result=ToolResult,
    run=_call,
    route=Route(method="POST", path="/upstreams/{upstream}/call"),
    waits=True,
    errors=(*_CALLING, ToolNotFound, ToolOff),
)
COMPLETE = Operation(
    name="upstreams.complete",
    summary="What may stand at a place of an upstream's prompt or resource, in its words.",
    effect=Effect.READ,
    judged=CallsTool("about"),
    params=CompleteParams,
    result=Completions,
    run=_complete,
    route=Route(method="POST", path="/upstreams/{upstream}/complete"),
    waits=True,
    errors=_CALLING,
)
RESOURCES = Operation(
    name="upstreams.resources",
    summary="Resources and templates of an upstream, as it lists them.",
    effect=Effect.READ,
    judged=PLAIN,
    params=UpstreamListParams,
    result=UpstreamResources,
    run=_resources,
    route=Route(method="GET", path="/upstreams/{upstream}/resources"),
    waits=True,
    errors=_CALLING,
)
READ = Operation(
    name="upstreams.read",
    summary="Read a resource of an upstream.",
    effect=Effect.INPUT,
    judged=CallsTool("uri"),
    params=ReadUpstreamParams,
    result=ResourceContents,
    run=_read,
    route=Route(method="POST", path="/upstreams/{upstream}/read"),
    errors=_CALLING,
)
PROMPTS = Operation(
    name="upstreams.prompts",
    summary="Prompts of an upstream, as it lists them.",
    effect=Effect.READ,
    judged=PLAIN,
    params=UpstreamListParams,
    result=UpstreamPrompts,
    run=_prompts,
    route=Route(method="GET", path="/upstreams/{upstream}/prompts"),
    waits=True,
    errors=_CALLING,
)
PROMPT = Operation(
    name="upstreams.prompt",
    summary="Get a prompt of an upstream, filled in.",
    effect=Effect.INPUT,
    judged=CallsTool("prompt", "arguments"),
    params=PromptParams,
    result=PromptText,
    run=_prompt,
    route=Route(method="POST", path="/upstreams/{upstream}/prompt"),
    errors=_CALLING,
)
FIND = Operation(
    name="upstreams.find",
    summary="Tools of upstreams that fit some words, of those that the caller may call now.",
    effect=Effect.READ,
    judged=PLAIN,
    params=FindToolsParams,
    result=FoundTools,
    run=_find,
    route=Route(method="GET", path="/upstreams/find"),
)
DESCRIBE = Operation(
    name="upstreams.describe",
    summary="One tool of an upstream, whole, with its schemas.",
    effect=Effect.READ,
    judged=PLAIN,
    params=DescribeToolParams,
    result=OfferedTool,
    run=_describe,
    route=Route(method="GET", path="/upstreams/describe"),
    errors=(ToolNotFound,),
)
MARK = Operation(
    name="upstreams.mark",
    summary="Have a tool listed to agents always, however many there are. A person's.",
    effect=Effect.CONTROL,
    judged=PLAIN,
    params=MarkParams,
    result=UpstreamInfo,
    run=_mark,
    route=Route(method="POST", path="/upstreams/{upstream}/mark"),
    errors=(UpstreamNotFound, ToolNotFound, NotAPerson, StateUnwritable),
)
LOGS = Operation(
    name="upstreams.logs",
    summary="What upstreams log, and the end of what one's program prints as errors.",
    effect=Effect.READ,
    judged=PLAIN,
    params=LogsParams,
    result=UpstreamLogs,
    run=_logs,
    route=Route(method="GET", path="/upstreams/logs"),
    waits=True,
    errors=(UpstreamNotFound,),
)
UPDATES = Operation(
    name="upstreams.updates",
    summary="Wait until an upstream tells that a resource of it has changed.",
    effect=Effect.READ,
    judged=CallsTool("uri"),
    params=UpdatesParams,
    result=Updates,
    run=_updates,
    route=Route(method="POST", path="/upstreams/{upstream}/updates"),
    waits=True,
    errors=(*_CALLING, Exhausted),
)

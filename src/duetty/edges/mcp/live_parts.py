"""What comes and goes of several dialects that are spoken at once, as one."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import anyio

from duetty.edges.mcp.dialect import Calls, Dialect, Json, Live, Logged, LogsWanted, Offered, Tool
from duetty.errors import DuettyError


def live_of(dialect: Dialect) -> Live:
    """Lists one after the other; of several, whose something is answers for it."""
    parts = dialect.parts or (dialect,)
    named = [(part.name, part.live) for part in parts if part.live is not None]
    if len(named) == 1:
        return named[0][1]

    async def offered(calls: Calls) -> Offered:
        return _joined([await live.offered(_in(calls, name)) for name, live in named])

    async def changes(calls: Calls, seq: Any) -> Offered:
        async with anyio.create_task_group() as tasks:

            async def wait(name: str, live: Live, known: Any) -> None:
                with suppress(DuettyError):
                    await live.changes(_in(calls, name), known)
                tasks.cancel_scope.cancel()

            for (name, live), known in zip(named, seq, strict=True):
                tasks.start_soon(wait, name, live, known)
        return await offered(calls)

    def tool(name: str) -> Tool | None:
        return next((found for _, live in named if (found := live.tool(name)) is not None), None)

    async def resources(calls: Calls) -> tuple[Sequence[Json], Sequence[Json]]:
        found = [await live.resources(_in(calls, name)) for name, live in named]
        return [each for one, _ in found for each in one], [
            each for _, one in found for each in one
        ]

    async def prompts(calls: Calls) -> Sequence[Json]:
        found = [await live.prompts(_in(calls, name)) for name, live in named]
        return [each for one in found for each in one]

    async def instructions(calls: Calls) -> str:
        texts = [await live.instructions(_in(calls, name)) for name, live in named]
        return "\n\n".join(filter(None, texts))

    def first(
        ask: Callable[[Live], Callable[..., Awaitable[Any]]],
    ) -> Callable[..., Awaitable[Any]]:
        async def asked(calls: Calls, *about: Any) -> Any:
            for name, live in named:
                if (found := await ask(live)(_in(calls, name), *about)) is not None:
                    return found
            return None

        return asked

    logging = next(((name, live.logs) for name, live in named if live.logs is not None), None)

    async def logs(calls: Calls, wanted: LogsWanted) -> Logged:
        assert logging is not None
        return await logging[1](_in(calls, logging[0]), wanted)

    return Live(
        offered=offered,
        changes=changes,
        tool=tool,
        resources=resources,
        read=first(lambda live: live.read),
        prompts=prompts,
        prompt=first(lambda live: live.prompt),
        complete=first(lambda live: live.complete),
        updates=first(lambda live: live.updates),
        logs=None if logging is None else logs,
        instructions=instructions,
    )


def _in(calls: Calls, dialect: str) -> Calls:
    return replace(calls, dialect=dialect)


def _joined(offers: Sequence[Offered]) -> Offered:
    return Offered(
        tools=[tool for each in offers for tool in each.tools],
        seq=tuple(each.seq for each in offers),
        sources=[source for each in offers for source in each.sources],
        resource_changes=sum(each.resource_changes for each in offers),
        prompt_changes=sum(each.prompt_changes for each in offers),
    )

"""What a tool wants of the caller's own host: a completion by its model, a form for its person."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp import types as t
from mcp.server.runner import serve_dual_era_loop
from mcp.shared.memory import create_client_server_memory_streams

from duetty.calls import Actor
from duetty.edges.mcp.core import Core
from duetty.edges.mcp.dialect import Answer, Caller, Calls, Dialect, Json, Tool
from duetty.errors import HostUnavailable
from duetty.ops import Dispatcher
from tests.engine import running_engine

WAIT_S = 30
ERAS = ["legacy", "auto"]
HOST = Actor(kind="agent", name="host")
WANTED: Json = {
    "messages": [{"role": "user", "content": {"type": "text", "text": "two words?"}}],
    "maxTokens": 20,
}
FORM: Json = {
    "mode": "form",
    "message": "which?",
    "requestedSchema": {"type": "object", "properties": {"which": {"type": "string"}}},
}


async def think(calls: Calls, arguments: Json) -> Answer:
    if calls.client is None:
        raise HostUnavailable("no host can be asked")
    within_s = arguments.get("within_s", WAIT_S)
    thought = await calls.client.sample(WANTED | arguments.get("more", {}), within_s=within_s)
    said = await calls.client.elicit(FORM, within_s=within_s)
    return Answer(content={"thought": thought["content"]["text"], "said": said})


DIALECT = Dialect(
    name="thinking",
    instructions="",
    tools=[
        Tool(
            name="think",
            title="Think",
            description="Asks the host.",
            parameters={"within_s": {"type": "number"}, "more": {"type": "object"}},
            result={"type": "object"},
            run=think,
            asks_host=True,
        )
    ],
)


async def complete(context: object, params: t.CreateMessageRequestParams) -> t.CreateMessageResult:
    (message,) = params.messages
    assert isinstance(message.content, t.TextContent)
    return t.CreateMessageResult(
        role="assistant", content=t.TextContent(text=f"re: {message.content.text}"), model="small"
    )


async def never(context: object, params: t.CreateMessageRequestParams) -> t.CreateMessageResult:
    await anyio.sleep_forever()
    raise AssertionError


async def fill(context: object, params: t.ElicitRequestParams) -> t.ElicitResult:
    return t.ElicitResult(action="accept", content={"which": "this"})


@asynccontextmanager
async def host(dispatcher: Dispatcher, era: str, **can: Any) -> AsyncGenerator[Client]:
    core = Core(DIALECT, dispatcher)
    async with (
        core.running(),
        create_client_server_memory_streams() as (near, far),
        anyio.create_task_group() as tasks,
    ):

        async def serve() -> None:
            await serve_dual_era_loop(core.server(), *far, lifespan_state=Caller(actor=HOST))

        @asynccontextmanager
        async def transport() -> AsyncGenerator[Any]:
            yield near

        tasks.start_soon(serve)
        async with Client(transport(), mode=era, read_timeout_seconds=WAIT_S, **can) as client:
            yield client
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize("era", ERAS)
async def test_a_tool_borrows_the_model_and_the_person_of_the_callers_host(
    era: str, tmp_path: Path
) -> None:
    async with (
        running_engine(tmp_path) as engine,
        host(
            engine.dispatcher, era, sampling_callback=complete, elicitation_callback=fill
        ) as client,
    ):
        with anyio.fail_after(WAIT_S):
            answer = await client.call_tool("think", {})

    assert answer.structured_content == {
        "thought": "re: two words?",
        "said": {"action": "accept", "content": {"which": "this"}},
    }


@pytest.mark.parametrize("era", ERAS)
async def test_what_a_host_did_not_declare_or_does_not_answer_is_a_coded_error(
    era: str, tmp_path: Path
) -> None:
    codes: list[str] = []
    async with running_engine(tmp_path) as engine:
        for can, arguments in (
            ({}, {}),
            ({"elicitation_callback": fill}, {}),
            ({"sampling_callback": complete}, {"more": {"tools": [{"name": "x"}]}}),
            ({"sampling_callback": never}, {"within_s": 0.1}),
        ):
            if era == "auto" and arguments.get("within_s"):
                continue  # the client itself waits for its own model before it calls again
            async with host(engine.dispatcher, era, **can) as client:
                with anyio.fail_after(WAIT_S):
                    answer = await client.call_tool("think", arguments)
            assert answer.is_error
            assert answer.structured_content is not None
            codes.append(answer.structured_content["error"]["code"])

    assert set(codes) == {"host_unavailable"}


async def test_a_connected_host_of_the_handshake_era_can_be_asked_at_any_time(
    tmp_path: Path,
) -> None:
    async with running_engine(tmp_path) as engine:
        hosts = engine.dispatcher.hosts
        async with host(engine.dispatcher, "legacy", sampling_callback=complete) as client:
            await client.list_tools()
            (lent,) = hosts.those_with("sampling")
            with anyio.fail_after(WAIT_S):
                answer = await lent.sample(WANTED, within_s=WAIT_S)
            assert hosts.those_with("form") == []
        gone = hosts.those_with("sampling")

    assert answer["content"]["text"] == "re: two words?"
    assert lent.actor == HOST
    assert gone == []

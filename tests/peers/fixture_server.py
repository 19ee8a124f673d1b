"""A server with the tools, resources and prompts that the official conformance suite wants to meet.

The protocol is the product's: its core, its tasks, subscriptions and transports, its
checks of Host and Origin. Only what the suite calls by name is made here. Run as
`python -m tests.peers.fixture_server`; the first line it prints is its address.
"""

import json
import socket
import sys
import warnings
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
import uvicorn
from mcp import MCPDeprecationWarning, MCPError
from mcp import types as t
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from duetty.calls import Actor
from duetty.edges.http import Guard, error_response, origins
from duetty.edges.mcp.core import Core
from duetty.edges.mcp.dialect import Answer, Caller, Calls, Dialect, Json, Prompt, Resource, Tool
from duetty.edges.mcp.sdk import Context, DuettyServer, declares_tasks
from duetty.edges.mcp.tasks import Task, require_tasks, wire_2026
from duetty.edges.mcp.transports import Transports
from duetty.errors import DuettyError
from tests.engine import running_engine

warnings.simplefilter("ignore", MCPDeprecationWarning)

PICTURE = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="
)
SOUND = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="
ANY: Json = {"type": "object"}

Fixture = Callable[[Context, t.CallToolRequestParams], Awaitable[Any]]


def text(words: str, *, is_error: bool = False) -> t.CallToolResult:
    return t.CallToolResult(content=[t.TextContent(text=words)], is_error=is_error)


def embedded(uri: str, words: str, mime_type: str) -> t.EmbeddedResource:
    return t.EmbeddedResource(
        resource=t.TextResourceContents(uri=uri, text=words, mime_type=mime_type)
    )


def form(message: str, **properties: Json) -> Any:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return t.ElicitRequest(
        params=t.ElicitRequestFormParams(message=message, requested_schema=schema)
    )


def sampling(question: str) -> t.CreateMessageRequest:
    message = t.SamplingMessage(role="user", content=t.TextContent(text=question))
    return t.CreateMessageRequest(
        params=t.CreateMessageRequestParams(messages=[message], max_tokens=100)
    )


STRING: Json = {"type": "string"}
BOOLEAN: Json = {"type": "boolean"}


# --- contents ---------------------------------------------------------------------


async def simple_text(context: Context, params: t.CallToolRequestParams) -> Any:
    return text("This is a simple text response for testing.")


async def image(context: Context, params: t.CallToolRequestParams) -> Any:
    return t.CallToolResult(content=[t.ImageContent(data=PICTURE, mime_type="image/png")])


async def audio(context: Context, params: t.CallToolRequestParams) -> Any:
    return t.CallToolResult(content=[t.AudioContent(data=SOUND, mime_type="audio/wav")])


async def embedded_resource(context: Context, params: t.CallToolRequestParams) -> Any:
    words = "This is an embedded resource content."
    return t.CallToolResult(content=[embedded("test://embedded-resource", words, "text/plain")])


async def mixed(context: Context, params: t.CallToolRequestParams) -> Any:
    words = '{"test":"data","value":123}'
    return t.CallToolResult(
        content=[
            t.TextContent(text="Multiple content types test:"),
            t.ImageContent(data=PICTURE, mime_type="image/png"),
            embedded("test://mixed-content-resource", words, "application/json"),
        ]
    )


async def failing(context: Context, params: t.CallToolRequestParams) -> Any:
    return text("This tool intentionally returns an error for testing", is_error=True)


# --- while it runs ------------------------------------------------------------------


async def logging_tool(context: Context, params: t.CallToolRequestParams) -> Any:
    session: Any = context.session  # logging is deprecated, and asked for all the same
    for words in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await session.send_log_message("info", words, related_request_id=context.request_id)
        await anyio.sleep(0.05)
    return text("done")


async def progress(context: Context, params: t.CallToolRequestParams) -> Any:
    for percent in (0, 50, 100):
        await context.session.report_progress(percent, 100)
        await anyio.sleep(0.05)
    return text("done")


async def ask_model(context: Context, params: t.CallToolRequestParams) -> Any:
    question = t.SamplingMessage(
        role="user", content=t.TextContent(text=str((params.arguments or {}).get("prompt", "?")))
    )
    session: Any = context.session  # sampling is deprecated, and asked for all the same
    said = await session.create_message(
        [question], max_tokens=100, related_request_id=context.request_id
    )
    return text(f"LLM response: {getattr(said.content, 'text', '')}")


def elicit(message: str, schema: Json) -> Fixture:
    async def run(context: Context, params: t.CallToolRequestParams) -> Any:
        asked = str((params.arguments or {}).get("message", message))
        said = await context.session.elicit_form(
            asked, schema, related_request_id=context.request_id
        )
        return text(f"action={said.action}, content={json.dumps(said.content)}")

    return run


DEFAULTS: Json = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {
            "type": "string",
            "enum": ["active", "inactive", "pending"],
            "default": "active",
        },
        "verified": {"type": "boolean", "default": True},
    },
}
ENUMS: Json = {
    "type": "object",
    "properties": {
        "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
        "titledSingle": {
            "type": "string",
            "oneOf": [{"const": f"value{n}", "title": f"Option {n}"} for n in (1, 2, 3)],
        },
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {
            "type": "array",
            "items": {"type": "string", "enum": ["option1", "option2", "option3"]},
        },
        "titledMulti": {
            "type": "array",
            "items": {"anyOf": [{"const": f"value{n}", "title": f"Choice {n}"} for n in (1, 2, 3)]},
        },
    },
}


async def reconnection(context: Context, params: t.CallToolRequestParams) -> Any:
    if context.close_sse_stream is not None:
        await context.close_sse_stream()
    await anyio.sleep(0.1)
    return text("Reconnection test completed successfully")


# --- input required -----------------------------------------------------------------


def needs(**questions: Any) -> Fixture:
    """Asks everything at once, then answers with what came."""

    async def run(context: Context, params: t.CallToolRequestParams) -> Any:
        answers = params.input_responses or {}
        if any(key not in answers for key in questions) or not all(
            map(_is_whole, answers.values())
        ):
            return t.InputRequiredResult(input_requests=questions, request_state="asked")
        said = json.dumps({key: _plain(value) for key, value in answers.items()})
        return text(f"state-ok {said}" if params.request_state == "asked" else f"Hello, {said}!")

    return run


def _is_whole(answer: Any) -> bool:
    return (
        not isinstance(answer, t.ElicitResult) or answer.action != "accept" or bool(answer.content)
    )


def _plain(answer: Any) -> Any:
    return answer.model_dump(mode="json", exclude_none=True)


async def multi_round(context: Context, params: t.CallToolRequestParams) -> Any:
    state = params.request_state
    if state is None or not params.input_responses:
        asked = {"step1": form("What is your name?", name=STRING)}
        return t.InputRequiredResult(input_requests=asked, request_state="round-1")
    if state == "round-1":
        asked = {"step2": form("What colour do you like?", color=STRING)}
        return t.InputRequiredResult(input_requests=asked, request_state="round-2")
    return text("all rounds done")


async def what_it_can(context: Context, params: t.CallToolRequestParams) -> Any:
    """Asks only what the client says it can answer."""
    can = context.session.check_client_capability
    asked: dict[str, Any] = {}
    if can(t.ClientCapabilities(sampling=t.SamplingCapability())):
        asked["question"] = sampling("What is the capital of France?")
    if can(t.ClientCapabilities(elicitation=t.ElicitationCapability())):
        asked["name"] = form("What is your name?", name=STRING)
    if params.input_responses or not asked:
        return text("done")
    return t.InputRequiredResult(input_requests=asked, request_state="asked")


async def missing_capability(context: Context, params: t.CallToolRequestParams) -> Any:
    if not context.session.check_client_capability(
        t.ClientCapabilities(sampling=t.SamplingCapability())
    ):
        raise MCPError(
            code=-32021,
            message="Missing required client capability",
            data={"requiredCapabilities": {"sampling": {}}},
        )
    return text("it is there")


# --- tasks ------------------------------------------------------------------------------


def question(message: str, name: str) -> Json:
    schema = {"type": "object", "properties": {name: STRING}, "required": [name]}
    params = {"mode": "form", "message": message, "requestedSchema": schema}
    return {"method": "elicitation/create", "params": params}


async def slow_compute(task: Task | None, arguments: Json) -> t.CallToolResult | MCPError:
    await anyio.sleep(float(arguments.get("seconds", 1)))
    return text("computed")


async def failing_job(task: Task | None, arguments: Json) -> t.CallToolResult | MCPError:
    await anyio.sleep(0.3)
    return text("the job failed", is_error=True)


async def protocol_error_job(task: Task | None, arguments: Json) -> t.CallToolResult | MCPError:
    return MCPError(code=t.INTERNAL_ERROR, message="boom")


async def confirm_delete(task: Task | None, arguments: Json) -> t.CallToolResult | MCPError:
    assert task is not None
    return text(f"done {await task.ask(question('Delete it?', 'confirm'))}")


async def multi_input(task: Task | None, arguments: Json) -> t.CallToolResult | MCPError:
    assert task is not None
    return text(f"done {await task.ask(question('a?', 'a'), question('b?', 'b'))}")


WORK = {
    "slow_compute": slow_compute,
    "failing_job": failing_job,
    "protocol_error_job": protocol_error_job,
    "confirm_delete": confirm_delete,
    "multi_input": multi_input,
}
ONLY_AS_TASK = {"failing_job", "confirm_delete", "multi_input", "test_tool_with_task"}

NAME = form("What is your name?", name=STRING)
FIXTURES: dict[str, Fixture] = {
    "test_simple_text": simple_text,
    "test_image_content": image,
    "test_audio_content": audio,
    "test_embedded_resource": embedded_resource,
    "test_multiple_content_types": mixed,
    "test_error_handling": failing,
    "test_tool_with_logging": logging_tool,
    "test_logging_tool": logging_tool,
    "test_tool_with_progress": progress,
    "test_sampling": ask_model,
    "test_elicitation": elicit(
        "Please answer",
        {"type": "object", "properties": {"response": STRING}, "required": ["response"]},
    ),
    "test_elicitation_sep1034_defaults": elicit("Please provide user information", DEFAULTS),
    "test_elicitation_sep1330_enums": elicit("Please choose", ENUMS),
    "test_reconnection": reconnection,
    "test_missing_capability": missing_capability,
    "test_streaming_elicitation": needs(user_name=NAME),
    "test_input_required_result_elicitation": needs(user_name=NAME),
    "test_input_required_result_sampling": needs(
        capital_question=sampling("What is the capital of France?")
    ),
    "test_input_required_result_list_roots": needs(client_roots=t.ListRootsRequest()),
    "test_input_required_result_request_state": needs(confirm=form("Please confirm", ok=BOOLEAN)),
    "test_input_required_result_tampered_state": needs(confirm=form("Please confirm", ok=BOOLEAN)),
    "test_input_required_result_multiple_inputs": needs(
        user_name=NAME, greeting=sampling("Generate a greeting"), client_roots=t.ListRootsRequest()
    ),
    "test_input_required_result_multi_round": multi_round,
    "test_input_required_result_capabilities": what_it_can,
    "test_trigger_tool_change": simple_text,
    "test_trigger_prompt_change": simple_text,
    "json_schema_2020_12_tool": simple_text,
    "test_custom_header": simple_text,
}

SCHEMAS: dict[str, Json] = {
    "test_sampling": {"type": "object", "properties": {"prompt": STRING}, "required": ["prompt"]},
    "test_elicitation": {
        "type": "object",
        "properties": {"message": STRING},
        "required": ["message"],
    },
    "test_custom_header": {
        "type": "object",
        "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "query": {"type": "string"},
        },
        "required": ["region"],
    },
    "json_schema_2020_12_tool": {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": STRING, "city": STRING},
            }
        },
        "properties": {
            "name": STRING,
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": STRING,
            "email": STRING,
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": False,
    },
}


# --- resources and prompts ------------------------------------------------------------


async def read_text(calls: Calls, places: Any) -> object:
    return "This is the content of the static text resource."


async def read_data(calls: Calls, places: Any) -> object:
    id_ = places["id"]
    return {"id": id_, "templateTest": True, "data": f"Data for ID: {id_}"}


def resource(uri: str, name: str, read: Callable[[Calls, Any], Awaitable[object]]) -> Resource:
    return Resource(
        uri=uri, name=name, title=name, description=name, read=read, changes_with="sessions"
    )


async def waits(calls: Calls, arguments: Json) -> Answer:
    return Answer(content={})


async def no_tail(calls: Calls, arguments: Json) -> str | None:
    return None


DIALECT = Dialect(
    name="fixture",
    instructions="For the conformance suite.",
    tools=[
        # Its tail says that this server has tasks; the fixtures start them themselves.
        Tool(
            name="waits", title="Waits", description="Waits", parameters={}, result=ANY, run=waits, tail=no_tail
        )
    ],
    resources=[
        resource("test://static-text", "static-text", read_text),
        resource("test://static-binary", "static-binary", read_text),
        resource("test://watched-resource", "watched-resource", read_text),
        resource("test://template/{id}/data", "template", read_data),
    ],
    prompts=[Prompt(name="test_simple_prompt", title="Simple", description="Simple", text="This is a simple prompt for testing.")],
)  # fmt: skip


def _schema(name: str) -> Json:
    return SCHEMAS.get(name, ANY)


async def _work_with(work: Any, arguments: Json, task: Task) -> t.CallToolResult | MCPError:
    return await work(task, arguments)


class FixtureCore(Core):
    """The product's core, with tools that speak to the SDK themselves."""

    takes_plain_calls = False

    def _can_complete(self, ref: t.ResourceTemplateReference | t.PromptReference) -> bool:
        """Its prompts with arguments are not the dialect's."""
        return super()._can_complete(ref) or isinstance(ref, t.PromptReference)

    def server(self) -> DuettyServer:
        server = super().server()
        server.add_request_handler("tools/list", t.PaginatedRequestParams, self._fixture_tools)
        server.add_request_handler("prompts/list", t.PaginatedRequestParams, self._fixture_prompts)
        server.add_request_handler("prompts/get", t.GetPromptRequestParams, self._fixture_prompt)
        server.add_request_handler(
            "resources/read", t.ReadResourceRequestParams, self._fixture_read
        )
        server.add_request_handler("logging/setLevel", t.SetLevelRequestParams, self._set_level)
        server.get_tool_input_schema = _schema
        security = RequestStateSecurity.ephemeral()
        server.middleware.append(RequestStateBoundary(security, default_audience="fixture"))
        return server

    async def _set_level(self, context: Context, params: t.SetLevelRequestParams) -> t.EmptyResult:
        return t.EmptyResult()

    async def _fixture_tools(
        self, context: Context, params: t.PaginatedRequestParams
    ) -> t.ListToolsResult:
        names = ["greet", *FIXTURES, *WORK, "test_tool_with_task"]
        return t.ListToolsResult(
            tools=[
                t.Tool(name=name, description=name, input_schema=SCHEMAS.get(name, ANY))
                for name in names
            ],
            ttl_ms=1_000,
        )

    async def call_tool(self, context: Context, params: t.CallToolRequestParams) -> Any:
        if params.name == "greet":
            return text(f"Hello, {(params.arguments or {}).get('name')}!")
        if params.name in FIXTURES:
            return await FIXTURES[params.name](context, params)
        if params.name in ONLY_AS_TASK:
            require_tasks(context)
        if params.name == "test_tool_with_task":
            return self._asked_first(context, params)
        if params.name in WORK:
            return await self._work(context, params)
        return await super().call_tool(context, params)

    async def _work(self, context: Context, params: t.CallToolRequestParams) -> Any:
        work, arguments = WORK[params.name], params.arguments or {}
        if declares_tasks(context):
            return self._started(context, partial(_work_with, work, arguments))
        outcome = await work(None, arguments)
        if isinstance(outcome, MCPError):
            raise outcome
        return outcome

    def _started(self, context: Context, work: Any) -> Json:
        task = self.tasks.start(self.calls(context).caller.actor, work)
        return {"resultType": "task", **wire_2026(task)}

    def _asked_first(self, context: Context, params: t.CallToolRequestParams) -> Any:
        if not params.input_responses:
            asked = {"user_name": form("Who?", name=STRING)}
            return t.InputRequiredResult(input_requests=asked, request_state="asked")
        said = _plain(params.input_responses["user_name"])

        async def greet(task: Task) -> t.CallToolResult | MCPError:
            return text(f"hello {said}")

        return self._started(context, greet)

    async def _fixture_read(self, context: Context, params: t.ReadResourceRequestParams) -> Any:
        uri = str(params.uri)
        if uri == "test://static-binary":
            contents = t.BlobResourceContents(uri=uri, blob=PICTURE, mime_type="image/png")
        elif uri in ("test://static-text", "test://watched-resource"):
            contents = t.TextResourceContents(
                uri=uri, text=str(await read_text(self.calls(context), {})), mime_type="text/plain"
            )
        else:
            return await self._read_resource(context, params)
        return t.ReadResourceResult(contents=[contents], ttl_ms=0)

    async def _fixture_prompts(
        self, context: Context, params: t.PaginatedRequestParams
    ) -> t.ListPromptsResult:
        def prompt(name: str, *arguments: str) -> t.Prompt:
            wanted = [t.PromptArgument(name=each, required=True) for each in arguments]
            return t.Prompt(name=name, description=name, arguments=wanted or None)

        return t.ListPromptsResult(
            prompts=[
                prompt("test_simple_prompt"),
                prompt("test_prompt_with_arguments", "arg1", "arg2"),
                prompt("test_prompt_with_embedded_resource", "resourceUri"),
                prompt("test_prompt_with_image"),
                prompt("test_input_required_result_prompt"),
            ],
            ttl_ms=1_000,
        )

    async def _fixture_prompt(self, context: Context, params: t.GetPromptRequestParams) -> Any:
        given = params.arguments or {}
        contents: list[t.ContentBlock]
        match params.name:
            case "test_prompt_with_arguments":
                words = (
                    f"Prompt with arguments: arg1='{given.get('arg1')}', arg2='{given.get('arg2')}'"
                )
                contents = [t.TextContent(text=words)]
            case "test_prompt_with_embedded_resource":
                words = "Embedded resource content for testing."
                contents = [
                    embedded(
                        given.get("resourceUri", "test://example-resource"), words, "text/plain"
                    ),
                    t.TextContent(text="Please process the embedded resource above."),
                ]
            case "test_prompt_with_image":
                contents = [
                    t.ImageContent(data=PICTURE, mime_type="image/png"),
                    t.TextContent(text="Please analyze the image above."),
                ]
            case "test_input_required_result_prompt":
                if not params.input_responses:
                    asked = {"user_context": form("Which context?", context=STRING)}
                    return t.InputRequiredResult(input_requests=asked, request_state="asked")
                contents = [t.TextContent(text="with context")]
            case _:
                return await self._get_prompt(context, params)
        return t.GetPromptResult(
            messages=[t.PromptMessage(role="user", content=content) for content in contents]
        )


class FixtureTransports(Transports):
    def make_core(self, dialect: Dialect) -> Core:
        return FixtureCore(dialect, self.dispatcher)


async def main() -> None:
    with TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as home:
        async with running_engine(Path(home)) as engine:
            listening = socket.create_server(("127.0.0.1", 0))
            port = listening.getsockname()[1]
            known = origins(
                scheme="http", port=port, names=("localhost", "127.0.0.1"), further=(), listed=()
            )
            guard = Guard(access=engine.services.access, origins=lambda: known)
            transports = FixtureTransports(
                {"fixture": DIALECT}, engine.dispatcher, default="fixture"
            )

            async def endpoint(scope: Scope, receive: Receive, send: Send) -> None:
                try:
                    guard.check_origin(Request(scope))
                except DuettyError as error:
                    await error_response(error)(scope, receive, send)
                    return
                caller = Caller(actor=Actor(kind="agent", name="suite"))
                await transports.http(caller, None, scope=scope, receive=receive, send=send)

            class Endpoint:
                __call__ = staticmethod(endpoint)

            app = Starlette(routes=[Route("/mcp", Endpoint())])
            web = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off"))
            async with transports.running():
                print(f"http://127.0.0.1:{port}/mcp", flush=True)  # noqa: T201 - for whoever started us
                await web.serve(sockets=[listening])


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        anyio.run(main)
    sys.exit(0)

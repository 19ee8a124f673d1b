"""Models by pydantic-ai: the only module that knows the library. Loaded with the first message."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any, cast

import anyio
import httpx
from openai import OpenAIError
from pydantic import ValidationError
from pydantic_ai.direct import model_request_stream
from pydantic_ai.exceptions import (
    AgentRunError,
    ModelAPIError,
    ModelContextWindowExceededError,
    ModelHTTPError,
    ModelRateLimitError,
    ModelRequestRejectedError,
    UserError,
)
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model as PydanticModel
from pydantic_ai.models import ModelRequestParameters, infer_model
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers import Provider, infer_provider_class
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.usage import RequestUsage

from duetty.agent.hands import Tool, ToolCall
from duetty.agent.history import ChatMessage, chat_messages
from duetty.agent.model import (
    WHAT_TO_INSTALL,
    Answered,
    ModelSource,
    answer_tokens,
    request_tokens,
)
from duetty.clock import SystemClock
from duetty.errors import (
    AgentNotConfigured,
    AgentNotInstalled,
    ContextTooLong,
    ModelRefused,
    ModelUnavailable,
)
from duetty.store import ConversationEntry

MAX_REASON_CHARS = 500
"""Of what a model's server says of its errors."""


_EXTRA = re.compile(r"pydantic-ai-slim\[[\w-]+\]")
"""What the library says to install for a provider."""

_NOTES = {
    "length": "the model's answer was cut off at its longest",
    "content_filter": "the model's provider withheld its answer, or the rest of it",
}

CHECK_S = 10.0
MAX_NAMES = 10
"""Models that are named where the one that is set is not among them."""


class LibraryModel:
    def __init__(self, source: ModelSource) -> None:
        self._source = source
        self._model = _opened(source)
        self._settings = ModelSettings(timeout=source.timeout_s, max_retries=0)

    @property
    def name(self) -> str:
        return self._source.model

    async def answer(
        self,
        instructions: str,
        entries: Sequence[ConversationEntry],
        tools: Sequence[Tool],
        *,
        on_text: Callable[[str], None],
    ) -> Answered:
        parameters = ModelRequestParameters(
            function_tools=[
                ToolDefinition(
                    name=tool.name,
                    description=tool.description,
                    parameters_json_schema=dict(tool.schema),
                    strict=False,
                )
                for tool in tools
            ],
            allow_text_output=True,
        )
        try:
            response = await self._streamed(_messages(instructions, entries), parameters, on_text)
        except (
            AgentRunError,
            UserError,
            OpenAIError,
            httpx.HTTPError,
            OSError,
            ValidationError,
        ) as error:
            raise self._model_error(error) from None  # its own text may hold the key
        return self._answered(response, partial(request_tokens, instructions, entries, tools))

    async def _streamed(
        self,
        messages: list[ModelMessage],
        parameters: ModelRequestParameters,
        on_text: Callable[[str], None],
    ) -> ModelResponse:
        async with model_request_stream(
            self._model,
            messages,
            model_settings=self._settings,
            model_request_parameters=parameters,
        ) as stream:
            async for event in stream:
                match event:
                    case PartStartEvent(part=TextPart(content=text)) if text:
                        on_text(text)
                    case PartDeltaEvent(delta=TextPartDelta(content_delta=text)) if text:
                        on_text(text)
                    case _:
                        pass
                await anyio.lowlevel.checkpoint()
            response = stream.get()
        if not self._is_whole(response):
            raise ModelUnavailable(
                "the model's answer broke off in the middle", hint="nothing of it was acted on"
            )
        return response

    async def check(self) -> str | None:
        """By the list of the provider's models. Clients of one make have it under one name."""
        client: Any = getattr(self._model, "client", None)
        if not type(client).__name__.startswith("Async") or not hasattr(client, "models"):
            return None
        try:
            asking = client.with_options(max_retries=0, timeout=CHECK_S)
            listed: list[str] = [str(each.id) for each in (await asking.models.list()).data]
        except Exception as error:  # noqa: BLE001 - each provider's client has errors of its own
            return self._check_failed(error)
        name = self._model.model_name
        if listed and name not in listed:
            some = ", ".join(listed[:MAX_NAMES])
            raise ModelRefused(
                f"there is no model {name!r} at {self._model.base_url}; there are {some}",
                hint="set agent.model to one of them",
            )
        return f"{self._model.base_url} has it"

    def _check_failed(self, error: Exception) -> None:
        status: Any = getattr(error, "status_code", None)
        if status in (404, 405, 501):
            return  # it answers, and lists nothing
        text = self._keyless(str(error))
        if status in (401, 403):
            raise ModelRefused(f"the key is refused: {text}", hint="look at the key") from None
        where = self._model.base_url
        raise ModelUnavailable(
            f"nothing answers at {where}: {text}",
            hint="start the model's server, or mend agent.base_url",
        ) from None

    def _keyless(self, text: str) -> str:
        key = self._source.key
        plain = " ".join(text.split())
        return (plain.replace(key, "[key]") if key else plain)[:MAX_REASON_CHARS]

    def _is_whole(self, response: ModelResponse) -> bool:
        """The library calls an answer of this protocol finished also where its stream broke off;
        the server's own reason for the end is kept beside.
        """
        if isinstance(self._model, OpenAIChatModel):
            return not {"finish_reason", "refusal"}.isdisjoint(response.provider_details or {})
        return response.finish_reason is not None

    def _answered(self, response: ModelResponse, tokens_asked: Callable[[], int]) -> Answered:
        text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
        calls = tuple(_call(part) for part in response.parts if isinstance(part, ToolCallPart))
        text = text or str((response.provider_details or {}).get("refusal", ""))
        usage = response.usage
        if not usage.input_tokens and not usage.output_tokens:
            usage = RequestUsage(
                input_tokens=tokens_asked(), output_tokens=answer_tokens(text, calls)
            )
        return Answered(
            text=text,
            calls=calls,
            tokens_in=usage.input_tokens,
            tokens_out=usage.output_tokens,
            cost_usd=self._cost_usd(replace(response, usage=usage)),
            model=response.model_name or self.name,
            raw=ModelMessagesTypeAdapter.dump_json([response]).decode(),
            note=_NOTES.get(response.finish_reason or ""),
        )

    def _cost_usd(self, response: ModelResponse) -> float | None:
        source, usage = self._source, response.usage
        if source.input_usd or source.output_usd:
            return (
                usage.input_tokens * source.input_usd + usage.output_tokens * source.output_usd
            ) / 1e6
        try:
            return float(response.cost().total_price)
        except (LookupError, ValueError, AssertionError):
            return None

    def _model_error(self, error: Exception) -> Exception:
        text = self._keyless(_plain(error))
        if isinstance(error, ModelContextWindowExceededError):
            return ContextTooLong(f"too long for the model: {text}")
        if isinstance(error, ModelHTTPError) and isinstance(error, ModelRateLimitError):
            wait_s = _wait_s((error.headers or {}).get("retry-after", ""))
            return ModelUnavailable(
                f"the model is asked too often: {text}",
                hint="resume later",
                details={"retry_after_s": wait_s, "status": 429},
            )
        is_refusal = isinstance(error, ModelRequestRejectedError) or (
            isinstance(error, ModelHTTPError) and 400 <= error.status_code < 500
        )
        if is_refusal or isinstance(error, UserError):
            return ModelRefused(
                f"the model's server refuses the request: {text}",
                hint="look at agent.model, agent.base_url and the key; `duetty doctor` checks them",
            )
        return ModelUnavailable(
            f"the model does not answer: {text}", hint="`duetty doctor` checks it; resume later"
        )


def _wait_s(after: str) -> float | None:
    """Of a Retry-After: seconds, or a date."""
    if after.replace(".", "", 1).isdecimal():
        return float(after)
    try:
        left_s = parsedate_to_datetime(after).timestamp() - SystemClock().wall_ns() / 1e9
    except (ValueError, OverflowError):
        return None
    return max(round(left_s, 1), 0.0)


def _plain(error: Exception) -> str:
    if isinstance(error, ModelHTTPError):
        body: object = error.body
        if isinstance(body, dict):
            answered = cast("dict[str, Any]", body)
            wrapped = cast(
                "dict[str, Any]", answered.get("error") or {}
            )  # as some providers have it
            body = answered.get("message") or wrapped.get("message")
        return f"status {error.status_code}: {body}" if body else f"status {error.status_code}"
    if isinstance(error, ModelAPIError):
        return error.message
    return str(error) or type(error).__name__


def _opened(source: ModelSource) -> PydanticModel:
    name = source.model
    try:
        if source.base_url:
            from pydantic_ai.providers.openai import OpenAIProvider

            provider = OpenAIProvider(base_url=source.base_url, api_key=source.key or "none")
            return OpenAIChatModel(name.removeprefix("openai:"), provider=provider)

        def with_key(provider_name: str) -> Provider[Any]:
            make: Any = infer_provider_class(provider_name)
            return make(api_key=source.key) if source.key else make()

        return infer_model(name, with_key)
    except ImportError as error:
        extra = _EXTRA.search(str(error))
        raise AgentNotInstalled(
            f"the library for {name!r} is not installed",
            hint=f"pip install '{extra[0]}', then start the server again"
            if extra
            else WHAT_TO_INSTALL,
        ) from None
    except (UserError, ValueError, TypeError, OpenAIError) as error:
        text = str(error).replace(source.key, "[key]") if source.key else str(error)
        raise AgentNotConfigured(
            f"agent.model {name!r} cannot be used: {text[:MAX_REASON_CHARS]}",
            hint="PROVIDER:MODEL as pydantic-ai names them, for example openai:gpt-5",
        ) from None


def _call(part: ToolCallPart) -> ToolCall:
    given: Any = part.args
    if isinstance(given, str):
        try:
            given = json.loads(given or "{}")
        except (ValueError, RecursionError):
            given = None
    elif given is None:
        given = {}
    if not isinstance(given, dict):
        return ToolCall(
            id=part.tool_call_id, tool=part.tool_name, arguments=None, text=str(part.args)
        )
    return ToolCall(
        id=part.tool_call_id, tool=part.tool_name, arguments=cast("dict[str, Any]", given)
    )


# --- the conversation in the library's words -----------------------------------------


def _messages(instructions: str, entries: Sequence[ConversationEntry]) -> list[ModelMessage]:
    messages: list[ModelMessage] = []
    parts: list[ModelRequestPart] = []
    for each in chat_messages(entries):
        if each.role == "model":
            messages += [ModelRequest(parts=parts, instructions=instructions), _response(each)]
            parts = []
        elif each.role == "result":
            parts.append(
                ToolReturnPart(tool_name=each.tool, content=each.text, tool_call_id=each.call)
            )
        else:
            parts.append(UserPromptPart(content=each.text))
    return [*messages, ModelRequest(parts=parts, instructions=instructions)]


def _response(each: ChatMessage) -> ModelResponse:
    """As it came, where the library still reads what it wrote; else rebuilt from its words."""
    if each.raw is not None:
        try:
            [message] = ModelMessagesTypeAdapter.validate_json(each.raw)
        except (ValidationError, ValueError):
            message = None
        if isinstance(message, ModelResponse):
            return message
    parts: list[TextPart | ToolCallPart] = [TextPart(content=each.text)] if each.text else []
    parts += [
        ToolCallPart(
            tool_name=call.tool,
            args=json.dumps(call.arguments) if call.arguments is not None else call.text,
            tool_call_id=call.id,
        )
        for call in each.calls
    ]
    return ModelResponse(parts=parts)

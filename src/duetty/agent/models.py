"""The model behind the agent: found by the settings, and loaded when it is first needed."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Protocol

from duetty.agent.hands import Tool, ToolCall
from duetty.config import Settings
from duetty.errors import AgentNotConfigured, AgentNotInstalled
from duetty.store import ConversationEntry

KEYRING_USER = "duetty"

WHAT_TO_SET = (
    "set agent.model, for example `DUETTY_AGENT_MODEL=openai:gpt-5` with OPENAI_API_KEY in the"
    " server's environment; or agent.base_url and agent.model for an OpenAI-compatible server"
    " of your own"
)
WHAT_TO_INSTALL = "pip install 'duetty[agent]', then start the server again"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What the model said, whole."""

    text: str
    calls: tuple[ToolCall, ...] = ()
    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: float | None = None
    """None: nobody knows its price."""

    model: str = ""
    raw: str | None = None


class Model(Protocol):
    """One request to a model; the loop around it is ours."""

    @property
    def name(self) -> str: ...

    async def answer(
        self,
        instructions: str,
        entries: Sequence[ConversationEntry],
        tools: Sequence[Tool],
        *,
        on_text: Callable[[str], None],
    ) -> Answered:
        """The next words of the conversation. `on_text` gets them piece by piece as they come.

        Raises:
            ModelUnavailable: if it did not answer, or only in part.
            ModelRefused: if it takes no such request.
            ContextTooLong: if that was too much for it.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSource:
    """Which model, where it is, and the key to it. The key shows in no text of this."""

    model: str
    base_url: str
    key: str = field(repr=False)
    timeout_s: float
    input_usd: float = 0.0
    output_usd: float = 0.0
    """For a million tokens; 0 is what the library's list says."""


def key_variable(settings: Settings) -> str | None:
    """The variable that holds the key to the model; None where no model is set."""
    if settings.agent_api_key_env:
        return settings.agent_api_key_env
    if not settings.agent_model:
        return None
    provider = "openai" if settings.agent_base_url else settings.agent_model.partition(":")[0]
    return f"{provider.partition('-')[0].upper()}_API_KEY"


def model_source(settings: Settings, environment: Mapping[str, str]) -> ModelSource:
    """Raises:
    AgentNotConfigured: if settings name no model, or no key to it is found.
    """
    if not settings.agent_model:
        raise AgentNotConfigured("no model is set for the agent", hint=WHAT_TO_SET)
    if not settings.agent_base_url and ":" not in settings.agent_model:
        raise AgentNotConfigured(
            f"agent.model is {settings.agent_model!r}, which names no provider",
            hint=f"write PROVIDER:{settings.agent_model}, or set agent.base_url",
        )
    key = _key(settings, environment)
    if not key and not settings.agent_base_url:
        raise AgentNotConfigured(
            f"there is no key for {settings.agent_model!r}",
            hint=f"set {key_variable(settings)} in the server's environment, or agent.keyring",
        )
    return ModelSource(
        model=settings.agent_model,
        base_url=settings.agent_base_url,
        key=key,
        timeout_s=settings.agent_timeout_s,
        input_usd=settings.agent_input_cents / 100,
        output_usd=settings.agent_output_cents / 100,
    )


def _key(settings: Settings, environment: Mapping[str, str]) -> str:
    if settings.agent_keyring:
        if find_spec("keyring") is None:
            raise AgentNotInstalled("agent.keyring needs the package keyring", hint=WHAT_TO_INSTALL)
        import keyring
        from keyring.errors import KeyringError

        try:
            kept = keyring.get_password(settings.agent_keyring, KEYRING_USER)
        except KeyringError as error:
            raise AgentNotConfigured(
                f"the system's keyring does not answer: {type(error).__name__}",
                hint="unlock it, or put the key into the server's environment",
            ) from error
        if kept:
            return kept
    variable = key_variable(settings)
    return environment.get(variable, "") if variable else ""


def open_model(settings: Settings, environment: Mapping[str, str] | None = None) -> Model:
    """The model as set. Loads its library: half a second, not for the event loop.

    Raises:
        AgentNotConfigured: if there is none, with what to set.
        AgentNotInstalled: if its library is missing, with what to install.
    """
    source = model_source(settings, os.environ if environment is None else environment)
    if find_spec("pydantic_ai") is None:
        raise AgentNotInstalled("the agent's library is not installed", hint=WHAT_TO_INSTALL)
    from duetty.agent.library import LibraryModel

    return LibraryModel(source)

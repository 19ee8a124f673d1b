"""The model behind the agent: found by the settings, and loaded when it is first needed."""

from collections.abc import Mapping
from importlib.util import find_spec

from duetty.agent.model import WHAT_TO_INSTALL, CheckedModel, ModelSource
from duetty.config import MODEL_TO_SET, Settings
from duetty.errors import AgentNotConfigured, AgentNotInstalled, DuettyError

KEYRING_USER = "duetty"
WITHOUT_KEY = ("bedrock:", "google-cloud:", "ollama:")
"""Providers of the library that find their credentials themselves, or need none."""


def key_variable(settings: Settings) -> str | None:
    """The variable that holds the key to the model; None where no model is set."""
    if settings.agent_api_key_env:
        return settings.agent_api_key_env
    if not settings.agent_model:
        return None
    provider = "openai" if settings.agent_base_url else settings.agent_model.partition(":")[0]
    return f"{provider.partition('-')[0].upper()}_API_KEY"


def key_in(settings: Settings, environment: Mapping[str, str]) -> str:
    """The key to the model, where the server's environment has it."""
    variable = key_variable(settings)
    return environment.get(variable, "") if variable else ""


def without_key(variables: Mapping[str, str], key: str) -> dict[str, str]:
    """Variables for programs: the key to the model is for the server alone, whatever it is called."""
    return {name: value for name, value in variables.items() if not key or value != key}


def model_source(settings: Settings, environment: Mapping[str, str]) -> ModelSource:
    """Raises:
    AgentNotConfigured: if settings name no model, or no key to it is found.
    """
    if not settings.agent_model:
        raise AgentNotConfigured("no model is set for the agent", hint=MODEL_TO_SET)
    if not settings.agent_base_url and ":" not in settings.agent_model:
        raise AgentNotConfigured(
            f"agent.model is {settings.agent_model!r}, which names no provider",
            hint=f"write PROVIDER:{settings.agent_model}, or set agent.base_url",
        )
    key = _key(settings, environment)
    is_open = bool(settings.agent_base_url) or settings.agent_model.startswith(WITHOUT_KEY)
    if not key and not is_open:
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


def model_problem(settings: Settings, environment: Mapping[str, str]) -> DuettyError | None:
    """What keeps the agent from a model, as far as it is known without loading anything."""
    try:
        model_source(settings, environment)
    except (AgentNotConfigured, AgentNotInstalled) as error:
        return error
    if find_spec("pydantic_ai") is None:
        return AgentNotInstalled("the agent's library is not installed", hint=WHAT_TO_INSTALL)
    return None


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
    return key_in(settings, environment)


def open_model(settings: Settings, environment: Mapping[str, str]) -> CheckedModel:
    """The model as set. Loads its library: half a second, not for the event loop.

    Raises:
        AgentNotConfigured: if there is none, with what to set.
        AgentNotInstalled: if its library is missing, with what to install.
    """
    if (problem := model_problem(settings, environment)) is not None:
        raise problem
    from duetty.agent.library import LibraryModel

    return LibraryModel(model_source(settings, environment))

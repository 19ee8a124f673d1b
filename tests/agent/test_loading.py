"""Nothing of the model's library is loaded before the first message; without it, it is said what to install."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from duetty.agent import open_model
from duetty.config import Settings
from duetty.errors import AgentNotConfigured, AgentNotInstalled
from tests.agent.model_server import ModelServer, say
from tests.agent.talking import agent_server
from tests.warm import cold

LIBRARY = ("pydantic_ai", "openai", "keyring", "genai_prices")


def test_a_server_starts_with_none_of_it() -> None:
    code = f"import duetty.server, sys; print([m for m in {LIBRARY!r} if m in sys.modules])"

    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert printed.stdout.strip() == "[]"


@pytest.mark.pty
def test_a_server_that_ran_for_a_while_has_loaded_it_with_the_first_message_only(
    home: Path,
) -> None:
    def loaded(pid: int) -> bool:
        return (
            "pydantic_core" in Path(f"/proc/{pid}/maps").read_text()
            and "jiter" in Path(f"/proc/{pid}/maps").read_text()
        )

    with ModelServer(say("Hello.")) as model, cold(), agent_server(home, model) as server:
        pid = server.client.get("/server/info")["pid"]
        server.client.get("/agent/status")
        server.client.get("/agent/conversations")
        before = loaded(pid)
        sent = server.client.post("/agent/messages", {"text": "hi", "wait_ms": 30_000}, wait_s=60)
        after = loaded(pid)

    assert sent["answer"] == "Hello."
    assert (before, after) == (False, True)


def test_without_a_model_it_says_exactly_what_to_set() -> None:
    with pytest.raises(AgentNotConfigured) as none:
        open_model(Settings(), {})
    with pytest.raises(AgentNotConfigured) as no_provider:
        open_model(Settings(agent_model="gpt-5"), {})
    with pytest.raises(AgentNotConfigured) as no_key:
        open_model(Settings(agent_model="openai:gpt-5"), {})

    assert "DUETTY_AGENT_MODEL=openai:gpt-5" in str(none.value.hint)
    assert "PROVIDER:gpt-5" in str(no_provider.value.hint)
    assert "OPENAI_API_KEY" in str(no_key.value.hint)


def test_without_the_extra_it_says_what_to_install() -> None:
    code = """
import importlib.util, sys
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: None if name == "pydantic_ai" else found(name, *more)
from duetty.agent import open_model
from duetty.config import Settings
from duetty.errors import DuettyError
import json
try:
    open_model(Settings(agent_model="openai:gpt-5"), {"OPENAI_API_KEY": "k"})
except DuettyError as error:
    print(json.dumps([error.code, error.hint]))
"""
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    told = json.loads(printed.stdout)
    assert told[0] == AgentNotInstalled.code
    assert "pip install 'duetty[agent]'" in told[1]


def test_a_provider_whose_own_library_is_missing_is_named() -> None:
    with pytest.raises(AgentNotInstalled) as error:
        open_model(Settings(agent_model="anthropic:claude-sonnet-4-5"), {"ANTHROPIC_API_KEY": "k"})

    assert "anthropic" in error.value.message

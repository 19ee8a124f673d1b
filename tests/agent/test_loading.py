"""Nothing of the model's library is loaded before the first message; without it, it is said what to install."""

import json
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from duetty.agent import model_problem, open_model
from duetty.config import Settings
from duetty.errors import AgentNotConfigured, AgentNotInstalled
from tests.agent.model_server import ModelServer, say
from tests.agent.talking import agent_server
from tests.warm import cold


def packages(extra: str) -> set[str]:
    """Of Duetty and of all that it needs, with this extra."""
    found: set[tuple[str, str]] = set()
    waiting = [("duetty", extra)]
    while waiting:
        package, of = waiting.pop()
        if (package, of) in found or not (known := _requirements(package)):
            continue
        found.add((package, of))
        for each in known:
            if each.marker is None or each.marker.evaluate({"extra": of}):
                waiting += [(canonicalize_name(each.name), one) for one in (each.extras or {""})]
    return {package for package, _ in found}


def _requirements(package: str) -> list[Requirement]:
    try:
        return [Requirement(each) for each in requires(package) or ["duetty"]]
    except PackageNotFoundError:
        return []


def modules_of_the_extra() -> set[str]:
    only = packages("agent") - packages("")
    return {
        module
        for module, owners in packages_distributions().items()
        if {canonicalize_name(each) for each in owners} <= only
    }


def test_a_server_starts_with_none_of_it() -> None:
    wanted = modules_of_the_extra() - {"sniffio"}  # anyio takes it wherever it is installed
    code = f"import duetty.server, sys; print(sorted({wanted!r} & set(sys.modules)))"

    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert {"pydantic_ai", "openai", "keyring", "tiktoken", "requests"} <= wanted
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
    assert "pip install 'pydantic-ai-slim[anthropic]'" in str(error.value.hint)


def test_a_provider_that_needs_no_key_is_asked_for_none() -> None:
    assert model_problem(Settings(agent_model="ollama:qwen3"), {}) is None
    assert model_problem(Settings(agent_model="openai:gpt-5"), {}) is not None

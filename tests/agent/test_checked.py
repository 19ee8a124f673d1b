"""The model before anything is asked of it: where its key is, and what `duetty doctor` finds."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked

from duetty.agent import model_problem
from duetty.agent.models import model_source
from duetty.config import Settings
from duetty.errors import AgentNotConfigured
from tests.agent.model_server import ModelServer, Reply
from tests.homes import settle_home
from tests.server_process import ServerProcess

KEY = "sk-secret-of-the-model"


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with ModelServer() as started:
        yield started


@pytest.fixture(scope="module")
def server(model: ModelServer) -> Iterator[ServerProcess]:
    with tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as path:
        started = ServerProcess(settle_home(Path(path)), **model.settings)
        started.start()
        try:
            yield started
        finally:
            started.end()


def doctor(server: ServerProcess) -> str:
    """What it says of the agent."""
    printed = server.command("doctor").stdout.split("\n")
    at = next(at for at, line in enumerate(printed) if line[2:].startswith("agent "))
    return "\n".join(printed[at : at + 2])


def checked(server: ServerProcess) -> dict[str, Any]:
    found: dict[str, Any] | None = server.client.get("/agent/status", check="true")["checked"]
    assert found is not None
    return found


def test_doctor_says_what_to_set_where_there_is_no_model(home: Path) -> None:
    assert "DUETTY_AGENT_MODEL=openai:gpt-5" in doctor(ServerProcess(home))


def test_doctor_asks_the_provider_and_nothing_is_spent(
    server: ServerProcess, model: ModelServer
) -> None:
    model.listing = Reply(text="other scripted")

    assert f"scripted, idle; {model.url}" in doctor(server)
    assert model.keys[-1] == f"Bearer {KEY}"
    assert model.requests == []


def test_doctor_names_a_wrong_key_without_telling_it(
    server: ServerProcess, model: ModelServer
) -> None:
    model.listing = Reply(status=401, error=f"Incorrect API key: {KEY}")

    said = doctor(server)

    assert "the key is refused" in said
    assert KEY not in said


def test_a_name_that_the_provider_does_not_have_is_told_with_those_it_has(
    server: ServerProcess, model: ModelServer
) -> None:
    model.listing = Reply(text="small large")

    found = checked(server)

    assert found["code"] == "model_refused"
    assert "no model 'scripted'" in found["message"]
    assert "small, large" in found["message"]


def test_a_provider_that_lists_nothing_is_no_mistake(
    server: ServerProcess, model: ModelServer
) -> None:
    model.listing = Reply(status=404, error="no such path")

    assert checked(server)["code"] is None


def test_an_address_where_nothing_answers_is_named(home: Path) -> None:
    with ModelServer() as gone:
        settings = gone.settings
    server = ServerProcess(home, **settings)
    server.start()
    try:
        said = doctor(server)
    finally:
        server.end()

    assert f"nothing answers at {settings['DUETTY_AGENT_BASE_URL']}" in said


class Kept(KeyringBackend):
    priority = 1  # pyright: ignore[reportAssignmentType] - the library's own examples do so
    is_locked = False

    def get_password(self, service: str, username: str) -> str | None:
        if self.is_locked:
            raise KeyringLocked("no prompt here")
        return {("my models", "duetty"): KEY}.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        raise NotImplementedError


@pytest.fixture
def kept() -> Iterator[Kept]:
    before = keyring.get_keyring()
    keyring.set_keyring(found := Kept())
    yield found
    keyring.set_keyring(before)


def test_the_systems_keyring_has_the_key_and_no_text_of_it_does(kept: Kept) -> None:
    settings = Settings(agent_model="openai:gpt-5", agent_keyring="my models")

    source = model_source(settings, {"OPENAI_API_KEY": "another"})

    assert source.key == KEY
    assert KEY not in repr(source)
    assert model_problem(settings, {}) is None


def test_a_locked_keyring_is_told_with_what_to_do(kept: Kept) -> None:
    kept.is_locked = True

    problem = model_problem(Settings(agent_model="openai:gpt-5", agent_keyring="my models"), {})

    assert isinstance(problem, AgentNotConfigured)
    assert "unlock it" in str(problem.hint)

"""What a credential allows is decided where every call passes."""

from pathlib import Path
from typing import Any

import pytest

from duetty.calls import SCOPE_OF, Actor, Effect, Scope
from duetty.config import Settings
from duetty.errors import ConversationNotFound, ScopeMissing, ServerNotFound
from duetty.ops import OPERATIONS, Operation, permit
from duetty.ops.contract.failures import Blocked
from tests.engine import running_engine

ADMIN = {"server.stop", "server.link", "server.persist", "token.create", "token.list", "token.revoke"}  # fmt: skip
TOLD_TO_AGENT = ("agent.send", "agent.stop", "agent.resume")


def test_every_effect_needs_a_scope() -> None:
    assert set(SCOPE_OF) == set(Effect)


def test_what_concerns_the_server_itself_needs_admin() -> None:
    assert {name for name, each in OPERATIONS.items() if each.scope is Scope.ADMIN} >= ADMIN


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_what_is_shared_changes_nothing_and_names_no_session(
    operation: Operation[Any, Any],
) -> None:
    """An actor that is kept to one session may call it; what is composed calls others for it.

    An answer names its question, and that its session: tests/approvals/test_scope.py. What the
    agent is told names its conversation, and that its session: the test below.
    """
    if operation.name in TOLD_TO_AGENT:
        return
    if operation.shared and not operation.composed and not operation.answers:
        assert operation.effect is Effect.READ
        assert not operation.admin


@pytest.mark.parametrize("name", [*TOLD_TO_AGENT, "agent.show", "agent.events", "agent.log"])
async def test_an_actor_kept_to_one_session_reaches_no_conversation_of_another(
    home: Path, name: str
) -> None:
    kept = Actor(kind="agent", name="kept", session="mine")
    async with running_engine(home) as engine:
        for only in ("yours", None):
            begun = await engine.services.agents.begin(
                "hello", started_by="x", scopes=("read",), only_session=only
            )
            arguments = {"conversation": begun.id}
            if name == "agent.send":
                arguments["text"] = "go on"
            with pytest.raises(ConversationNotFound):
                await engine.dispatcher.call(kept, name, arguments)
        listed = await engine.dispatcher.call(kept, "agent.list", {})

    assert listed == []


async def test_an_actor_kept_to_one_session_begins_no_conversation_in_another(home: Path) -> None:
    kept = Actor(kind="agent", name="kept", session="mine")
    model = Settings(agent_model="none", agent_base_url="http://127.0.0.1:9", policy_profile="open")
    async with running_engine(home, settings=model) as engine:
        await engine.open("yours", command="cat")
        with pytest.raises(ScopeMissing):
            await engine.dispatcher.call(kept, "agent.send", {"text": "hi", "session": "yours"})


def test_a_permit_says_what_is_missing() -> None:
    reader = Actor(kind="agent", name="x", scopes=frozenset({Scope.READ}), session="mine")

    permit(reader, Scope.READ, session="mine")
    with pytest.raises(ScopeMissing) as scope:
        permit(reader, Scope.INPUT, session="mine")
    with pytest.raises(ScopeMissing) as session:
        permit(reader, Scope.READ, session="yours")

    assert scope.value.details == {"needs": "input", "has": ["read"]}
    assert session.value.details == {"session": "mine"}


@pytest.mark.pty
async def test_no_call_goes_around_the_scopes_whichever_operation(home: Path) -> None:
    nobody = Actor(kind="agent", name="nobody", scopes=frozenset())
    async with running_engine(home) as engine:
        for name in OPERATIONS:
            # The terminal contract has a word of its own for it.
            with pytest.raises(Blocked if name == "terminal.act" else ScopeMissing):
                await engine.dispatcher.call(nobody, name, {"session": "s"})


@pytest.mark.pty
async def test_an_actor_kept_to_one_session_reaches_no_other_whichever_operation(
    home: Path,
) -> None:
    kept = Actor(kind="agent", name="kept", session="mine")
    async with running_engine(home) as engine:
        await engine.open("mine", command="cat")
        other = await engine.open("yours", command="cat")
        for name, operation in OPERATIONS.items():
            if operation.shared:
                continue
            for named in ("yours", other.profile.id):
                arguments = _valid(operation, named)
                if arguments is None:
                    continue
                with pytest.raises(ScopeMissing):
                    await engine.dispatcher.call(kept, name, arguments)
        listed = await engine.dispatcher.call(kept, "session.list", {})
        history = await engine.dispatcher.call(kept, "history.list", {})

    assert [each.name for each in listed] == ["mine"]
    assert {each.session for each in history} <= {"mine"}


def _valid(operation: Operation[Any, Any], session: str) -> dict[str, object] | None:
    """Arguments that pass validation, as far as that is easily said."""
    given: dict[str, object] = {}
    for name, field in operation.params.model_fields.items():
        if name == "session":
            given[name] = session
        elif field.is_required():
            given[name] = {"scopes": ["read"], "keys": ["a"], "cols": 1, "rows": 1, "signal": "INT"}.get(name, "x")  # fmt: skip
    if operation.name == "session.wait":
        given["exit"] = True
    try:
        operation.params.model_validate(given)
    except ValueError:
        return None
    return given


@pytest.mark.pty
async def test_a_call_for_another_server_is_not_made_here(home: Path) -> None:
    async with running_engine(home) as engine:
        with pytest.raises(ServerNotFound):
            await engine.call("session.open", name="s", server="elsewhere")
        opened = await engine.call("session.open", name="s", command="cat", server="TEST")

        assert opened.name == "s"

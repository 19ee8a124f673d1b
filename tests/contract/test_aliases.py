"""Every alias, one way: the same as its canonical action in everything but the metadata."""

from typing import Any

import pytest

from duetty.ops.contract.compat import ALIASES, LIFTED, alias_info, bridge
from duetty.ops.contract.failures import ACTIONS, InvalidAction, InvalidPayload
from duetty.ops.contract.request import checked
from duetty.wire.contract import ALIASES as PUBLISHED
from duetty.wire.contract import AliasInfo
from tests.contract.doors import DOORS, opened
from tests.contract.people import looking
from tests.server_process import ServerProcess

Json = dict[str, Any]

TABLE = {
    "run": ("execute", None),
    "send": ("execute", None),
    "create": ("execute", "open_only"),
    "kill": ("terminate", None),
    "close": ("terminate", None),
    "list": ("list", None),
}
"""As the contract's document has it."""


def test_the_table_is_that_of_the_document() -> None:
    assert {name: (each.canonical, each.intent) for name, each in ALIASES.items()} == TABLE
    assert set(PUBLISHED) == set(ALIASES) - set(ACTIONS)


@pytest.mark.parametrize("alias", TABLE)
def test_an_alias_becomes_its_canonical_action_and_says_so(alias: str) -> None:
    canonical, intent = TABLE[alias]

    bridged = bridge({"action": alias})

    assert bridged.action == canonical
    assert bridged.parts == ({"execution": {"intent": intent}} if intent else {})
    assert bridged.alias.requested == alias
    assert bridged.alias.canonical == canonical
    assert bridged.alias.normalised is (alias != canonical)


@pytest.mark.parametrize("action", ACTIONS)
def test_a_canonical_action_is_not_normalised(action: str) -> None:
    assert alias_info(action) == AliasInfo(
        requested=action,
        canonical=action,  # type: ignore[arg-type]  # one of the four
        normalised=False,
        note=None,
    )


@pytest.mark.parametrize("word", ["", " ", "Execute", "RUN", "exec", "execute ", "delete"])
def test_an_unknown_word_fails_with_the_canonical_actions(word: str) -> None:
    with pytest.raises(InvalidAction) as refused:
        bridge({"action": word})

    assert refused.value.details["allowed"] == list(ACTIONS)
    assert all(action in (refused.value.hint or "") for action in ACTIONS)


@pytest.mark.parametrize("alias", [name for name in TABLE if name != "list"])
def test_when_the_time_of_aliases_is_over_each_is_told_its_action(alias: str) -> None:
    with pytest.raises(InvalidAction) as refused:
        bridge({"action": alias}, takes_aliases=False)

    how = " with execution.intent open_only" if alias == "create" else ""
    assert refused.value.hint == f"{alias} is now {TABLE[alias][0]}{how}"
    assert bridge({"action": "list"}, takes_aliases=False).action == "list"


@pytest.mark.parametrize("name", LIFTED)
def test_a_flat_field_of_an_alias_is_put_where_it_belongs(name: str) -> None:
    part, field = LIFTED[name]

    bridged = bridge({"action": "run", name: "x"})

    assert bridged.parts[part] == {field: "x"}
    assert (bridged.shape, bridged.lifted) == ("flat", (f"{name} → {part}.{field}",))


def test_a_flat_call_of_a_canonical_action_has_to_say_that_it_is_one() -> None:
    flat: Json = {"action": "execute", "command": "ls"}

    with pytest.raises(InvalidPayload) as refused:
        checked(bridge(flat))
    said = checked(bridge({**flat, "compat": {"shape": "flat"}}))

    assert "execution.command" in refused.value.details["fields"]["command"]  # type: ignore[index]
    assert said.execution.command == "ls"


def test_a_flat_field_that_says_a_thing_again_is_refused() -> None:
    with pytest.raises(InvalidPayload):
        checked(bridge({"action": "run", "command": "ls", "execution": {"command": "rm"}}))


def test_create_cannot_be_given_another_intent() -> None:
    with pytest.raises(InvalidPayload) as refused:
        checked(bridge({"action": "create", "execution": {"intent": "execute_command"}}))

    assert "execution.intent" in refused.value.details["fields"]  # type: ignore[operator]


REQUESTS: list[Json] = [
    {},
    {"execution": {"command": "echo hello"}},
    {"execution": {"command": "echo hello"}, "invocation": {"mode": "headless"}},
    {"execution": {"command": "rm -rf /nowhere"}, "invocation": {"mode": "headless"}},
    {"invocation": {"mode": "headless"}},
    {"execution": {"command": 7}},
    {"execution": {"intent": "open_only", "command": "ls"}},
    {"invocation": {"mode": "loud"}},
    {"invocation": {"mode": "headless"}, "target": {"session": "nowhere"}},
    {"target": {"session": "nowhere"}},
    {"target": []},
    {"unknown": 1},
]


@pytest.mark.anyio
@pytest.mark.pty
@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("alias", TABLE)
@pytest.mark.sampled(3)
async def test_an_alias_ends_as_its_canonical_action_does(
    server: ServerProcess, door: str, alias: str
) -> None:
    canonical, intent = TABLE[alias]
    async with opened(door, server) as ask:
        for request in REQUESTS:
            as_alias = await ask(action=alias, **request)
            execution = request.get("execution", {})
            if intent is not None and "intent" not in execution:
                request = {**request, "execution": {"intent": intent, **execution}}
            as_canonical = await ask(action=canonical, **request)

            assert as_alias.code == as_canonical.code, request
            assert as_alias.status == as_canonical.status
            alias_told = as_alias.metadata["alias"]
            assert alias_told["requested"] == alias
            assert alias_told["canonical"] == canonical
            assert alias_told["normalised"] is (alias != canonical)
            assert as_canonical.metadata["alias"]["normalised"] is False
            if as_alias.code is not None:
                for part in ("fields", "allowed", "retriable", "retry"):
                    assert as_alias.details[part] == as_canonical.details[part]


@pytest.mark.anyio
@pytest.mark.pty
@pytest.mark.parametrize("door", [*DOORS, "mcp-stdio-2025"])
async def test_a_caller_of_the_older_shape_gets_through_its_day(
    server: ServerProcess, door: str
) -> None:
    with looking(server):
        async with opened(door, server) as ask:
            created = await ask(action="create", cwd=str(server.home))
            ran = await ask(
                action="run", command="echo", args=["a  b"], terminal_id=created.session
            )
            asks = await ask(action="run", command="read x; echo got $x", session=ran.session)
            sent = await ask(action="send", command="hello", session=asks.session)
            closed = await ask(action="close", session_id=created.session)
            gone = await ask(action="send", command="ls", session=created.session)
            killed = await ask(action="kill", session_id="nowhere")

    assert created.result["status"] == "opened"
    assert created.metadata["intent"] == "open_only"
    assert (ran.result["output"], ran.result["exit_code"]) == ("a  b", 0)
    assert asks.result["status"] == "awaiting_input"
    assert sent.result["output"].endswith("got hello")
    assert closed.result["state"] == "exited"
    assert (gone.code, killed.code) == ("PM_TERM_NOT_FOUND", "PM_TERM_NOT_FOUND")

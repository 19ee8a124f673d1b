"""Keys: a person's are decided on once, and again whenever something changed that the decision rests on; an agent's each."""

from collections.abc import AsyncGenerator
from pathlib import Path

import anyio
import pytest

from duetty.calls import Actor, Scope
from duetty.config import Settings
from duetty.errors import PolicyDenied, ScopeMissing
from duetty.policy import Rule
from tests.engine import Engine, running_engine

pytestmark = [pytest.mark.anyio, pytest.mark.pty]

ANNA = Actor(kind="person", name="anna")
ROBOT = Actor(kind="agent", name="robot")


@pytest.fixture
async def engine(home: Path) -> AsyncGenerator[Engine]:
    settings = Settings(session_grace_ms=300, policy_profile="guarded")
    async with running_engine(home, settings=settings) as engine:
        with anyio.fail_after(60):
            await engine.open(command="cat")
            yield engine


def forbid(engine: Engine, **where: tuple[str, ...]) -> None:
    """A rule of the person's own, in force from the next decision on."""
    deciding = engine.services.deciding
    rule = Rule(name="hands off", decide="deny", operation=("input.type",), **where)  # type: ignore[arg-type]
    deciding.judging.use(type(deciding.rules)((*deciding.rules.rules, rule)))


async def shown(engine: Engine, text: str) -> None:
    await engine.call("session.wait", session="s", text=text, max_wait_ms=60_000)


async def test_a_rule_that_comes_while_a_person_types_counts_from_the_next_key_on(
    engine: Engine,
) -> None:
    with engine.dispatcher.follow(ANNA, "s", kind="attach") as view:
        await view.write(b"on")
        await view.write(b"ce\r")
        await shown(engine, "once\nonce")

        forbid(engine)

        with pytest.raises(PolicyDenied):
            await view.write(b"again\r")
        with pytest.raises(PolicyDenied):
            await view.write(b"and again\r")
    assert b"again" not in engine.registry.find("s").journal.read(0, 1 << 20)


async def test_a_tag_that_forbids_typing_counts_from_the_next_key_on(engine: Engine) -> None:
    forbid(engine, tag=("frozen",))
    session = engine.registry.find("s")
    with engine.dispatcher.follow(ANNA, "s", kind="attach") as view:
        await view.write(b"once\r")
        await shown(engine, "once\nonce")

        engine.registry.retag(session, {"frozen"})

        with pytest.raises(PolicyDenied):
            await view.write(b"again\r")
        engine.registry.retag(session, set())
        await view.write(b"thawed\r")
        await shown(engine, "thawed\nthawed")


async def test_keys_are_recorded_one_by_one_where_everything_is(home: Path) -> None:
    settings = Settings(session_grace_ms=300, policy_profile="guarded", audit_reads=True)
    async with running_engine(home, settings=settings) as engine:
        with anyio.fail_after(60):
            await engine.open(command="cat")
            with engine.dispatcher.follow(ANNA, "s", kind="attach") as view:
                for key in (b"a", b"b", b"c"):
                    await view.write(key)

            recorded = await engine.dispatcher.call(ANNA, "audit.list", {})

    assert [each["operation"] for each in recorded if each["kind"] == "call"].count(
        "input.type"
    ) == 3


async def test_who_may_only_look_types_nothing_however_often_they_try(engine: Engine) -> None:
    looker = Actor(kind="person", name="eve", scopes=frozenset({Scope.READ}))

    with engine.dispatcher.follow(looker, "s", kind="attach") as view:
        for _ in range(2):
            with pytest.raises(ScopeMissing):
                await view.write(b"x")


async def test_a_line_that_an_agent_types_key_by_key_is_judged_when_it_ends(engine: Engine) -> None:
    line = "mkfs.ext4 /dev/no-such-disk"
    with engine.dispatcher.follow(ROBOT, "s") as view:
        for key in line.encode():
            await view.write(bytes((key,)))
        await shown(engine, line)

        with pytest.raises(PolicyDenied):
            await view.write(b"\r")

        await view.write(b"\x15harmless\r")
        await shown(engine, "harmless\nharmless")


async def test_a_rule_that_comes_while_an_agent_types_counts_from_the_next_key_on(
    engine: Engine,
) -> None:
    with engine.dispatcher.follow(ROBOT, "s") as view:
        for key in (b"o", b"n", b"e"):
            await view.write(key)
        await shown(engine, "one")

        forbid(engine)

        with pytest.raises(PolicyDenied):
            await view.write(b"x")
        assert not view.type_now(b"x")
    assert b"x" not in engine.registry.find("s").journal.read(0, 1 << 20)


async def test_what_an_agent_types_waits_for_the_first_key_to_be_permitted(engine: Engine) -> None:
    looker = Actor(kind="agent", name="eve", scopes=frozenset({Scope.READ}))
    with engine.dispatcher.follow(looker, "s") as view:
        for _ in range(2):
            assert not view.type_now(b"x")
            with pytest.raises(ScopeMissing):
                await view.write(b"x")

"""Rules by tag: an agent cannot take off, or put on, the tag that its freedom depends on."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from duetty.calls import Actor
from duetty.config import Settings
from duetty.errors import PolicyDenied
from tests.engine import Engine, running_engine

pytestmark = [pytest.mark.anyio, pytest.mark.pty]

ANNA = Actor(kind="person", name="anna")
RULES = """
[[policy.rules]]
name = "no-id"
decide = "deny"
tag = "prod*"
command = "id"

[[policy.rules]]
name = "scratch-is-free"
decide = "allow"
tag = "scratch"
command = "rm *"
"""


@asynccontextmanager
async def engine_with(home: Path, rules: str = RULES) -> AsyncGenerator[Engine]:
    (home / "config.toml").write_text(rules)
    async with running_engine(home, settings=Settings(session_grace_ms=300)) as engine:
        with anyio.fail_after(60):
            yield engine


async def tags(engine: Engine) -> list[str]:
    return sorted((await engine.call("session.get", session="s")).tags)


async def test_an_agent_does_not_take_off_the_tag_that_binds_it(home: Path) -> None:
    async with engine_with(home) as engine:
        await engine.open(tags=["production", "mine"])
        with pytest.raises(PolicyDenied) as refused:
            await engine.call("session.update", session="s", remove_tags=["production"])
        kept = await tags(engine)
        with pytest.raises(PolicyDenied):
            await engine.run("id")

    assert refused.value.details["rule"] == "rule:no-id"
    assert refused.value.details["reason"] == "denied_by_rule"
    assert kept == ["mine", "production"]


async def test_nothing_else_of_such_a_change_is_done_either(home: Path) -> None:
    async with engine_with(home) as engine:
        await engine.open(tags=["production"])
        with pytest.raises(PolicyDenied):
            await engine.call(
                "session.update", session="s", name="t", add_tags=["x"], remove_tags=["production"]
            )

        assert await tags(engine) == ["production"]


async def test_other_tags_come_and_go_and_anyone_may_bind(home: Path) -> None:
    async with engine_with(home) as engine:
        await engine.open(tags=["mine"])
        await engine.call(
            "session.update", session="s", add_tags=["prod-eu"], remove_tags=["mine", "prod-none"]
        )

        assert await tags(engine) == ["prod-eu"]


async def test_a_person_takes_it_off(home: Path) -> None:
    async with engine_with(home) as engine:
        await engine.open(tags=["production"])
        wanted = {"session": "s", "remove_tags": ["production"]}
        await engine.dispatcher.call(ANNA, "session.update", wanted)

        assert await tags(engine) == []


async def test_an_agent_does_not_give_itself_the_tag_that_a_rule_allows_by(home: Path) -> None:
    async with engine_with(home) as engine:
        await engine.open()
        with pytest.raises(PolicyDenied) as put_on:
            await engine.call("session.update", session="s", add_tags=["scratch"])
        with pytest.raises(PolicyDenied) as opened:
            await engine.open("t", tags=["scratch"])
        named = {"name": "p", "tags": ["scratch"]}
        await engine.dispatcher.call(ANNA, "session.open", named)
        await engine.call("session.update", session="p", add_tags=["scratch"])
        found = [each.name for each in await engine.call("session.list")]

    assert [each.value.details["rule"] for each in (put_on, opened)] == ["rule:scratch-is-free"] * 2
    assert sorted(found) == ["p", "s"]


async def test_a_question_about_the_change_is_not_put_where_the_answer_is_known(home: Path) -> None:
    asking = '[[policy.rules]]\nname = "asks"\ndecide = "ask"\noperation = "session.update"\n'
    async with engine_with(home, RULES + asking) as engine:
        await engine.open(tags=["production"])
        with (
            engine.services.approvals.attendance.attending(ANNA),
            pytest.raises(PolicyDenied) as refused,
        ):
            await engine.call("session.update", session="s", remove_tags=["production"])

    assert refused.value.details["rule"] == "rule:no-id"


async def test_a_projects_rule_by_tag_binds_as_well(home: Path, tmp_path: Path) -> None:
    (tmp_path / ".duetty").mkdir()
    (tmp_path / ".duetty" / "settings.json").write_text(
        '{"policy": {"rules": [{"name": "here", "decide": "ask", "tag": "live"}]}}'
    )
    async with engine_with(home, "") as engine:
        await engine.dispatcher.call(
            ANNA, "session.open", {"name": "s", "tags": ["live"], "cwd": str(tmp_path)}
        )
        with (
            engine.services.approvals.attendance.attending(ANNA),
            pytest.raises(PolicyDenied) as refused,
        ):
            await engine.call("session.update", session="s", remove_tags=["live"])

    assert refused.value.details["rule"] == "rule:here"

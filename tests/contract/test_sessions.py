"""Whose a terminal is, who can see it, and what becomes of both; in process."""

import stat
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from duetty.calls import Actor, Scope
from duetty.config import Settings
from duetty.ops.contract import TerminalFailure
from duetty.wire.contract import TerminalAnswer
from tests.engine import Engine, child_env, running_engine

pytestmark = [pytest.mark.anyio, pytest.mark.pty]

ANNA = Actor(kind="person", name="anna")
ONE = Actor(kind="agent", name="one")
TWO = Actor(kind="agent", name="two")


@asynccontextmanager
async def engine_of(home: Path, **more: Any) -> AsyncGenerator[Engine]:
    settings = Settings(session_grace_ms=300, session_shell="/bin/bash")
    async with running_engine(home, settings=settings, **more) as engine:
        with anyio.fail_after(60):
            yield engine


async def ask(engine: Engine, actor: Actor, **request: object) -> TerminalAnswer:
    return await engine.dispatcher.call(actor, "terminal.act", request)


async def code_of(engine: Engine, actor: Actor, **request: object) -> str:
    with pytest.raises(TerminalFailure) as refused:
        await ask(engine, actor, **request)
    return refused.value.code


def target(answer: TerminalAnswer) -> dict[str, str]:
    assert answer.target is not None
    return {"session": answer.target.session}


async def names(engine: Engine, actor: Actor, mode: str) -> list[str]:
    listing: Any = (await ask(engine, actor, action="list", invocation={"mode": mode})).result
    return [each.session for each in listing.terminals]


@pytest.mark.parametrize("mode", ["interactive", "headless"])
async def test_an_agent_reaches_its_own_only_and_a_person_reaches_all(
    home: Path, mode: str
) -> None:
    how: dict[str, Any] = {"invocation": {"mode": mode}}
    async with engine_of(home) as engine:
        with engine.dispatcher.watch(ANNA):
            ran = await ask(
                engine, ONE, action="execute", execution={"command": "echo mine"}, **how
            )
            its = target(ran)
            seen = [await names(engine, actor, mode) for actor in (ONE, TWO, ANNA)]
            others = [
                await code_of(engine, TWO, action=action, target=its, **how)
                for action in ("read_output", "terminate")
            ]
            read = await ask(engine, ANNA, action="read_output", target=its, **how)
            ended = await ask(engine, ONE, action="terminate", target=its, **how)

    assert seen == [[its["session"]], [], [its["session"]]]
    assert others == ["PM_TERM_NOT_FOUND"] * 2
    result: Any = read.result
    assert (result.output or result.stdout).strip() == "mine"
    assert ended.action == "terminate"


async def test_two_tokens_of_one_name_are_two_owners(home: Path) -> None:
    first = Actor(kind="agent", name="ci", token="a")
    second = Actor(kind="agent", name="ci", token="b")
    async with engine_of(home) as engine:
        with engine.dispatcher.watch(ANNA):
            opened = await ask(engine, first, action="create")

            assert await names(engine, first, "interactive") == [target(opened)["session"]]
            assert await names(engine, second, "interactive") == []


async def test_ownership_outlives_the_server(home: Path) -> None:
    async with engine_of(home, keep_sessions=True) as engine:
        with engine.dispatcher.watch(ANNA):
            opened = await ask(engine, ONE, action="create", runtime={"name": "kept"})
    async with engine_of(home) as engine:
        after = [await names(engine, actor, "interactive") for actor in (ONE, TWO)]

    assert target(opened) == {"session": "kept"}
    assert after == [["kept"], []]


async def test_a_token_without_a_scope_is_blocked_at_the_step_that_needs_it(home: Path) -> None:
    reader = Actor(kind="agent", name="reader", token="r", scopes=frozenset({Scope.READ}))
    run: dict[str, Any] = {"execution": {"command": "echo hello"}}
    async with engine_of(home) as engine:
        with engine.dispatcher.watch(ANNA):
            listed = await names(engine, reader, "interactive")
            blocked = [
                await code_of(engine, reader, action="execute", invocation={"mode": mode}, **run)
                for mode in ("interactive", "headless")
            ]

    assert listed == []
    assert blocked == ["PM_TERM_BLOCKED_DESTRUCTIVE"] * 2


async def test_a_token_for_one_session_has_that_one(home: Path) -> None:
    handed = Actor(kind="agent", name="guest", token="g", session="s")
    async with engine_of(home) as engine:
        await engine.open("s")
        await engine.open("other")
        with engine.dispatcher.watch(ANNA):
            listed = await names(engine, handed, "interactive")
            ran: Any = await ask(
                engine,
                handed,
                action="execute",
                execution={"command": "echo hello"},
                target={"session": "s"},
            )
            other = await code_of(engine, handed, action="read_output", target={"session": "other"})
            new = await code_of(engine, handed, action="create")

    assert listed == ["s"]
    assert ran.result.output == "hello"
    assert (other, new) == ("PM_TERM_NOT_FOUND", "PM_TERM_BLOCKED_DESTRUCTIVE")


async def test_without_a_target_a_caller_goes_on_in_its_own_free_terminal(home: Path) -> None:
    async with engine_of(home) as engine:
        with engine.dispatcher.watch(ANNA):
            first = await ask(engine, ONE, action="run", command="cd /tmp")
            again: Any = await ask(engine, ONE, action="run", command="pwd")
            elsewhere = await ask(engine, ONE, action="run", command="pwd", cwd="/")
            others = await ask(engine, TWO, action="run", command="pwd")

    assert target(again) == target(first)
    assert (again.result.opened, again.result.output) == (False, "/tmp")
    assert len({str(target(each)) for each in (first, elsewhere, others)}) == 3


async def test_a_terminal_whose_command_waits_for_an_answer_is_not_free(home: Path) -> None:
    rule = '[[policy.rules]]\nname = "asks"\ndecide = "ask"\ncommand = ["touch **"]\n'
    (home / "config.toml").write_text(rule)
    async with engine_of(home) as engine:
        desk = engine.services.approvals
        with engine.dispatcher.watch(ANNA):
            first = await ask(engine, ONE, action="run", command="true")
            codes: list[str] = []

            async def wait_for_an_answer() -> None:
                codes.append(await code_of(engine, ONE, action="run", command="touch x"))

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(wait_for_an_answer)
                while not desk.pending():
                    with desk.subscribe() as entries:
                        await entries.wait()
                [waiting] = desk.pending()
                second = await ask(engine, ONE, action="run", command="true")
                await engine.dispatcher.call(ANNA, "approval.decline", {"approval": waiting.id})

                assert waiting.session == target(first)["session"]
                assert target(second) != target(first)
    assert codes == ["PM_TERM_DECLINED"]


async def test_nothing_runs_unseen_and_agents_do_not_count_as_people(home: Path) -> None:
    async with engine_of(home) as engine:
        with engine.dispatcher.watch(TWO):
            codes = [
                await code_of(engine, ONE, action=action)
                if action == "create"
                else await code_of(engine, ONE, action=action, command="touch ran")
                for action in ("create", "run", "send")
            ]

        assert codes == ["PM_TERM_GUI_UNAVAILABLE"] * 3
        assert engine.registry.sessions() == []
        assert engine.services.processes.all() == []
    assert not (home / "ran").exists()


async def test_every_step_is_in_the_trail_under_the_contracts_name(home: Path) -> None:
    async with engine_of(home) as engine:
        with engine.dispatcher.watch(ANNA):
            await ask(engine, ONE, action="run", command="echo hello")
            await ask(engine, ONE, action="run", command="echo hello", mode="headless")
        calls = await engine.dispatcher.call(ANNA, "audit.list", {"kind": "call"})

    told = [(each["operation"], each["dialect"]) for each in reversed(calls)]
    assert [each for each in told if each[1] == "terminal"] == [
        ("session.open", "terminal"),
        ("command.run", "terminal"),
        ("process.run", "terminal"),
    ]


def desktop(home: Path) -> dict[str, str]:
    """An environment with a desktop whose browser only notes what it is given."""
    bin_ = home / "bin"
    bin_.mkdir()
    program = bin_ / "xdg-open"
    program.write_text(f'#!/bin/sh\necho "$1" >>{home}/given\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    env = child_env(home)
    return {**env, "DISPLAY": ":0", "PATH": f"{bin_}:{env['PATH']}"}


async def test_the_page_is_offered_and_opened_where_there_is_a_desktop(home: Path) -> None:
    create: dict[str, Any] = {"action": "create"}
    async with engine_of(home, env=desktop(home)) as engine:
        with pytest.raises(TerminalFailure) as refused:
            await ask(engine, ONE, **create)
        assert not (home / "given").exists()

        async def look() -> None:
            while not (home / "given").exists():
                await anyio.sleep(0.01)
            with engine.dispatcher.watch(ANNA):
                await anyio.sleep_forever()

        opened: list[TerminalAnswer] = []
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(look)
            opened.append(await ask(engine, ONE, **create, runtime={"open_page": True}))
            tasks.cancel_scope.cancel()

    assert refused.value.details["can_open_page"] is True
    assert "runtime.open_page" in (refused.value.hint or "")
    assert opened[0].target is not None


async def test_without_a_desktop_asking_for_the_page_changes_nothing(home: Path) -> None:
    async with engine_of(home) as engine:
        with pytest.raises(TerminalFailure) as refused:
            await ask(engine, ONE, action="create", runtime={"open_page": True})

    assert refused.value.code == "PM_TERM_GUI_UNAVAILABLE"
    assert refused.value.details["can_open_page"] is False


async def test_a_crash_is_an_internal_failure_with_a_trace_and_no_text(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with engine_of(home) as engine:
        engine.services.processes.all = crash
        with pytest.raises(TerminalFailure) as refused:
            await ask(engine, ONE, action="list")
        del engine.services.processes.all

    assert refused.value.code == "PM_TERM_INTERNAL"
    assert "secret" not in f"{refused.value.message} {refused.value.details}"
    [record] = [each for each in caplog.records if each.name == "duetty.contract"]
    assert vars(record)["trace_id"] == refused.value.details["trace_id"]


def crash() -> Any:
    raise RuntimeError("secret")


async def test_the_setting_ends_the_time_of_aliases(home: Path) -> None:
    async with running_engine(home, settings=Settings(terminal_aliases=False)) as engine:
        refused = await code_of(engine, ONE, action="run", command="true")
        listed = await ask(engine, ONE, action="list")

    assert refused == "PM_TERM_INVALID_ACTION"
    assert listed.action == "list"

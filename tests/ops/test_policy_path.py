"""Call → decision → approval → operation → audit: one path, and what it keeps."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from duetty.calls import Actor, Scope
from duetty.config import Settings
from duetty.errors import (
    ApprovalExpired,
    ApprovalRejected,
    BadSetting,
    DuettyError,
    NotAPerson,
    PolicyDenied,
    ScopeMissing,
)
from duetty.ops import Answer
from duetty.ops.rulebook.in_force import load_person_rules
from duetty.policy import Judged, Profile, decide, to_json
from duetty.store import ApprovalRecord
from tests.engine import AGENT, Engine, running_engine

pytestmark = [pytest.mark.anyio, pytest.mark.pty]

ANNA = Actor(kind="person", name="anna")
DESTRUCTIVE = "mkfs.ext4 /nowhere/at/all"
"""Does nothing should it run after all."""


@asynccontextmanager
async def engine_with(home: Path, **settings: object) -> AsyncGenerator[Engine]:
    given = Settings(**{"session_grace_ms": 300, **settings})  # type: ignore[arg-type]
    async with running_engine(home, settings=given) as engine:
        with anyio.fail_after(60):
            await engine.open()
            yield engine


async def trail(engine: Engine, **filters: object) -> list[dict[str, Any]]:
    """Oldest first."""
    found = await engine.dispatcher.call(ANNA, "audit.list", filters)
    return list(reversed(found))


async def answer_next(engine: Engine, operation: str, **arguments: object) -> ApprovalRecord:
    """As a person does who looks: wait for the question, then answer it."""
    desk = engine.services.approvals
    while not desk.pending():
        with desk.subscribe() as entries:
            await entries.wait()
    [record] = desk.pending()
    await engine.dispatcher.call(ANNA, operation, {"approval": record.id, **arguments})
    return record


ASKING_RULE = """
[[policy.rules]]
name = "asks"
decide = "ask"
command = ["touch **"]
why = "it makes a file"
"""


NO_SEQ = """
[[policy.rules]]
name = "no-seq"
decide = "deny"
operation = ["command.run"]
command = ["seq **"]
"""


def write_rules(home: Path, text: str = ASKING_RULE) -> None:
    (home / "config.toml").write_text(text)


async def test_what_is_destructive_is_blocked_when_nobody_can_be_asked(home: Path) -> None:
    async with engine_with(home) as engine:
        with pytest.raises(PolicyDenied) as refused:
            await engine.run(DESTRUCTIVE)

        assert refused.value.code == "policy_denied"
        assert refused.value.details["reason"] == "destructive"
        assert refused.value.details["nobody_to_ask"] is True
        assert refused.value.details["classes"]
        ran = await engine.run("echo still here")
        assert (ran.exit_code, ran.output) == (0, "still here")


async def test_what_is_harmless_runs_unasked(home: Path) -> None:
    async with engine_with(home) as engine:
        ran = await engine.run("echo hello")

        assert (ran.exit_code, ran.output) == (0, "hello")


async def test_headless_commands_pass_the_same_way(home: Path) -> None:
    async with engine_with(home) as engine:
        for operation in ("process.run", "process.start"):
            with pytest.raises(PolicyDenied):
                await engine.call(operation, command=DESTRUCTIVE)
        fine = await engine.call("process.run", command="echo hello")
        strict = {"command": "make install"}
        with pytest.raises(PolicyDenied) as refused:
            await engine.dispatcher.call(AGENT, "process.run", strict, mode="headless")
        proven = await engine.dispatcher.call(
            AGENT, "process.run", {"command": "echo  'a  b'"}, mode="headless"
        )

        assert fine.stdout == "hello\n"
        assert refused.value.details["reason"] == "not_allowlisted"
        assert proven.stdout == "a  b\n"


async def test_a_session_cannot_be_opened_on_a_destructive_command(home: Path) -> None:
    async with engine_with(home) as engine:
        with pytest.raises(PolicyDenied):
            await engine.call("session.open", name="other", command=DESTRUCTIVE)

        assert [session.name for session in engine.registry.sessions()] == ["s"]


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n", ";"])
async def test_a_rule_for_calls_sees_each_line_of_one(home: Path, end: str) -> None:
    """A shell ends a line at a carriage return too."""
    write_rules(home, NO_SEQ)
    async with engine_with(home) as engine:
        with pytest.raises(PolicyDenied):
            await engine.run(f"echo a{end}seq 41 42")

        assert (await engine.run("echo b")).output == "b"
        assert "42" not in str(await engine.call("screen.get", session="s"))


async def test_a_person_is_not_asked_about_their_own(home: Path) -> None:
    write_rules(home)
    async with engine_with(home) as engine:
        line = {"session": "s", "input": "touch mine"}
        ran = await engine.dispatcher.call(ANNA, "command.run", line)

        assert ran.exit_code == 0
        assert (home / "mine").exists()


async def test_a_yes_runs_it_and_the_trail_has_it_all(home: Path) -> None:
    write_rules(home)
    async with engine_with(home, approval_ask="always") as engine:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(answer_next, engine, "approval.approve")
            ran = await engine.run("touch made")
            assert ran.exit_code == 0

        assert (home / "made").exists()
        [call] = await trail(engine, operation="command.run", kind="call")
        told = await trail(engine, call=call["call"])
        assert call["decision"]["decision"] == "ask"
        assert call["decision"]["rule"] == "rule:asks"
        assert call["actor"] == {"kind": "agent", "name": "test", "token": None}
        [outcome] = [each for each in told if each["kind"] == "outcome"]
        assert (outcome["outcome"], outcome["exit_code"]) == ("done", 0)
        asked, granted = await trail(engine, kind="approval")
        assert (asked["event"], asked["call"]) == ("asked", call["call"])
        assert (granted["event"], granted["by"], granted["approval"]) == (
            "granted",
            "anna",
            outcome["approval"],
        )


async def test_a_no_runs_nothing_and_says_why(home: Path) -> None:
    write_rules(home)
    async with engine_with(home, approval_ask="always") as engine:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: answer_next(engine, "approval.decline", note="not today"))
            with pytest.raises(ApprovalRejected, match="not today"):
                await engine.run("touch made")

        assert not (home / "made").exists()
        [outcome] = await trail(engine, outcome="approval_rejected")
        assert outcome["operation"] == "command.run"


async def test_no_answer_in_time_is_a_no(home: Path) -> None:
    write_rules(home)
    async with engine_with(home, approval_ask="always", approval_wait_s=1) as engine:
        with pytest.raises(ApprovalExpired):
            await engine.run("touch made")

        assert not (home / "made").exists()


async def test_a_changed_command_line_is_what_runs(home: Path) -> None:
    write_rules(home)
    async with engine_with(home, approval_ask="always") as engine:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(
                lambda: answer_next(engine, "approval.approve", command_line="echo instead")
            )
            ran = await engine.run("touch made")
            assert ran.output == "instead"

        assert not (home / "made").exists()


async def test_an_approval_for_the_session_is_not_asked_twice(home: Path) -> None:
    write_rules(home)
    async with engine_with(home, approval_ask="always") as engine:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: answer_next(engine, "approval.approve", covers="session"))
            await engine.run("touch made")

        again = await engine.run("touch made")

        assert again.exit_code == 0
        assert [each["event"] for each in await trail(engine, kind="approval")][-1] == "covered"


async def test_somebody_who_looks_can_be_asked(home: Path) -> None:
    write_rules(home)
    async with engine_with(home) as engine:
        with pytest.raises(PolicyDenied):
            await engine.run("touch made")
        async with anyio.create_task_group() as tasks:
            with engine.dispatcher.follow(ANNA, "s", kind="page"):
                tasks.start_soon(answer_next, engine, "approval.approve")
                ran = await engine.run("touch made")
                assert ran.exit_code == 0


async def test_the_agents_own_host_can_be_asked(home: Path) -> None:
    async def host(record: ApprovalRecord) -> Answer | None:
        return Answer(granted=record.command_line == "touch made")

    write_rules(home)
    async with engine_with(home) as engine:
        line = {"session": "s", "input": "touch made"}
        ran = await engine.dispatcher.call(AGENT, "command.run", line, host=host)

        assert ran.exit_code == 0


async def test_an_agent_cannot_answer_with_any_credential(home: Path) -> None:
    write_rules(home)
    async with engine_with(home, approval_ask="always", approval_wait_s=1) as engine:

        async def cheat() -> None:
            desk = engine.services.approvals
            while not desk.pending():
                with desk.subscribe() as entries:
                    await entries.wait()
            with pytest.raises(NotAPerson):
                await engine.call("approval.approve", approval=desk.pending()[0].id)
            with pytest.raises(PolicyDenied):
                await engine.run("duetty approve", session="s")

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(cheat)
            with pytest.raises(ApprovalExpired):
                await engine.call("process.run", command="touch made")


async def test_every_call_with_an_effect_is_recorded_and_refused_ones_too(home: Path) -> None:
    reader = Actor(kind="agent", name="reader", scopes=frozenset({Scope.READ}), token="t1")
    async with engine_with(home) as engine:
        await engine.run("echo hello")
        await engine.call("session.get", session="s")
        with pytest.raises(ScopeMissing):
            await engine.dispatcher.call(reader, "input.write", {"session": "s", "data": "x"})

        calls = [
            (each["operation"], each.get("outcome")) for each in await trail(engine, kind="call")
        ]
        assert calls[:3] == [
            ("session.open", None),
            ("command.run", None),
            ("input.write", "scope_missing"),
        ]
        by_agent = await trail(engine, actor=AGENT.name, kind="outcome")
        assert [each["operation"] for each in by_agent][:2] == ["session.open", "command.run"]


async def test_reads_are_recorded_when_a_setting_says_so(home: Path) -> None:
    async with engine_with(home, audit_reads=True) as engine:
        await engine.call("session.get", session="s")

        assert await trail(engine, operation="session.get")


async def test_a_decision_can_be_made_again_from_the_trail(home: Path) -> None:
    async with engine_with(home) as engine:
        await engine.run("echo hello")
        with pytest.raises(PolicyDenied):
            await engine.run(DESTRUCTIVE)

        for call in await trail(engine, operation="command.run", kind="call"):
            told = call["decision"]
            assert told["policy"] == engine.services.deciding.rules.digest
            again = to_json(
                decide(
                    Judged.from_json(call["judged"]),
                    engine.services.deciding.rules,
                    Profile(told["profile"]),
                    can_ask=True,
                )
            )
            assert {name: again[name] for name in ("decision", "reason", "rule", "classes")} == {
                name: told[name] for name in ("decision", "reason", "rule", "classes")
            }


async def test_a_password_is_never_recorded(home: Path) -> None:
    async with engine_with(home) as engine:
        await engine.call("input.write", session="s", data="read -rs secret\r")
        await engine.call(
            "session.wait", session="s", state=["awaiting_password"], max_wait_ms=30_000
        )
        await engine.call("input.write", session="s", data="hunter2\r")
        await engine.call("session.wait", session="s", state=["prompt"], max_wait_ms=30_000)
        await engine.call("input.write", session="s", data="read -rs secret\r")
        await engine.call(
            "session.wait", session="s", state=["awaiting_password"], max_wait_ms=30_000
        )
        await engine.run("hunter3", timeout_ms=300)
        await engine.call("session.wait", session="s", state=["prompt"], max_wait_ms=30_000)

        kept = json.dumps(await trail(engine, limit=1_000))
        stored = b"".join(path.read_bytes() for path in engine.paths.audit.iterdir())
        assert "hunter" not in kept
        assert b"hunter" not in stored
        assert "read -rs secret" in kept


async def test_environment_values_and_standard_input_are_never_recorded(home: Path) -> None:
    async with engine_with(home) as engine:
        await engine.call("process.run", command="cat", stdin="hunter2", env={"TOKEN": "hunter3"})
        await engine.call("session.open", name="other", env={"TOKEN": "hunter4"})

        stored = b"".join(path.read_bytes() for path in engine.paths.audit.iterdir())
        assert b"TOKEN" in stored
        assert b"hunter" not in stored


async def test_a_projects_rules_tighten_there(home: Path) -> None:
    project = home / "project"
    (project / ".duetty").mkdir(parents=True)
    (project / "deep/er").mkdir(parents=True)
    rule = {"name": "no-touch", "decide": "deny", "command": ["touch **"]}
    (project / ".duetty/settings.json").write_text(json.dumps({"policy": {"rules": [rule]}}))
    async with engine_with(home) as engine:
        outside = await engine.run("touch allowed")
        await engine.run(f"cd {project}/deep/er")
        with pytest.raises(PolicyDenied) as refused:
            await engine.run("touch denied")
        (home / "link").symlink_to(project)
        for cwd in (str(project), "project", "~/project", "project/deep/..", "link"):
            with pytest.raises(PolicyDenied):
                await engine.call("process.run", command="touch denied", cwd=cwd)

        assert outside.exit_code == 0
        assert refused.value.details["rule"] == "rule:no-touch"


@pytest.mark.parametrize(
    "text",
    [
        '{"policy": {"rules": [{"name": "x", "decide": "allow", "command": ["rm **"]}]}}',
        "{oops",
        "[]",
    ],
    ids=["loosens", "broken", "no object"],
)
async def test_a_projects_broken_rules_refuse_and_say_where(home: Path, text: str) -> None:
    project = home / "project"
    (project / ".duetty").mkdir(parents=True)
    (project / ".duetty/settings.json").write_text(text)
    async with engine_with(home) as engine:
        await engine.run(f"cd {project}")

        with pytest.raises(PolicyDenied) as refused:
            await engine.run("echo hello")

        assert ".duetty/settings.json" in refused.value.message


def test_a_broken_rule_of_the_person_refuses_to_start(home: Path) -> None:
    write_rules(home, '[[policy.rules]]\nname = "x"\ndecide = "perhaps"\n')

    with pytest.raises(BadSetting) as refused:
        load_person_rules(home / "config.toml")

    assert "config.toml, line 1" in refused.value.message


async def test_the_open_profile_runs_what_is_not_forbidden(home: Path) -> None:
    (home / "gone").mkdir()
    async with engine_with(home, policy_profile="open") as engine:
        ran = await engine.run("rm -rf ./gone")

        assert ran.exit_code == 0
        assert not (home / "gone").exists()


async def test_strict_runs_what_is_proven_and_nothing_else(home: Path) -> None:
    async with engine_with(home, policy_profile="strict") as engine:
        ran = await engine.run("echo hello")
        with pytest.raises(PolicyDenied) as refused:
            await engine.run("make install")
        await engine.call("session.open", name="no-marks", integration=False)
        with pytest.raises(PolicyDenied):
            await engine.call("input.write", session="no-marks", data="ls\r")

        assert ran.output == "hello"
        assert refused.value.details["reason"] == "not_allowlisted"


async def test_strict_takes_no_raw_input_of_an_agent(
    home: Path,
) -> None:
    async with engine_with(home, policy_profile="strict") as engine:
        await engine.run("echo ready")
        await engine.dispatcher.call(ANNA, "input.write", {"session": "s", "data": "python3 -q\r"})
        await engine.call("session.wait", session="s", text=">>>", max_wait_ms=30_000)
        for operation, given in (
            ("input.write", {"data": "print(1)\r"}),
            ("input.paste", {"text": "print(1)"}),
            ("input.press", {"keys": ["1", "Enter"]}),
        ):
            with pytest.raises(PolicyDenied) as refused:
                await engine.call(operation, session="s", **given)
            assert refused.value.details["reason"] == "not_provable"
        await engine.dispatcher.call(ANNA, "input.write", {"session": "s", "data": "\x04"})
        await engine.call("session.wait", session="s", state=["prompt"], max_wait_ms=30_000)
        with pytest.raises(PolicyDenied):
            await engine.call("input.write", session="s", data="echo\r")


async def test_policy_can_be_asked_what_it_would_say(home: Path) -> None:
    async with engine_with(home) as engine:
        shown = await engine.call("policy.show")
        fine = await engine.call("policy.check", command="echo hello")
        grave = await engine.call("policy.check", command=DESTRUCTIVE)

        assert shown.profile == "guarded"
        assert (fine.decision, grave.decision) == ("allow", "ask")
        assert grave.can_ask is False


async def test_a_call_cut_off_while_it_waits_withdraws_its_question(home: Path) -> None:
    write_rules(home)
    async with engine_with(home, approval_ask="always") as engine:
        desk = engine.services.approvals
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: engine.run("touch made"))
            while not desk.pending():
                with desk.subscribe() as entries:
                    await entries.wait()
            tasks.cancel_scope.cancel()

        assert desk.pending() == []
        assert [each["event"] for each in await trail(engine, kind="approval")] == [
            "asked",
            "withdrawn",
        ]
        [outcome] = await trail(engine, kind="outcome", operation="command.run")
        assert outcome["outcome"] == "cancelled"


async def test_a_shell_that_shows_nothing_is_judged_all_the_same(home: Path) -> None:
    """Else `stty -echo` would make every line after it a password."""
    async with engine_with(home) as engine:
        await engine.open("quiet", command="dash")
        await engine.run("stty -echo", session="quiet")

        with pytest.raises(PolicyDenied):
            await engine.run(DESTRUCTIVE, session="quiet")
        await engine.call("input.write", session="quiet", data="cat >/dev/null\r")
        with pytest.raises(PolicyDenied) as refused:
            await engine.run(DESTRUCTIVE, session="quiet", timeout_ms=200)
        assert "mkfs" not in refused.value.message


async def test_a_line_too_long_to_be_read_is_refused_and_recorded_in_part(home: Path) -> None:
    async with engine_with(home, approval_ask="always") as engine:
        line = "mkfs.ext4 " + "x" * 900_000
        with pytest.raises(PolicyDenied):
            await engine.run(line)

        [call] = await trail(engine, operation="command.run", kind="call")
        assert (call["judged"]["chars"], len(call["judged"]["command_line"])) == (len(line), 8_192)
        checked = await engine.dispatcher.call(ANNA, "audit.verify", {})
        assert checked.intact


@pytest.mark.parametrize("shell", ["sh", "bash -s", "cd / && sudo bash"])
async def test_text_fed_to_a_shell_is_judged_like_a_line(home: Path, shell: str) -> None:
    async with engine_with(home) as engine:
        with pytest.raises(PolicyDenied, match="fed to a shell"):
            await engine.call("process.run", command=shell, stdin=f"echo a\n{DESTRUCTIVE}\n")
        fed = await engine.call("process.run", command="sh", stdin="echo fine\n")
        data = await engine.call("process.run", command="cat", stdin=DESTRUCTIVE)

        assert (fed.stdout, data.stdout) == ("fine\n", DESTRUCTIVE)


async def test_text_fed_to_a_shell_in_a_session_is_judged_like_a_line(home: Path) -> None:
    async with engine_with(home) as engine:
        with pytest.raises(PolicyDenied, match="fed to a shell"):
            await engine.run("bash -s", stdin=f"echo a\n{DESTRUCTIVE}\n")
        fed = await engine.run("sh", stdin="echo fine\n")
        data = await engine.run("cat", stdin=DESTRUCTIVE)

        assert (fed.output, data.output) == ("fine", DESTRUCTIVE)
        [*_, call] = await trail(engine, operation="command.run", kind="call")
        assert call["judged"]["command_line"] in ("bash -s", "sh", "cat")
        assert DESTRUCTIVE not in str(call["arguments"])


async def test_variables_ask_nothing_in_guarded(home: Path) -> None:
    env = {"PYTHONPATH": "src", "GIT_PAGER": "cat", "NODE_OPTIONS": "--max-old-space-size=99"}
    async with engine_with(home) as engine:
        ran = await engine.call("process.run", command="echo a", env=env)

        assert ran.stdout == "a\n"


async def test_in_the_open_profile_variables_ask_nothing(home: Path) -> None:
    async with engine_with(home, policy_profile="open") as engine:
        ran = await engine.call("process.run", command="echo a", env={"GIT_PAGER": "cat"})

        assert ran.stdout == "a\n"


async def test_variables_ask_where_only_what_is_proven_runs(home: Path) -> None:
    async with engine_with(home) as engine:
        await engine.call("session.open", name="other", env={"PS1": "> ", "PAGER": "cat"})
        headless = {"command": "echo a", "env": {"TOKEN": "x"}}
        with pytest.raises(PolicyDenied):
            await engine.dispatcher.call(AGENT, "process.run", headless, mode="headless")


@pytest.mark.parametrize("nearer", ["{}", '{"policy": {"profile": "open", "rules": []}}'])
async def test_a_nearer_project_file_takes_nothing_away_from_one_above(
    home: Path, nearer: str
) -> None:
    """An agent that may write in a project could else write itself free of its rules."""
    project = home / "project"
    rule = {"name": "no-touch", "decide": "deny", "command": ["touch **"]}
    for place, text in (
        (project, json.dumps({"policy": {"rules": [rule]}})),
        (project / "sub", nearer),
    ):
        (place / ".duetty").mkdir(parents=True)
        (place / ".duetty/settings.json").write_text(text)
    async with engine_with(home) as engine:
        with pytest.raises(PolicyDenied) as refused:
            await engine.call("process.run", command="touch denied", cwd=str(project / "sub"))
        with pytest.raises(PolicyDenied):
            await engine.call("process.run", command=DESTRUCTIVE, cwd=str(project / "sub"))

        assert refused.value.details["rule"] == "rule:no-touch"


@pytest.mark.parametrize(
    ("operation", "arguments", "code"),
    [
        ("session.open", {"command": "'unbalanced"}, "invalid_command"),
        ("session.open", {"command": DESTRUCTIVE, "cwd": "/no/such/place"}, "invalid_cwd"),
        ("session.open", {"command": DESTRUCTIVE, "cwd": "relative"}, "invalid_cwd"),
        ("session.open", {"command": DESTRUCTIVE, "name": "a/b"}, "invalid_session_name"),
        ("session.open", {"command": DESTRUCTIVE, "name": "s"}, "session_name_conflict"),
        ("session.open", {"command": DESTRUCTIVE, "tags": ["a b"]}, "invalid_tag"),
        ("command.run", {"input": DESTRUCTIVE, "session": "none"}, "session_not_found"),
        (
            "command.run",
            {"input": DESTRUCTIVE, "session": "s", "until_regex": "("},
            "invalid_request",
        ),
        ("process.run", {"command": DESTRUCTIVE, "cwd": "/no/such/place"}, "invalid_cwd"),
        ("process.start", {"command": DESTRUCTIVE, "id": "one"}, "process_id_conflict"),
    ],
)
async def test_nobody_is_asked_about_a_call_that_cannot_be_right(
    home: Path, operation: str, arguments: dict[str, object], code: str
) -> None:
    async with engine_with(home) as engine:
        await engine.call("process.start", command="sleep 300", id="one")
        with (
            engine.dispatcher.follow(ANNA, "s", kind="page"),
            anyio.fail_after(20),
            pytest.raises(DuettyError) as refused,
        ):
            await engine.dispatcher.call(AGENT, operation, arguments)

        assert refused.value.code == code
        assert engine.services.approvals.pending() == []
        assert (await trail(engine))[-1]["outcome"] == code

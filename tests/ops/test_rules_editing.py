"""Rules looked at, judged and saved while the server runs."""

import json
from pathlib import Path

import anyio
import pytest

from duetty.calls import Actor, Scope
from duetty.config import Settings
from duetty.errors import BadSetting, NotAPerson, PolicyDenied, RulesChanged, ScopeMissing
from tests.engine import AGENT, Engine, running_engine

pytestmark = [pytest.mark.anyio, pytest.mark.pty]

ANNA = Actor(kind="person", name="anna")
GUARDED = Settings(session_grace_ms=300, policy_profile="guarded")

DENIES = """[[policy.rules]]
name = "no-files"
decide = "deny"
command = "touch **"
matches = "touch a"
why = "files are made by hand here"
"""


async def save(engine: Engine, text: str, actor: Actor = ANNA) -> object:
    base = (await engine.call("rules.text")).hash
    return await engine.dispatcher.call(actor, "rules.save", {"text": text, "base": base})


async def test_a_saved_rule_counts_at_once_and_stays(home: Path) -> None:
    (home / "config.toml").write_text("[session]\ncols = 90\n")
    async with running_engine(home, settings=GUARDED) as engine:
        with anyio.fail_after(60):
            await engine.open()
            await engine.run("touch before")

            saved = await engine.dispatcher.call(
                ANNA, "rules.save", {"text": DENIES, "base": (await engine.call("rules.text")).hash}
            )
            with pytest.raises(PolicyDenied) as refused:
                await engine.run("touch after")
            kept = await engine.dispatcher.call(ANNA, "audit.list", {"kind": "rules"})

            assert refused.value.details["rule"] == "rule:no-files"
            assert [(each.name, each.change) for each in saved.changes] == [("no-files", "added")]
            assert (home / "config.toml").read_text() == f"[session]\ncols = 90\n\n{DENIES}"
            assert kept[0]["by"] == "anna"
            assert kept[0]["after"] == saved.digest != kept[0]["before"]

    async with running_engine(home, settings=GUARDED) as engine:
        listed = await engine.call("rules.list")
        assert listed.digest == saved.digest


async def test_rules_saved_by_somebody_else_meanwhile_are_not_written_over(home: Path) -> None:
    async with running_engine(home, settings=GUARDED) as engine:
        seen = await engine.call("rules.text")
        await save(engine, DENIES)

        with pytest.raises(RulesChanged):
            await engine.dispatcher.call(ANNA, "rules.save", {"text": "", "base": seen.hash})
        (home / "config.toml").write_text("")
        with pytest.raises(RulesChanged):
            await engine.dispatcher.call(
                ANNA, "rules.save", {"text": "", "base": (await engine.call("rules.list")).hash}
            )
        assert (await engine.call("rules.list")).is_current is False


async def test_two_people_who_save_at_once_do_not_both_win(home: Path) -> None:
    async with running_engine(home, settings=GUARDED) as engine:
        base = (await engine.call("rules.text")).hash
        ended: list[str] = []

        async def one(number: int) -> None:
            text = DENIES.replace("no-files", f"no-files-{number}")
            try:
                await engine.dispatcher.call(ANNA, "rules.save", {"text": text, "base": base})
                ended.append("saved")
            except RulesChanged:
                ended.append("refused")

        async with anyio.create_task_group() as tasks:
            for number in range(5):
                tasks.start_soon(one, number)

        assert sorted(ended) == ["refused"] * 4 + ["saved"]
        listed = [
            each for each in (await engine.call("rules.list")).rules if each.source == "config"
        ]
        assert len(listed) == 1
        assert listed[0].name in (home / "config.toml").read_text()


async def test_only_a_person_with_the_right_scope_saves(home: Path) -> None:
    async with running_engine(home, settings=GUARDED) as engine:
        with pytest.raises(NotAPerson):
            await save(engine, DENIES, AGENT)
        viewer = Actor(kind="person", name="vera", scopes=frozenset({Scope.READ, Scope.CONTROL}))
        with pytest.raises(ScopeMissing):
            await save(engine, DENIES, viewer)

        assert not (home / "config.toml").exists()
        assert (await engine.call("rules.list")).rules[0].source == "shipped"


async def test_a_broken_text_is_judged_and_not_saved(home: Path) -> None:
    async with running_engine(home, settings=GUARDED) as engine:
        broken = DENIES.replace('matches = "touch a"', 'matches = "mv a b"')

        checked = await engine.call("rules.check", text=broken)
        with pytest.raises(BadSetting):
            await save(engine, broken)

        assert checked.good is False
        [problem] = checked.problems
        assert (problem.line, problem.rule) == (5, "no-files")
        assert not (home / "config.toml").exists()


async def test_a_new_text_tells_what_it_would_change(home: Path) -> None:
    (home / "config.toml").write_text(DENIES)
    async with running_engine(home, settings=GUARDED) as engine:
        with anyio.fail_after(60):
            await engine.open()
            await engine.run("echo hello")
            text = DENIES.replace("touch", "echo") + DENIES.replace("no-files", "second")

            checked = await engine.dispatcher.call(ANNA, "rules.check", {"text": text})
            reader = Actor(kind="agent", name="r", scopes=frozenset({Scope.READ}))
            unseen = await engine.dispatcher.call(reader, "rules.check", {"text": text})

            assert [(each.name, each.change) for each in checked.changes] == [
                ("no-files", "changed"),
                ("second", "added"),
            ]
            assert '+command = "echo **"' in checked.diff
            assert [(each.command_line, each.before, each.after) for each in checked.lines] == [
                ("echo hello", "allow", "deny")
            ]
            assert unseen.lines is None


async def test_rules_say_where_they_come_from_and_what_changes_them(home: Path) -> None:
    (home / "config.toml").write_text(DENIES)
    project = home / "project"
    (project / ".duetty").mkdir(parents=True)
    rule = {"name": "no-push", "decide": "deny", "command": "git push **", "matches": ["git push"]}
    (project / ".duetty" / "settings.json").write_text(json.dumps({"policy": {"rules": [rule]}}))
    async with running_engine(home, settings=GUARDED) as engine:
        listed = await engine.call("rules.list", cwd=str(project))

        by_source = {each.source: each for each in listed.rules}
        assert by_source["shipped"].change_with is None
        assert by_source["shipped"].matches
        assert by_source["config"].change_with == "rules.save"
        assert by_source["config"].matches == ["touch a"]
        assert by_source["config"].where.endswith("config.toml, line 1")
        assert by_source["project"].matches == ["git push"]
        assert by_source["project"].change_with is None
        assert {each.name for each in listed.classes} >= {"recursive_delete"}

        (project / ".duetty" / "settings.json").write_text("{")
        broken = await engine.call("rules.list", cwd=str(project))
        assert broken.problems[0].file == str(project / ".duetty" / "settings.json")


async def test_a_question_answered_under_new_rules_that_deny_does_not_run(home: Path) -> None:
    (home / "config.toml").write_text(DENIES.replace('"deny"', '"ask"'))
    settings = Settings(session_grace_ms=300, policy_profile="guarded", approval_ask="always")
    async with running_engine(home, settings=settings) as engine:
        with anyio.fail_after(60):
            await engine.open()
            desk = engine.services.approvals
            failed: list[PolicyDenied] = []

            async def run() -> None:
                try:
                    await engine.run("touch made")
                except PolicyDenied as error:
                    failed.append(error)

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(run)
                while not desk.pending():
                    with desk.subscribe() as entries:
                        await entries.wait()
                await save(engine, DENIES)
                [asked] = desk.pending()
                await engine.dispatcher.call(ANNA, "approval.approve", {"approval": asked.id})

            assert failed[0].details["rule"] == "rule:no-files"
            assert not (home / "made").exists()


async def test_a_decision_is_explained_in_full(home: Path) -> None:
    (home / "config.toml").write_text(DENIES)
    async with running_engine(home, settings=GUARDED) as engine:
        grave = await engine.call("policy.why", command="rm -rf /nowhere/x && echo $(date)")
        ruled = await engine.call("policy.why", command="touch a")
        strict = await engine.call("policy.why", command="make", profile="strict")
        proven = await engine.call("policy.why", command="ls -l", mode="headless")
        person = await engine.call("policy.why", command="mkfs /x", actor="person:anna")
        tried = await engine.call("policy.why", command="touch a", text="")
        tool = await engine.call("policy.why", tool="mcp__notes__delete_note", profile="strict")

        assert (grave.decision, grave.classes[0]) == ("ask", "recursive_delete")
        assert grave.found[0].instead == grave.suggestion
        assert grave.not_literal is not None
        assert ["rm", "-rf", "/nowhere/x"] in grave.commands
        assert "rm -rf" in (grave.question or "")
        assert (ruled.decision, ruled.rule) == ("deny", "rule:no-files")
        assert [(each.name, each.is_meant) for each in ruled.rules if each.is_meant] == [
            ("no-files", True)
        ]
        assert (strict.decision, strict.reason, strict.profile) == (
            "ask",
            "not_allowlisted",
            "strict",
        )
        assert strict.not_proven is not None
        assert proven.decision == "allow"
        assert proven.runs_as is not None
        assert person.decision == "allow"
        assert tried.decision == "allow"
        assert tool.decision == "ask"

"""Rules by directory hold wherever a line goes, by whatever name a directory is called."""

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from duetty.calls import Actor, Effect
from duetty.config import Settings
from duetty.errors import PolicyDenied
from duetty.policy import Allow, Ask, Decision, Deny, Judged, Profile, RuleSet, decide, load_rules
from tests.engine import AGENT, Engine, running_engine

RULE: dict[str, object] = {"name": "r", "decide": "deny", "cwd": "/w/rl", "command": "id"}


def loaded(**more: object) -> RuleSet:
    return load_rules({"rules": [{**RULE, **more}]}, "test")


def decided(
    line: str | None, rules: RuleSet, *, cwd: str = "/w", profile: Profile = Profile.OPEN
) -> Decision:
    call = Judged(
        operation="command.run",
        effect=Effect.INPUT,
        actor=Actor(kind="agent", name="a"),
        cwd=cwd,
        command_line=line,
    )
    return decide(call, rules, profile, can_ask=True)


@pytest.mark.parametrize(
    "line",
    [
        "cd rl && id",
        "cd rl; id",
        "cd rl/sub && id",
        "cd ./rl\nid",
        "cd /w/rl && id",
        "cd x && cd ../rl && id",
        "(cd rl; id)",
        "pushd rl && id",
        "builtin cd -P -- rl && id",
        "bash -c 'cd rl && id'",
        "if cd rl; then id; fi",
        "go() { cd rl; }; go; id",
        "d=rl; cd $d; id",
        "env -C rl id",
        "env --chdir=rl id",
        "sudo -D /w/rl id",
        "rl/ && id",
        "c'd' r\"l\" && id",
        "go() { cd rl; }; cd /w; go; id",
    ],
)
@pytest.mark.parametrize(("verdict", "kind"), [("deny", Deny), ("ask", Ask)])
def test_a_rule_about_a_directory_holds_for_a_line_that_goes_there(
    line: str, verdict: str, kind: type[Decision]
) -> None:
    decision = decided(line, loaded(decide=verdict))

    assert (type(decision), decision.rule) == (kind, "rule:r")


@pytest.mark.parametrize(
    "line",
    ["id", "cd other && id", "cd rl && ls", "cd rlx && id", "git -C other status && id", "ls rl"],
)
def test_a_line_that_stays_away_is_left_alone(line: str) -> None:
    assert isinstance(decided(line, loaded()), Allow)


@pytest.mark.parametrize(
    "line",
    [
        "cd $X && id",
        "cd && id",
        "cd - && id",
        "cd ~/x && id",
        "cd r* && id",
        "popd && id",
        "CDPATH=/w cd x && id",
        "find . -execdir id \\;",
        "env -C $X id",
        "id 'never closed",
    ],
)
def test_where_it_cannot_be_told_where_a_line_goes_a_person_is_asked(line: str) -> None:
    decision = decided(line, loaded())

    assert isinstance(decision, Ask), line
    assert decision.rule == "rule:r"


@pytest.mark.parametrize(
    ("line", "kind"), [("cd rl", Allow), ("cd rl && ls", Deny), ("cd rl && >x", Deny)]
)
def test_to_go_somewhere_is_not_yet_to_do_something_there(line: str, kind: type[Decision]) -> None:
    rules = load_rules({"rules": [{"name": "r", "decide": "deny", "cwd": "/w/rl"}]}, "test")

    assert isinstance(decided(line, rules), kind)


def test_nobody_is_asked_about_it_where_no_rule_is_about_a_directory() -> None:
    rules = load_rules({"rules": [{"name": "r", "decide": "deny", "command": "whoami"}]}, "test")

    assert isinstance(decided("cd $X && id", rules), Allow)


def test_a_rule_to_allow_holds_only_where_a_line_stays_within() -> None:
    rules = loaded(decide="allow", cwd="/w", command=["make **", "cd **"])

    def runs(line: str) -> bool:
        return isinstance(decided(line, rules, profile=Profile.STRICT), Allow)

    assert runs("make x")
    assert runs("cd src && make x")
    assert not runs("cd /elsewhere && make x")
    assert not runs("cd ../v && make x")
    assert not runs("cd ~ && make x")


def test_more_directories_than_are_worth_telling_apart_are_asked_about() -> None:
    line = " && ".join([*(f"cd d{n}" for n in range(12)), "id"])

    assert isinstance(decided(line, loaded()), Ask)


@pytest.mark.parametrize(
    ("cwd", "holds"),
    [("/a/b", True), ("/a/b/c", True), ("/a", False), ("/ab/b", False)],
)
def test_a_directory_can_be_a_pattern(cwd: str, holds: bool) -> None:
    rules = loaded(cwd=["/a/*"])

    assert isinstance(decided("id", rules, cwd=cwd), Deny) is holds


# --- through the whole path ------------------------------------------------------------


@asynccontextmanager
async def engine_with(home: Path, rules: str = "") -> AsyncGenerator[Engine]:
    (home / "config.toml").write_text(rules)
    settings = Settings(session_grace_ms=300)
    async with running_engine(home, settings=settings) as engine:
        with anyio.fail_after(60):
            yield engine


async def refusal(engine: Engine, **arguments: object) -> Mapping[str, object]:
    with pytest.raises(PolicyDenied) as refused:
        await engine.call("process.run", **arguments)
    return refused.value.details


@pytest.mark.pty
async def test_a_link_to_a_directory_is_that_directory(home: Path, tmp_path: Path) -> None:
    (tmp_path / "rl").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "rl")
    real = tmp_path.resolve() / "rl"
    rule = f'[[policy.rules]]\nname = "r"\ndecide = "deny"\ncwd = "{real}"\ncommand = "id"\n'
    async with engine_with(home, rule) as engine:
        here = await refusal(engine, command="id", cwd=str(tmp_path / "link"))
        entered = await refusal(engine, command="cd link && id", cwd=str(tmp_path))
        await engine.open(cwd=str(tmp_path / "link"))
        with pytest.raises(PolicyDenied) as typed:
            await engine.run("id")
        elsewhere = await engine.call("process.run", command="id -u", cwd=str(tmp_path))

    assert [each["rule"] for each in (here, entered, typed.value.details)] == ["rule:r"] * 3
    assert elsewhere.process.exit_code == 0


@pytest.mark.pty
async def test_a_rule_to_allow_does_not_follow_a_link_out(home: Path, tmp_path: Path) -> None:
    work = tmp_path.resolve() / "work"
    (work / "in").mkdir(parents=True)
    (tmp_path / "out").mkdir()
    (work / "link").symlink_to(tmp_path / "out")
    rule = f'[[policy.rules]]\nname = "r"\ndecide = "allow"\ncwd = "{work}"\ncommand = "touch *"\n'
    async with engine_with(home, rule) as engine:
        call = engine.dispatcher.call
        here = {"command": "touch x", "cwd": str(work / "in")}
        await call(AGENT, "process.run", here, mode="headless")
        linked = {**here, "cwd": str(work / "link")}
        with pytest.raises(PolicyDenied):
            await call(AGENT, "process.run", linked, mode="headless")

    assert (work / "in" / "x").exists()
    assert not (tmp_path / "out" / "x").exists()


@pytest.mark.pty
async def test_a_projects_rules_hold_for_a_line_that_goes_there(home: Path, tmp_path: Path) -> None:
    (tmp_path / "rl" / ".duetty").mkdir(parents=True)
    settings = tmp_path / "rl" / ".duetty" / "settings.json"
    settings.write_text(json.dumps({"policy": {"rules": [{"decide": "deny", "command": "id"}]}}))
    (tmp_path / "link").symlink_to(tmp_path / "rl")
    (tmp_path / "broken" / ".duetty").mkdir(parents=True)
    (tmp_path / "broken" / ".duetty" / "settings.json").write_text("{")
    async with engine_with(home) as engine:
        there = await refusal(engine, command="cd rl && id", cwd=str(tmp_path))
        linked = await refusal(engine, command="pushd link && id", cwd=str(tmp_path))
        other = await engine.call("process.run", command="cd rl && pwd", cwd=str(tmp_path))
        broken = await refusal(engine, command="cd broken && true", cwd=str(tmp_path))

    assert (there["rule"], linked["rule"]) == ("rule:rule-1",) * 2
    assert other.process.exit_code == 0
    assert broken["rule"] == "project"

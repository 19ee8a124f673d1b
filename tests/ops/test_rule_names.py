"""A rule about something that no call is called would never hold, so it does not load."""

import json
import os
from pathlib import Path

import pytest

from duetty.calls import DIALECTS
from duetty.clock import SystemClock
from duetty.edges.mcp import dialects
from duetty.errors import BadSetting, PolicyDenied
from duetty.ops.rule_names import RULE_NAMES
from duetty.ops.rulebook.book import Rulebook
from duetty.ops.rulebook.in_force import PROJECT_FILE, ProjectRules
from duetty.ops.rulebook.rules_text import judge_text
from duetty.policy import RuleSet
from tests.engine import running_engine


def test_the_dialects_that_rules_know_are_those_that_are_spoken() -> None:
    assert set(DIALECTS) == set(dialects.DIALECTS)


@pytest.mark.parametrize(
    ("condition", "said", "hint"),
    [
        ('operation = "command.rum"', "no operation 'command.rum'", "did you mean 'command.run'?"),
        ('operation = ["command.run", "sesion.*"]', "no operation 'sesion.*'", None),
        ('operation = "terminal.act"', "no operation 'terminal.act'", None),
        ('operation = "Command.Run"', "no operation 'Command.Run'", None),
        ('dialect = "terminl"', "no dialect 'terminl'", "did you mean 'terminal'?"),
        (
            'dialect = "nobody*"',
            "no dialect 'nobody*'",
            "there are command, elwood, front, gateway, rooms, terminal, wsh",
        ),
        ('tool = "mcp__a__b"\ncommand = "rm **"', "never hold", "write two rules"),
    ],
)
def test_a_rule_that_could_never_hold_refuses_to_start(
    tmp_path: Path, condition: str, said: str, hint: str | None
) -> None:
    file = tmp_path / "config.toml"
    file.write_text(f'# mine\n[[policy.rules]]\nname = "mine"\ndecide = "deny"\n{condition}\n')

    with pytest.raises(BadSetting) as refused:
        Rulebook(file, RULE_NAMES)

    assert refused.value.message.startswith(f"{file}, line 2: rule 'mine': ")
    assert said in refused.value.message
    assert hint is None or hint in (refused.value.hint or "")


@pytest.mark.parametrize(
    "condition",
    [
        'operation = "command.run"',
        'operation = ["input.*", "process.*"]',
        'operation = "*"',
        'dialect = ["wsh", "term*"]',
    ],
)
def test_a_rule_about_names_that_there_are_loads(tmp_path: Path, condition: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(f'[[policy.rules]]\nname = "mine"\ndecide = "deny"\n{condition}\n')

    assert [rule.name for rule in Rulebook(file, RULE_NAMES).person.rules] == ["mine"]


def test_the_page_is_told_the_line_of_such_a_name() -> None:
    text = '[[policy.rules]]\nname = "mine"\ndecide = "deny"\noperation = "command.rum"\n'

    [problem] = judge_text(text, names=RULE_NAMES).problems

    assert (problem.line, problem.rule) == (4, "mine")


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"polcy": {"rules": []}}, "no setting 'polcy'"),
        ({"policy": {}, "rules": []}, "no setting 'rules'"),
        ({"policy": {"rule": []}}, "no setting 'rule' in [policy]"),
        (
            {"policy": {"rules": [{"decide": "deny", "operation": "session.opn"}]}},
            "no operation 'session.opn'",
        ),
    ],
)
def test_a_projects_file_that_says_nothing_we_know_is_refused(
    tmp_path: Path, document: object, said: str
) -> None:
    file = tmp_path / "settings.json"
    file.write_text(json.dumps(document))

    with pytest.raises(BadSetting) as refused:
        ProjectRules(SystemClock(), names=RULE_NAMES).read(file)

    assert said in refused.value.message
    assert str(file) in refused.value.message


# --- files that are not as they should be ----------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('[policy]\nprofile = "strict"\nrules = "x"\n', 3),
        ('# mine\npolicy.rules = "x"\n', 2),
        ('[policy]\nrules = [{decide = "perhaps"}]\n', 2),
    ],
)
def test_rules_that_are_no_tables_are_refused_with_their_line(
    tmp_path: Path, text: str, line: int
) -> None:
    file = tmp_path / "config.toml"
    file.write_text(text)

    with pytest.raises(BadSetting) as refused:
        Rulebook(file, RULE_NAMES)

    assert refused.value.message.startswith(f"{file}, line {line}")


@pytest.mark.parametrize(
    "text",
    [
        '{"policy": {"profile": "strict", "profile": "open"}}',
        '{"policy": {"profile": "strict"}, "policy": {}}',
        '{"policy": {"rules": [{"decide": "deny", "decide": "ask"}]}}',
    ],
)
def test_a_key_twice_in_a_projects_file_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / ".duetty").mkdir()
    (tmp_path / PROJECT_FILE).write_text(text)

    with pytest.raises(PolicyDenied) as refused:
        ProjectRules(SystemClock()).of(str(tmp_path))

    assert "stands twice" in refused.value.message


@pytest.mark.parametrize("kind", ["pipe", "nowhere", "directory", "itself", "device"])
def test_whatever_is_no_file_in_its_place_refuses_agents_and_nobody_waits(
    tmp_path: Path, kind: str
) -> None:
    (tmp_path / ".duetty").mkdir()
    place = tmp_path / PROJECT_FILE
    match kind:
        case "pipe":
            os.mkfifo(place)
        case "nowhere":
            place.symlink_to("nowhere")
        case "directory":
            place.mkdir()
        case "itself":
            place.symlink_to(place)
        case _:
            place.symlink_to("/dev/null")

    with pytest.raises(PolicyDenied) as refused:
        ProjectRules(SystemClock()).of(str(tmp_path / "below"))

    assert str(place) in refused.value.message


def test_a_link_to_a_file_is_as_good_as_the_file(tmp_path: Path) -> None:
    (tmp_path / ".duetty").mkdir()
    (tmp_path / "rules.json").write_text('{"policy": {"profile": "strict"}}')
    (tmp_path / PROJECT_FILE).symlink_to(tmp_path / "rules.json")

    assert ProjectRules(SystemClock()).of(str(tmp_path)).profile == "strict"


@pytest.mark.parametrize("depth", [70, 200])
def test_a_deep_directory_is_not_out_of_a_projects_reach(tmp_path: Path, depth: int) -> None:
    (tmp_path / ".duetty").mkdir()
    (tmp_path / PROJECT_FILE).write_text('{"policy": {"profile": "strict"}}')

    assert ProjectRules(SystemClock()).of(str(tmp_path) + "/d" * depth).profile == "strict"


def test_one_that_is_too_deep_to_be_sure_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PolicyDenied):
        ProjectRules(SystemClock()).of(str(tmp_path) + "/d" * 1_000)


def test_where_nothing_is_nothing_is_added(tmp_path: Path) -> None:
    (tmp_path / ".duetty").write_text("a file")

    assert ProjectRules(SystemClock()).of(str(tmp_path)) == RuleSet()


@pytest.mark.anyio
@pytest.mark.pty
async def test_a_server_with_such_a_rule_does_not_start(home: Path) -> None:
    (home / "config.toml").write_text(
        '[[policy.rules]]\nname = "mine"\ndecide = "deny"\noperation = "command.rum"\n'
    )

    with pytest.RaisesGroup(BadSetting) as refused:
        async with running_engine(home):
            pass

    assert "line 1: rule 'mine': no operation 'command.rum'" in refused.value.exceptions[0].message

"""A rule about something that no call is called would never hold, so it does not load."""

import json
from pathlib import Path

import pytest

from duetty.calls import DIALECTS
from duetty.clock import SystemClock
from duetty.edges.mcp import dialects
from duetty.errors import BadSetting
from duetty.ops.rule_names import RULE_NAMES
from duetty.ops.rules import ProjectRules
from duetty.ops.rules_book import Rulebook
from duetty.ops.rules_text import judge_text


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
            'dialect = "elwood*"',
            "no dialect 'elwood*'",
            "there are command, gateway, terminal, wsh",
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
        'operation = "input.line"',
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

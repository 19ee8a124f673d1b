"""The person's rules as text: found in a settings file, judged, put back."""

import tomllib

import pytest

from duetty.errors import BadSetting
from duetty.ops.rulebook.rules_text import Problem, judge_text, parts_of, replaced

RULE = """# no publishing
[[policy.rules]]
name = "no-publishing"
decide = "deny"
command = ["npm publish **"]
matches = ["npm publish --tag next"]
not_matches = ["npm pack"]
"""

FILE = f"""# mine
[server]
bind = "127.0.0.1:1"

{RULE}
# about sessions
[session]
cols = 100

[[policy.rules]]
name = "asks"
decide = "ask"
command = "touch **"
"""


def test_the_rules_are_taken_out_of_the_file_with_their_comments() -> None:
    parts = parts_of(FILE)

    assert parts.rules.startswith("# no publishing\n[[policy.rules]]\n")
    assert 'name = "asks"' in parts.rules
    assert "[session]" not in parts.rules
    assert "# about sessions\n[session]" in parts.after


def test_the_rest_of_the_file_stays_as_it_was() -> None:
    made = replaced(FILE, RULE)

    assert tomllib.loads(made) == {
        "server": {"bind": "127.0.0.1:1"},
        "session": {"cols": 100},
        "policy": {"rules": tomllib.loads(RULE)["policy"]["rules"]},
    }
    assert "# mine" in made
    assert "# about sessions" in made
    assert "asks" not in made


@pytest.mark.parametrize(
    "file",
    ["", "[server]\nbind = 'x'", "[policy]\nprofile = 'strict'\n", FILE, "# only a comment\n"],
)
@pytest.mark.parametrize("rules", ["", RULE, f"\n\n{RULE}\n\n"])
def test_rules_put_into_a_file_are_found_in_it_again(file: str, rules: str) -> None:
    made = replaced(file, rules)

    assert parts_of(made).rules.strip() == rules.strip()
    again = replaced(made, rules)
    assert tomllib.loads(again) == tomllib.loads(made)


@pytest.mark.parametrize(
    "file",
    [
        "[policy]\nrules = [{name = 'a', decide = 'ask'}]\n",
        "policy.rules = [{name = 'a', decide = 'ask'}]\n",
        "[policy]\nprofile =\n",
        "[session]\nshell = '''\n[[policy.rules]]\n'''\n",
    ],
)
def test_a_file_that_cannot_be_taken_apart_says_so(file: str) -> None:
    with pytest.raises(BadSetting):
        parts_of(file)


@pytest.mark.parametrize(
    ("text", "line", "column", "part"),
    [
        ("[[policy.rules]]\nname = \n", 2, 8, "value"),
        ("[[policy.rules]]\nname = 'a'\ndecide = 'never'\n", 3, 1, "decide"),
        ("[[policy.rules]]\nname = 'a'\ndecide = 'ask'\ncomand = 'x'\n", 4, 1, "comand"),
        (
            "[[policy.rules]]\nname = 'a'\ndecide = 'ask'\ncommand = 'x'\nmatches = ['x', 'y z']\n",
            5,
            18,
            "does not match its example 'y z'",
        ),
        ("[server]\nbind = 'x'\n", 1, 1, "server is no rule"),
        ("[policy]\nprofile = 'open'\n", 2, 1, "policy.profile is no rule"),
        ("name = 'a", 1, 10, "at the end"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(text: str, line: int, column: int, part: str) -> None:
    [problem] = judge_text(text).problems

    assert part in problem.message
    assert (problem.line, problem.column) == (line, column)


def test_every_broken_rule_is_told_not_only_the_first() -> None:
    text = "[[policy.rules]]\ndecide = 'x'\n" + RULE + RULE + "[[policy.rules]]\nname = 'A'\n"

    problems = judge_text(text).problems

    assert [(each.rule, each.line) for each in problems] == [
        ("rule-1", 2),
        ("no-publishing", 12),
        ("A", 18),
    ]
    assert isinstance(problems[0], Problem)


def test_good_rules_come_with_their_examples() -> None:
    judged = judge_text(FILE.replace("[server]", "").replace('bind = "127.0.0.1:1"', "").replace(
        "[session]\ncols = 100", ""
    ))  # fmt: skip

    assert judged.problems == ()
    assert [each.name for each in judged.rules.rules] == ["no-publishing", "asks"]
    assert judged.examples["no-publishing"].matches == ("npm publish --tag next",)

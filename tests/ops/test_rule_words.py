"""Options between a program and what it is told to do: no way around a rule that denies or asks."""

import pytest

from duetty.errors import BadSetting
from duetty.policy import RuleSet, analyse, load_rules


def one(decide: str, pattern: str, **more: object) -> RuleSet:
    return load_rules(
        {"rules": [{"name": "r", "decide": decide, "command": pattern, **more}]}, "test"
    )


def matches(rules: RuleSet, line: str) -> bool:
    return rules.rules[0].matches_line(analyse(line))


@pytest.mark.parametrize("decide", ["deny", "ask"])
@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        ("npm publish **", "npm --silent publish"),
        ("npm publish **", "npm --loglevel=error --silent publish --tag x"),
        ("npm publish", "npm -s publish"),
        ("npm publish **", "sudo npm --prefix pkg publish"),
        ("kubectl delete **", "kubectl -n prod delete pod x"),
        ("docker compose down **", "docker -H tcp://x compose -f a.yml -p b down"),
        ("rm -rf **", "rm -v -rf x"),
        ("/usr/bin/npm publish **", "/usr/bin/npm --silent publish"),
    ],
)
def test_options_before_the_word_that_a_rule_names_do_not_pass_it(
    decide: str, pattern: str, line: str
) -> None:
    assert matches(one(decide, pattern), line)


@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        ("npm publish **", "npm pack"),
        ("npm publish **", "npm run publish"),
        ("npm publish **", "npm --silent pack"),
        ("npm publish", "npm --silent publish --tag x"),
        ("npm publish **", "yarn --silent publish"),
        ("npm publish **", "npm pack -- publish"),
        ("git *", "git -C x status --short"),
    ],
)
def test_what_else_a_program_is_told_is_left_alone(pattern: str, line: str) -> None:
    assert not matches(one("deny", pattern), line)


def test_a_rule_to_allow_means_the_words_that_it_has() -> None:
    rules = one("allow", "npm test **")

    assert matches(rules, "npm test")
    assert not matches(rules, "npm --silent test")
    assert not matches(rules, "npm --prefix /elsewhere test")


def test_examples_are_judged_the_same_way() -> None:
    one("deny", "npm publish **", matches=["npm --silent publish"])
    one("allow", "npm test **", not_matches=["npm --silent test"])

    with pytest.raises(BadSetting, match="which it should not"):
        one("deny", "npm publish **", not_matches=["npm --silent publish"])


def test_many_options_take_no_time_worth_naming() -> None:
    rules = one("deny", "a b c d e f g h **")
    words = ["a", *["-x"] * 4_000]

    assert not rules.rules[0].matches_words(words)

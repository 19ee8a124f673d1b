"""Decisions: every outcome by profile, mode and whether somebody can be asked."""

import json
from dataclasses import replace

import pytest

from duetty.calls import Effect
from duetty.policy import (
    Allow,
    Ask,
    Canonical,
    Deny,
    Judged,
    Mode,
    Profile,
    RuleSet,
    decide,
    load_rules,
    question_about,
    to_json,
    visible,
)
from duetty.policy.proving.recogniser import SHELLS, Command
from tests.policy.labelled import AGENT, decided, judged

READS, WRITES, DESTROYS, UNREADABLE = "ls", "make test", "rm -rf /data/src", "$X y"


@pytest.mark.parametrize(
    ("profile", "mode", "can_ask", "expected"),
    [
        (Profile.OPEN, Mode.INTERACTIVE, True, (Allow, Allow, Allow, Allow)),
        (Profile.GUARDED, Mode.INTERACTIVE, True, (Allow, Allow, Ask, Ask)),
        (Profile.GUARDED, Mode.INTERACTIVE, False, (Allow, Allow, Deny, Deny)),
        (Profile.STRICT, Mode.INTERACTIVE, True, (Allow, Ask, Ask, Ask)),
        (Profile.STRICT, Mode.INTERACTIVE, False, (Allow, Deny, Deny, Deny)),
        (Profile.OPEN, Mode.HEADLESS, False, (Allow, Deny, Deny, Deny)),
        (Profile.GUARDED, Mode.HEADLESS, True, (Allow, Ask, Deny, Ask)),
        (Profile.STRICT, Mode.HEADLESS, False, (Allow, Deny, Deny, Deny)),
    ],
)
def test_the_matrix(
    profile: Profile, mode: Mode, can_ask: bool, expected: tuple[type, ...]
) -> None:
    found = tuple(
        type(decided(line, profile, mode=mode, can_ask=can_ask))
        for line in (READS, WRITES, DESTROYS, UNREADABLE)
    )

    assert found == expected


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("ls", "proven"),
        ("make", "not_allowlisted"),
        ("ls -la $(pwd)", "not_provable"),
        ("$X", "not_provable"),
        ("rm -rf /", "destructive"),
        ("sudo ls", "not_allowlisted"),
    ],
)
def test_the_reason_is_one_of_the_published(line: str, reason: str) -> None:
    assert decided(line, Profile.STRICT, mode=Mode.HEADLESS).reason == reason


def test_what_is_proven_comes_with_the_words_to_run() -> None:
    assert decided("ls   'a b'", Profile.STRICT) == Allow(
        rule="spec:ls",
        reason="proven",
        canonical=Canonical((Command(("ls", "a b")),), (), SHELLS),
    )


def test_the_words_to_run_come_as_text_and_without_a_shell() -> None:
    alone, joined = decided("ls 'a b'", Profile.STRICT), decided("ls | wc -l", Profile.STRICT)

    assert isinstance(alone, Allow)
    assert isinstance(joined, Allow)
    assert alone.canonical
    assert joined.canonical
    assert (alone.canonical.text, alone.canonical.argv) == ("ls 'a b'", ("ls", "a b"))
    assert (joined.canonical.text, joined.canonical.argv) == ("ls | wc -l", None)


def test_a_question_shows_the_whole_line_and_nothing_hidden() -> None:
    decision = decided("rm -rf /a\u202eb\x1b\tc", Profile.GUARDED, cwd="/work")

    assert isinstance(decision, Ask)
    question = question_about(judged("rm -rf /a\u202eb\x1b\tc", cwd="/work"), decision)
    assert "    rm -rf /a⟨U+202E⟩b⟨U+001B⟩⟨U+0009⟩c\n" in question
    assert "agent tester" in question
    assert "in /work?" in question
    assert decision.instead


def test_visible_text_is_left_as_it_is() -> None:
    assert visible("echo 'grün 漢字'") == "echo 'grün 漢字'"
    assert visible("\u3164\u2800") == "⟨U+3164⟩⟨U+2800⟩"


@pytest.mark.parametrize("profile", list(Profile))
@pytest.mark.parametrize("mode", list(Mode))
def test_raw_input_passes_unless_the_gate_is_strict(profile: Profile, mode: Mode) -> None:
    call = Judged(
        operation="input.write", effect=Effect.INPUT, actor=AGENT, mode=mode, is_raw_input=True
    )

    refused = isinstance(decide(call, RuleSet(), profile, can_ask=True), Deny)

    assert refused is (profile is Profile.STRICT or mode is Mode.HEADLESS)


def test_reading_needs_nobody() -> None:
    call = Judged(operation="screen.read", effect=Effect.READ, actor=AGENT)

    assert isinstance(decide(call, RuleSet(), Profile.STRICT, can_ask=False), Allow)


@pytest.mark.parametrize("line", [READS, WRITES, DESTROYS, UNREADABLE, None])
@pytest.mark.parametrize("profile", list(Profile))
def test_a_decision_can_be_made_again_from_the_trail(line: str | None, profile: Profile) -> None:
    call = Judged(
        operation="command.run",
        effect=Effect.INPUT,
        actor=AGENT,
        dialect="wsh",
        mode=Mode.INTERACTIVE,
        tags=frozenset({"b", "a"}),
        cwd="/w",
        command_line=line,
        tool=("s", "t") if line is None else None,
    )
    first = decide(call, RuleSet(), profile, can_ask=True)

    kept = json.loads(json.dumps({"call": call.to_json(), "decision": to_json(first)}))
    again = Judged.from_json(kept["call"])

    assert again == call
    assert to_json(decide(again, RuleSet(), profile, can_ask=True)) == kept["decision"]


def test_what_history_signs_say_is_no_business_of_policy() -> None:
    for line in ('echo "a!b"', "echo !$", "!!"):
        assert isinstance(decided(line, Profile.GUARDED), Allow)


@pytest.mark.parametrize(
    ("line", "decision"),
    [
        ("print(1)", Allow),
        ("x = (1,", Allow),
        ("$X y", Allow),
        ("rm -rf /data/x", Ask),
        ("shutil.rmtree('/data/x')", Ask),
        ("DROP TABLE users;", Ask),
    ],
)
def test_a_line_for_a_program_asks_only_for_what_is_catalogued(
    line: str, decision: type[Allow | Ask]
) -> None:
    call = replace(judged(line), into_program=True)

    assert isinstance(decide(call, RuleSet(), Profile.GUARDED, can_ask=True), decision)
    assert isinstance(decide(call, RuleSet(), Profile.OPEN, can_ask=True), Allow)
    assert isinstance(decide(call, RuleSet(), Profile.STRICT, can_ask=True), Deny)


def test_where_a_call_runs_is_kept_in_the_trail() -> None:
    call = replace(
        judged("ls", cwd="/w/a", workspace="/w"), sandbox="open", into_program=True, shell="fish"
    )

    assert Judged.from_json(call.to_json()) == call


@pytest.mark.parametrize(
    ("command", "cwd"),
    [
        ("rm -rf tmp", "/"),
        ("rm -rf tmp", "/var"),
        ("echo x > hosts", "/etc"),
        ("rm vmlinuz", "/boot"),
    ],
)
def test_a_line_that_begins_in_a_directory_of_the_system_is_judged_there(
    command: str, cwd: str
) -> None:
    assert isinstance(decided(command, Profile.GUARDED, cwd=cwd), Ask)
    assert isinstance(decided(command, Profile.GUARDED, cwd="/home/me/project"), Allow)


def test_a_directory_of_the_workspace_is_within_by_its_whole_name_too() -> None:
    for command in (
        "cd /work/app && rm -rf build",
        "cd /work/app/web && rm -rf dist",
        "cd /work/app; rm a.o",
    ):
        assert isinstance(decided(command, Profile.GUARDED, cwd="/work/app"), Allow)
        assert isinstance(decided(command, Profile.GUARDED, cwd="/work/other"), Ask)
    assert isinstance(
        decided("cd /work/app/.. && rm -rf build", Profile.GUARDED, cwd="/work/app"), Ask
    )
    assert isinstance(
        decided("cd /work/apple && rm -rf build", Profile.GUARDED, cwd="/work/app"), Ask
    )


RULE = {"rules": [{"name": "tests", "decide": "allow", "command": ["make **"]}]}


@pytest.mark.parametrize(
    ("line", "allowed"),
    [
        ("make test", True),
        ("git status && make test", True),
        ("cd src && cat a.py && make test", True),
        ("cd /etc && cat shadow && make test", False),
        ("make test && rm x", False),
    ],
)
def test_beside_what_a_rule_allows_the_rest_is_proven_where_the_line_goes(
    line: str, *, allowed: bool
) -> None:
    rules = load_rules(RULE, "test")

    decision = decide(judged(line), rules, Profile.STRICT, can_ask=True)

    assert isinstance(decision, Allow) == allowed


def test_beside_what_a_rule_allows_the_rest_runs_as_it_was_proven() -> None:
    rules = load_rules(RULE, "test")

    decision = decide(judged("git status && make test"), rules, Profile.STRICT, can_ask=True)

    assert isinstance(decision, Allow)
    assert decision.canonical is not None
    git, make = decision.canonical.commands
    assert "core.fsmonitor=false" in git.words
    assert make.words == ("make", "test")

"""What the profiles do with labelled commands: the shared corpus and our own."""

import re

import pytest

from duetty.policy import Allow, Ask, Deny, Mode, Profile
from duetty.policy.shipped import SHIPPED_RULES
from tests.policy.labelled import AGENTS, CORPUS, LISTS, Labelled, decided

both = pytest.mark.parametrize("commands", [CORPUS, *LISTS.values()], ids=["shared", *LISTS])


def of(label: str, commands: list[Labelled]) -> list[Labelled]:
    return [each for each in commands if each.label == label]


@both
@pytest.mark.parametrize("mode", list(Mode))
def test_strict_runs_nothing_unasked_that_is_not_safe(commands: list[Labelled], mode: Mode) -> None:
    ran = [
        each
        for each in commands
        if not each.may_run and isinstance(decided(each.command, Profile.STRICT, mode=mode), Allow)
    ]

    assert ran == []


@both
@pytest.mark.parametrize("profile", list(Profile))
def test_headless_runs_nothing_that_is_not_safe_whatever_the_profile(
    commands: list[Labelled], profile: Profile
) -> None:
    ran = [
        each
        for each in commands
        if not each.may_run
        and not isinstance(decided(each.command, profile, mode=Mode.HEADLESS), Deny)
    ]

    assert ran == []


@both
def test_strict_runs_the_safe_ones_unasked(commands: list[Labelled]) -> None:
    safe = of("safe", commands)

    asked = [
        each
        for each in safe
        if not isinstance(decided(each.command, Profile.STRICT, mode=Mode.HEADLESS), Allow)
    ]

    assert len(asked) <= 0.05 * len(safe), asked


@both
def test_guarded_asks_about_everything_destructive(commands: list[Labelled]) -> None:
    ran = [
        each
        for each in of("destructive", commands)
        if not isinstance(decided(each.command, Profile.GUARDED), Ask)
    ]

    assert ran == []


@both
def test_guarded_blocks_everything_destructive_when_nobody_can_be_asked(
    commands: list[Labelled],
) -> None:
    ran = [
        each
        for each in of("destructive", commands)
        if not isinstance(decided(each.command, Profile.GUARDED, can_ask=False), Deny)
    ]

    assert ran == []


named = pytest.mark.parametrize(
    "commands",
    [CORPUS, *(each for name, each in LISTS.items() if name != "disguises")],
    ids=["shared", *(name for name in LISTS if name != "disguises")],
)
"""Where a shell runs what is not written on the line, nobody can name what that is."""


@named
def test_what_is_destructive_is_named_as_such(commands: list[Labelled]) -> None:
    destructive = of("destructive", commands)

    unnamed = [
        each
        for each in destructive
        if (decision := decided(each.command, Profile.GUARDED)).reason != "destructive"
        or not decision.classes
    ]

    assert len(unnamed) <= 0.05 * len(destructive), unnamed


@both
def test_guarded_leaves_the_rest_alone(commands: list[Labelled]) -> None:
    safe, approval = of("safe", commands), of("needs_approval", commands)

    asked_safe = [x for x in safe if not isinstance(decided(x.command, Profile.GUARDED), Allow)]
    asked = [x for x in approval if not isinstance(decided(x.command, Profile.GUARDED), Allow)]

    assert len(asked_safe) <= 0.03 * len(safe), asked_safe
    assert len(asked) <= 0.17 * len(approval), asked


@both
def test_open_asks_about_nothing(commands: list[Labelled]) -> None:
    assert all(isinstance(decided(each.command, Profile.OPEN), Allow) for each in commands)


HERE = "/work/project"


def asked(profile: Profile, *, sandbox: str = "") -> list[str]:
    """Lines that agents really ran, and that would not have run at once."""
    return [
        line
        for line in AGENTS
        if not isinstance(
            decided(line, profile, cwd=HERE, workspace=HERE, sandbox=sandbox, rules=SHIPPED_RULES),
            Allow,
        )
    ]


def test_of_100_lines_that_agents_ran_at_most_two_and_a_half_ask() -> None:
    assert len(asked(Profile.GUARDED)) <= 0.025 * len(AGENTS)


def test_of_200_such_lines_in_a_sandbox_at_most_one_asks() -> None:
    assert len(asked(Profile.GUARDED, sandbox="open")) <= 0.005 * len(AGENTS)


WRITES_A_FILE = re.compile(r"cat <<-?\s*'(\w+)'\s*>>?\s*(\S+)\n.*\n\1\s*", re.DOTALL)


def test_none_asks_that_only_writes_a_file_from_a_quoted_here_document() -> None:
    written = [line for line in AGENTS if WRITES_A_FILE.fullmatch(line)]

    assert len(written) > 100
    assert set(written).isdisjoint(asked(Profile.GUARDED))

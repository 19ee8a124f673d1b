"""Lines of fish, cut into commands that the scan can read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duetty.calls import Actor, Effect
from duetty.policy import Allow, Judged, Profile, RuleSet, decide, fish_commands, fish_hides


@pytest.mark.parametrize(
    ("line", "commands"),
    [
        ("for i in 1 2; echo $i; end", ("echo $i",)),
        (
            "if test -e x; and true; echo a; else; echo b; end",
            ("test -e x", "true", "echo a", "echo b"),
        ),
        ("set x (date); echo $x", ("set x _", "date", "echo $x")),
        ("set x $(date)", ("set x _", "date")),
        ("begin; false; end; or echo 'a; b'", ("false", "echo 'a; b'")),
        ("function hi; echo hi; end", ("echo hi",)),
        ("make 2>&1 | tee log &", ("make 2>&1", "tee log")),
        ("echo a # b; c", ("echo a",)),
        ("echo \\; x", ("echo \\; x",)),
        ("not rm -rf x", ("rm -rf x",)),
        ("for f in (ls); rm -rf $f; end", ("ls", "rm -rf $f")),
        ("while read -l x; echo $x; end", ("read -l x", "echo $x")),
    ],
)
def test_a_line_is_cut_where_fish_ends_a_command(line: str, commands: tuple[str, ...]) -> None:
    assert fish_commands(line) == commands


@pytest.mark.parametrize("line", ["echo 'a", 'echo "a', 'echo "$(date)"'])
def test_a_line_that_cannot_be_cut_is_told(line: str) -> None:
    assert fish_commands(line) is None


@given(st.text(alphabet="abrmf -;|&()'\"\\$#\n>", max_size=60))
def test_every_line_is_cut_or_refused(line: str) -> None:
    commands = fish_commands(line)

    assert commands is None or all(command.strip() == command != "" for command in commands)


@pytest.mark.parametrize("line", ["for f in *; rm -rf /; end", "set x (rm -rf /home)"])
def test_what_is_destructive_in_a_piece_is_found(line: str) -> None:
    commands = fish_commands(line)

    assert commands is not None
    decisions = [
        decide(
            Judged(
                operation="input.line",
                effect=Effect.INPUT,
                actor=Actor(kind="agent", name="a"),
                command_line=command,
            ),
            RuleSet(),
            Profile.GUARDED,
            can_ask=True,
        )
        for command in commands
    ]
    assert not all(isinstance(decision, Allow) for decision in decisions)


@pytest.mark.parametrize(
    "line",
    [
        "eval (string join '' r m)' -rf d'",
        "env (echo rm) -rf d",
        "sudo -n (echo rm) -rf d",
        "string join '' r 'm -rf d' | source",
        "printf 'rm -rf d' | source -",
        "source (string join '' r 'm -rf d' | psub)",
        "fish -c (string join '' r m)' -rf d'",
        "sh -c (string join '' r m)' -rf d'",
        "if true; echo x | source; end",
        "begin; eval (cat x); end",
        "time env A=1 (echo rm) x",
    ],
)
def test_what_fish_computes_and_runs_is_seen(line: str) -> None:
    assert fish_hides(line) is not None


@pytest.mark.parametrize(
    "line",
    [
        "source config.fish",
        "echo (date)",
        "set files (ls)",
        "for f in (ls); echo $f; end",
        "cat (ls | head -1)",
        "env A=1 make",
        "eval $cmd",
        "sh -c 'echo hi'",
        "command ls (pwd)",
        "echo 'x | source'",
        "cd (git rev-parse --show-toplevel); and make",
    ],
)
def test_plain_substitutions_of_fish_are_left_alone(line: str) -> None:
    assert fish_hides(line) is None

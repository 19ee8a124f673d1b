"""Policy holds for everything: total, monotone, without order."""

import json
import random
from typing import cast

from hypothesis import given, settings
from hypothesis import strategies as st
from tools.fuzz_recogniser import strings

from duetty.calls import Actor, Effect
from duetty.policy import Allow, Judged, Mode, Profile, RuleSet, decide, load_rules, to_json
from duetty.policy.analysis import analyse_anew
from duetty.policy.decisions import STRICTNESS
from duetty.policy.proving.recogniser import Line, recognise
from duetty.policy.scanning.reader import read
from duetty.policy.scanning.scan import scan_line, scan_text, scan_typed
from tests.policy.labelled import AGENTS, CORPUS

_WORDS = [
    "ls",
    "rm",
    "-rf",
    "/",
    "git",
    "push",
    "--force",
    "make",
    "x",
    "sudo",
    "sh",
    "-c",
    "cat",
    "|",
    ";",
    "&&",
    "$X",
    "'",
    '"',
    "`",
    "$(",
    ")",
    "\\",
    "\n",
    " ",
    "{",
    "}",
    "(",
    "<<E",
    ">",
    "a=",
    "~",
    "*",
    "eval",
    "$'\\x41'",
    "${",
    "!",
    "#",
    "\u202e",
    "\x00",
    "\ud800",
]
command_lines = st.one_of(
    st.lists(st.sampled_from(_WORDS), max_size=12).map(" ".join),
    st.lists(st.sampled_from(_WORDS), max_size=12).map("".join),
    st.text(max_size=60),
    st.sampled_from([each.command for each in CORPUS if len(each.command) < 500]),
    st.sampled_from([line for line in AGENTS if len(line) < 500]),
)

rule_tables = st.fixed_dictionaries(
    {
        "decide": st.sampled_from(["deny", "ask", "allow"]),
        "command": st.sampled_from(
            ["rm **", "git **", "make", "ls **", "cat *", "x", "* **", "git push **"]
        ),
    },
    optional={
        "actor": st.sampled_from(["agent", "agent:a", "person", "*"]),
        "mode": st.sampled_from(["interactive", "headless"]),
        "cwd": st.sampled_from(["/", "/w", "/other"]),
        "tag": st.sampled_from(["t", "u*"]),
        "operation": st.sampled_from(["command.run", "session.*"]),
        "dialect": st.sampled_from(["wsh", ""]).filter(bool),
    },
).filter(lambda table: table["decide"] != "allow" or table["command"] != "* **")

calls = st.builds(
    Judged,
    operation=st.sampled_from(["command.run", "session.close"]),
    effect=st.sampled_from(Effect),
    actor=st.builds(
        Actor, kind=st.sampled_from(["agent", "person", "node"]), name=st.sampled_from(["a", "b"])
    ),
    dialect=st.sampled_from(["wsh", "terminal"]),
    mode=st.sampled_from(Mode),
    tags=st.frozensets(st.sampled_from(["t", "u1"])),
    cwd=st.sampled_from(["", "/w", "/w/x", "relative"]),
    command_line=st.none() | command_lines,
    is_raw_input=st.booleans(),
    tool=st.none() | st.just(("s", "t")),
    workspace=st.sampled_from(["", "/w", "/w/x"]),
    sandbox=st.sampled_from(["", "open", "closed"]),
    into_program=st.booleans(),
    shell=st.sampled_from(["", "bash", "fish"]),
)


def rule_set(tables: list[dict[str, str]]) -> RuleSet:
    named = [{**table, "name": f"r{number}"} for number, table in enumerate(tables)]
    return load_rules({"rules": cast(list[object], named)}, "test")


def strictness(call: Judged, rules: RuleSet, profile: Profile, *, can_ask: bool) -> int:
    return STRICTNESS[type(decide(call, rules, profile, can_ask=can_ask))]


@given(
    call=calls,
    profile=st.sampled_from(Profile),
    can_ask=st.booleans(),
    tables=st.lists(rule_tables, max_size=4),
)
@settings(max_examples=400, deadline=None)
def test_every_call_gets_a_decision_that_can_be_kept(
    call: Judged, profile: Profile, can_ask: bool, tables: list[dict[str, str]]
) -> None:
    decision = decide(call, rule_set(tables), profile, can_ask=can_ask)

    assert decision.rule
    json.dumps(to_json(decision))


@given(text=command_lines)
@settings(max_examples=800, deadline=None)
def test_every_text_is_read(text: str) -> None:
    recognised = recognise(text)
    read(text)
    scan_text(text)
    if isinstance(recognised, Line):
        scan_line(recognised)
        assert recognise(recognised.canonical) == Line(
            recognised.commands,
            recognised.joins,
            cast(Line, recognise(recognised.canonical)).shells,
        )


@given(
    call=calls,
    profile=st.sampled_from(Profile),
    can_ask=st.booleans(),
    tables=st.lists(rule_tables, max_size=4),
    deny=rule_tables,
)
@settings(max_examples=400, deadline=None)
def test_adding_a_deny_never_loosens(
    call: Judged,
    profile: Profile,
    can_ask: bool,
    tables: list[dict[str, str]],
    deny: dict[str, str],
) -> None:
    before = strictness(call, rule_set(tables), profile, can_ask=can_ask)

    after = strictness(
        call, rule_set([*tables, {**deny, "decide": "deny"}]), profile, can_ask=can_ask
    )

    assert after >= before


@given(
    call=calls,
    profile=st.sampled_from(Profile),
    can_ask=st.booleans(),
    tables=st.lists(rule_tables, max_size=5),
    seed=st.randoms(),
)
@settings(max_examples=400, deadline=None)
def test_the_order_of_rules_does_not_matter(
    call: Judged, profile: Profile, can_ask: bool, tables: list[dict[str, str]], seed: object
) -> None:
    rules = rule_set(tables).rules
    shuffled = list(rules)
    seed.shuffle(shuffled)  # type: ignore[attr-defined]

    assert decide(call, RuleSet(rules), profile, can_ask=can_ask) == decide(
        call, RuleSet(tuple(shuffled)), profile, can_ask=can_ask
    )


@given(call=calls, can_ask=st.booleans(), tables=st.lists(rule_tables, max_size=3))
@settings(max_examples=300, deadline=None)
def test_a_stricter_profile_never_loosens(
    call: Judged, can_ask: bool, tables: list[dict[str, str]]
) -> None:
    rules = rule_set(tables)

    found = [strictness(call, rules, profile, can_ask=can_ask) for profile in Profile]

    assert found == sorted(found)


@given(call=calls, profile=st.sampled_from(Profile), tables=st.lists(rule_tables, max_size=3))
@settings(max_examples=200, deadline=None)
def test_having_nobody_to_ask_allows_nothing_more(
    call: Judged, profile: Profile, tables: list[dict[str, str]]
) -> None:
    rules = rule_set(tables)
    asked = decide(call, rules, profile, can_ask=True)
    alone = decide(call, rules, profile, can_ask=False)

    assert isinstance(asked, Allow) == isinstance(alone, Allow)


def test_what_was_remembered_is_what_would_be_found_anew() -> None:
    made = strings(seed=11)

    for text in [next(made) for _ in range(300)]:
        assert analyse_anew(text) == analyse_anew(text)


MUTATIONS = [*"'\"\\$()`{}<>|;&\n #!*~-=:", ""]


def test_no_broken_line_breaks_the_scan() -> None:
    chance = random.Random(12)
    lines = [each.command for each in CORPUS] + [line for line in AGENTS if len(line) < 500]

    for _ in range(4_000):
        text = chance.choice(lines)
        for _ in range(chance.randrange(1, 5)):
            at = chance.randrange(len(text) + 1)
            text = text[:at] + chance.choice(MUTATIONS) + text[at + chance.randrange(3) :]
        scan_text(text, shell=chance.choice(("", "fish")))
        scan_typed(text)

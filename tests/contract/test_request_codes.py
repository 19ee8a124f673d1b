"""Same class of request, same code: checked by generating requests."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from duetty.ops.contract.compat import ALIASES, Bridged, bridge
from duetty.ops.contract.failures import ACTIONS, MODES, TerminalFailure
from duetty.ops.contract.headless_rules import check_headless
from duetty.ops.contract.request import Request, checked

Json = dict[str, Any]

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
anything = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3)
    ),
    max_leaves=6,
)
commands = st.text(min_size=1, max_size=40).filter(
    lambda text: text.strip() != "" and "\0" not in text and text.isprintable()
)
words = st.sampled_from([*ACTIONS, *ALIASES])
modes = st.sampled_from(MODES)
parts = st.fixed_dictionaries(
    {},
    optional={
        "invocation": anything | st.fixed_dictionaries({"mode": modes | anything}),
        "execution": anything
        | st.fixed_dictionaries(
            {},
            optional={
                "command": commands | anything,
                "args": st.lists(st.text(max_size=5), max_size=3) | anything,
                "cwd": st.just("/tmp") | anything,
                "env": st.dictionaries(st.text(max_size=5), st.text(max_size=5)) | anything,
                "stdin": anything,
                "timeout": st.integers(-5, 10_000) | anything,
                "intent": st.sampled_from(["open_only", "execute_command"]) | anything,
            },
        ),
        "target": anything | st.fixed_dictionaries({"session": st.just("s") | anything}),
        "runtime": anything,
        "compat": anything,
    },
)


def told(request: Mapping[str, Any]) -> Request | str:
    """What the pure half of the contract makes of it: a request, or a code."""
    try:
        good = checked(bridge(request))
        check_headless(good)
    except TerminalFailure as failure:
        return failure.code
    return good


@settings(max_examples=300)
@given(request=st.dictionaries(st.text(max_size=10), anything, max_size=4) | parts, word=anything)
def test_no_request_is_anything_but_understood_or_told_with_a_code(
    request: Json, word: object
) -> None:
    for whole in (request, {**request, "action": word}, {**request, "action": "execute"}):
        first, again = told(whole), told(whole)

        assert first == again
        assert isinstance(first, Request) or first.startswith("PM_TERM_")


@settings(max_examples=150)
@given(
    request=parts, word=st.text(max_size=20).filter(lambda word: word not in {*ACTIONS, *ALIASES})
)
def test_an_unknown_action_is_an_unknown_action_whatever_else_is_wrong(
    request: Json, word: str
) -> None:
    assert told({**request, "action": word}) == "PM_TERM_INVALID_ACTION"


@settings(max_examples=150)
@given(request=parts, mode=st.text(max_size=20).filter(lambda mode: mode not in MODES), word=words)
def test_an_unknown_mode_is_an_unknown_mode_whatever_else_is_wrong(
    request: Json, mode: str, word: str
) -> None:
    whole = {**request, "action": word, "invocation": {"mode": mode}}

    assert told(whole) == "PM_TERM_INVALID_MODE"


@settings(max_examples=150)
@given(request=parts, action=anything.filter(lambda value: not isinstance(value, str)))
def test_an_action_that_is_no_text_is_a_wrong_payload(request: Json, action: object) -> None:
    assert told({**request, "action": action}) == "PM_TERM_INVALID_PAYLOAD"


@settings(max_examples=150)
@given(
    word=words,
    mode=modes,
    part=st.sampled_from(["runtime", "execution", "target", "compat", "invocation"]),
    value=anything.filter(lambda value: value is not None and not isinstance(value, dict)),
)
def test_a_part_that_is_no_object_is_a_wrong_payload(
    word: str, mode: str, part: str, value: object
) -> None:
    whole: Json = {"action": word, "invocation": {"mode": mode}, part: value}

    assert told(whole) == "PM_TERM_INVALID_PAYLOAD"


@settings(max_examples=150)
@given(
    word=words,
    mode=modes,
    name=st.text(min_size=1, max_size=10).filter(lambda name: name not in ("mode",)),
    part=st.sampled_from(["runtime", "execution", "target"]),
    value=scalars,
)
def test_an_unknown_field_of_a_part_is_a_wrong_payload_that_names_it(
    word: str, mode: str, name: str, part: str, value: object
) -> None:
    unknown = f"x_{name}"
    whole: Json = {"action": word, "invocation": {"mode": mode}, part: {unknown: value}}

    with pytest.raises(TerminalFailure) as refused:
        checked(bridge(whole))

    assert refused.value.code == "PM_TERM_INVALID_PAYLOAD"
    shown = unknown if unknown.isprintable() else ascii(unknown)[1:-1]
    assert f"{part}.{shown}" in refused.value.details["fields"]  # type: ignore[operator]


@settings(max_examples=300)
@given(request=parts, alias=st.sampled_from([name for name in ALIASES if name not in ACTIONS]))
def test_an_alias_is_told_what_its_canonical_action_is_told(request: Json, alias: str) -> None:
    meant = ALIASES[alias]
    canonical: Json = {**request, "action": meant.canonical}
    execution: object = request.get("execution")
    if meant.intent is not None and (execution is None or isinstance(execution, dict)):
        said: Json = execution or {}  # pyright: ignore[reportUnknownVariableType]  # JSON
        if said.get("intent") is None:
            canonical["execution"] = {**said, "intent": meant.intent}
        elif said["intent"] != meant.intent:
            return  # it contradicts itself, which the canonical action cannot

    assert told({**request, "action": alias}) == told(canonical)


@settings(max_examples=150)
@given(request=parts, word=words)
def test_no_failure_says_what_was_given(request: Json, word: str) -> None:
    secret = "correct horse battery staple"
    for part in ("stdin", "command", "cwd", "timeout"):
        whole = {**request, "action": word, "execution": {part: [secret]}}
        with pytest.raises(TerminalFailure) as refused:
            checked(bridge(whole))
        assert secret not in f"{refused.value.message} {refused.value.hint} {refused.value.details}"


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        ({}, "PM_TERM_INVALID_PAYLOAD"),
        ({"action": "execute"}, "PM_TERM_INVALID_PAYLOAD"),
        ({"action": "execute", "execution": {"command": "  "}}, "PM_TERM_INVALID_PAYLOAD"),
        ({"action": "execute", "execution": {"command": "a\0b"}}, "PM_TERM_INVALID_PAYLOAD"),
        ({"action": "execute", "execution": {"command": "\ud800"}}, "PM_TERM_INVALID_PAYLOAD"),
        (
            {"action": "execute", "execution": {"command": "a", "timeout": 0}},
            "PM_TERM_INVALID_PAYLOAD",
        ),
        (
            {"action": "execute", "execution": {"command": "a", "timeout": "9"}},
            "PM_TERM_INVALID_PAYLOAD",
        ),
        (
            {"action": "execute", "execution": {"command": "a", "timeout": 1, "timeout_ms": 1}},
            "PM_TERM_INVALID_PAYLOAD",
        ),
        (
            {"action": "execute", "execution": {"command": "a", "cwd": "here"}},
            "PM_TERM_INVALID_PAYLOAD",
        ),
        (
            {
                "action": "execute",
                "execution": {"command": "a", "cwd": "/"},
                "target": {"session": "s"},
            },
            "PM_TERM_INVALID_PAYLOAD",
        ),
        (
            {
                "action": "execute",
                "execution": {"command": "a"},
                "target": {"session": "s"},
                "invocation": {"mode": "headless"},
            },
            "PM_TERM_INVALID_PAYLOAD",
        ),
        (
            {
                "action": "execute",
                "execution": {"command": "a"},
                "target": {"session": "s", "terminal": "t"},
            },
            "PM_TERM_INVALID_PAYLOAD",
        ),
        ({"action": "read_output", "mode": "headless"}, "PM_TERM_INVALID_PAYLOAD"),
        ({"action": "terminate", "mode": "headless", "target": {}}, "PM_TERM_INVALID_PAYLOAD"),
        ({"action": "list", "target": {"session": "s"}}, "PM_TERM_INVALID_PAYLOAD"),
        ({"action": "list", "runtime": {"cols": 9}}, "PM_TERM_INVALID_PAYLOAD"),
        ({"action": "list", "execution": {"command": "ls"}}, "PM_TERM_INVALID_PAYLOAD"),
        (
            {
                "action": "execute",
                "execution": {"intent": "open_only"},
                "invocation": {"mode": "headless"},
            },
            "PM_TERM_INVALID_MODE",
        ),
    ],
)
def test_requests_that_do_not_fit_are_told_so(request_: Json, code: str) -> None:
    assert told(request_) == code


@pytest.mark.parametrize(
    "request_",
    [
        {"action": "list"},
        {"action": "list", "invocation": {"mode": None}, "runtime": {}, "target": {}},
        {"action": "execute", "execution": {"command": "ls", "args": [], "env": None}},
        {"action": "execute", "execution": {"command": "ls", "intent": "execute_command"}},
        {"action": "execute", "execution": {"intent": "open_only"}, "runtime": {"cols": 120}},
        {"action": "read_output", "target": {"terminal": "s"}, "execution": {"timeout": 5}},
        {"action": "terminate", "target": {"session": "s", "terminal": "s"}},
        {"action": "list", "compat": {"client": "old", "anything": [1, {"a": None}]}},
    ],
)
def test_requests_that_fit_are_understood(request_: Json) -> None:
    understood = told(request_)

    assert isinstance(understood, Request)
    assert understood.mode == "interactive"


def test_the_mode_is_interactive_unless_headless_is_said() -> None:
    bridged: Bridged = bridge({"action": "list"})

    assert checked(bridged).mode == "interactive"

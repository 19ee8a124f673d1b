"""Older words and call shapes, put into the canonical ones. One way, and only here.

Behind this module there are no aliases: what it returns says nothing of them but in
`Bridged`, which every answer repeats in its metadata.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from duetty.ops.contract.failures import ACTIONS, InvalidAction, InvalidPayload
from duetty.wire.contract import Action, AliasInfo, Intent


@dataclass(frozen=True, slots=True)
class Alias:
    """What an older action means."""

    canonical: Action
    note: str
    intent: Intent | None = None
    """What it says about the intent, if anything."""


ALIASES: Mapping[str, Alias] = {
    "run": Alias("execute", "command execution semantics preserved"),
    "send": Alias("execute", "interactive attach or send maps to execute"),
    "create": Alias("execute", "sets intent open_only", intent="open_only"),
    "kill": Alias("terminate", "session or terminal target preserved"),
    "close": Alias("terminate", "terminal close maps to terminate"),
    "list": Alias("list", "no semantic change"),
}
"""The contract's table, whole: `list` is a word of both."""

LIFTED: Mapping[str, tuple[str, str]] = {
    "command": ("execution", "command"),
    "args": ("execution", "args"),
    "cwd": ("execution", "cwd"),
    "workdir": ("execution", "cwd"),
    "env": ("execution", "env"),
    "stdin": ("execution", "stdin"),
    "timeout": ("execution", "timeout"),
    "timeout_ms": ("execution", "timeout"),
    "intent": ("execution", "intent"),
    "session": ("target", "session"),
    "session_id": ("target", "session"),
    "terminal": ("target", "terminal"),
    "terminal_id": ("target", "terminal"),
    "mode": ("invocation", "mode"),
}
"""Fields that stand beside `action` in a flat call, and where they belong."""

MAX_SHOWN_CHARS = 100
"""Of a word that was sent as an action, in answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bridged:
    """A request in canonical words, and how it came to be so."""

    action: Action
    parts: Mapping[str, Any]
    """Everything but the action."""

    alias: AliasInfo
    shape: Literal["canonical", "flat"]
    lifted: tuple[str, ...]
    problems: Mapping[str, str]
    """Fields of the older shape that repeat or contradict others; reported after the mode is judged."""


def is_whole(text: str) -> bool:
    """Whether there is no half of a character in it (a lone surrogate)."""
    return not any("\ud800" <= sign <= "\udfff" for sign in text)


def alias_info(requested: object) -> AliasInfo:
    """What becomes of the word that was sent as an action; total, for errors too."""
    if not isinstance(requested, str):
        return AliasInfo(requested=None, canonical=None, normalised=False, note=None)
    shown = requested[:MAX_SHOWN_CHARS].encode("utf-8", "replace").decode()
    if requested in ACTIONS:
        canonical = cast("Action", requested)
        return AliasInfo(requested=shown, canonical=canonical, normalised=False, note=None)
    found = ALIASES.get(requested)
    if found is None:
        return AliasInfo(requested=shown, canonical=None, normalised=False, note=None)
    return AliasInfo(requested=shown, canonical=found.canonical, normalised=True, note=found.note)


def bridge(given: Mapping[str, Any], *, takes_aliases: bool = True) -> Bridged:
    """Into canonical words; without `takes_aliases` the time of the older ones is over.

    Raises:
        InvalidAction: if the action is unknown.
        InvalidPayload: if it is missing or no text.
    """
    requested = given.get("action")
    if not isinstance(requested, str) or not is_whole(requested):
        problem = "is missing" if requested is None else "must be a text"
        if isinstance(requested, str):
            problem = "must be Unicode text"
        raise InvalidPayload(
            f"action {problem}", fields={"action": f"one of {', '.join(ACTIONS)}"}, allowed=ACTIONS
        )
    alias = alias_info(requested)
    if alias.canonical is None:
        raise InvalidAction(
            "this action is not known", fields={"action": "use a canonical action"}, allowed=ACTIONS
        )
    if alias.normalised and not takes_aliases:
        intent = ALIASES[requested].intent
        instead = f"{alias.canonical}{f' with execution.intent {intent}' if intent else ''}"
        raise InvalidAction(
            "this alias is not taken any more",
            hint=f"{requested} is now {instead}",
            fields={"action": f"use {instead}"},
            allowed=ACTIONS,
        )
    parts = {
        name: value
        for name, value in given.items()
        if name != "action" and not (value is None and name in LIFTED)
    }
    is_alias = takes_aliases and requested in ALIASES
    shape, lifted = _shape(parts, is_alias=is_alias), tuple[str, ...]()
    problems: dict[str, str] = {}
    if shape == "flat":
        parts, lifted = _lift(parts, problems)
    if alias.normalised:
        parts = _with_intent(parts, requested, problems)
    return Bridged(
        action=alias.canonical,
        parts=parts,
        alias=alias,
        shape=shape,
        lifted=lifted,
        problems=problems,
    )


def _with_intent(parts: dict[str, Any], alias: str, problems: dict[str, str]) -> dict[str, Any]:
    execution, intent = parts.get("execution", {}), ALIASES[alias].intent
    if intent is None or not isinstance(execution, dict):
        return parts  # of the wrong kind: the check of parts reports it
    fields = cast("dict[str, Any]", execution)
    if fields.get("intent") not in (None, intent):
        problems["execution.intent"] = f"{alias} means {intent}"
        return parts
    return {**parts, "execution": {**fields, "intent": intent}}


def _shape(parts: Mapping[str, Any], *, is_alias: bool) -> Literal["canonical", "flat"]:
    """A request by an alias may use its call shape; others name it in `compat`."""
    compat = parts.get("compat")
    shape = cast("dict[str, Any]", compat).get("shape") if isinstance(compat, dict) else None
    if shape == "canonical" or not any(name in LIFTED for name in parts):
        return "canonical"
    return "flat" if is_alias or shape == "flat" else "canonical"


def _lift(
    given: Mapping[str, Any], problems: dict[str, str]
) -> tuple[dict[str, Any], tuple[str, ...]]:
    parts = {name: value for name, value in given.items() if name not in LIFTED}
    lifted: list[str] = []
    for name in (each for each in LIFTED if each in given):
        part, field = LIFTED[name]
        inside = parts.get(part, {})
        if not isinstance(inside, dict):
            continue  # of the wrong kind: the check of parts reports it
        if field in inside:
            problems[name] = f"says again what {part}.{field} says; leave one of them out"
            continue
        parts[part] = {**cast("dict[str, Any]", inside), field: given[name]}
        lifted.append(f"{name} → {part}.{field}")
    return parts, tuple(lifted)

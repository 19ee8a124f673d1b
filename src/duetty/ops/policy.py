"""Operations on policy: the rules in force, and the decision on a line."""

import re
from pathlib import Path
from typing import Literal, cast

from duetty.calls import Actor, Effect
from duetty.errors import BadArguments, BadSetting
from duetty.ops.judgements import PLAIN
from duetty.ops.operation import Operation, Route
from duetty.ops.rulebook.in_force import SHIPPED_RULES
from duetty.ops.services import Services
from duetty.policy import (
    CLASSES,
    Allow,
    Analysis,
    Ask,
    Judged,
    Mode,
    Profile,
    RuleSet,
    analyse_whole,
    home_elsewhere,
    question_about,
    to_json,
    visible,
)
from duetty.policy.proving.recogniser import Line, Unproven
from duetty.policy.proving.specs import Refuted
from duetty.wire.approval_shapes import PolicyAnswer, PolicyCheckParams, PolicyInfo, PolicyRule
from duetty.wire.params import Nothing
from duetty.wire.rules import FoundInfo, PolicyWhy, PolicyWhyParams, RuleMatch
from duetty.workspaces import workspace_of

_TOOL = re.compile(r"mcp__([^_](?:[^_]|_(?!_))*)__(.+)")


async def _show(params: Nothing, services: Services, actor: Actor) -> PolicyInfo:
    deciding = services.deciding
    return PolicyInfo(
        profile=deciding.profile.value,
        digest=deciding.rules.digest,
        rules=[
            PolicyRule(name=rule.name, decide=rule.decide, why=rule.why, where=rule.where)
            for rule in deciding.rules.rules
        ],
    )


async def _check(params: PolicyCheckParams, services: Services, actor: Actor) -> PolicyAnswer:
    judged = Judged(
        operation="process.run" if params.mode == "headless" else "command.run",
        effect=Effect.INPUT,
        actor=Actor(kind="agent", name=actor.name),
        mode=Mode(params.mode),
        cwd=params.cwd,
        workspace=workspace_of(params.cwd, str(Path.home())),
        home=home_elsewhere(str(Path.home())),
        command_line=params.command,
    )
    decision = services.deciding.judging.decide(judged).decision
    word = to_json(decision)["decision"]
    return PolicyAnswer(
        decision=word,  # type: ignore[arg-type]  # one of the three words
        reason=decision.reason,
        rule=decision.rule,
        classes=list(decision.classes),
        detail=None if isinstance(decision, Allow) else decision.detail,
        suggestion=None if isinstance(decision, Allow) else decision.instead or None,
        can_ask=services.approvals.attendance.can_ask(),
    )


async def _why(params: PolicyWhyParams, services: Services, actor: Actor) -> PolicyWhy:
    deciding = services.deciding
    judged = _judged(params, actor)
    made = deciding.judging.decide(
        judged,
        profile=None if params.profile is None else Profile(params.profile),
        rules=None if params.text is None else _rules_of(params.text, services),
    )
    decision = made.decision
    analysis = (
        None
        if params.command is None
        else analyse_whole(params.command, params.cwd, workspace=judged.workspace, home=judged.home)
    )
    fields = to_json(decision)
    return PolicyWhy(
        decision=fields["decision"],  # type: ignore[arg-type]  # one of the three words
        reason=decision.reason,
        rule=decision.rule,
        profile=made.profile.value,
        classes=list(decision.classes),
        detail=None if isinstance(decision, Allow) else decision.detail,
        suggestion=None if isinstance(decision, Allow) else decision.instead or None,
        question=question_about(judged, decision) if isinstance(decision, Ask) else None,
        can_ask=services.approvals.attendance.can_ask(),
        shown=None if params.command is None else visible(params.command),
        runs_as=cast("str | None", fields.get("canonical")) if made.is_rebuilt else None,
        rules=[
            RuleMatch(
                name=rule.name,
                decide=rule.decide,
                where=rule.where,
                why=rule.why,
                is_meant=not rule.command or (analysis is not None and rule.matches_line(analysis)),
            )
            for rule in made.rules.rules
            if rule.applies(judged)
        ],
        **_reading_facts(analysis),  # type: ignore[arg-type]  # the fields that tell how the line was read
    )


def _judged(params: PolicyWhyParams, actor: Actor) -> Judged:
    if (params.command is None) == (params.tool is None):
        raise BadArguments("give `command` or `tool`", details={"fields": {"command": "or tool"}})
    tool = None
    if params.tool is not None:
        found = _TOOL.fullmatch(params.tool)
        if found is None:
            raise BadArguments("`tool` is mcp__SERVER__TOOL", details={"fields": {"tool": "form"}})
        tool = found[1], found[2]
    kind, _, name = params.actor.partition(":")
    if kind not in ("agent", "person", "node"):
        raise BadArguments(
            "`actor` is agent, person or node", details={"fields": {"actor": "kind"}}
        )
    word: Literal["agent", "person", "node"] = kind
    operation = "process.run" if params.mode == "headless" else "command.run"
    return Judged(
        operation="tool.call" if tool is not None else operation,
        effect=Effect.INPUT,
        actor=Actor(kind=word, name=name or actor.name),
        dialect=params.dialect,
        mode=Mode(params.mode),
        tags=frozenset(params.tags),
        cwd=params.cwd,
        workspace=workspace_of(params.cwd, str(Path.home())),
        home=home_elsewhere(str(Path.home())),
        command_line=params.command,
        tool=tool,
    )


def _rules_of(text: str, services: Services) -> RuleSet:
    judged = services.deciding.judging.book.judged(text)
    if judged.problems:
        first = judged.problems[0]
        raise BadSetting(
            f"line {first.line}, column {first.column}: {first.message}", hint=first.hint
        )
    return SHIPPED_RULES + judged.rules


def _reading_facts(analysis: Analysis | None) -> dict[str, object]:
    """How the line was read."""
    words, not_literal, not_proven = None, None, None
    if analysis is None:
        return {
            "words": None,
            "not_literal": None,
            "not_proven": None,
            "commands": [],
            "found": [],
            "unreadable": [],
        }
    match analysis.recognised:
        case Unproven(why=why, offset=offset):
            not_literal = f"{visible(why)}, at character {offset + 1}"
        case Line(commands=commands):
            words = [[visible(word) for word in each.words] for each in commands]
    if isinstance(analysis.proof, Refuted):
        not_proven = f"{visible(analysis.proof.command.words[0])}: {visible(analysis.proof.why)}"
    return {
        "words": words,
        "not_literal": not_literal,
        "not_proven": not_proven,
        "commands": [[visible(word) for word in each] for each in analysis.commands],
        "found": [
            FoundInfo(
                name=each.name,
                what=visible(each.what),
                reason=CLASSES[each.name].reason,
                instead=CLASSES[each.name].instead,
                grave=CLASSES[each.name].grave,
            )
            for each in analysis.scan.findings
        ],
        "unreadable": [visible(each) for each in analysis.scan.unreadable],
    }


SHOW = Operation(
    name="policy.show",
    summary="The profile and the rules in force.",
    effect=Effect.READ,
    judged=PLAIN,
    params=Nothing,
    result=PolicyInfo,
    run=_show,
    route=Route(method="GET", path="/policy"),
    shared=True,
)
CHECK = Operation(
    name="policy.check",
    summary="What would become of a command line of an agent; nothing runs.",
    effect=Effect.READ,
    judged=PLAIN,
    params=PolicyCheckParams,
    result=PolicyAnswer,
    run=_check,
    route=Route(method="POST", path="/policy/check"),
    shared=True,
)
WHY = Operation(
    name="policy.why",
    summary="The same in full: how the line is read, which rules apply, what would be asked.",
    effect=Effect.READ,
    judged=PLAIN,
    params=PolicyWhyParams,
    result=PolicyWhy,
    run=_why,
    route=Route(method="POST", path="/policy/why"),
    errors=(BadSetting,),
)

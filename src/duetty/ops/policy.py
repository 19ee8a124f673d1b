"""Operations on policy: what is in force, and what it would say."""

from duetty.calls import Actor, Effect
from duetty.ops.operation import Operation, Route
from duetty.ops.services import Services
from duetty.policy import Allow, Judged, Mode, to_json
from duetty.wire.approvals import PolicyAnswer, PolicyCheckParams, PolicyInfo, PolicyRule
from duetty.wire.params import Nothing


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
        command_line=params.command,
    )
    decision = services.deciding.decide(judged).decision
    word = to_json(decision)["decision"]
    return PolicyAnswer(
        decision=word,  # type: ignore[arg-type]  # one of the three words
        reason=decision.reason,
        rule=decision.rule,
        classes=list(decision.classes),
        detail=None if isinstance(decision, Allow) else decision.detail,
        suggestion=None if isinstance(decision, Allow) else decision.instead or None,
        can_ask=services.approvals.can_ask(),
    )


SHOW = Operation(
    name="policy.show",
    summary="The profile and the rules in force.",
    effect=Effect.READ,
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
    params=PolicyCheckParams,
    result=PolicyAnswer,
    run=_check,
    route=Route(method="POST", path="/policy/check"),
    shared=True,
)

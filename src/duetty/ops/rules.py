"""Operations on rules: which there are, what a new text would do, and putting it in force."""

from collections.abc import Mapping
from difflib import unified_diff
from functools import partial

import anyio

from duetty.audit import Filters, records
from duetty.calls import Actor, Effect, Scope
from duetty.errors import BadSetting, NotAPerson, RulesChanged, StateUnwritable
from duetty.ops.judgements import PLAIN
from duetty.ops.operation import Operation, Route
from duetty.ops.rulebook.in_force import SHIPPED_RULES, shipped_examples
from duetty.ops.rulebook.rules_text import Examples, Judgement, text_hash
from duetty.ops.services import Services
from duetty.policy import CATALOGUE, Judged, Rule, RuleSet, decide
from duetty.store import StandingRecord
from duetty.wire.params import Nothing
from duetty.wire.rules import (
    ClassInfo,
    Decide,
    LineChange,
    ProjectProblem,
    RuleChange,
    RuleInfo,
    RuleList,
    RulesChecked,
    RulesCheckParams,
    RulesParams,
    RulesProblem,
    RulesSaved,
    RulesSaveParams,
    RulesText,
    Source,
)

TRIED_RECORDS = 500
"""Of the trail, to tell which lines a new text would decide otherwise."""

MAX_LINES_SHOWN = 50

CONDITIONS = ("operation", "actor", "dialect", "tag", "mode", "cwd", "command", "tool")


async def _list(params: RulesParams, services: Services, actor: Actor) -> RuleList:
    deciding, book = services.deciding, services.deciding.judging.book
    in_force = {rule.name for rule in deciding.rules.rules}
    shipped = shipped_examples()
    rules = [
        rule_info(each, "shipped", shipped.get(each.name), in_force=each.name in in_force)
        for each in SHIPPED_RULES.rules
    ]
    written = await anyio.to_thread.run_sync(book.written)
    rules += [
        rule_info(each, "config", book.examples.get(each.name), changeable=written.problem is None)
        for each in book.person.rules
    ]
    problems: list[ProjectProblem] = []
    projects = deciding.judging.projects
    for place in _places(params, services):
        for file in await anyio.to_thread.run_sync(projects.files, place):
            try:
                found = await anyio.to_thread.run_sync(projects.read, file)
            except BadSetting as error:
                problems.append(ProjectProblem(file=str(file), message=error.message))
                continue
            rules += [
                rule_info(each, "project", found.examples.get(each.name))
                for each in found.rules.rules
            ]
    rules += [_standing_info(each) for each in services.approvals.standing.in_force()]
    return RuleList(
        profile=deciding.profile.value,
        digest=deciding.rules.digest,
        file=str(book.file),
        hash=book.hash,
        is_current=written.problem is None and written.hash == book.hash,
        rules=list({(each.source, each.where, each.name): each for each in rules}.values()),
        classes=[
            ClassInfo(name=each.name, reason=each.reason, instead=each.instead, grave=each.grave)
            for each in CATALOGUE
        ],
        problems=list({each.file: each for each in problems}.values()),
    )


def _places(params: RulesParams, services: Services) -> list[str]:
    if params.cwd is not None:
        return [params.cwd]
    return list(dict.fromkeys(each.cwd for each in services.registry.sessions()))


async def _text(params: Nothing, services: Services, actor: Actor) -> RulesText:
    book = services.deciding.judging.book
    written = await anyio.to_thread.run_sync(book.written)
    return RulesText(
        file=str(book.file),
        text=written.text,
        hash=written.hash,
        exists=written.exists,
        changeable=written.problem is None,
        problem=written.problem,
    )


async def _check(params: RulesCheckParams, services: Services, actor: Actor) -> RulesChecked:
    book = services.deciding.judging.book
    judged = await anyio.to_thread.run_sync(book.judged, params.text)
    written = await anyio.to_thread.run_sync(book.written)
    lines = None
    if Scope.ADMIN in actor.scopes:  # as for the trail itself
        tried = partial(_decided_otherwise, services, judged)
        lines = [] if judged.problems else await anyio.to_thread.run_sync(tried)
    return RulesChecked(
        good=not judged.problems,
        problems=[
            RulesProblem(
                line=each.line,
                column=each.column,
                message=each.message,
                hint=each.hint,
                rule=each.rule,
            )
            for each in judged.problems
        ],
        rules=[
            rule_info(each, "config", judged.examples.get(each.name), changeable=True)
            for each in judged.rules.rules
        ],
        hash=text_hash(params.text),
        base=written.hash,
        changes=[] if judged.problems else _changes(services, judged),
        diff="".join(
            unified_diff(
                written.text.splitlines(keepends=True),
                params.text.splitlines(keepends=True),
                "in the file",
                "new",
            )
        ),
        lines=lines,
    )


async def _save(params: RulesSaveParams, services: Services, actor: Actor) -> RulesSaved:
    if actor.kind != "person":
        raise NotAPerson(
            "an agent's credential cannot change what agents may do",
            hint="change the rules on the page, or in the settings file",
        )
    deciding, book = services.deciding, services.deciding.judging.book
    before = deciding.rules.digest
    changes = _changes(services, book.judged(params.text))
    await book.save(params.text, base=params.base)
    deciding.judging.use(book.rules)
    services.trail.record(
        "rules",
        event="saved",
        by=actor.name,
        file=str(book.file),
        before=before,
        after=deciding.rules.digest,
        changes=[f"{each.change} {each.name}" for each in changes],
        hash=book.hash,
    )
    return RulesSaved(hash=book.hash, digest=deciding.rules.digest, changes=changes)


def rule_info(
    rule: Rule,
    source: Source,
    examples: Examples | None,
    *,
    in_force: bool = True,
    changeable: bool = False,
) -> RuleInfo:
    examples = examples or Examples()
    given: Mapping[str, tuple[str, ...]] = {key: getattr(rule, key) for key in CONDITIONS}
    return RuleInfo(
        name=rule.name,
        decide=rule.decide,
        source=source,
        where=rule.where,
        why=rule.why,
        conditions={key: list(values) for key, values in given.items() if values},
        even_destructive=list(rule.even_destructive),
        matches=list(examples.matches),
        not_matches=list(examples.not_matches),
        in_force=in_force,
        change_with="rules.save" if changeable else None,
        standing=None,
        session=None,
    )


def _standing_info(record: StandingRecord) -> RuleInfo:
    return RuleInfo(
        name=record.rule,
        decide="allow",
        source="standing",
        where=f"standing approval {record.id}",
        why=f"approved by {record.created_by}",
        conditions={
            "operation": [record.operation] if record.operation else [],
            "actor": [f"{record.actor_kind}:{record.actor_name}"],
            "cwd": [place] if (place := record.cwd or record.project) else [],
            "command": [record.command_line] if record.command_line else [],
        },
        even_destructive=list(record.classes),
        matches=[],
        not_matches=[],
        in_force=True,
        change_with="approval.revoke",
        standing=record.id,
        session=record.session if record.session_id is not None else None,
    )


def _changes(services: Services, judged: Judgement) -> list[RuleChange]:
    book = services.deciding.judging.book
    old = {
        each.name: rule_info(each, "config", book.examples.get(each.name), changeable=True)
        for each in book.person.rules
    }
    new = {
        each.name: rule_info(each, "config", judged.examples.get(each.name), changeable=True)
        for each in judged.rules.rules
    }
    found: list[RuleChange] = []
    for name in [*old, *(each for each in new if each not in old)]:
        before, after = old.get(name), new.get(name)
        if before is None:
            found.append(RuleChange(name=name, change="added", before=None, after=after))
        elif after is None:
            found.append(RuleChange(name=name, change="removed", before=before, after=None))
        elif before.model_copy(update={"where": ""}) != after.model_copy(update={"where": ""}):
            found.append(RuleChange(name=name, change="changed", before=before, after=after))
    return found


def _decided_otherwise(services: Services, judged: Judgement) -> list[LineChange]:
    deciding = services.deciding
    new = deciding.judging.as_in_force(SHIPPED_RULES + judged.rules)
    found: dict[tuple[str, str], LineChange] = {}
    kept = records(services.trail.directory, Filters(kind="call"), limit=TRIED_RECORDS)
    for record in kept:
        was = record.fields.get("judged")
        if not isinstance(was, dict) or "chars" in was:
            continue
        call = Judged.from_json(was)  # pyright: ignore[reportUnknownArgumentType] - our own record
        if call.command_line is None or (call.command_line, call.cwd) in found:
            continue
        before, _ = _word(call, deciding.rules, services)
        after, rule = _word(call, new, services)
        if before != after:
            found[call.command_line, call.cwd] = LineChange(
                command_line=call.command_line, cwd=call.cwd, before=before, after=after, rule=rule
            )
    return list(found.values())[:MAX_LINES_SHOWN]


def _word(call: Judged, rules: RuleSet, services: Services) -> tuple[Decide, str]:
    decision = decide(call, rules, services.deciding.profile, can_ask=True)
    words: dict[str, Decide] = {"Allow": "allow", "Ask": "ask", "Deny": "deny"}
    return words[type(decision).__name__], decision.rule


LIST = Operation(
    name="rules.list",
    summary="Every rule and where it comes from: shipped, config.toml, projects, standing approvals.",
    effect=Effect.READ,
    judged=PLAIN,
    params=RulesParams,
    result=RuleList,
    run=_list,
    route=Route(method="GET", path="/policy/rules"),
)
TEXT = Operation(
    name="rules.text",
    summary="The person's rules as text, to be changed.",
    effect=Effect.READ,
    judged=PLAIN,
    params=Nothing,
    result=RulesText,
    run=_text,
    route=Route(method="GET", path="/policy/rules/text"),
)
CHECK = Operation(
    name="rules.check",
    summary="Judge a new text of rules: what is wrong with it, and what it would change.",
    effect=Effect.READ,
    judged=PLAIN,
    params=RulesCheckParams,
    result=RulesChecked,
    run=_check,
    route=Route(method="POST", path="/policy/rules/check"),
)
SAVE = Operation(
    name="rules.save",
    summary="Put a new text of rules in the settings file and in force, at once. A person's.",
    effect=Effect.CONTROL,
    judged=PLAIN,
    params=RulesSaveParams,
    result=RulesSaved,
    run=_save,
    route=Route(method="PUT", path="/policy/rules/text"),
    admin=True,
    errors=(RulesChanged, BadSetting, NotAPerson, StateUnwritable),
)

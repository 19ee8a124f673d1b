"""The way of a call between validation and effect: decided, asked about if need be, recorded.

Every dispatch goes through `Deciding.passing`; a line that a shell is about to run
because an agent typed it comes through `judge_line`. Nothing else leads to a session.
"""

import secrets
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from posixpath import join, normpath
from typing import Any, Literal, assert_never

from duetty.approvals import Approvals, Granted, HostAsk, Question
from duetty.audit import MAX_TEXT, Trail
from duetty.calls import Actor, Call, Effect
from duetty.clock import Clock
from duetty.config import Settings
from duetty.errors import DuettyError, PolicyDenied, SessionNotFound
from duetty.ops.recording import (
    COMMAND_LINES,
    RAW_INPUT,
    Doing,
    is_secret_input,
    recorded_arguments,
)
from duetty.ops.rules import ProjectRules, stricter
from duetty.ops.rules_book import Rulebook
from duetty.ops.surroundings import fed_text, running_variables
from duetty.policy import (
    CLASSES,
    Allow,
    Ask,
    Decision,
    Deny,
    Judged,
    Mode,
    Profile,
    RuleSet,
    analyse,
    decide,
    fish_commands,
    to_json,
    visible,
)
from duetty.session import Question as LineQuestion
from duetty.session import Registry, Session
from duetty.store import ApprovalRecord
from duetty.wire.base import Params

REMEMBERED = 4_096
"""Decisions kept: the same line in the same place is decided the same."""

REMEMBERED_CHARS = 4_096
"""Of a line; longer ones are decided anew."""

MAX_ASKED_CHARS = 16_384
"""Nobody can answer for a line that nobody can read."""

MAX_DETAIL = 1_000

MAX_TOLD_CHARS = 4_000
"""Of a line that a shell tells when it asks; of longer ones it says only that there is one."""

RECORDED = frozenset({Effect.INPUT, Effect.CONTROL})
TYPING = "input.type"
"""A person's own keys, one call each; the history has the lines they make."""


_STRICTNESS: dict[type[Decision], int] = {Allow: 0, Ask: 1, Deny: 2}


@dataclass(slots=True)
class Passage:
    """A call that may run."""

    params: Any
    """As they were given, or with the command line that a person put in place."""

    exit_code: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Made:
    judged: Judged
    rules: RuleSet
    digest: str
    """Of the rules; the same rules again make the same decision again."""

    profile: Profile
    decision: Decision
    can_ask: bool
    besides: str = ""
    """Digest of what a question is also about: variables, text for a shell."""


class Deciding:
    def __init__(
        self,
        *,
        settings: Settings,
        clock: Clock,
        registry: Registry,
        approvals: Approvals,
        trail: Trail,
        book: Rulebook,
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._registry = registry
        self._approvals = approvals
        self._trail = trail
        self._profile = Profile(settings.policy_profile)
        self.book = book
        self._rules = self.as_in_force(book.rules)
        self._digest = self._rules.digest
        self.projects = ProjectRules(clock)
        self._remembered: dict[tuple[Judged, str, Profile], Decision] = {}
        approvals.judge = self._judge_edited
        if self._profile is not Profile.OPEN:
            registry.judge = self.judge_line

    @property
    def profile(self) -> Profile:
        return self._profile

    @property
    def rules(self) -> RuleSet:
        return self._rules

    def use(self, rules: RuleSet) -> None:
        """From the next decision on; what waits for an answer is judged again when it has one."""
        self._rules = self.as_in_force(rules)
        self._digest = self._rules.digest

    def as_in_force(self, rules: RuleSet) -> RuleSet:
        """What the profile leaves of them."""
        return rules if self._profile is not Profile.OPEN else _without_shipped(rules)

    # --- a call -------------------------------------------------------------------

    @asynccontextmanager
    async def passing(
        self, call: Call, operation: Doing, params: Any, host: HostAsk | None
    ) -> AsyncGenerator[Passage]:
        """Decide, ask, record; inside runs the operation.

        Raises:
            PolicyDenied, ApprovalRejected, ApprovalExpired, AuditUnavailable: nothing ran.
        """
        recorded = self._is_recorded(operation)
        session = self._session(params)
        raw = operation.name in RAW_INPUT
        secret = (
            session is not None
            and (raw or operation.name == "command.run")
            and is_secret_input(session, raw=raw)
        )
        made = self._decided(call, operation, params, session, host, secret=secret)
        if not recorded and isinstance(made.decision, Allow):
            yield Passage(params)
            return
        # Recorded calls, and whatever is refused.
        call_id = secrets.token_hex(6)
        if operation.effect in RECORDED:
            self._trail.check()
        self._record_call(call_id, call, operation, params, session, made, secret=secret)
        began_s = self._clock.monotonic_s()
        outcome = "cancelled"
        passage = Passage(params)
        approval: str | None = None
        try:
            granted = await self._permission(call, operation, params, session, made, host, call_id)
            if granted is not None:
                approval = granted.approval
                passage.params = _with_line(operation, params, granted.command_line)
            elif isinstance(made.decision, Allow):
                passage.params = _canonical(operation, params, made)
            yield passage
            outcome = "done"
        except DuettyError as error:
            outcome = error.code
            raise
        except Exception:
            outcome = "internal_error"
            raise
        finally:
            ended: dict[str, object] = {
                "call": call_id,
                "operation": operation.name,
                "session": None if session is None else session.name,
                "outcome": outcome,
                "duration_ms": round((self._clock.monotonic_s() - began_s) * 1000, 3),
            }
            if passage.exit_code is not None:
                ended["exit_code"] = passage.exit_code
            if approval is not None:
                ended["approval"] = approval
            self._trail.record("outcome", **ended)

    def refused(self, call: Call, operation: Doing, error: DuettyError) -> None:
        """Record a call that got no further than its credential or its arguments."""
        if self._is_recorded(operation):
            self._trail.record(
                "call", call=secrets.token_hex(6), **_caller(call), outcome=error.code
            )

    def _is_recorded(self, operation: Doing) -> bool:
        if self._settings.audit_reads:
            return True
        return operation.effect in RECORDED and operation.name != TYPING

    def _record_call(
        self,
        call_id: str,
        call: Call,
        operation: Doing,
        params: Params,
        session: Session | None,
        made: _Made,
        *,
        secret: bool,
    ) -> None:
        arguments = recorded_arguments(operation, params, secret=secret)
        if made.judged.command_line is not None:
            arguments.pop(COMMAND_LINES[operation.name], None)  # it stands in `judged`
        fields: dict[str, object] = {
            "call": call_id,
            **_caller(call),
            "session": None if session is None else session.name,
            "session_id": None if session is None else session.profile.id,
            "sandbox": None if session is None else session.profile.sandbox,
            "arguments": arguments,
            "decision": _told(made),
        }
        if made.judged.command_line is not None:
            fields["judged"] = _judged(made)
        self._trail.record("call", **fields)

    def _session(self, params: Any) -> Session | None:
        name = getattr(params, "session", None)
        if not isinstance(name, str):
            return None
        try:
            return self._registry.find(name)
        except SessionNotFound:
            return None  # the operation says so itself

    def _decided(
        self,
        call: Call,
        operation: Doing,
        params: Any,
        session: Session | None,
        host: HostAsk | None,
        *,
        secret: bool,
    ) -> _Made:
        line = _command_line(operation, params)
        judged = Judged(
            operation=operation.name,
            effect=operation.effect,
            actor=Actor(kind=call.actor.kind, name=call.actor.name),
            dialect=call.dialect,
            mode=Mode(call.mode),
            tags=frozenset(session.profile.tags) if session is not None else frozenset(),
            cwd=_cwd(params, session, self._registry.home),
            command_line=line,
            is_raw_input=operation.name in RAW_INPUT and (session is None or session.gate is None),
        )
        made = self.decide(judged, host)
        if call.actor.kind != "person":
            made = self._with_surroundings(made, params, host)
        if session is not None and self._is_part(made, operation, session):
            made = self._unproven(made, "it goes on with a line that was begun before", host)
        if session is not None and self._leaves_to_shell(made, operation, session):
            assert line is not None
            if session.gate is not None:
                session.gate.leave(line, actor=call.actor)
            by_shell = Allow(rule="left to the shell", reason="by_profile")
            return replace(made, decision=by_shell, can_ask=True)
        if isinstance(made.decision, Ask) and len(line or "") > MAX_ASKED_CHARS:
            too_long = replace(made.decision, detail="it is too long for a person to read")
            return replace(made, decision=_as_deny(too_long))
        if secret and line is not None:
            return _withheld(made)
        if (
            isinstance(made.decision, Allow)
            and made.profile is Profile.STRICT
            and operation.name == "command.run"
            and made.decision.canonical is not None
            and session is not None
            and session.profile.shell not in made.decision.canonical.shells
            and call.actor.kind != "person"
        ):
            why = "what was proven of this line is not proven of this shell"
            return self._unproven(made, why)
        return made

    def _is_part(self, made: _Made, operation: Doing, session: Session) -> bool:
        """The shell asks for the rest of a line: this is no line of its own."""
        return (
            operation.name == "command.run"
            and session.is_continuing
            and isinstance(made.decision, Allow)
            and made.profile is not Profile.OPEN
            and made.judged.actor.kind != "person"
        )

    def _leaves_to_shell(self, made: _Made, operation: Doing, session: Session) -> bool:
        """A line that nobody can read is decided on when it is known who reads it.

        An unfinished one by the shell's own question, when it is complete; a
        program that has the terminal (an interpreter, an editor) is no shell.
        """
        if operation.name != "command.run" or made.profile is not Profile.GUARDED:
            return False
        decision = made.decision
        if not _is_unread(made) or decision.classes:
            return False
        can_be_told = len(made.judged.command_line or "") <= MAX_TOLD_CHARS
        return session.is_busy or (session.gate is not None and can_be_told)

    def _with_surroundings(self, made: _Made, params: Any, host: HostAsk | None) -> _Made:
        """As strict as the line, what is fed to a shell, and the variables that come with it."""
        line = made.judged.command_line
        if line is not None and (fed := fed_text(params, line)) is not None:
            inner = self.decide(replace(made.judged, command_line=fed.rstrip("\n")), host)
            if _STRICTNESS[type(inner.decision)] > _STRICTNESS[type(made.decision)]:
                assert not isinstance(inner.decision, Allow)
                told = f"it is fed to a shell: {inner.decision.detail}"
                made = replace(
                    made,
                    decision=replace(inner.decision, detail=told),
                    can_ask=inner.can_ask,
                    besides=sha256(fed.encode("utf-8", "surrogatepass")).hexdigest(),
                )
        strict = made.profile is Profile.STRICT or made.judged.mode is Mode.HEADLESS
        code = running_variables(params, strict=strict)
        if not code or not isinstance(made.decision, Allow):
            return made
        shown = ", ".join(f"{name}={visible(value[:100])}" for name, value in sorted(code.items()))
        why = f"variables can make programs run other code: {shown[:MAX_DETAIL]}"
        besides = sha256(repr(sorted(code.items())).encode("utf-8", "surrogatepass")).hexdigest()
        return replace(self._unproven(made, why, host), besides=besides)

    def decide(self, judged: Judged, host: HostAsk | None = None) -> _Made:
        """With the rules of the project that the call is made in."""
        return self.would(judged, host)

    def would(
        self,
        judged: Judged,
        host: HostAsk | None = None,
        *,
        profile: Profile | None = None,
        rules: RuleSet | None = None,
    ) -> _Made:
        """The decision under the profile and rules in force, or as if under others."""
        own = self._rules if rules is None else self.as_in_force(rules)
        project = self.projects.of(judged.cwd) if judged.actor.kind != "person" else RuleSet()
        used = own + project if project.rules or project.profile else own
        profile = stricter(profile or self._profile, project.profile)
        digest = self._digest if used is self._rules else used.digest
        decision = self._remember(judged, used, digest, profile)
        if isinstance(decision, Ask) and judged.actor.kind == "person":
            # Whoever would be asked is the one who calls.
            decision = Allow(rule="person", reason="by_profile", classes=decision.classes)
        can_ask = not isinstance(decision, Ask) or self._approvals.can_ask(host)
        return _Made(
            judged=judged,
            rules=used,
            digest=digest,
            profile=profile,
            decision=decision,
            can_ask=can_ask,
        )

    def _remember(self, judged: Judged, rules: RuleSet, digest: str, profile: Profile) -> Decision:
        key = judged, digest, profile
        found = self._remembered.get(key)
        if found is None:
            found = decide(judged, rules, profile, can_ask=True)
            if len(judged.command_line or "") > REMEMBERED_CHARS:
                return found
            if len(self._remembered) >= REMEMBERED:
                self._remembered.clear()
            self._remembered[key] = found
        return found

    def _unproven(self, made: _Made, why: str, host: HostAsk | None = None) -> _Made:
        decision = Ask(
            rule=f"profile:{made.profile}",
            reason="not_provable",
            detail=why,
            question=f"May {made.judged.actor.kind} {made.judged.actor.name} run this?",
        )
        return _Made(
            judged=made.judged,
            rules=made.rules,
            digest=made.digest,
            profile=made.profile,
            decision=decision,
            can_ask=self._approvals.can_ask(host),
        )

    async def _permission(
        self,
        call: Call,
        operation: Doing,
        params: Any,
        session: Session | None,
        made: _Made,
        host: HostAsk | None,
        call_id: str,
    ) -> Granted | None:
        """None where nobody had to be asked."""
        match made.decision:
            case Allow():
                return None
            case Deny():
                raise denied(made.decision, made.judged)
            case Ask():
                return await self._ask(made, session, host, call_id)
            case _:
                assert_never(made.decision)

    async def _ask(
        self, made: _Made, session: Session | None, host: HostAsk | None, call_id: str
    ) -> Granted:
        assert isinstance(made.decision, Ask)
        question = _question(made, session)
        if (covered := self._approvals.covered(question)) is not None:
            self._trail.record("approval", event="covered", approval=covered.approval, call=call_id)
            return covered
        if not made.can_ask and not self._approvals.remembers(question):
            without = decide(made.judged, made.rules, made.profile, can_ask=False)
            refusal = without if isinstance(without, Deny) else _as_deny(made.decision)
            raise denied(refusal, made.judged, nobody=True)
        granted = await self._approvals.obtain(question, call=call_id, host=host)
        # It may have waited for minutes: rules that came meanwhile count.
        now = self.decide(made.judged, host).decision
        if isinstance(now, Deny):
            raise denied(now, made.judged)
        return granted

    # --- lines that agents type ---------------------------------------------------

    async def judge_line(self, session_name: str, question: LineQuestion) -> str | None:
        """What a shell asks before it runs a line that an agent had a part in."""
        session = self._registry.find(session_name)
        call_id = secrets.token_hex(6)
        made = self._strictest(session, question)
        self._trail.check()
        self._trail.record(
            "call",
            call=call_id,
            actor={"kind": question.actor.kind, "name": question.actor.name},
            operation="input.line",
            session=session.name,
            session_id=session.profile.id,
            sandbox=session.profile.sandbox,
            decision=_told(made),
            judged=_judged(made),
        )
        outcome = "refused"
        try:
            match made.decision:
                case Allow():
                    pass
                case Deny():
                    raise denied(made.decision, made.judged)
                case Ask():
                    granted = await self._ask(made, session, None, call_id)
                    if granted.command_line is not None:
                        raise PolicyDenied(
                            f"run this instead: {granted.command_line}",
                            hint="a person changed the line",
                        )
                case _:
                    assert_never(made.decision)
            outcome = "done"
        except DuettyError as error:
            outcome = error.code
            raise
        finally:
            self._trail.record(
                "outcome",
                call=call_id,
                operation="input.line",
                session=session.name,
                outcome=outcome,
            )
        return None

    def _strictest(self, session: Session, question: LineQuestion) -> _Made:
        """Of the line as typed and as its aliases make it; a line that cannot be told asks."""
        lines = [line for line in (question.line, question.expanded) if line is not None]
        made = [self.decide(self._line(session, question.actor, line)) for line in lines]
        if made and session.profile.shell == "fish" and _is_unread(made[0]):
            commands = fish_commands(lines[0])
            if commands:
                made = [self.decide(self._line(session, question.actor, each)) for each in commands]
        if not made:
            unread = self.decide(self._line(session, question.actor, None))
            return self._unproven(unread, "the shell could not tell what it is about to run")
        return max(made, key=lambda each: _STRICTNESS[type(each.decision)])

    def _line(self, session: Session, actor: Actor, line: str | None) -> Judged:
        return Judged(
            operation="input.line",
            effect=Effect.INPUT,
            actor=Actor(kind=actor.kind, name=actor.name),
            tags=frozenset(session.profile.tags),
            cwd=session.cwd,
            command_line=line,
        )

    # --- a line that a person changed ---------------------------------------------

    def _judge_edited(self, record: ApprovalRecord, line: str) -> str | None:
        kind: Literal["person", "agent", "node"] = (
            "agent" if record.actor_kind not in ("person", "node") else record.actor_kind
        )
        judged = Judged(
            operation=record.operation,
            effect=Effect.INPUT,
            actor=Actor(kind=kind, name=record.actor_name),
            cwd=record.cwd or "",
            command_line=line,
        )
        decision = self.decide(judged).decision
        return decision.detail if isinstance(decision, Deny) else None


def _is_unread(made: _Made) -> bool:
    decision = made.decision
    return isinstance(decision, Ask) and decision.reason == "not_provable"


def denied(decision: Deny, judged: Judged, *, nobody: bool = False) -> PolicyDenied:
    where = " and nobody can be asked" if nobody else ""
    return PolicyDenied(
        f"not run: {decision.detail}{where}",
        hint=decision.instead
        or ("open the page or attach a terminal, then try again" if nobody else None),
        details={
            "reason": decision.reason,
            "rule": decision.rule,
            "classes": list(decision.classes),
            "operation": judged.operation,
            "nobody_to_ask": nobody,
        },
    )


def _as_deny(ask: Ask) -> Deny:
    return Deny(
        rule=ask.rule,
        reason=ask.reason,
        detail=ask.detail,
        classes=ask.classes,
        instead=ask.instead,
    )


def _question(made: _Made, session: Session | None) -> Question:
    ask, judged = made.decision, made.judged
    assert isinstance(ask, Ask)
    grave = any(CLASSES[each].grave for each in ask.classes if each in CLASSES)
    line = judged.command_line
    return Question(
        operation=judged.operation,
        actor=judged.actor,
        session=None if session is None else session.name,
        session_id=None if session is None else session.profile.id,
        command_line=line,
        cwd=judged.cwd or None,
        reason=ask.detail,
        rule=ask.rule,
        classes=ask.classes,
        suggestion=ask.instead or None,
        policy=f"{made.digest}{made.besides}",
        can_stand=line is not None
        and not grave
        and not made.besides
        and analyse(line, judged.cwd).doubt is None,
    )


def _command_line(operation: Doing, params: Any) -> str | None:
    name = COMMAND_LINES.get(operation.name)
    line = None if name is None else getattr(params, name, None)
    return line.rstrip("\r\n") if isinstance(line, str) else None


def _withheld(made: _Made) -> _Made:
    """Typed at a password prompt: judged like any line, and nowhere kept or shown as one."""
    decision = made.decision
    if not isinstance(decision, Allow):
        decision = Deny(
            rule=decision.rule,
            reason=decision.reason,
            detail="what is typed at a password prompt here would be a command elsewhere",
            instead="write it as input, or answer the prompt by hand",
        )
    return replace(made, judged=replace(made.judged, command_line=None), decision=decision)


def _with_line(operation: Doing, params: Any, line: str | None) -> Any:
    name = COMMAND_LINES.get(operation.name)
    if line is None or name is None:
        return params
    return params.model_copy(update={name: line})


def _canonical(operation: Doing, params: Any, made: _Made) -> Any:
    """Headless: what was judged is what runs, by a plain shell, word for word."""
    decision = made.decision
    assert isinstance(decision, Allow)
    if (
        decision.canonical is None
        or made.judged.mode is not Mode.HEADLESS
        or not operation.name.startswith("process.")
    ):
        return params
    return params.model_copy(update={"command": decision.canonical.text, "shell": "/bin/bash"})


def _cwd(params: Any, session: Session | None, home: str) -> str:
    """Where it will run, however that was said: rules go by directories."""
    if session is not None:
        return session.cwd
    if not hasattr(params, "cwd"):
        return ""
    cwd: str = params.cwd or "~"
    return normpath(join(home, cwd[2:] if cwd == "~" or cwd.startswith("~/") else cwd))


def _told(made: _Made) -> dict[str, object]:
    """The decision as the trail keeps it, with what it takes to make it again."""
    told = to_json(made.decision)
    told.pop("question", None)  # made of the rest
    if isinstance(detail := told.get("detail"), str):
        told["detail"] = detail[:MAX_DETAIL]
    if made.judged.mode is not Mode.HEADLESS:
        told.pop("canonical", None)
        told.pop("argv", None)
    return told | {"profile": made.profile.value, "policy": made.digest, "can_ask": made.can_ask}


def _judged(made: _Made) -> dict[str, object]:
    """What policy saw. A line that is too long to be kept is too long to be read there too."""
    kept = made.judged.to_json()
    line = made.judged.command_line
    if line is not None and len(line) > MAX_TEXT:
        digest = sha256(line.encode("utf-8", "surrogatepass")).hexdigest()
        kept |= {"command_line": line[:MAX_TEXT], "chars": len(line), "sha256": digest}
    return kept


def _caller(call: Call) -> dict[str, object]:
    return {
        "actor": {"kind": call.actor.kind, "name": call.actor.name, "token": call.actor.token},
        "operation": call.operation,
        "dialect": call.dialect,
    }


def _without_shipped(rules: RuleSet) -> RuleSet:
    """The open profile asks nobody that the person did not tell it to ask."""
    return RuleSet(
        tuple(
            rule
            for rule in rules.rules
            if rule.where != "shipped" and not rule.where.startswith("shipped,")
        ),
        rules.profile,
    )

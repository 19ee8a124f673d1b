"""The way of a call between validation and effect: decided, asked about if need be, recorded.

Every dispatch goes through `Deciding.through`. Nothing else leads to a session.
"""

import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TypeVar, assert_never

import anyio

from duetty.approvals import Approvals, Edited, Granted, HostAsk
from duetty.audit import Trail
from duetty.blocks import Phase
from duetty.calls import Actor, Call, Effect
from duetty.clock import Clock
from duetty.config import Settings
from duetty.errors import DuettyError, PolicyDenied, SessionBusy, SessionExited, SessionNotFound
from duetty.ops.guardrail.decision_record import (
    Decided,
    as_deny,
    denied,
    edited_of,
    question_of,
)
from duetty.ops.guardrail.judge import Judging, Typing
from duetty.ops.guardrail.question_context import SessionQuestions
from duetty.ops.guardrail.recorded_arguments import is_secret_input
from duetty.ops.guardrail.trail_fields import (
    CallFacts,
    OutcomeFacts,
    call_fields,
    outcome_fields,
    refused_fields,
)
from duetty.ops.judgements import CallsTool, RunsLine, Types
from duetty.ops.resolved_call import AnyCall, JudgedOperation
from duetty.policy import Allow, Ask, Deny, Profile, RuleSet, decide
from duetty.session import Registry, Session, ends_line, wait_rest

T = TypeVar("T")

PROMPT_S = 10.0
"""How long a shell may take to read its files, or to draw a prompt; an agent that types earlier waits."""

LOOK_S = 0.02

TURN_S = 10.0
"""How long a typed line waits for a run that has the session's prompt."""

_DRAWING = (Phase.SILENT, Phase.DONE, Phase.PROMPT)

RECORDED = frozenset({Effect.INPUT, Effect.CONTROL})
TYPING = "input.type"
"""A person's own keys, one call each; the history has the lines they make."""


@dataclass(slots=True)
class Passage:
    """A call that may run."""

    call: AnyCall
    """With its arguments as they were given, or with the command line that a person put in place."""

    granted: Granted | None = None
    """A person's yes, where one was asked."""

    exit_code: int | None = None
    decided_by: str = ""
    """The step that let it pass: a trust level, a rule, a profile, or a person."""


Again = Callable[[str], Decided]
"""The decision on the same call with another command line."""


class Deciding:
    """Has calls judged, asks about them and records them."""

    def __init__(
        self,
        *,
        settings: Settings,
        clock: Clock,
        registry: Registry,
        approvals: Approvals,
        trail: Trail,
        judging: Judging,
        questions: SessionQuestions,
    ) -> None:
        self.judging = judging
        self._settings = settings
        self._clock = clock
        self._registry = registry
        self._approvals = approvals
        self._trail = trail
        self._questions = questions

    @property
    def profile(self) -> Profile:
        return self.judging.profile

    @property
    def rules(self) -> RuleSet:
        return self.judging.rules

    # --- a call -------------------------------------------------------------------

    async def through(
        self,
        call: AnyCall,
        host: HostAsk | None,
        check: Callable[[], Awaitable[None]],
        run: Callable[[Passage], Awaitable[T]],
    ) -> T:
        """Decide, ask, record; `run` runs the operation.

        Raises:
            PolicyDenied, ApprovalRejected, ApprovalExpired, ApprovalUnanswered, AuditUnavailable:
                nothing ran.
            SessionBusy: a run has the prompt, or the line changed meanwhile; nothing was typed.
            SessionNotFound: the session went while the call waited.
            DuettyError: what `check` found wrong, before a person would have been asked.
        """
        typing, secret = await self._typing(call)
        decided = self.judging.of_call(call, typing=typing, secret=secret)
        passage = Passage(call)
        if not self._is_recorded(call.operation) and isinstance(decided.decision, Allow):
            return await self._in_turn(passage, typing, run)
        # Recorded calls, and whatever is refused.
        can_ask = self._can_ask(decided, call.session, host)
        call_id = secrets.token_hex(6)
        if call.operation.effect in RECORDED:
            self._trail.check()
        facts = CallFacts(id=call_id, call=call, decided=decided, secret=secret, can_ask=can_ask)
        self._trail.record("call", **call_fields(facts))
        began_s = self._clock.monotonic_s()
        outcome = "cancelled"
        try:
            match decided.decision:
                case Allow(rule=rule):
                    passage.call, passage.decided_by = _canonical(call, decided), rule
                case Deny():
                    raise denied(decided.decision, decided.judged)
                case Ask():
                    await self._check(call, decided, check)
                    decided = replace(decided, purpose=getattr(call.params, "why", None))
                    await self._ask_about(passage, decided, host, call_id, can_ask=can_ask)
                    passage.decided_by = "person"
                case _:
                    assert_never(decided.decision)
            result = await self._in_turn(passage, typing, run)
            outcome = "done"
            return result
        except DuettyError as error:
            outcome = error.code
            raise
        except Exception:
            outcome = "internal_error"
            raise
        finally:
            ended = OutcomeFacts(
                id=call_id,
                call=passage.call,
                outcome=outcome,
                duration_ms=round((self._clock.monotonic_s() - began_s) * 1000, 3),
                exit_code=passage.exit_code,
                granted=passage.granted,
            )
            self._trail.record("outcome", **outcome_fields(ended))

    async def _typing(self, call: AnyCall) -> tuple[Typing | None, bool]:
        """What a call types, and whether that is not shown."""
        session = call.session
        if session is None:
            return None, False
        match call.operation.judged:
            case Types():
                if call.actor.kind != "person" and self.profile is not Profile.OPEN:
                    await session.look()  # whether a program reads what is typed
                    await _next_prompt(session, call.actor)
                typing = self.judging.typing(call, session)
                return typing, is_secret_input(session, raw=True)
            case RunsLine():
                return None, is_secret_input(session, raw=False)
            case _:
                return None, False

    async def _in_turn(
        self, passage: Passage, typing: Typing | None, run: Callable[[Passage], Awaitable[T]]
    ) -> T:
        """An agent's line at a prompt is typed as a run's is: in its turn, and as it was judged.

        Raises:
            SessionBusy: if a run keeps the prompt, or another actor typed meanwhile.
            SessionNotFound: if the session has gone since the call was resolved.
        """
        call = passage.call
        session = call.session
        if (
            session is None
            or typing is None
            or not (typing.at_prompt and typing.ends_line)
            or call.actor.kind == "person"
            or self.profile is Profile.OPEN
        ):
            self._check_session(call)
            return await run(passage)
        with anyio.move_on_after(TURN_S) as bound:
            await session.run_lock.acquire()
        if bound.cancelled_caught:
            raise SessionBusy(
                f"a run has the prompt of {session.name!r}",
                hint="wait for it, or interrupt it, then call again",
                details={"state": session.state().word},
            )
        try:
            await _next_prompt(session, call.actor)
            so_far = session.prompt.line_so_far(call.actor) if session.prompt.is_open else ""
            if typing.so_far is not None and so_far != typing.so_far:
                raise SessionBusy(
                    f"the prompt of {session.name!r} has changed while the line was decided on",
                    hint="look at the screen; clear the line with the key Ctrl-C, then call again",
                    details={"state": session.state().word},
                )
            self._check_session(call)
            return await run(passage)
        finally:
            session.run_lock.release()

    def _check_session(self, call: AnyCall) -> None:
        """Raises:
        SessionNotFound: if the session has gone since the call was resolved.
        """
        if call.session is not None and not self._registry.holds(call.session):
            raise SessionNotFound(call.session.name)

    async def _check(
        self, call: AnyCall, decided: Decided, check: Callable[[], Awaitable[None]]
    ) -> None:
        """Fails a call before the question that its arguments would fail after."""
        how = call.operation.judged
        if (
            isinstance(how, CallsTool)
            and call.operation.effect is Effect.CONTROL
            and not how.is_asked_by_upstream
        ):
            assert decided.judged.tool is not None
            self.judging.tools.check(*decided.judged.tool)
        if call.session_name is not None:
            session = call.found_session()
            if session.is_exited and not isinstance(how, CallsTool):
                raise SessionExited(session.name, session.exit_code)
        await check()

    async def _ask_about(
        self,
        passage: Passage,
        decided: Decided,
        host: HostAsk | None,
        call_id: str,
        *,
        can_ask: bool,
    ) -> None:
        call = passage.call
        again = self._again(call, decided)
        granted = await self._ask(decided, call, host, call_id, again, can_ask=can_ask)
        passage.granted = granted
        passage.call = self._approved(call, granted)
        if granted.command_line is not None:
            passage.call = _canonical(passage.call, again(granted.command_line))

    def _again(self, call: AnyCall, decided: Decided) -> Again:
        def again(line: str) -> Decided:
            how = call.operation.judged
            if not isinstance(how, RunsLine):  # typed: nothing runs in its place
                return self.judging.decide(replace(decided.judged, command_line=line))
            changed = call.params.model_copy(update={how.line: line})
            return self.judging.of_call(call.with_params(changed))

        return again

    def keys_rest_on(self, actor: Actor, session: Session) -> tuple[object, ...] | None:
        """What the decision on keys that this actor types depends on, and all that it depends on.

        While it stays the same, so does the decision. None: each key is a call of its own,
        because it is recorded, or (an agent's) judged by the line that it is part of; see `lets_keys`.
        """
        if actor.kind != "person" or self._settings.audit_reads:
            return None
        return self.judging.digest, session.cwd, frozenset(session.profile.tags)

    def lets_keys(self, actor: Actor, session: Session, data: bytes) -> bool:
        """Whether an agent's keys need no call of their own: they end no line, and are allowed."""
        if self._settings.audit_reads or ends_line(data):
            return False
        return isinstance(self.judging.of_keys(actor, session), Allow)

    # --- recording --------------------------------------------------------------------

    def refused(self, call: Call, operation: JudgedOperation, error: DuettyError) -> None:
        """Record a call that got no further than its credential, its arguments or its own gate."""
        if self._is_recorded(operation):
            self._trail.record("call", **refused_fields(secrets.token_hex(6), call, error))

    def _is_recorded(self, operation: JudgedOperation) -> bool:
        if self._settings.audit_reads:
            return True
        return operation.effect in RECORDED and operation.name != TYPING

    # --- asking ---------------------------------------------------------------------

    def _can_ask(self, decided: Decided, session: Session | None, host: HostAsk | None) -> bool:
        if not isinstance(decided.decision, Ask):
            return True
        name, id_ = (None, None) if session is None else (session.name, session.profile.id)
        return self._approvals.attendance.can_ask(host, session=name, session_id=id_)

    async def _ask(
        self,
        decided: Decided,
        call: AnyCall,
        host: HostAsk | None,
        call_id: str,
        again: Again,
        *,
        can_ask: bool,
    ) -> Granted:
        assert isinstance(decided.decision, Ask)
        session = call.session
        asked = question_of(decided, session)

        def judge(line: str) -> Edited:
            return edited_of(again(line), asked, session)

        question = replace(asked, judge=judge)
        if (covered := self._approvals.covered(question)) is not None:
            self._trail.record("approval", event="covered", approval=covered.approval, call=call_id)
            return covered
        if (
            not can_ask
            and not self._approvals.remembers(question)
            and not await self._approvals.attendance.comes_back(session=question.session)
        ):
            without = decide(decided.judged, decided.rules, decided.profile, can_ask=False)
            refusal = without if isinstance(without, Deny) else as_deny(decided.decision)
            writable = self._settings.sandbox_workspaces
            raise denied(refusal, decided.judged, unattended=True, writable=writable)
        granted = await self._approvals.obtain(
            question, call=call_id, host=host, patience_s=call.call.patience_s
        )
        # It may have waited for minutes: rules that came meanwhile count.
        now = (
            self.judging.decide(decided.judged)
            if granted.command_line is None
            else again(granted.command_line)
        )
        if isinstance(now.decision, Deny):
            raise denied(now.decision, now.judged)
        return granted

    def _approved(self, call: AnyCall, granted: Granted) -> AnyCall:
        """The call as it was approved: for the session that was meant, whatever its name is now.

        Raises:
            SessionNotFound: if that one is gone; another may have its name.
            PolicyDenied: if a person changed a line that is typed, not run.
        """
        changed: dict[str, object] = {}
        how, session = call.operation.judged, call.session
        if granted.command_line is not None:
            if not isinstance(how, RunsLine):
                raise PolicyDenied(
                    f"run this instead: {granted.command_line}", hint="a person changed the line"
                )
            changed[how.line] = granted.command_line
        if session is not None:
            name = self._questions.name_of(session.profile.id)
            if name is None:
                raise SessionNotFound(session.name)
            if name != call.session_name:
                changed["session"] = name
        return call.with_params(call.params.model_copy(update=changed)) if changed else call


async def _next_prompt(session: Session, actor: Actor) -> None:
    """A shell that is starting, or has just ended a line, is given the time to draw its prompt, and
    one at which others typed the time to show that.
    """
    if session.profile.shell is None:
        return
    with anyio.move_on_after(PROMPT_S):
        while True:
            while session.prompt.phase in _DRAWING and not session.is_exited:
                await session.pulse.wait()
            if session.prompt.phase is Phase.ENTERED and not session.prompt.line.is_settled:
                await session.pulse.nap(LOOK_S)  # it says at once what it makes of its line
                continue
            is_known = (
                not session.prompt.line.is_touched or session.prompt.typed.by(actor) is not None
            )
            if is_known or not session.prompt.is_open or await wait_rest(session):
                return


def _canonical(call: AnyCall, decided: Decided) -> AnyCall:
    """What was judged is what runs, word for word, where that is rebuilt."""
    decision = decided.decision
    if not isinstance(decision, Allow) or decision.canonical is None or not decided.is_rebuilt:
        return call
    canonical, by_name = decision.canonical, decision.reason == "proven"
    return call.with_params(call.params.as_proven(canonical.text, canonical.argv, by_name=by_name))


__all__ = ["Deciding", "Passage", "denied"]

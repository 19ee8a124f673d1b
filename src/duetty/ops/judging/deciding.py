"""The way of a call between validation and effect: decided, asked about if need be, recorded.

Every dispatch goes through `Deciding.passing`; a line that a shell is about to run
because an agent typed it comes through `judge_line`. Nothing else leads to a session.
"""

import json
import os
import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from typing import Any, assert_never

import anyio

from duetty.approvals import Approvals, Edited, Granted, HostAsk
from duetty.audit import Trail
from duetty.blocks import Phase
from duetty.calls import Actor, Call, Effect
from duetty.clock import Clock
from duetty.config import Settings
from duetty.errors import DuettyError, PolicyDenied, SessionExited, SessionNotFound
from duetty.events import Degraded
from duetty.ops.judging.judge import TYPED_LINE, Judging
from duetty.ops.judging.made import Made, as_deny, denied, edited_of, question_of, seen, told
from duetty.ops.judging.own_things import OwnThings
from duetty.ops.judging.recording import (
    COMMAND_LINES,
    RAW_INPUT,
    Doing,
    is_secret_input,
    recorded_arguments,
)
from duetty.ops.judging.typed_lines import ends_line, is_at_gate
from duetty.ops.rulebook.book import Rulebook
from duetty.policy import Allow, Ask, Deny, Judged, Profile, decide
from duetty.session import SOMEBODY, Registry, Session
from duetty.session import Question as LineQuestion
from duetty.store import ApprovalRecord
from duetty.wire.base import Params

NEXT_PROMPT_S = 10.0
"""How long a shell may take to read its files, or to draw a prompt; an agent that types earlier waits."""

DRAWN_S = 0.5
"""How long a prompt is drawn at most."""

RECORDED = frozenset({Effect.INPUT, Effect.CONTROL})
TYPING = "input.type"
"""A person's own keys, one call each; the history has the lines they make."""


@dataclass(slots=True)
class Passage:
    """A call that may run."""

    params: Any
    """As they were given, or with the command line that a person put in place."""

    granted: Granted | None = None
    """A person's yes, where one was asked."""

    exit_code: int | None = None


Again = Callable[[str], Made]
"""The decision on the same call with another command line."""


class Deciding(Judging):
    """Judges, asks and records."""

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
        super().__init__(
            profile=Profile(settings.policy_profile), book=book, clock=clock, home=registry.home
        )
        self._settings = settings
        self.own_shell = settings.process_shell
        self.own_things = OwnThings(registry.hidden, registry.home)
        self.own_pids = lambda: (os.getpid(), registry.keeper_pid or os.getpid())
        self._clock = clock
        self._registry = registry
        self._approvals = approvals
        self._trail = trail
        self._told_of_lines: dict[str, list[Callable[[DuettyError], None]]] = {}
        approvals.judge = self._judge_edited
        approvals.name_of = self._name_of
        approvals.has_ended = self._has_ended
        registry.on_ended = lambda session: approvals.withdraw(session.profile.id)
        if self.profile is not Profile.OPEN:
            registry.judge = self.judge_line

    # --- a call -------------------------------------------------------------------

    @asynccontextmanager
    async def passing(
        self,
        call: Call,
        operation: Doing,
        params: Any,
        host: HostAsk | None,
        check: Callable[[], Awaitable[None]],
    ) -> AsyncGenerator[Passage]:
        """Decide, ask, record; inside runs the operation.

        Raises:
            PolicyDenied, ApprovalRejected, ApprovalExpired, ApprovalUnanswered, AuditUnavailable:
                nothing ran.
            DuettyError: what `check` found wrong, before a person would have been asked.
        """
        recorded = self._is_recorded(operation)
        session = self._session(params)
        raw = operation.name in RAW_INPUT
        if raw and session is not None and call.actor.kind != "person" and not _is_asking(session):
            await self._next_prompt(session)
            await session.look()  # whether a program reads what is typed, or the shell will
        secret = (
            session is not None
            and (raw or operation.name == "command.run")
            and is_secret_input(session, raw=raw)
        )
        made = self.of_call(call, operation, params, session, secret=secret)
        if raw and session is not None and isinstance(made.decision, Allow):
            self.typed(call.actor, session, operation.name, params)
        if not recorded and isinstance(made.decision, Allow):
            yield Passage(params)
            return
        # Recorded calls, and whatever is refused.
        can_ask = self._can_ask(made, session, host)
        call_id = secrets.token_hex(6)
        if operation.effect in RECORDED:
            self._trail.check()
        self._record_call(
            call_id, call, operation, params, session, made, secret=secret, can_ask=can_ask
        )
        began_s = self._clock.monotonic_s()
        outcome = "cancelled"
        passage = Passage(params)
        approval: str | None = None
        edited: str | None = None
        try:
            match made.decision:
                case Allow():
                    passage.params = _canonical(params, made)
                case Deny():
                    raise denied(made.decision, made.judged)
                case Ask():
                    if operation.name == "upstreams.call" and made.judged.tool is not None:
                        self.check_tool(*made.judged.tool)
                    if session is None and isinstance(name := _session_name(params), str):
                        raise SessionNotFound(name)
                    await check()
                    made = replace(made, said=getattr(params, "why", None))
                    again = self._again(call, operation, params, session, made, secret=secret)
                    granted = await self._ask(
                        made,
                        session,
                        host,
                        call_id,
                        again,
                        can_ask=can_ask,
                        patience_s=call.patience_s,
                    )
                    approval, edited = granted.approval, granted.command_line
                    if raw and session is not None:
                        self.typed(call.actor, session, operation.name, params)
                    passage.granted = granted
                    passage.params = self._approved(operation, params, session, granted)
                    if edited is not None:
                        passage.params = _canonical(passage.params, again(edited))
                case _:
                    assert_never(made.decision)
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
                "actor": {"kind": call.actor.kind, "name": call.actor.name},
                "operation": operation.name,
                "session": None if session is None else session.name,
                "outcome": outcome,
                "duration_ms": round((self._clock.monotonic_s() - began_s) * 1000, 3),
            }
            if passage.exit_code is not None:
                ended["exit_code"] = passage.exit_code
            if approval is not None:
                ended["approval"] = approval
            if edited is not None:
                ended["edited"] = edited
            self._trail.record("outcome", **ended)

    def _again(
        self,
        call: Call,
        operation: Doing,
        params: Any,
        session: Session | None,
        made: Made,
        *,
        secret: bool,
    ) -> Again:
        def again(line: str) -> Made:
            if operation.name not in COMMAND_LINES:  # typed: nothing runs in its place
                return self.decide(replace(made.judged, command_line=line))
            changed = params.model_copy(update={COMMAND_LINES[operation.name]: line})
            return self.of_call(call, operation, changed, session, secret=secret, leaves=False)

        return again

    async def _next_prompt(self, session: Session) -> None:
        """A shell that has just been started, or ended a line, has not said yet that it asks; wait until it does."""
        gate = session.gate
        if gate is None or self.profile is Profile.OPEN:
            return
        with anyio.move_on_after(NEXT_PROMPT_S):
            while not gate.has_begun or session.phase is Phase.DONE:
                if session.exited_at_ns is not None:
                    return
                await session.pulse.wait()
            # While it is drawn, the terminal itself still edits the line, and takes keys for its own.
            with anyio.move_on_after(DRAWN_S):
                while session.phase is Phase.PROMPT:
                    await session.pulse.wait()
            return
        session.log.append(Degraded(part="gate", reason="the shell has drawn no prompt that asks"))

    def keys_rest_on(self, actor: Actor, session: Session) -> tuple[object, ...] | None:
        """What the decision on keys that this actor types depends on, and all that it depends on.

        While it stays the same, so does the decision. None: each key is a call of its own,
        because it is recorded, or (an agent's) judged by the line that it is part of; see `lets_keys`.
        """
        if actor.kind != "person" or self._settings.audit_reads:
            return None
        return self._digest, session.cwd, frozenset(session.profile.tags), session.gate is None

    def lets_keys(self, actor: Actor, session: Session, data: bytes) -> bool:
        """Whether an agent's keys need no call of their own: they end no line, and are allowed."""
        text = data.decode("utf-8", "replace")
        if self._settings.audit_reads or ends_line(text):
            return False
        return isinstance(self.of_keys(actor, session, text).decision, Allow)

    def refused(self, call: Call, operation: Doing, error: DuettyError) -> None:
        """Record a call that got no further than its credential, its arguments or its own gate."""
        if self._is_recorded(operation):
            why = {name: error.details[name] for name in _REFUSAL if name in error.details}
            self._trail.record(
                "call", call=secrets.token_hex(6), **_caller(call), outcome=error.code, **why
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
        made: Made,
        *,
        secret: bool,
        can_ask: bool,
    ) -> None:
        arguments = recorded_arguments(operation, params, secret=secret)
        if made.judged.command_line is not None:
            arguments.pop(COMMAND_LINES.get(operation.name, ""), None)  # it stands in `judged`
        fields: dict[str, object] = {
            "call": call_id,
            **_caller(call),
            "session": None if session is None else session.name,
            "session_id": None if session is None else session.profile.id,
            "sandbox": None if session is None else session.profile.sandbox,
            "arguments": arguments,
            "decision": told(made, can_ask=can_ask),
        }
        if made.judged.command_line is not None or made.judged.tool is not None:
            fields["judged"] = seen(made)
        self._trail.record("call", **fields)

    def _session(self, params: Any) -> Session | None:
        name = _session_name(params)
        if not isinstance(name, str):
            return None
        try:
            return self._registry.find(name)
        except SessionNotFound:
            return None  # the operation says so itself

    def _name_of(self, session_id: str) -> str | None:
        try:
            session = self._registry.find(session_id)
        except SessionNotFound:
            return None
        return session.name if session.profile.id == session_id else None

    def _has_ended(self, session_id: str) -> bool:
        try:
            return self._registry.find(session_id).is_exited
        except SessionNotFound:
            return True

    # --- asking ---------------------------------------------------------------------

    def _can_ask(self, made: Made, session: Session | None, host: HostAsk | None) -> bool:
        if not isinstance(made.decision, Ask):
            return True
        name, id_ = (None, None) if session is None else (session.name, session.profile.id)
        return self._approvals.attendance.can_ask(host, session=name, session_id=id_)

    async def _ask(
        self,
        made: Made,
        session: Session | None,
        host: HostAsk | None,
        call_id: str,
        again: Again,
        *,
        can_ask: bool,
        patience_s: float | None = None,
    ) -> Granted:
        assert isinstance(made.decision, Ask)
        if session is not None and session.is_exited and _is_typed(made.judged):
            raise SessionExited(session.name, session.exit_code)
        asked = question_of(made, session)

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
            without = decide(made.judged, made.rules, made.profile, can_ask=False)
            refusal = without if isinstance(without, Deny) else as_deny(made.decision)
            raise denied(refusal, made.judged, nobody=True)
        granted = await self._approvals.obtain(
            question, call=call_id, host=host, patience_s=patience_s
        )
        # It may have waited for minutes: rules that came meanwhile count.
        now = (
            self.decide(made.judged)
            if granted.command_line is None
            else again(granted.command_line)
        )
        if isinstance(now.decision, Deny):
            raise denied(now.decision, now.judged)
        return granted

    def _approved(
        self, operation: Doing, params: Any, session: Session | None, granted: Granted
    ) -> Any:
        """The arguments as they were approved: for the session that was meant, whatever its name is now.

        Raises:
            SessionNotFound: if that one is gone; another may have its name.
            PolicyDenied: if a person changed a line that is typed, not run.
        """
        changed: dict[str, object] = {}
        if granted.command_line is not None:
            if operation.name not in COMMAND_LINES:
                raise _instead(granted.command_line)
            changed[COMMAND_LINES[operation.name]] = granted.command_line
        if session is not None:
            name = self._name_of(session.profile.id)
            if name is None:
                raise SessionNotFound(session.name)
            if name != params.session:
                changed["session"] = name
        return params.model_copy(update=changed) if changed else params

    # --- lines that agents type ---------------------------------------------------

    async def judge_line(self, session_name: str, question: LineQuestion) -> str | None:
        """What a shell asks before it runs a line that an agent had a part in."""
        session = self._registry.find(session_name)
        call_id = secrets.token_hex(6)
        if question.actor == SOMEBODY:
            # Asked of the server before us, who knew.
            asker = self._approvals.asker_left(session.profile.id, TYPED_LINE)
            question = replace(question, actor=asker or SOMEBODY)
        made = self.of_line(session, question)
        can_ask = self._can_ask(made, session, None)
        actor = {"kind": question.actor.kind, "name": question.actor.name}
        self._trail.check()
        self._trail.record(
            "call",
            call=call_id,
            actor=actor,
            operation=TYPED_LINE,
            session=session.name,
            session_id=session.profile.id,
            sandbox=session.profile.sandbox,
            decision=told(made, can_ask=can_ask),
            judged=seen(made),
        )
        outcome = "cancelled"
        try:
            match made.decision:
                case Allow():
                    pass
                case Deny():
                    raise denied(made.decision, made.judged)
                case Ask():

                    def again(line: str) -> Made:
                        return self.of_line(session, replace(question, line=line, expanded=None))

                    granted = await self._ask(made, session, None, call_id, again, can_ask=can_ask)
                    if granted.command_line is not None:
                        raise _instead(granted.command_line)
                case _:
                    assert_never(made.decision)
            outcome = "done"
        except DuettyError as error:
            outcome = error.code
            for hear in self._told_of_lines.get(session.profile.id, ()):
                hear(error)
            raise
        finally:
            self._trail.record(
                "outcome",
                call=call_id,
                actor=actor,
                operation=TYPED_LINE,
                session=session.name,
                outcome=outcome,
            )
        return None

    @contextmanager
    def refusals(self, session: Session, told: Callable[[DuettyError], None]) -> Generator[None]:
        """While inside, `told` hears why a line that the session's shell asked about does not run."""
        listening = self._told_of_lines.setdefault(session.profile.id, [])
        listening.append(told)
        try:
            yield
        finally:
            listening.remove(told)
            if not listening:
                self._told_of_lines.pop(session.profile.id, None)

    def asked_line(self, session: Session) -> str | None:
        """The question that the session's shell waits with, if it waits for a person."""
        return next(
            (
                each.id
                for each in self._approvals.pending()
                if each.session_id == session.profile.id and each.operation == TYPED_LINE
            ),
            None,
        )

    # --- a line that a person changed ---------------------------------------------

    def _judge_edited(self, record: ApprovalRecord, line: str) -> Edited:
        """Of a question whose call ended with an earlier server: by what is kept of it."""
        if record.context is None:
            return Edited(denied="what it was asked for is not known any more")
        judged = Judged.from_json(json.loads(record.context))
        return edited_of(self.decide(replace(judged, command_line=line)), record, None)


def _is_asking(session: Session) -> bool:
    """It waits at a prompt, at which it has said whether it asks."""
    return is_at_gate(session) and session.phase not in (Phase.DONE, Phase.PROMPT)


def _session_name(params: Any) -> object:
    return getattr(params, "session", None)


def _is_typed(judged: Judged) -> bool:
    return judged.operation in ("command.run", TYPED_LINE) or judged.operation in RAW_INPUT


def _instead(line: str) -> PolicyDenied:
    """What was typed cannot be taken back and typed anew."""
    return PolicyDenied(f"run this instead: {line}", hint="a person changed the line")


def _canonical(params: Any, made: Made) -> Any:
    """What was judged is what runs, word for word, where that is rebuilt."""
    decision = made.decision
    if not isinstance(decision, Allow) or decision.canonical is None or not made.is_rebuilt:
        return params
    canonical = decision.canonical
    return params.as_proven(canonical.text, canonical.argv, by_name=decision.reason == "proven")


_REFUSAL = ("trace_id", "rule", "reason")
"""What joins a record with the error that the caller got."""


def _caller(call: Call) -> dict[str, object]:
    return {
        "actor": {"kind": call.actor.kind, "name": call.actor.name, "token": call.actor.token},
        "operation": call.operation,
        "dialect": call.dialect,
        **({"client": call.actor.client} if call.actor.client is not None else {}),
    }


__all__ = ["Deciding", "Passage", "denied"]

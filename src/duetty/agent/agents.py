"""All conversations, and the work on them: ask the model, do what it calls, until it has answered.

A step is on disk before it is taken. A call that had begun when a server ended is never made
again: the model gets *outcome unknown*.
"""

import logging
import secrets
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import anyio
import anyio.abc
import anyio.to_thread

from duetty.agent.conversation import Conversation
from duetty.agent.hands import Hands, ToolCall, ToolOutcome, shortened, step_text
from duetty.agent.history import is_heard, lightened, open_calls
from duetty.agent.limits import Limits, raised, reached
from duetty.agent.model import Answered, CheckedModel, Model
from duetty.agent.models import key_in, model_problem, open_model, without_key
from duetty.clock import Clock
from duetty.config import Settings
from duetty.errors import (
    AgentInterrupted,
    AgentLimit,
    ContextTooLong,
    ConversationNotFound,
    ConversationRunning,
    DuettyError,
    Exhausted,
    ModelUnavailable,
    StoreUnavailable,
)
from duetty.store import ConversationEntry, ConversationRecord, Store

RETRY_S = (0.5, 2.0, 8.0)
"""Pauses before the model is asked again; then the work has failed, and can be resumed."""

MAX_RETRY_S = 120.0
"""The longest pause that a model's server can ask for."""

ID_PREFIX = "agent-"

MAX_ENTRIES = 20_000
MAX_WORKING = 16
"""Conversations at work at once."""

KEPT_AT_HAND = 50
"""Idle conversations that are kept whole in memory; of the others, what a list tells."""

STOP_S = 5.0
TITLE_CHARS = 80

SUMMARISE = (
    "[Duetty] This conversation is too long to go on with whole. Write a summary by which you can go on:"
    " what the person wants, what was done and found (paths, commands, results that matter),"
    " what is left to do. Do not call tools."
)

UNKNOWN = (
    "Unknown: the server ended while this call was in progress. It was not made again."
    " Look at the terminal to see what became of it before you repeat anything."
)
EMPTY = "the model ended with an empty answer"
NOT_BEGUN = "Not done: the server ended, or the work was stopped, before this call began."

log = logging.getLogger("duetty.agent")


class Agents:
    def __init__(
        self,
        *,
        store: Store,
        clock: Clock,
        limits: Limits,
        context_tokens: int,
        key: str,
        open_model: Callable[[], CheckedModel],
        problem: Callable[[], DuettyError | None],
        tasks: anyio.abc.TaskGroup,
    ) -> None:
        self._store = store
        self._clock = clock
        self._limits = limits
        self._context_tokens = context_tokens
        self._key = key
        self._open_model = open_model
        self._problem = problem
        self._tasks = tasks
        self._model: CheckedModel | None = None
        self._live: dict[str, Conversation] = {}
        self._records: dict[str, ConversationRecord] | None = None
        self.hands: Hands | None = None
        self._borrowed: dict[str, Model] = {}

    def without_key(self, variables: Mapping[str, str]) -> dict[str, str]:
        """What a caller brings along for a program, without the key that the server has."""
        return without_key(variables, self._key)

    # --- finding -------------------------------------------------------------------

    async def records(self) -> list[ConversationRecord]:
        """Newest first."""
        kept = await self._kept()
        begun = [each for each in self._live.values() if each.entries]
        known = kept | {each.id: each.record for each in begun}
        return sorted(known.values(), key=lambda each: each.created_at_ns, reverse=True)

    def working(self) -> list[Conversation]:
        return [each for each in self._live.values() if each.is_working]

    def is_own(self, identity: str | None) -> bool:
        """Whether a conversation is this actor: what it opened is of use to its person only."""
        return identity is not None and identity.startswith(f"agent:{ID_PREFIX}")

    def live(self, id_: str) -> Conversation | None:
        return self._live.get(id_)

    async def find(self, name: str) -> Conversation:
        """By its id, or the beginning of one.

        Raises:
            ConversationNotFound: if there is none, or several begin so.
        """
        if (known := self._live.pop(name, None)) is not None:
            self._live[name] = known  # the last is the one that was used last
            return known
        wanted = (name, f"{ID_PREFIX}{name}")
        found = [each for each in await self.records() if each.id.startswith(wanted)]
        exact = [each for each in found if each.id in wanted]
        if len(exact or found) != 1:
            raise ConversationNotFound(name)
        [record] = exact or found
        if record.id in self._live:
            return self._live[record.id]
        entries = await anyio.to_thread.run_sync(self._entries, record.id)
        self._put_away()
        return self._live.setdefault(record.id, self._conversation(record, entries))

    def _entries(self, id_: str) -> list[ConversationEntry]:
        self._store.flush()  # it may have been at hand until just now
        return self._store.conversation_entries(id_)

    def _put_away(self) -> None:
        """Those that were used least lately: all of it is in the store, or on the way there."""
        at_rest = [each for each in self._live.values() if not each.is_working and not each.users]
        for each in at_rest[: max(len(at_rest) - KEPT_AT_HAND, 0)]:
            del self._live[each.id]
            self._borrowed.pop(each.id, None)
            assert self._records is not None
            self._records[each.id] = replace(each.record, seq=each.last_seq)

    async def _kept(self) -> dict[str, ConversationRecord]:
        if self._records is None:
            found = await anyio.to_thread.run_sync(self._store.conversations)
            # No task works on them: a state that says otherwise is of a server that ended.
            self._records = {
                each.id: _interrupted(each) if each.state == "running" else each for each in found
            }
        return self._records

    def _conversation(
        self, record: ConversationRecord, entries: list[ConversationEntry]
    ) -> Conversation:
        return Conversation(record, entries, store=self._store, clock=self._clock)

    # --- talking -------------------------------------------------------------------

    async def begin(self, text: str, **fields: Any) -> Conversation:
        """A new conversation. It is kept from its first message on."""
        await self._kept()
        record = ConversationRecord(
            id=f"{ID_PREFIX}{secrets.token_hex(4)}",
            title=" ".join(text.split())[:TITLE_CHARS],
            created_at_ns=self._clock.wall_ns(),
            **fields,
        )
        conversation = self._conversation(record, [])
        self._put_away()
        self._live[record.id] = conversation
        return conversation

    async def send(
        self,
        conversation: Conversation,
        text: str,
        *,
        by: str,
        is_person: bool,
        model: Model | None = None,
    ) -> int:
        """Say something to the agent; at its next turn, if it works already.

        Returns the message's seq. It is on disk then.

        Raises:
            AgentNotConfigured, AgentNotInstalled: if there is no model; nothing was kept.
            Exhausted: if too many conversations are at work.
        """
        with conversation.in_use(), self._forgotten_if_empty(conversation):
            await self._model_for(conversation, model)
            assert self.hands is not None
            if len(conversation.entries) > MAX_ENTRIES:
                raise Exhausted("this conversation is too long", hint="begin another one")
            pieces = await self.hands.context(conversation, text)
            self._check_room(conversation)
            if pieces:
                conversation.append("context", pieces=[list(each) for each in pieces])
            seq = conversation.append("message", text=text, by=by, is_person=is_person).seq
            if not conversation.is_working:
                self._start(conversation)
            await self._flush()
            return seq

    @contextmanager
    def _forgotten_if_empty(self, conversation: Conversation) -> Generator[None]:
        """Where not even the first message came through, no one can list or resume it."""
        try:
            yield
        finally:
            if not conversation.entries:
                self._live.pop(conversation.id, None)

    async def resume(self, conversation: Conversation, *, model: Model | None = None) -> None:
        """Go on where it was stopped, failed, or ended with a server.

        Raises:
            ConversationRunning: if it is at work.
            AgentNotConfigured, AgentNotInstalled: if there is no model.
        """
        with conversation.in_use():
            await self._model_for(conversation, model)
            if conversation.is_working:
                raise ConversationRunning(f"{conversation.id} is at work already")
            self._check_room(conversation)
            self._start(conversation)
            await self._flush()

    async def stop(self, conversation: Conversation, *, by: str, interrupts: bool = False) -> bool:
        """End the work in progress; whether there was any. What runs in a terminal goes on, unless
        the caller interrupts it then.
        """
        if conversation.scope is None:
            return False
        conversation.stopped_by = by
        conversation.stopped_at = conversation.last_seq
        conversation.is_interrupted = interrupts
        conversation.is_stopped_unapproved = conversation.approval is not None
        conversation.scope.cancel()
        with conversation.in_use(), anyio.move_on_after(STOP_S):
            await conversation.over.wait()
        return True

    def _check_room(self, conversation: Conversation) -> None:
        if not conversation.is_working and len(self.working()) >= MAX_WORKING:
            raise Exhausted(f"{MAX_WORKING} conversations are at work", hint="stop one first")

    def _start(self, conversation: Conversation) -> None:
        """Work from now on: the state shows it, and a stop ends it, before the task has begun."""
        conversation.scope = anyio.CancelScope()
        conversation.over = anyio.Event()
        conversation.stopped_by = None
        if conversation.record.state != "running":
            conversation.enter("running")
        self._tasks.start_soon(self._work, conversation)

    async def problem(self) -> DuettyError | None:
        """What keeps it from a model of its own, if anything. A keyring may take its time."""
        if self._model is not None:
            return None
        return await anyio.to_thread.run_sync(self._problem)

    async def check_model(self, borrowed: Model | None) -> None:
        """Raises:
        AgentNotConfigured, AgentNotInstalled: if there is no model, before anything is begun.
        """
        if borrowed is None and (problem := await self.problem()) is not None:
            raise problem

    async def check(self) -> str | None:
        """Whether address, key and name of the model that is set are good, as its provider says.

        Raises:
            AgentNotConfigured, AgentNotInstalled: if there is none.
            ModelRefused, ModelUnavailable: if they are not.
        """
        return await (await self._own_model()).check()

    async def _own_model(self) -> CheckedModel:
        if self._model is None:
            self._model = await anyio.to_thread.run_sync(self._open_model)
        return self._model

    async def _model_for(self, conversation: Conversation, borrowed: Model | None) -> Model:
        if borrowed is not None:
            self._borrowed[conversation.id] = borrowed
        if conversation.id in self._borrowed:
            return self._borrowed[conversation.id]
        return await self._own_model()

    async def _flush(self) -> None:
        if not await anyio.to_thread.run_sync(self._store.flush):
            raise StoreUnavailable(
                "the disk does not take the conversation", hint="free some space, then resume"
            )

    # --- working -------------------------------------------------------------------

    async def _work(self, conversation: Conversation) -> None:
        scope = conversation.scope
        assert scope is not None
        assert self.hands is not None
        ended: tuple[str | None, str | None] | None = None
        try:
            with scope:
                try:
                    ended = await self._turns(conversation), None
                except DuettyError as error:
                    ended = (
                        f"{error.message}; {error.hint}" if error.hint else error.message,
                        error.code,
                    )
                except Exception:
                    log.exception("agent_failed", extra={"conversation": conversation.id})
                    ended = "a mistake of ours; the server's log has it", "internal_error"
            if ended is None:
                self._settle_stopped(conversation)
                ended = f"stopped by {conversation.stopped_by}", None
        finally:
            # Also when the server ends: then the store says that it was running.
            conversation.partial = ""
            conversation.step = conversation.approval = None
            conversation.scope = None
            if ended is not None:
                conversation.enter("idle" if ended[1] is None else "failed", *ended)
            conversation.over.set()
            conversation.tell()
        if conversation.stopped_by is not None and _has_unheard(conversation):
            self._start(conversation)
            return
        with anyio.move_on_after(STOP_S):
            await self.hands.show_step(conversation, None)

    def _settle_stopped(self, conversation: Conversation) -> None:
        self._broke_off(conversation, "stopped", "stopped in the middle of this answer")
        for call, begun in open_calls(conversation.entries):
            text = (
                f"Stopped by {conversation.stopped_by} while this was in progress."
                + (
                    " Its program was interrupted, as by Ctrl-C."
                    if conversation.is_interrupted
                    else " What it started may still run: look at the terminal."
                )
                if begun and not conversation.is_stopped_unapproved
                else NOT_BEGUN
            )
            _record(conversation, call, ToolOutcome(text=text, ok=False, code="stopped"))

    async def _turns(self, conversation: Conversation) -> str | None:
        """Returns what a person should know of the end beside the answer, if anything."""
        hands = self.hands
        assert hands is not None
        clock = _Watch(self._clock)
        await self._flush()  # a server that ends from here on leaves work undone: the next knows
        for call, begun in open_calls(conversation.entries):
            code = AgentInterrupted.code
            text = UNKNOWN if begun else NOT_BEGUN
            _record(conversation, call, ToolOutcome(text=text, ok=False, code=code))
        while True:
            hands.check(conversation)
            await self._keep_limits(conversation, clock)
            for text in await hands.news(conversation):
                conversation.append("told", text=text)
            if self._is_too_long(conversation):
                await self._sum_up(conversation)
            answered, seen = await self._asked(conversation, clock)
            if answered is None:
                continue  # the time is up
            _append_answer(conversation, answered, seen)
            await self._flush()
            for call in answered.calls:
                await self._do(conversation, call, clock)
            last = next(each for each in reversed(conversation.entries) if each.kind == "message")
            if not answered.calls and is_heard(conversation.entries, last.seq):
                return answered.note or (None if answered.text else EMPTY)

    async def _asked(
        self, conversation: Conversation, clock: "_Watch"
    ) -> tuple[Answered | None, int]:
        """The model's answer, and the seq of the last entry that it heard; None when time is up."""
        model = await self._model_for(conversation, None)
        assert self.hands is not None
        summed_up = False
        pauses = list(RETRY_S)
        while True:
            instructions = await self.hands.instructions(conversation)
            tools = await self.hands.tools(conversation)
            await self._step(conversation, "thinking")
            seen = (
                conversation.last_seq
            )  # nothing is waited for from here until the model has it all
            try:
                with anyio.move_on_after(self._left_s(conversation, clock)) as bound:
                    return await model.answer(
                        instructions, conversation.entries, tools, on_text=conversation.say
                    ), seen
                if bound.cancelled_caught:
                    self._broke_off(
                        conversation, AgentLimit.code, "the time set for this work is up"
                    )
                    return None, seen
            except ContextTooLong:
                if summed_up:
                    raise
                summed_up = True
                await self._sum_up(conversation)
            except ModelUnavailable as error:
                wanted_s: Any = error.details.get("retry_after_s")
                if not pauses:
                    self._fault(conversation, error, None)
                    raise
                pause_s = min(max(pauses.pop(0), wanted_s or 0.0), MAX_RETRY_S)
                self._fault(conversation, error, pause_s)
                await self._step(conversation, f"waiting for the model ({error.code})")
                await anyio.sleep(pause_s)

    async def _step(self, conversation: Conversation, step: str) -> None:
        """Name the step to clients that follow the conversation, and in its session."""
        assert self.hands is not None
        conversation.do(step)
        await self.hands.show_step(conversation, step)

    def _fault(
        self, conversation: Conversation, error: DuettyError, again_in_s: float | None
    ) -> None:
        conversation.append(
            "fault",
            code=error.code,
            message=error.message,
            text=conversation.partial,
            again_in_s=again_in_s,
        )
        conversation.partial = ""

    def _broke_off(self, conversation: Conversation, code: str, message: str) -> None:
        """Keep the words of an answer that will not be finished."""
        if text := conversation.partial:
            conversation.append("fault", code=code, message=message, text=text, again_in_s=None)
            conversation.partial = ""

    async def _do(self, conversation: Conversation, call: ToolCall, clock: "_Watch") -> None:
        assert self.hands is not None
        conversation.append("call", call=call.id, tool=call.tool, arguments=call.arguments)
        await self._flush()  # from here on it may have been done
        await self._step(conversation, step_text(call.tool, call.arguments))
        outcome = ToolOutcome(
            text="The time set for this work is up. What this call started may still run.",
            ok=False,
            code=AgentLimit.code,
        )
        with anyio.move_on_after(self._left_s(conversation, clock)):
            outcome = await self.hands.call(conversation, call)
        _record(conversation, call, outcome)

    # --- limits and length ------------------------------------------------------------

    def _left_s(self, conversation: Conversation, clock: "_Watch") -> float:
        again = 1 + raised(conversation.entries, "minutes")
        return max(self._limits.minutes * 60 * again - clock.worked_s(), 0.0)

    async def _keep_limits(self, conversation: Conversation, clock: "_Watch") -> None:
        """Raises:
        AgentLimit: if one is reached and no person extends it.
        """
        assert self.hands is not None
        while found := reached(conversation.entries, self._limits, minutes=clock.worked_s() / 60):
            await self._step(conversation, f"asks whether to go on: {found.reason}")
            clock.pause()
            question = f"the agent has used {found.reason}. Go on with {found.more} more?"
            granted = await self.hands.may_go_on(conversation, question)
            clock.go_on()
            conversation.append("limit", what=found.what, reason=found.reason, granted=granted)
            if not granted:
                raise AgentLimit(
                    f"the limit of {found.what} is reached: {found.reason}",
                    hint=f"resume it to be asked again, or raise agent.max_{_SETTING[found.what]}",
                )

    def _is_too_long(self, conversation: Conversation) -> bool:
        last = next(
            (each for each in reversed(conversation.entries) if each.kind in ("answer", "summary")),
            None,
        )
        return (
            last is not None
            and last.kind == "answer"
            and last.body["tokens_in"] > self._context_tokens
        )

    async def _sum_up(self, conversation: Conversation) -> None:
        """Have the model summarise the conversation; the entries stay as they are."""
        assert self.hands is not None
        model = await self._model_for(conversation, None)
        await self._step(conversation, "summarising the conversation so far")
        through = conversation.last_seq
        asking = ConversationEntry(
            conversation=conversation.id,
            seq=through + 1,
            at_ns=self._clock.wall_ns(),
            kind="message",
            body={"text": SUMMARISE},
        )
        entries = [*lightened(conversation.entries), asking]
        try:
            answered = await model.answer(
                await self.hands.instructions(conversation), entries, [], on_text=lambda _: None
            )
        except ContextTooLong:
            answered = Answered(text="(Earlier parts were too long to be summed up.)")
        conversation.append(
            "summary",
            text=f"{answered.text}\n\nThe person's last message, as it was:\n"
            + _last_message(conversation),
            through=through,
            tokens_in=answered.tokens_in,
            tokens_out=answered.tokens_out,
            cost_usd=answered.cost_usd,
        )
        await self._flush()


def open_agents(
    settings: Settings,
    environment: Mapping[str, str],
    *,
    store: Store,
    clock: Clock,
    tasks: anyio.abc.TaskGroup,
) -> Agents:
    """As the settings say; nothing of a model is loaded yet."""
    return Agents(
        store=store,
        clock=clock,
        limits=Limits(
            turns=settings.agent_max_turns,
            tokens=settings.agent_max_tokens,
            cost_usd=settings.agent_max_cost_cents / 100,
            minutes=settings.agent_max_minutes,
        ),
        context_tokens=settings.agent_context_tokens,
        key=key_in(settings, environment),
        open_model=partial(open_model, settings, environment),
        problem=partial(model_problem, settings, environment),
        tasks=tasks,
    )


_SETTING = {"turns": "turns", "tokens": "tokens", "money": "cost_cents", "minutes": "minutes"}


class _Watch:
    """How long the agent has worked; what a person takes to answer is not counted."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._began_s = clock.monotonic_s()
        self._paused_s: float | None = None

    def worked_s(self) -> float:
        return (self._paused_s or self._clock.monotonic_s()) - self._began_s

    def pause(self) -> None:
        self._paused_s = self._clock.monotonic_s()

    def go_on(self) -> None:
        assert self._paused_s is not None
        self._began_s += self._clock.monotonic_s() - self._paused_s
        self._paused_s = None


def _interrupted(record: ConversationRecord) -> ConversationRecord:
    return replace(
        record,
        state="failed",
        reason="the server ended while it worked; resume it, and nothing runs twice",
        code=AgentInterrupted.code,
    )


def _has_unheard(conversation: Conversation) -> bool:
    """Whether a message came after the stop that ended the work: it asks for more work."""
    last = next(each for each in reversed(conversation.entries) if each.kind == "message")
    return last.seq > conversation.stopped_at and not is_heard(conversation.entries, last.seq)


def _append_answer(conversation: Conversation, answered: Answered, seen: int) -> None:
    conversation.partial = ""
    conversation.append(
        "answer",
        answered.raw,
        text=answered.text,
        calls=[
            {"id": each.id, "tool": each.tool, "arguments": each.arguments, "text": each.text}
            for each in answered.calls
        ],
        tokens_in=answered.tokens_in,
        tokens_out=answered.tokens_out,
        cost_usd=answered.cost_usd,
        model=answered.model,
        seen=seen,
    )


def _record(conversation: Conversation, call: ToolCall, outcome: ToolOutcome) -> None:
    conversation.append(
        "result",
        call=call.id,
        tool=call.tool,
        text=shortened(outcome.text),
        ok=outcome.ok,
        code=outcome.code,
        details=dict(outcome.details),
    )


def _last_message(conversation: Conversation) -> str:
    found = next((each for each in reversed(conversation.entries) if each.kind == "message"), None)
    return "" if found is None else shortened(found.body["text"], 4_000)

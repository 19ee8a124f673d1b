"""Messages and stops that meet: what was said after a stop is heard, and what was stopped is over."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, NoReturn, cast

import anyio
import pytest

from duetty.agent import Answered, Conversation, Tool, ToolCall, ToolOutcome, open_agents
from duetty.agent.agents import Agents
from duetty.agent.history import chat_messages
from duetty.clock import SystemClock
from duetty.config import Settings
from duetty.errors import NotFound
from duetty.store import ConversationEntry, Store

pytestmark = pytest.mark.anyio


class SlowHands:
    """A tool that takes its time to end when it is stopped."""

    def __init__(self) -> None:
        self.called = anyio.Event()
        self.may_end = anyio.Event()

    async def call(self, conversation: Conversation, call: ToolCall) -> ToolOutcome:
        self.called.set()
        with anyio.CancelScope(shield=True):
            await self.may_end.wait()
        await anyio.lowlevel.checkpoint()
        return ToolOutcome(text="done")

    async def tools(self, conversation: Conversation) -> Sequence[Tool]:
        return ()

    async def instructions(self, conversation: Conversation) -> str:
        return ""

    async def context(self, conversation: Conversation, text: str) -> Sequence[tuple[str, str]]:
        return ()

    async def news(self, conversation: Conversation) -> Sequence[str]:
        return ()

    async def show_step(self, conversation: Conversation, step: str | None) -> None:
        pass

    def check(self, conversation: Conversation) -> None:
        pass


class Listener:
    """A model that calls the tool once, and then answers what it heard last."""

    name = "listener"

    async def answer(
        self,
        instructions: str,
        entries: Sequence[ConversationEntry],
        tools: Sequence[Tool],
        *,
        on_text: Callable[[str], None],
    ) -> Answered:
        await anyio.lowlevel.checkpoint()
        heard = chat_messages(entries)
        if not any(each.role == "model" for each in heard):
            return Answered(text="", calls=(ToolCall(id="1", tool="work", arguments={}),))
        said = [each.text for each in heard if each.role == "person"]
        return Answered(text=f"I heard {said[-1]!r}.")


@asynccontextmanager
async def agents_with(hands: SlowHands, home: Path) -> AsyncGenerator[Agents]:
    with Store.open(home / "store.db") as store:
        async with anyio.create_task_group() as tasks:
            agents = open_agents(Settings(), {}, store=store, clock=SystemClock(), tasks=tasks)
            agents.hands = cast(Any, hands)
            yield agents
            tasks.cancel_scope.cancel()


async def at_rest(conversation: Conversation) -> None:
    with anyio.fail_after(10):
        while conversation.is_working:
            await conversation.wait_change()


def said(conversation: Conversation) -> list[str]:
    return [
        each.body["text"]
        for each in conversation.entries
        if each.kind == "answer" and each.body["text"]
    ]


async def test_a_message_while_the_stopped_work_still_ends_is_answered(tmp_path: Path) -> None:
    hands = SlowHands()
    async with agents_with(hands, tmp_path) as agents:
        conversation = await agents.begin("go", started_by="person:ann", scopes=())
        await agents.send(conversation, "go", by="ann", is_person=True, model=Listener())
        await hands.called.wait()
        async with anyio.create_task_group() as stopping:
            stopping.start_soon(partial(agents.stop, conversation, by="ann"))
            await anyio.wait_all_tasks_blocked()
            await agents.send(conversation, "now this", by="ann", is_person=True)
            hands.may_end.set()
        await at_rest(conversation)

        assert said(conversation) == ["I heard 'now this'."]
        assert conversation.record.state == "idle"


async def test_a_message_that_was_there_when_it_was_stopped_starts_nothing(
    tmp_path: Path,
) -> None:
    hands = SlowHands()
    async with agents_with(hands, tmp_path) as agents:
        conversation = await agents.begin("go", started_by="person:ann", scopes=())
        await agents.send(conversation, "go", by="ann", is_person=True, model=Listener())
        await hands.called.wait()
        await agents.send(conversation, "and this", by="ann", is_person=True)
        hands.may_end.set()
        await agents.stop(conversation, by="ann")
        await anyio.wait_all_tasks_blocked()

        assert said(conversation) == []
        assert not conversation.is_working
        await agents.send(conversation, "now", by="ann", is_person=True)
        await at_rest(conversation)
        assert said(conversation) == ["I heard 'now'."]


@pytest.mark.parametrize(
    ("approval", "told"),
    [(None, "Stopped by ann while this was in progress."), ("a1", "Not done: ")],
)
async def test_a_call_that_was_never_approved_is_told_as_not_done(
    approval: str | None, told: str, tmp_path: Path
) -> None:
    hands = SlowHands()
    async with agents_with(hands, tmp_path) as agents:
        conversation = await agents.begin("go", started_by="person:ann", scopes=())
        await agents.send(conversation, "go", by="ann", is_person=True, model=Listener())
        await hands.called.wait()
        conversation.wait_for(approval)
        hands.may_end.set()
        await agents.stop(conversation, by="ann")

        [result] = [each.body["text"] for each in conversation.entries if each.kind == "result"]
        assert result.startswith(told)


async def test_a_conversation_whose_first_message_was_not_taken_is_not_there(
    tmp_path: Path,
) -> None:
    class Nowhere(SlowHands):
        async def context(self, conversation: Conversation, text: str) -> NoReturn:
            conversation.change(session="opened")
            raise NotFound("no such directory")

    async with agents_with(Nowhere(), tmp_path) as agents:
        conversation = await agents.begin("go", started_by="person:ann", scopes=())
        with pytest.raises(NotFound):
            await agents.send(conversation, "go", by="ann", is_person=True, model=Listener())

        assert await agents.records() == []
    with Store.open(tmp_path / "store.db") as store:
        assert store.conversations() == []


async def test_from_the_message_on_it_is_at_work_and_can_be_stopped(tmp_path: Path) -> None:
    """Also while the message is still on its way to the disk."""
    async with agents_with(SlowHands(), tmp_path) as agents:
        conversation = await agents.begin("go", started_by="person:ann", scopes=())
        async with anyio.create_task_group() as sending:
            sending.start_soon(
                partial(agents.send, conversation, "go", by="ann", is_person=True, model=Listener())
            )
            with anyio.fail_after(10):
                while conversation.record.state != "running":
                    await conversation.wait_change()
            assert conversation.doing == "running"
            assert await agents.stop(conversation, by="ann")
        await anyio.wait_all_tasks_blocked()

        assert conversation.doing == "idle"
        assert conversation.record.reason == "stopped by ann"
        assert not any(each.kind == "answer" for each in conversation.entries)

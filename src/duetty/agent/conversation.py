"""One conversation while the server has it: its entries, what it is doing, who waits for news."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Literal

import anyio

from duetty.agent.limits import used
from duetty.clock import Clock
from duetty.store import ConversationEntry, ConversationRecord, EntryKind, Store

Doing = Literal["idle", "running", "awaiting_approval", "failed"]


class Conversation:
    """Changes in the event loop only; every change is handed to the store at once."""

    def __init__(
        self,
        record: ConversationRecord,
        entries: Sequence[ConversationEntry],
        *,
        store: Store,
        clock: Clock,
    ) -> None:
        self.record = record
        self.entries = list(entries)
        self.partial = ""
        """The begun answer of the model."""

        self.step: str | None = None
        """What it does now, in words for a person."""

        self.approval: str | None = None
        """Id of the question that it waits for an answer to."""

        self.scope: anyio.CancelScope | None = None
        """Of the work in progress."""

        self.stopped_by: str | None = None
        self.stopped_at = 0
        """Seq of the last entry when it was stopped: later messages are not what was stopped."""

        self.is_interrupted = False
        """Whether who stopped the work also interrupts the program in its session."""

        self.is_stopped_unapproved = False
        """Whether the call in progress still waited for a person's answer then: nothing of it was done."""

        self.over = anyio.Event()
        """Set when the work in progress has ended; replaced when it begins."""

        self.typed_by_people: int | None = None
        """How often people had typed into its session when it was last looked at."""

        self.last_block = 0
        """Number of the last command there then."""

        self.users = 0
        """Callers that hold on to it."""

        self._store = store
        self._clock = clock
        self._changed = anyio.Event()

    @property
    def id(self) -> str:
        return self.record.id

    @property
    def last_seq(self) -> int:
        return self.entries[-1].seq if self.entries else 0

    @property
    def is_working(self) -> bool:
        return self.scope is not None

    @property
    def doing(self) -> Doing:
        if self.is_working:
            return "running" if self.approval is None else "awaiting_approval"
        return "failed" if self.record.state == "failed" else "idle"

    def append(self, kind: EntryKind, raw: str | None = None, /, **body: Any) -> ConversationEntry:
        entry = ConversationEntry(
            conversation=self.id,
            seq=self.last_seq + 1,
            at_ns=self._clock.wall_ns(),
            kind=kind,
            body=body,
            raw=raw,
        )
        self.entries.append(entry)
        self._store.append_conversation(entry)
        if kind in ("message", "answer", "summary"):
            total = used(self.entries)
            self.record = replace(
                self.record,
                turns=total.turns,
                tokens_in=total.tokens_in,
                tokens_out=total.tokens_out,
                cost_usd=total.cost_usd if total.is_cost_known else None,
            )
            self._store.save_conversation(self.record)
        self.tell()
        return entry

    def change(self, **fields: Any) -> None:
        self.record = replace(self.record, **fields)
        if self.entries:
            self._store.save_conversation(self.record)
        self.tell()

    def enter(
        self,
        state: Literal["idle", "running", "failed"],
        reason: str | None = None,
        code: str | None = None,
    ) -> None:
        """Be in this state from now on, here and in the store."""
        self.append("state", state=state, reason=reason, code=code)
        self.change(state=state, reason=reason, code=code)

    def say(self, text: str) -> None:
        self.partial += text
        self.tell()

    def do(self, step: str | None) -> None:
        self.step = step
        self.tell()

    def wait_for(self, approval: str | None) -> None:
        if approval != self.approval:
            self.approval = approval
            self.tell()

    def tell(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()

    async def wait_change(self) -> None:
        with self.in_use():
            await self._changed.wait()

    @contextmanager
    def in_use(self) -> Generator[None]:
        """It is not put away meanwhile: there is one object for a conversation."""
        self.users += 1
        try:
            yield
        finally:
            self.users -= 1

"""Events of one session for one JSON subscriber: what it asked for, no more often than it asked.

Lines are found by comparing the lines that the subscriber got with the screen, so a
slow one gets fewer events and never wrong ones.
"""

import codecs
import re
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from typing import Any

import anyio
import anyio.abc

from duetty.errors import BadArguments
from duetty.ops import ApprovalFeed, Entry, Lagged, View, entry_shape

SCREEN_EVENTS = frozenset({"lines", "chars", "cursor", "mode", "diffs"})
"""What is found by looking at the screen and the bytes."""

LOG_EVENTS: dict[str, str] = {
    "input": "input",
    "elements": "overlay",
    "state": "state",
    "block": "block",
    "title": "title",
    "bell": "bell",
    "exit": "exit",
    "degraded": "degraded",
    "viewers": "viewers",
}
"""Event of the log, and the word by which it is asked for."""

EVENT_WORDS = (*sorted(SCREEN_EVENTS), "activity", "approval", *sorted(set(LOG_EVENTS.values())))

_PARAMETERS = frozenset(
    {"events", "format", "interval_ms", "idle_timeout_ms", "quiesce_ms", "session", "server"}
)

MAX_INTERVAL_MS = 60_000
MAX_IDLE_MS = 300_000

CHARS_BYTES = 64 * 1024
"""Bytes looked at in one turn; of more only the last are."""

_RESETS = re.compile(rb"\x1bc|\x1b\[[23]J")
_REASONS = {b"\x1bc": "hard_reset", b"\x1b[2J": "clear_screen", b"\x1b[3J": "clear_scrollback"}
_CARRY_BYTES = 3
"""A sequence may be cut; this much of it may be in the bytes before."""

Tell = Callable[[dict[str, Any]], Awaitable[None]]
Asking = Callable[[], AbstractContextManager[ApprovalFeed]]
"""Questions to a person, as the subscriber may see them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A subscriber's choice of events."""

    events: frozenset[str]
    interval_s: float
    styled: bool
    idle_s: float


def parse_wanted(params: dict[str, Any], *, needs_activity: bool) -> Wanted:
    """The subscription in these parameters.

    Raises:
        BadArguments: if they are none.
    """
    if unknown := sorted(set(params) - _PARAMETERS):
        raise BadArguments(
            f"{unknown[0][:60]}: no parameter of this",
            hint=f"known: {', '.join(sorted(_PARAMETERS))}",
        )
    words = params.get("events")
    if not isinstance(words, list) or not all(word in EVENT_WORDS for word in words):  # pyright: ignore[reportUnknownVariableType] - JSON
        raise BadArguments(
            "events: a list of event types", hint=f"one or more of {', '.join(EVENT_WORDS)}"
        )
    events = frozenset[str](words)  # pyright: ignore[reportUnknownArgumentType] - checked above
    if (format_ := params.get("format", "styled")) not in ("styled", "plain"):
        raise BadArguments("format: styled or plain")
    idle_ms = _number(params, "idle_timeout_ms", _number(params, "quiesce_ms", 0))
    interval_ms = _number(params, "interval_ms", 100)
    if needs_activity and "activity" not in events:
        idle_ms = 0
    return Wanted(
        events=events,
        interval_s=min(interval_ms, MAX_INTERVAL_MS) / 1000,
        styled=format_ == "styled",
        idle_s=min(idle_ms, MAX_IDLE_MS) / 1000,
    )


def _number(params: dict[str, Any], name: str, default: int) -> int:
    value = params.get(name, default)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise BadArguments(f"{name}: a whole number, not negative")
    return value


class Feed:
    """One view's entries and screen as events; `run` until the session is gone."""

    def __init__(self, view: View, tell: Tell, *, asked: Asking, nested_sync: bool = False) -> None:
        self._view = view
        self._tell = tell
        self._asked = asked
        self._nested_sync = nested_sync
        self._wanted: Wanted | None = None
        self._sync_due = False
        self._flushed_s = float("-inf")
        self._seq = 0
        self._seen = 0
        """Seq of the log's last entry that came by."""

        self._screen: dict[str, Any] = {}
        self._shown_at: object = None
        self._offset = 0
        self._carry = b""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._activity: anyio.CancelScope | None = None
        self._approvals: anyio.CancelScope | None = None

    def subscribe(self, wanted: Wanted, *, sync: bool = True) -> None:
        """From now on these events, after a `sync` unless it is known that nothing was missed."""
        self._wanted = wanted
        self._sync_due = sync or bool(wanted.events & SCREEN_EVENTS)
        if self._activity is not None:
            self._activity.cancel()
            self._activity = None
        if self._approvals is not None:
            self._approvals.cancel()
            self._approvals = None
        self._view.wake()

    async def run(self, *, until_exit: bool = False) -> None:
        """Tell events until the session is gone, or (if asked) its process is."""
        view = self._view
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(view.keep_looking)
            while view.ended is None:
                exited = view.is_exited
                await self._turn(tasks)
                if until_exit and exited:
                    break
                if until_exit and view.is_exited:
                    continue  # its last output and its end are sent first
                await self._wait()
            tasks.cancel_scope.cancel()

    async def _turn(self, tasks: anyio.abc.TaskGroup) -> None:
        while (entry := self._view.take()) is not None:
            await self._take_entry(entry)
        wanted = self._wanted
        if wanted is None:
            return
        if self._sync_due:
            await self._sync(nested=self._nested_sync)
        if wanted.idle_s and self._activity is None:
            self._activity = anyio.CancelScope()
            tasks.start_soon(self._tell_activity, wanted, self._activity)
        if "approval" in wanted.events and self._approvals is None:
            self._approvals = anyio.CancelScope()
            tasks.start_soon(self._tell_approvals, self._approvals)
        if self._is_due(wanted) and wanted.events & SCREEN_EVENTS:
            await self._flush(wanted)

    async def _wait(self) -> None:
        wanted = self._wanted
        if wanted is None or not wanted.events & SCREEN_EVENTS:
            await self._view.wait(output=False)
            return
        if self._has_news():
            wait_s = self._flushed_s + wanted.interval_s - anyio.current_time()
            with anyio.move_on_after(max(wait_s, 0)):
                await self._view.wait(output=False)
        else:
            await self._view.wait()

    def _has_news(self) -> bool:
        return (self._view.end, self._view.size()) != self._shown_at

    def _is_due(self, wanted: Wanted) -> bool:
        due_s = self._flushed_s + wanted.interval_s
        return self._has_news() and (anyio.current_time() >= due_s or self._view.is_exited)

    # --- entries ------------------------------------------------------------------

    async def _take_entry(self, entry: Entry | Lagged) -> None:
        wanted = self._wanted
        if isinstance(entry, Lagged):
            skipped, self._seen = entry.missed_through - self._seen, entry.missed_through
            if wanted is not None:
                await self._tell({"type": "lagged", "skipped": skipped})
                self._sync_due, self._nested_sync = True, False
            return
        self._seen = entry.seq
        if wanted is None:
            return
        shape = entry_shape(entry)
        match shape["event"]:
            case "resize":
                await self._reset("resize")
            case "mode":
                if "input" in wanted.events:
                    await self._tell(shape)
            case "elements":
                if "overlay" in wanted.events:
                    await self._tell({**shape, "event": "overlay", **self._view.elements()})
            case word if LOG_EVENTS.get(word) in wanted.events:
                await self._tell(shape)
            case _:
                pass

    # --- the screen ---------------------------------------------------------------

    async def _sync(self, *, nested: bool = False) -> None:
        """The whole screen; lines are compared with it from now on."""
        wanted = self._wanted
        assert wanted is not None
        self._sync_due = False
        screen = await self._look(wanted)
        self._decoder.reset()
        self._carry = b""
        synced = {"seq": 0, "screen": screen, "scrollback_lines": self._view.total_rows}
        await self._tell({"event": "sync", **({"params": synced} if nested else synced)})

    async def _look(self, wanted: Wanted) -> dict[str, Any]:
        self._screen = await self._view.screen(styled=wanted.styled)
        self._shown_at = (self._view.end, self._view.size())
        self._offset = self._view.end
        self._flushed_s = anyio.current_time()
        return self._screen

    async def _reset(self, reason: str) -> None:
        await self._tell({"event": "reset", "seq": self._next(), "reason": reason})
        self._sync_due, self._nested_sync = True, False

    def _next(self) -> int:
        self._seq += 1
        return self._seq

    async def _flush(self, wanted: Wanted) -> None:
        """Everything that is different since the last time."""
        before, start = self._screen, self._offset
        screen = await self._look(wanted)
        printed, skipped = self._printed(start)
        resets = [_REASONS[found] for found in _RESETS.findall(self._carry + printed)]
        self._carry = printed[-_CARRY_BYTES:] if printed else self._carry
        if "chars" in wanted.events and (printed or skipped):
            await self._tell_chars(printed, skipped)
        if screen["alternate_active"] != before["alternate_active"]:
            await self._tell_mode(wanted, active=screen["alternate_active"])
            resets.insert(
                0, "alternate_screen_" + ("enter" if screen["alternate_active"] else "exit")
            )
        for reason in dict.fromkeys(resets):
            await self._reset(reason)
        if self._sync_due:
            await self._sync()
            return
        await self._tell_changes(wanted, before, screen)

    def _printed(self, start: int) -> tuple[bytes, int]:
        """The bytes since the last time, and how many of them were not looked at."""
        end = self._offset
        first = max(start, end - CHARS_BYTES)
        printed = self._view.read(first, end - first) or b""
        return printed, end - start - len(printed)

    async def _tell_chars(self, printed: bytes, skipped: int) -> None:
        if skipped:
            self._decoder.reset()
        event: dict[str, Any] = {
            "event": "chars",
            "seq": self._next(),
            "text": self._decoder.decode(printed),
        }
        await self._tell({**event, "skipped": skipped} if skipped else event)

    async def _tell_mode(self, wanted: Wanted, *, active: bool) -> None:
        if "mode" in wanted.events:
            await self._tell({"event": "mode", "seq": self._next(), "alternate_active": active})

    async def _tell_changes(
        self, wanted: Wanted, before: dict[str, Any], screen: dict[str, Any]
    ) -> None:
        # Rows that scrolled are other rows: compared by what is where on the screen.
        changed = [
            index
            for index, line in enumerate(screen["lines"])
            if index >= len(before["lines"]) or line != before["lines"][index]
        ]
        if "lines" in wanted.events:
            for index in changed:
                await self._tell(
                    {
                        "event": "line",
                        "seq": self._next(),
                        "index": index,
                        "total_lines": screen["total_lines"],
                        "line": screen["lines"][index],
                    }
                )
        if "diffs" in wanted.events and (changed or screen["cursor"] != before["cursor"]):
            await self._tell(
                {
                    "event": "diff",
                    "seq": self._next(),
                    "changed_lines": changed,
                    "screen": screen,
                }
            )
        if "cursor" in wanted.events and screen["cursor"] != before["cursor"]:
            await self._tell({"event": "cursor", "seq": self._next(), **screen["cursor"]})

    # --- questions to a person ----------------------------------------------------

    async def _tell_approvals(self, scope: anyio.CancelScope) -> None:
        """Those of this session: what waits, then each as it is asked and settled."""
        id_ = self._view.info().id
        with scope, suppress(anyio.EndOfStream), self._asked() as asked:
            changes = asked.pending()
            while True:
                for each in changes:
                    if each.session_id == id_:
                        await self._tell({"event": "approval", "approval": each})
                changed = await asked.receive()
                changes = asked.pending() if changed is None else [changed]

    # --- activity -----------------------------------------------------------------

    async def _tell_activity(self, wanted: Wanted, scope: anyio.CancelScope) -> None:
        """`running` at the first touch, `idle` after the silence, in turn."""
        view = self._view
        with scope:
            was_idle: bool | None = None
            while view.ended is None:
                generation, quiet_s = view.generation, view.quiet_s
                is_idle = quiet_s >= wanted.idle_s
                if is_idle != was_idle:
                    was_idle = is_idle
                    await self._tell(
                        await self._activity_event(wanted, generation, is_idle=is_idle)
                    )
                if is_idle:
                    await view.wait_touched(generation)
                else:
                    await anyio.sleep(wanted.idle_s - quiet_s)

    async def _activity_event(
        self, wanted: Wanted, generation: int, *, is_idle: bool
    ) -> dict[str, Any]:
        event: dict[str, Any] = {
            "event": "idle" if is_idle else "running",
            "seq": 0,
            "generation": generation,
        }
        if is_idle:
            event["screen"] = await self._view.screen(styled=wanted.styled)
            event["scrollback_lines"] = self._view.total_rows
        return event

r"""The session's keyboard: where keys go that a person types at a viewer.

Passthrough: to the program. Capture: to the caller. A capture has an
owner and a lease, so that an agent which dies does not keep a person's keyboard;
Ctrl+\ gives it back at once and is never captured, nor is a password.
"""

import re
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, Protocol

from duetty.calls import Actor
from duetty.clock import Clock
from duetty.errors import Exhausted
from duetty.events import EventLog, InputModeChanged, KeysTyped
from duetty.session.elements import Elements
from duetty.session.pulse import Pulse
from duetty.session.pump import Timer, later
from duetty.vt import Key, parse_keys

LEASE_S = 60.0
"""How long a capture lasts when its owner says nothing more; reading keys renews it."""

MAX_OWNERS = 64
"""Who may hold the keyboard at a time; as many as may look at a session."""

RING_KEYS = 1_024
RING_BYTES = 256 * 1024
"""Captured keys that wait for a reader; the oldest go first, and the reader gets `missed`."""

EVENT_BYTES = 16 * 1024
"""Typed bytes in one event; a longer paste is several."""

TOGGLE = b"\x1c"
"""Ctrl+\\ as keyboards have sent it since the teletype."""

_NAMED_TOGGLE = Key(TOGGLE, "\\", ("ctrl",))
_TOGGLE = re.compile(
    rb"\x1c"
    rb"|\x1b\[27;5;92~"  # xterm's modifyOtherKeys
    rb"|\x1b\[92[:\d]*;(?P<modifiers>\d{1,3})(?::(?P<event>\d))?(?:;[\d:]*)?u"  # kitty
)
_PASTE_START, _PASTE_END = b"\x1b[200~", b"\x1b[201~"
_CTRL = 4
_LOCKS = 64 | 128
"""Caps and number lock, which the kitty protocol tells too."""

InputMode = Literal["passthrough", "capture"]
Reason = Literal["capture", "release", "toggle", "lease"]


@dataclass(frozen=True, slots=True)
class CapturedKey:
    seq: int
    key: Key
    target: str | None
    """The element that had the focus."""

    at_ns: int


@dataclass(slots=True)
class _Hold:
    lease_s: float
    until_s: float
    readers: int = 0
    """While a call waits for keys in the owner's name, the owner is there."""


class Owner(Protocol):
    """What a keyboard needs of the session that it belongs to."""

    log: EventLog
    pulse: Pulse
    elements: Elements

    def write(self, data: bytes, *, actor: Actor) -> None: ...


class Keyboard:
    """Who has the keys of one session."""

    def __init__(
        self, session: Owner, clock: Clock, *, line_settings: Callable[[], tuple[bool, bool]]
    ) -> None:
        self._session = session
        self._line_settings = line_settings
        self._clock = clock
        self._holds: dict[str, _Hold] = {}
        self._timer: Timer | None = None
        self._ring: deque[CapturedKey] = deque()
        self._ring_bytes = 0
        self._seq = 0

    # --- who has it -----------------------------------------------------------

    @property
    def mode(self) -> InputMode:
        return "capture" if self._holds else "passthrough"

    @property
    def owners(self) -> tuple[str, ...]:
        return tuple(self._holds)

    @property
    def lease_left_s(self) -> float | None:
        """How long the keyboard stays captured without a renewal; None when it is not."""
        until_s = max((hold.until_s for hold in self._holds.values()), default=None)
        return None if until_s is None else max(until_s - self._clock.monotonic_s(), 0.0)

    def capture(self, owner: str, *, lease_s: float = LEASE_S) -> None:
        """Keep the keys from the program, for this owner; again to renew.

        Raises:
            Exhausted: if too many hold it.
        """
        if owner not in self._holds and len(self._holds) >= MAX_OWNERS:
            raise Exhausted(f"{MAX_OWNERS} owners capture this keyboard", hint="release some")
        was_free = not self._holds
        readers = self._holds[owner].readers if owner in self._holds else 0
        self._holds[owner] = _Hold(lease_s, self._clock.monotonic_s() + lease_s, readers)
        if was_free:
            # What was typed for an earlier owner is nothing for this one.
            self._ring.clear()
            self._ring_bytes = 0
            self._tell("capture")
        self._look_later()

    def release(self, owner: str | None = None, *, reason: Reason = "release") -> None:
        """End this owner's capture, or all; without one left keys go to the program."""
        was_held = bool(self._holds)
        if owner is None:
            self._holds.clear()
        else:
            self._holds.pop(owner, None)
        if not self._holds:
            self._session.elements.unfocus()
            if was_held:
                self._tell(reason)
        self._look_later()

    def renew(self, owner: str) -> None:
        """The owner is there; does nothing for one that holds nothing."""
        hold = self._holds.get(owner)
        if hold is not None:
            hold.until_s = self._clock.monotonic_s() + hold.lease_s
            self._look_later()

    @contextmanager
    def reading(self, owner: str) -> Generator[None]:
        """While the block is in progress the owner's lease does not run out."""
        hold = self._holds.get(owner)
        if hold is None:
            yield
            return
        hold.readers += 1
        try:
            yield
        finally:
            current = self._holds.get(owner)
            if current is not None:
                current.readers = max(current.readers - 1, 0)
            self.renew(owner)

    def close(self) -> None:
        self._holds.clear()
        self._look_later()

    def _look_later(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        waiting = [hold.until_s for hold in self._holds.values() if not hold.readers]
        if waiting:
            self._timer = later(max(min(waiting) - self._clock.monotonic_s(), 0), self._expire)

    def _expire(self) -> None:
        now_s = self._clock.monotonic_s()
        for owner, hold in list(self._holds.items()):
            if hold.until_s <= now_s and not hold.readers:
                self.release(owner, reason="lease")
        self._look_later()

    def _tell(self, reason: Reason) -> None:
        self._session.log.append(InputModeChanged(mode=self.mode, reason=reason))
        self._session.pulse.fire()

    # --- keys -----------------------------------------------------------------

    def type(self, data: bytes, *, actor: Actor) -> int:
        """What a person typed at a viewer; how many bytes the program got.

        Raises:
            SessionExited: if there is no program any more.
            InputRejected: if it does not read.
        """
        forwarded = 0
        for part in _parts(data):
            if part is None:
                self._toggle(actor)
            else:
                forwarded += self._type(part, actor)
        return forwarded

    def _toggle(self, actor: Actor) -> None:
        if self._session.log.is_wanted(KeysTyped):
            self._publish(TOGGLE, (_NAMED_TOGGLE,))
        if self._holds:
            self.release(reason="toggle")
        else:
            self.capture(owner_name(actor))

    def _type(self, data: bytes, actor: Actor) -> int:
        is_captured = bool(self._holds)
        if self._is_secret():
            # Only the program sees a password, and no capture takes it away.
            self._session.write(data, actor=actor)
            return len(data)
        if is_captured or self._session.log.is_wanted(KeysTyped):
            for start in range(0, len(data), EVENT_BYTES):
                part = data[start : start + EVENT_BYTES]
                keys = parse_keys(part)
                self._publish(part, keys)
                if is_captured:
                    self._keep(keys)
        if is_captured:
            self.renew(owner_name(actor))  # who captured it by the hotkey is still there
            self._session.pulse.fire()
            return 0
        self._session.write(data, actor=actor)
        return len(data)

    def _is_secret(self) -> bool:
        """Line by line without echo: so passwords are read, and nothing else."""
        echo, canonical = self._line_settings()
        return canonical and not echo

    def _publish(self, raw: bytes, keys: tuple[Key, ...]) -> None:
        self._session.log.append(
            KeysTyped(raw=raw, keys=keys, mode=self.mode, target=self._session.elements.focused)
        )

    def _keep(self, keys: tuple[Key, ...]) -> None:
        now_ns, target = self._clock.wall_ns(), self._session.elements.focused
        for key in keys:
            self._seq += 1
            self._ring.append(CapturedKey(self._seq, key, target, now_ns))
            self._ring_bytes += len(key.raw)
        while len(self._ring) > RING_KEYS or self._ring_bytes > RING_BYTES:
            self._ring_bytes -= len(self._ring.popleft().key.raw)

    @property
    def last_seq(self) -> int:
        """The number of the key captured last; they are counted from 1."""
        return self._seq

    def captured(self, *, after: int) -> list[CapturedKey]:
        """Keys that were captured after this one and are still kept."""
        return [each for each in self._ring if each.seq > after]


def owner_name(actor: Actor) -> str:
    """In whose name an actor holds the keyboard when it does not say."""
    return f"{actor.kind}:{actor.name}"


def _parts(data: bytes) -> Iterator[bytes | None]:
    r"""What was typed, with None for each Ctrl+\ in it; one within a paste is text."""
    start = 0
    pastes = deque(_pastes(data))
    for found in _TOGGLE.finditer(data):
        while pastes and pastes[0][1] <= found.start():
            pastes.popleft()
        if pastes and pastes[0][0] < found.start():
            continue
        if found["modifiers"] is not None and not _is_ctrl(found["modifiers"]):
            continue
        if found.start() > start:
            yield data[start : found.start()]
        start = found.end()
        if found["event"] != b"3":  # a key's release does nothing, and is no event
            yield None
    if start < len(data):
        yield data[start:]


def _pastes(data: bytes) -> Iterator[tuple[int, int]]:
    """Where pastes begin and end; one that does not end here is none, or it could hide the key."""
    end = 0
    while (start := data.find(_PASTE_START, end)) >= 0:
        end = data.find(_PASTE_END, start)
        if end < 0:
            return
        yield start, end


def _is_ctrl(modifiers: bytes) -> bool:
    return (int(modifiers) - 1) & ~_LOCKS == _CTRL

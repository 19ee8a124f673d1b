"""How much one viewer gets, and when: bytes, a snapshot instead of them, or nothing yet.

Pure: time and offsets in, a step out. The PTY never waits for a viewer. One that
acknowledges gets every byte; one that cannot keep up gets snapshots at a pace it
sets itself, until the program is calm again.
"""

from dataclasses import dataclass

WINDOW_BYTES = 128 * 1024
"""Sent and not acknowledged: what a browser parses in some 20 ms."""

BACKLOG_BYTES = 256 * 1024
"""Waiting behind a full window. Up to it nothing is left out: a listing arrives whole."""

CHUNK_BYTES = 64 * 1024
"""The most in one frame; the input of a viewer is never behind more than this."""

COALESCE_S = 0.004
"""Between two frames while no person types: a program that prints char by char costs no frame each."""

FEW_VIEWERS = 8
"""Each one more lets all of them wait a little longer: 64 get at most 30 frames a second each."""

KEY_S = 0.05
"""For so long after a key its echo is expected, and sent at once."""

SNAPSHOT_S = 0.033
SNAPSHOT_IN_FLIGHT_BYTES = 4 * 1024
"""A snapshot is sent when the last one was parsed, at most thirty times a second."""

CALM_S = 0.25
CALM_BYTES = 256 * 1024
"""Less than this in that time is no flood any more: 1 MB/s."""


@dataclass(frozen=True, slots=True)
class Bytes:
    """Send this many bytes from `start` on."""

    start: int
    limit: int


@dataclass(frozen=True, slots=True)
class Snap:
    """Send a snapshot; the final one of a flood with scrollback."""

    final: bool


@dataclass(frozen=True, slots=True)
class Pause:
    """Nothing now; look again after a while, or when something happens."""

    seconds: float | None = None
    output: bool = False
    """Whether more output is worth a look; not when the viewer must speak first."""


Step = Bytes | Snap | Pause


class Flow:
    """One viewer's place in a session's bytes."""

    __slots__ = (
        "_calm_at",
        "_calm_s",
        "_key_s",
        "_sent_s",
        "acked",
        "flooded",
        "sent",
        "skipped_from",
    )

    def __init__(self, offset: int) -> None:
        self.sent = offset
        """Everything before was sent, or is part of a snapshot that was."""

        self.acked = offset
        self.flooded = False
        self.skipped_from = offset
        """Where the bytes begin that this flood left out."""

        self._sent_s = float("-inf")
        self._key_s = float("-inf")
        self._calm_s = 0.0
        self._calm_at = 0

    @property
    def in_flight(self) -> int:
        return self.sent - self.acked

    @property
    def room(self) -> int:
        """What may still be sent before something is acknowledged."""
        return WINDOW_BYTES - self.in_flight

    @property
    def is_held(self) -> bool:
        """Nothing goes on before something is acknowledged, or only snapshots do."""
        return self.flooded or self.room <= 0

    def key(self, now_s: float) -> None:
        """The viewer typed something."""
        self._key_s = now_s

    def ack(self, offset: int) -> None:
        """Everything before was parsed; what was never sent cannot have been."""
        self.acked = max(self.acked, min(offset, self.sent))

    def sent_bytes(self, count: int, now_s: float) -> None:
        self.sent += count
        self._sent_s = now_s

    def sent_snapshot(self, offset: int, now_s: float, *, final: bool) -> None:
        """A snapshot was sent that was taken at this offset."""
        self.sent = offset
        self._sent_s = now_s
        if final:
            self.flooded = False

    def start_at(self, offset: int) -> None:
        """A viewer that begins here, with a snapshot or without, owes no acknowledgement for it."""
        self.sent = self.acked = offset
        self.flooded = False

    def next(self, end: int, now_s: float, *, viewers: int = 1) -> Step:
        """What to do now that the session has printed up to `end`, before so many viewers."""
        if self.flooded:
            return self._in_flood(end, now_s)
        backlog = end - self.sent
        if backlog <= 0:
            return Pause(output=True)
        room = self.room
        if room <= 0:
            if backlog <= BACKLOG_BYTES:
                return Pause()  # until it acknowledges
            self.flooded = True
            self.skipped_from = self.sent
            self._calm_s, self._calm_at = now_s, end
            return self._in_flood(end, now_s)
        wait_s = self._sent_s + COALESCE_S * max(1.0, viewers / FEW_VIEWERS) - now_s
        if wait_s > 0 and backlog < CHUNK_BYTES and now_s - self._key_s > KEY_S:
            return Pause(wait_s)
        return Bytes(self.sent, min(CHUNK_BYTES, room, backlog))

    def _in_flood(self, end: int, now_s: float) -> Step:
        if end - self._calm_at > CALM_BYTES:
            self._calm_s, self._calm_at = now_s, end
        if self.in_flight > SNAPSHOT_IN_FLIGHT_BYTES:
            return Pause()
        calm_in_s = self._calm_s + CALM_S - now_s
        if calm_in_s <= 0:
            return Snap(final=True)
        next_in_s = self._sent_s + SNAPSHOT_S - now_s
        if next_in_s <= 0 and end > self.sent:
            return Snap(final=False)
        return Pause(min(calm_in_s, next_in_s) if next_in_s > 0 else calm_in_s)

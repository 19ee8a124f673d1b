"""Playing a recording in the person's terminal, through cells as `attach` does.

A recording is a stranger's file: its bytes go to our emulator, never to the terminal.
"""

import json
import math
import select
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, cast

from duetty.cli.attach import modes
from duetty.cli.attach.mirror import Mirror
from duetty.cli.attach.modes import NO_WISHES
from duetty.cli.attach.outer import Outer, Signalled
from duetty.cli.attach.paint import Abilities, Painter
from duetty.cli.attach.scene import Size, Surface
from duetty.cli.show import visible
from duetty.errors import BadArguments

MAX_COLS, MAX_ROWS = 1000, 1000
FRAME_S = 1 / 60
SPEED_STEP = 1.5


class BadRecording(BadArguments):
    code = "bad_recording"


@dataclass(frozen=True, slots=True)
class Event:
    """At so many seconds from the start: output, a new size, or a marker."""

    at_s: float
    output: bytes = b""
    size: tuple[int, int] | None = None
    marker: str = ""
    """A message or call beside the terminal, in one line that is harmless to print."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    cols: int
    rows: int
    events: tuple[Event, ...]

    @property
    def length_s(self) -> float:
        return self.events[-1].at_s if self.events else 0.0


def parse_recording(lines: Iterable[bytes], *, idle_s: float | None = None) -> Recording:
    """An asciicast of version 2 or 3; pauses cut to `idle_s`.

    Raises:
        BadRecording: if it is none.
    """
    texts = [line for line in lines if line.strip() and not line.startswith(b"#")]
    header = _json(texts[0], 1) if texts else None
    if not isinstance(header, dict):
        raise BadRecording("this is no asciicast", hint="its first line is a JSON object")
    fields = cast("dict[str, Any]", header)
    version = fields.get("version")
    if version not in (2, 3):
        raise BadRecording(f"asciicast version {version!r} is not known", hint="2 and 3 are")
    term: dict[str, Any] = fields.get("term") or {}
    cols = fields.get("width") if version == 2 else term.get("cols")
    rows = fields.get("height") if version == 2 else term.get("rows")
    events: list[Event] = []
    before_s = now_s = 0.0
    for number, text in enumerate(texts[1:], 2):
        event = _json(text, number)
        if not (isinstance(event, list) and len(cast("list[Any]", event)) >= 3):
            raise BadRecording(f"line {number} is no event")
        when, code, payload = cast("list[Any]", event)[:3]
        if not isinstance(when, int | float) or not math.isfinite(when):
            raise BadRecording(f"line {number} has no time")
        pause_s = float(when) if version == 3 else float(when) - before_s
        before_s = float(when)
        now_s += max(0.0, pause_s if idle_s is None else min(pause_s, idle_s))
        if (shown := _event(now_s, code, str(payload))) is not None:
            events.append(shown)
    return Recording(
        cols=_bounded(cols, 80, MAX_COLS), rows=_bounded(rows, 24, MAX_ROWS), events=tuple(events)
    )


def _event(at_s: float, code: object, payload: str) -> Event | None:
    """None for an event that shows nothing."""
    if code == "o":
        return Event(at_s, payload.encode("utf-8", "replace"))
    if code == "r" and (size := _size(payload)) is not None:
        return Event(at_s, size=size)
    if code == "m" and (marker := visible(" ".join(payload.split()))):
        return Event(at_s, marker=marker)
    return None


def _json(text: bytes, number: int) -> object:
    try:
        parsed: object = json.loads(text)
    except ValueError as error:
        raise BadRecording(f"line {number} is not JSON") from error
    return parsed


def _size(text: str) -> tuple[int, int] | None:
    cols, _, rows = text.partition("x")
    if not (cols.isdigit() and rows.isdigit()):
        return None
    return _bounded(int(cols), 80, MAX_COLS), _bounded(int(rows), 24, MAX_ROWS)


def _bounded(value: object, default: int, most: int) -> int:
    return max(1, min(value, most)) if isinstance(value, int) else default


def last_screen(recording: Recording) -> list[str]:
    """The rows at its end, without the blank ones below."""
    mirror = Mirror(cols=recording.cols, rows=recording.rows)
    for event in recording.events:
        _apply(mirror, event)
    rows = [visible("".join(piece.text for piece in row)).rstrip() for row in mirror.screen().rows]
    mirror.close()
    while rows and not rows[-1]:
        rows.pop()
    return rows


def markers(recording: Recording) -> list[str]:
    """Messages and calls beside the terminal, each with its time."""
    return [f"{each.at_s:8.1f} s  {each.marker}" for each in recording.events if each.marker]


def _apply(mirror: Mirror, event: Event) -> None:
    if event.size is not None:
        mirror.resize(cols=event.size[0], rows=event.size[1])
    if event.output:
        mirror.feed(event.output)


class Player:
    """Plays on the alternate screen, so that the person's own is untouched."""

    def __init__(
        self, recording: Recording, outer: Outer, abilities: Abilities, *, speed: float
    ) -> None:
        self._recording = recording
        self._outer = outer
        self._painter = Painter(abilities)
        cols, rows = outer.size()
        self._surface = Surface(cols=cols, rows=rows)
        self._mirror = Mirror(cols=recording.cols, rows=recording.rows)
        self._set_size(recording.cols, recording.rows)
        self._speed = speed
        self._is_paused = False
        self._is_over = False
        self._at_s = 0.0
        self._next = 0
        self._marker: str | None = None
        """The last one that was passed."""

    def run(self) -> None:
        wishes = modes.Wishes(alternate=True)
        with self._outer.raw():
            try:
                self._outer.write(modes.begin() + modes.switch(NO_WISHES, wishes))
                self._play()
            except (EOFError, Signalled):
                pass  # the way out is the same
            finally:
                self._outer.write(modes.end(wishes))
                self._mirror.close()

    def _set_size(self, cols: int, rows: int) -> None:
        self._surface.tell_size(Size(cols=cols, rows=rows, program_rows=rows, top=0))

    def _play(self) -> None:
        events = self._recording.events
        before_s = time.monotonic()
        while not self._is_over:
            now_s = time.monotonic()
            if not self._is_paused:
                self._at_s += (now_s - before_s) * self._speed
            before_s = now_s
            while self._next < len(events) and events[self._next].at_s <= self._at_s:
                self._take(events[self._next])
                self._next += 1
            if self._next == len(events):
                self._is_paused = True
            self._mirror.forget_scrolled()
            self._outer.write(
                self._painter.paint(
                    self._surface.frame(self._mirror.screen(), notice=self._notice())
                )
            )
            self._wait()

    def _take(self, event: Event) -> None:
        _apply(self._mirror, event)
        self._marker = event.marker or self._marker
        if event.size is not None:
            self._set_size(*event.size)

    def _notice(self) -> str | None:
        if self._next == len(self._recording.events):
            return "the end · q leaves, r plays it again"
        if self._is_paused:
            message = f" · {self._marker}" if self._marker else ""
            return f"paused at {self._at_s:.1f} of {self._recording.length_s:.1f} s · space goes on{message}"
        if self._marker is not None:
            return self._marker
        return (
            None if self._at_s > 3 * self._speed else "space pauses · + - speed · . next · q leaves"
        )

    def _wait(self) -> None:
        events = self._recording.events
        wait_s = 1.0
        if not self._is_paused and self._next < len(events):
            wait_s = (events[self._next].at_s - self._at_s) / self._speed
        poll = select.poll()
        poll.register(self._outer.stdin, select.POLLIN)
        poll.register(self._outer.wake, select.POLLIN)
        ready = {fd for fd, _ in poll.poll(max(FRAME_S, min(wait_s, 1.0)) * 1000)}
        if self._outer.wake in ready:
            self._outer.take_signals()
            cols, rows = self._outer.size()
            self._surface.resize(cols=cols, rows=rows)
            self._painter.forget()
        if self._outer.stdin in ready:
            for key in self._outer.read().decode("latin-1"):
                self._press(key)

    def _press(self, key: str) -> None:
        match key:
            case "q" | "\x03" | "\x1c" | "\x04":
                self._is_over = True
            case " ":
                self._is_paused = not self._is_paused
            case "+" | "=":
                self._speed = min(1000.0, self._speed * SPEED_STEP)
            case "-":
                self._speed = max(0.01, self._speed / SPEED_STEP)
            case "." if self._next < len(self._recording.events):
                self._is_paused = True
                self._at_s = self._recording.events[self._next].at_s
            case "r":
                self._at_s, self._next, self._is_paused = 0.0, 0, False
                self._marker = None
                self._mirror.close()
                self._mirror = Mirror(cols=self._recording.cols, rows=self._recording.rows)
                self._set_size(self._recording.cols, self._recording.rows)
            case _:
                pass

"""The attached client: keys out, bytes in, frames on the person's terminal.

One thread, one `poll`. Whatever ends it, the terminal is given back as it was.
"""

import os
import re
import select
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from duetty.cli.attach.approval_prompt import Asking
from duetty.cli.attach.display import Showing
from duetty.cli.attach.keyboard import DETACH_S, TOGGLE, Answered, Keyboard, Piece, Toggled, Typed
from duetty.cli.attach.link import Link
from duetty.cli.attach.mirror import Mirror
from duetty.cli.attach.outer import Outer, Signalled
from duetty.cli.attach.paint import Abilities
from duetty.cli.attach.scene import Size, Surface
from duetty.client.client import RemoteError
from duetty.client.hub_address import HubAddress
from duetty.client.view_protocol import JsonMessage, Message, Output, Snapshot
from duetty.errors import ServerUnreachable
from duetty.platform.short_turns import ask_short_turns

FRAME_S = 1 / 60
ECHO_S = 0.1
"""So long after a key, what comes is taken for its echo and painted at once."""

ECHO_BYTES = 4_096
PLAIN_BYTES = 8
"""What a key is echoed as, if it is a character."""

UPDATE_S = 0.15
"""How long a program's own synchronized update may hold back a frame."""

LAST_OUTPUT_S = 0.05
"""Silence after the program's exit that means everything it printed is here."""

HINT_S = 2.0
HOLD_S = 0.03
"""How long the beginning of a report waits for its rest before it counts as keys."""

ANSWER_S = 1.0
"""For the outer terminal to tell whether it knows the kitty keyboard."""

OPEN_S = 10.0
NEVER_S, LONG_AGO_S = float("inf"), float("-inf")

_ASK_KITTY = b"\x1b[?u\x1b[c"
_CTRL_C = b"\x03"
_PLAIN = re.compile(rb"[ -~]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    session: str
    scrollback_rows: int = 1000
    read_only: bool = False
    hold: bool = False
    """Whether this terminal sets the size for all."""

    give_up_s: float = 30.0
    hints: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How it ended: `detached`, `exited`, `removed`, `revoked`, `unreachable`, `signalled`, `hangup`."""

    reason: str
    exit_code: int | None = None
    signum: int | None = None


class Attachment:
    """One person's terminal on one session."""

    def __init__(
        self,
        socket_path: Path | HubAddress,
        options: Options,
        outer: Outer,
        abilities: Abilities,
    ) -> None:
        self._options = options
        self._outer = outer
        cols, rows = outer.size()
        self._surface = Surface(cols=cols, rows=rows)
        self._mirror = Mirror(cols=cols, rows=rows)
        self._showing = Showing(outer, self._mirror, self._surface, abilities)
        self._keyboard = Keyboard()
        self._asking = Asking(can_answer=not options.read_only)
        self._link = Link(
            socket_path,
            scrollback_rows=options.scrollback_rows,
            read_only=options.read_only,
        )
        self._session = options.session
        self._offset: int | None = None
        """Of the next byte; None until the first snapshot."""
        self._is_open = False
        self._has_gap = False
        self._exit: Ending | None = None
        """The session is over, and only its last output is waited for."""
        self._ending: Ending | None = None
        self._notice: str | None = None
        self._unseen_bytes = 0
        self._poll = select.poll()
        self._polled: object = None
        """What is polled for; made anew only when that changes."""
        # Moments, in seconds of the monotonic clock.
        self._notice_until_s = NEVER_S
        self._asked_s: float | None = None
        self._held_since_s: float | None = None
        self._update_since_s: float | None = None
        self._due_s: float | None = None
        self._toggled_s = self._typed_s = self._painted_s = self._last_output_s = LONG_AGO_S

    # --- from beginning to end --------------------------------------------------

    def run(self) -> Ending:
        """Run until the person, the session or the server ends it.

        Raises:
            ServerUnreachable: if there is no server to begin with.
            RemoteError: if the session cannot be viewed.
        """
        try:
            self._link.connect(self._session, **self._size(), offset=None)
            self._wait_opened()
            ask_short_turns()
            with self._outer.raw():
                try:
                    return self._drive()
                finally:
                    with suppress(EOFError, Signalled):
                        self._showing.end()
        except Signalled as error:
            return Ending(reason="signalled", signum=error.signum)
        finally:
            self._mirror.close()
            self._link.close()

    def _drive(self) -> Ending:
        try:
            self._begin()
            while self._ending is None:
                self._turn()
        except EOFError:
            return Ending(reason="hangup")
        return self._ending

    def _wait_opened(self) -> None:
        """Wait for the server's first screen: only then the terminal changes."""
        until_s = time.monotonic() + OPEN_S
        while self._offset is None:
            poll = select.poll()
            self._link.register(poll)
            left_s = until_s - time.monotonic()
            if not self._link.is_up or left_s <= 0 or not poll.poll(left_s * 1000):
                raise ServerUnreachable("the server did not show the session")
            for message in self._link.receive():
                self._take(message)

    def _begin(self) -> None:
        self._showing.begin(_ASK_KITTY)
        self._asked_s = time.monotonic()
        self._keyboard.awaits_answer = True
        if self._options.hints:
            leave = "Ctrl+C leaves" if self._options.read_only else "Ctrl+\\ twice detaches"
            self._tell(f"{self._session} · {leave}", for_s=HINT_S)
        self._due_s = time.monotonic()

    def _turn(self) -> None:
        now_s = time.monotonic()
        self._pass_time(now_s)
        if self._ending is not None:
            return
        ready = self._wait_ready(now_s)
        if self._outer.wake in ready:
            self._take_signals()
        if self._link.is_ready(ready):
            for message in self._link.receive():
                self._take(message)
        if self._outer.stdin in ready:
            self._take_keys(self._outer.read())
        self._paint_if_due()
        if self._offset is not None:
            # After painting, so that a slow terminal slows what is sent.
            self._link.acknowledge(self._offset)

    def _wait_ready(self, now_s: float) -> set[int]:
        wanted = self._link.interest, self._link.takes_input
        if wanted != self._polled:
            self._polled = wanted
            self._poll = select.poll()
            self._poll.register(self._outer.wake, select.POLLIN)
            if self._link.takes_input:
                self._poll.register(self._outer.stdin, select.POLLIN)
            self._link.register(self._poll)
        until_s = min(each for each in self._deadlines() if each is not None)
        wait_ms = None if until_s == NEVER_S else max(0.0, (until_s - now_s) * 1000)
        return {fd for fd, _ in self._poll.poll(wait_ms)}

    def _deadlines(self) -> list[float | None]:
        """When something is to be done even if nothing happens."""
        return [
            NEVER_S,
            self._due_s,
            self._notice_until_s if self._notice is not None else None,
            self._held_since_s + HOLD_S if self._held_since_s is not None else None,
            self._asked_s + ANSWER_S if self._asked_s is not None else None,
            self._last_output_s + LAST_OUTPUT_S if self._exit is not None else None,
            self._link.retry_at_s if not self._link.is_up and self._exit is None else None,
        ]

    def _pass_time(self, now_s: float) -> None:
        if self._notice is not None and now_s >= self._notice_until_s:
            self._notice = None
            self._want_paint(now_s)
        if self._held_since_s is not None and now_s >= self._held_since_s + HOLD_S:
            self._held_since_s = None
            self._take_pieces(self._keyboard.release())
        if self._asked_s is not None and now_s >= self._asked_s + ANSWER_S:
            self._stop_asking()
        if self._exit is not None:
            # The last output may come after the word of the exit.
            if now_s >= self._last_output_s + LAST_OUTPUT_S and self._due_s is None:
                self._ending = self._exit
        elif not self._link.is_up:
            self._find_server(now_s)

    def _find_server(self, now_s: float) -> None:
        if self._notice is None or self._notice_until_s != NEVER_S:
            self._is_open = False
            self._asking.forget()
            self._tell("the server is gone, trying again …", for_s=NEVER_S)
        if now_s < self._link.retry_at_s:
            return
        if self._link.retry(now_s, self._session, **self._size(), offset=self._offset):
            self._tell("the server is back", for_s=HINT_S / 2)
        elif self._link.lost_for_s(now_s) > self._options.give_up_s:
            self._ending = Ending(reason="unreachable")

    def _size(self) -> dict[str, int]:
        return {"cols": self._surface.cols, "rows": self._surface.rows}

    # --- what the server says ---------------------------------------------------

    def _take(self, message: Message) -> None:
        if isinstance(message, Output):
            self._take_output(message)
        elif isinstance(message, Snapshot):
            # Scrollback that the person has not seen goes into their own.
            self._mirror.restore(message.data, replay=self._offset is None or self._has_gap)
            self._has_gap = False
            self._offset = message.offset
        else:
            self._take_json(message)
        self._want_paint(time.monotonic())

    def _take_output(self, output: Output) -> None:
        known = self._offset if self._offset is not None else output.offset
        # After a reconnection some of it may be known already.
        data = output.data[max(0, known - output.offset) :]
        if self._is_echo(data):
            self._showing.echo(data)
        self._mirror.feed(data)
        self._unseen_bytes += len(data)
        self._last_output_s = time.monotonic()
        self._offset = max(known, output.offset + len(output.data))

    def _is_echo(self, data: bytes) -> bool:
        """Nothing but characters, soon after a key, on a terminal that shows all there was before."""
        return (
            self._due_s is None
            and len(data) <= PLAIN_BYTES
            and _PLAIN.fullmatch(data) is not None
            and time.monotonic() - self._typed_s < ECHO_S
            and not self._mirror.is_within_sequence
        )

    def _take_json(self, message: JsonMessage) -> None:
        match message["type"]:
            case "opened":
                self._opened(message["session"])
            case "size":
                size = Size(
                    **{name: message[name] for name in ("cols", "rows", "program_rows", "top")}
                )
                self._surface.tell_size(size)
                self._mirror.resize(cols=size.cols, rows=size.program_rows)
            case "elements":
                self._take_elements(message)
            case "approvals" | "approval":
                self._asking.tell(message, time.monotonic())
            case "event" if message["event"] == "exit":
                self._last_output_s = time.monotonic()
                self._exit = Ending(reason="exited", exit_code=message.get("exit_code"))
            case "gap":
                self._has_gap = True
            case "ended" if self._exit is None:
                code = message.get("exit_code")
                reason = "exited" if code is not None else message["reason"]
                self._exit = Ending(reason=reason, exit_code=code)
                self._offset = self._offset or 0
            case "error":
                self._take_error(message["error"])
            case _:
                pass  # something that a newer server says

    def _opened(self, session: dict[str, Any]) -> None:
        self._is_open = True
        self._session = session["name"]
        self._link.follow_approvals()
        if self._options.hold:
            self._link.hold()
        if session.get("state") == "exited":
            self._last_output_s = time.monotonic()
            self._exit = Ending(reason="exited", exit_code=session.get("exit_code"))

    def _take_error(self, error: dict[str, Any]) -> None:
        if not self._is_open:
            raise RemoteError(400, error)
        if self._exit is None:
            self._tell(str(error.get("message", "refused")), for_s=HINT_S)

    def _take_elements(self, message: JsonMessage) -> None:
        before = self._surface.input_mode
        self._surface.tell_elements(message)
        mode = self._surface.input_mode
        if before != mode and self._options.hints:
            taken = "keys go to the agent · Ctrl+\\ takes them back"
            self._tell(taken if mode == "capture" else "keys go to the program", for_s=HINT_S)

    # --- what the person does ---------------------------------------------------

    def _take_keys(self, data: bytes) -> None:
        self._take_pieces(self._keyboard.feed(data))
        self._held_since_s = time.monotonic() if self._keyboard.is_holding else None

    def _take_pieces(self, pieces: list[Piece]) -> None:
        for piece in pieces:
            match piece:
                case Typed(data):
                    self._type(data)
                case Toggled():
                    self._toggle(is_alone=piece.is_alone)
                case Answered():
                    self._showing.has_kitty |= piece.has_kitty
                    if piece.is_last:
                        self._stop_asking()

    def _type(self, data: bytes) -> None:
        self._typed_s = time.monotonic()
        # Ctrl+\ twice means in a row.
        self._toggled_s = LONG_AGO_S
        if self._notice is not None and self._notice_until_s != NEVER_S:
            self._notice = None
            self._want_paint(self._typed_s)
        if self._asking.is_answering:
            if (answer := self._asking.take(data)) is not None:
                self._link.answer(answer)
            self._want_paint(self._typed_s)
            return
        if self._options.read_only and _CTRL_C in data:
            self._ending = Ending(reason="detached")
        self._link.type(data)

    def _toggle(self, *, is_alone: bool) -> None:
        now_s = time.monotonic()
        is_second = is_alone and now_s - self._toggled_s <= DETACH_S
        # Out of a paste it is none of the two that detach.
        self._toggled_s = now_s if is_alone else LONG_AGO_S
        was_answering = self._asking.is_answering
        if is_alone and not is_second and self._asking.begin(now_s):
            self._want_paint(now_s)
            return
        if not was_answering:
            # Both are sent: the second undoes what the first did.
            self._link.type(TOGGLE)
        if is_second:
            self._ending = Ending(reason="detached")

    def _stop_asking(self) -> None:
        self._asked_s = None
        self._keyboard.awaits_answer = False
        self._want_paint(time.monotonic())

    def _take_signals(self) -> None:
        signals = self._outer.take_signals()
        if signal.SIGTSTP in signals:
            self._stop()
        if signal.SIGWINCH in signals:
            self._resized()

    def _stop(self) -> None:
        """Stopped by a signal from outside: give the terminal back until we may go on."""
        self._showing.end()
        self._outer.leave()
        os.kill(os.getpid(), signal.SIGSTOP)
        self._outer.enter()
        self._showing.begin()
        self._resized()

    def _resized(self) -> None:
        cols, rows = self._outer.size()
        self._surface.resize(cols=cols, rows=rows)
        self._showing.resized()
        self._link.resize(cols=cols, rows=rows)
        self._want_paint(time.monotonic())

    # --- painting ---------------------------------------------------------------

    def _tell(self, notice: str, *, for_s: float) -> None:
        now_s = time.monotonic()
        self._notice = notice
        self._notice_until_s = now_s + for_s
        self._want_paint(now_s)

    def _want_paint(self, now_s: float) -> None:
        due_s = max(now_s, self._painted_s + FRAME_S)
        self._due_s = due_s if self._due_s is None else min(self._due_s, due_s)
        if now_s - self._typed_s < ECHO_S and self._unseen_bytes < ECHO_BYTES:
            self._due_s = now_s

    def _paint_if_due(self) -> None:
        now_s = time.monotonic()
        if self._due_s is None or now_s < self._due_s or self._offset is None:
            return
        if self._mirror.is_updating and self._exit is None:
            if self._update_since_s is None:
                self._update_since_s = now_s
            if now_s - self._update_since_s < UPDATE_S:
                self._due_s = self._update_since_s + UPDATE_S
                return
        self._update_since_s = None
        self._due_s = None
        self._unseen_bytes = 0
        question = self._asking.rows(cols=self._surface.cols, rows=self._surface.rows)
        self._keyboard.place = self._showing.show(
            notice=self._notice, title=self._session, question=question
        )
        self._painted_s = time.monotonic()


def describe(ending: Ending, session: str) -> str:
    match ending.reason:
        case "exited":
            return f"[exited {ending.exit_code}]" if ending.exit_code is not None else "[exited]"
        case "unreachable":
            return f"[the server is gone; session {session!r} may live on]"
        case "signalled":
            return f"[detached by {signal.Signals(ending.signum or 15).name}]"
        case reason:
            return f"[{reason}]"

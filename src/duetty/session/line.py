"""The line that is being typed at the shell: what is known of it between the keys and the next mark."""

import re

from duetty.blocks import Phase
from duetty.clock import Clock
from duetty.shell import MarkKind

SETTLE_S = 0.15
"""How long a shell may take to begin with a line that was sent to it; fish takes some 10 ms."""

_PASTED = re.compile(rb"\x1b\[200~.*?(?:\x1b\[201~|\Z)", re.DOTALL)
"""A line editor only inserts what is in there, line ends too."""

_ENDS_LINE = re.compile(rb"[\r\n\x03\x04\x15]")

_TAKES_LINES = frozenset({Phase.INPUT, Phase.CONTINUATION, Phase.DONE, Phase.PROMPT})
_AT_PROMPT = frozenset({Phase.INPUT, Phase.CONTINUATION})


class Line:
    """One at a time; the next begins with the next prompt."""

    __slots__ = (
        "_ahead",
        "_clock",
        "_entered_s",
        "_interrupted_at",
        "_interrupted_s",
        "_pressed_again_s",
        "echoed",
        "entered_at_ns",
        "half_ahead",
        "half_typed",
        "is_taken_back",
        "is_touched",
        "recorded_as",
        "text",
    )

    def __init__(self, clock: Clock) -> None:
        self.half_typed = False
        """A half-typed line stands at the prompt, as far as keys tell."""

        self.half_ahead = False
        """The same, before the prompt was there, where the terminal itself assembles the line: such
        a half is unread, and it stands behind the prompt unseen."""

        self.is_taken_back = False
        """The last key was Ctrl-C: the text behind the prompt belongs to no actor."""

        self.is_touched = False
        """Keys or a signal went to the terminal that were no run's: they may still make the shell
        draw a prompt, or stand in its line. Until it was seen to wait with an empty one."""

        self.text: str | None = None
        """The line a run is typing: bash tells a line's text only when it has ended."""

        self.recorded_as: str | None = None
        """What its block is called, where a run types more than it was asked to run."""

        self.entered_at_ns: int | None = None
        self.echoed = True
        """Whether the terminal echoed what was typed when the line was sent."""

        self._clock = clock
        self._entered_s = 0.0
        self._ahead = False
        """It was sent before the prompt for it was drawn."""

        self._interrupted_at: int | None = None
        self._interrupted_s = 0.0
        self._pressed_again_s = -SETTLE_S
        """When Ctrl-C was last pressed again for an actor whose own one seemed to be lost."""

    @property
    def is_settled(self) -> bool:
        """The shell has had the time to begin with the line."""
        return self._clock.monotonic_s() - self._entered_s > SETTLE_S

    def interrupted(self, prompts: int, phase: Phase) -> None:
        """Ctrl-C was typed when the shell had drawn so many prompts: a signal, which no program reads."""
        # Behind a line that has just ended comes a prompt anyway: it says nothing of the signal.
        self._interrupted_at = prompts + (phase is Phase.DONE)
        self._interrupted_s = self._clock.monotonic_s()
        self.is_taken_back = True

    def is_interrupting(self, prompts: int) -> bool:
        """The shell may not have heard of that yet: it draws another prompt when it has."""
        if self._interrupted_at is not None and prompts > self._interrupted_at:
            self._interrupted_at = None
        passed_s = self._clock.monotonic_s() - self._interrupted_s
        return self._interrupted_at is not None and passed_s <= SETTLE_S

    def take_deaf(self, prompts: int) -> bool:
        """Whether it drew none, after all that time; true once."""
        is_deaf = self._interrupted_at is not None and prompts <= self._interrupted_at
        self._interrupted_at = None
        return is_deaf

    def pressed_again(self) -> None:
        """Ctrl-C was pressed once more for an actor whose own one the shell lost."""
        self._pressed_again_s = self._clock.monotonic_s()

    @property
    def is_pressed_again(self) -> bool:
        """That was a moment ago."""
        return self._clock.monotonic_s() - self._pressed_again_s <= SETTLE_S

    def assembled(self, data: bytes, phase: Phase) -> None:
        """Keys went to a terminal that assembles lines itself."""
        *ended, rest = _ENDS_LINE.split(data)
        if ended:
            self.half_ahead = bool(rest)
        elif phase not in _AT_PROMPT:
            self.half_ahead = True

    def typed(self, data: bytes, phase: Phase) -> bool:
        """Keys went to the shell; whether they sent a line."""
        self.is_taken_back = data.endswith(b"\x03")
        if phase not in _TAKES_LINES:
            return False
        data = _PASTED.sub(b"", data)
        if b"\r" not in data and b"\n" not in data:
            self.half_typed = not (b"\x03" in data or b"\x15" in data)
            return False
        self._ahead = phase not in _AT_PROMPT
        return not self._ahead

    def entered(self, *, echo: bool) -> None:
        """The line was sent, and the shell has not reported yet what it does with it."""
        self.half_typed = False
        self.entered_at_ns = self._clock.wall_ns()
        self._entered_s = self._clock.monotonic_s()
        self.echoed = echo

    def marked(self, kind: MarkKind, before: Phase) -> bool:
        """The shell announced something; whether a line that was sent ahead is its input now."""
        match kind:
            case MarkKind.DONE:
                self.half_typed = self._ahead = False
            case MarkKind.PROMPT:
                self.text = self.recorded_as = None
                if before is not Phase.DONE:  # the line was empty, abandoned or refused
                    self.half_typed = False
            case MarkKind.INPUT if self._ahead:
                self._ahead = False
                return True
            case MarkKind.INPUT | MarkKind.OUTPUT:
                pass
        return False

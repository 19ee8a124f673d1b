"""The command lines of a session as blocks: the one that runs, and those that ran."""

import re
from collections import deque
from collections.abc import Callable

from duetty.blocks import Closed, Opened
from duetty.calls import Actor
from duetty.errors import OutputExpired
from duetty.events import BlockFinished, BlockStarted, EventLog
from duetty.ids import block_id
from duetty.journal import Journal
from duetty.session.block import Block
from duetty.session.echo import has_text, typed_line
from duetty.session.line import Line
from duetty.session.profile import Profile

RECENT_BLOCKS = 200
"""Blocks kept at hand; older ones are in the store."""

ECHO_BYTES = 64 * 1024
"""How far an echoed line is looked for."""

_SEQUENCES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
"""What an editor asks of the terminal, or moves in it, beside the line that it shows."""

_BEGINS_EDITOR = b"\x1b[?2004h"
"""It asks for them: anew, when it was interrupted and drew no prompt."""

LEAVES_EDITOR = re.compile(rb"\x1b\[\?2004l\r*\n?")
"""The line editor asks for no more pastes: what follows is not its echo any more."""


class Chronicle:
    """Written by the session as marks come; read by all others."""

    def __init__(
        self,
        profile: Profile,
        *,
        journal: Journal,
        log: EventLog,
        line: Line,
        on_closed: Callable[[Block], None],
    ) -> None:
        self.recent: deque[Block] = deque(maxlen=RECENT_BLOCKS)
        self.open_block: Block | None = None
        self._collectors: list[list[Block]] = []
        self._profile = profile
        self._journal = journal
        self._log = log
        self._line = line
        self._on_closed = on_closed

    def collect(self, into: list[Block]) -> None:
        """Gather the blocks that close from now on."""
        self._collectors.append(into)

    def stop_collecting(self, into: list[Block]) -> None:
        self._collectors = [each for each in self._collectors if each is not into]

    def opened(self, opened: Opened, *, at_ns: int, actor: Actor) -> None:
        self.open_block = Block(
            id=block_id(self._profile.id, opened.number),
            number=opened.number,
            command_line=self._line.recorded_as
            or opened.command_line
            or self._line.text
            or self._typed(opened),
            cwd=opened.cwd or self._profile.cwd,
            start=opened.start,
            end=None,
            started_at_ns=at_ns,
            finished_at_ns=None,
            exit_code=None,
            actor=actor,
        )
        self._log.append(
            BlockStarted(block=self.open_block.id, command_line=self.open_block.command_line)
        )
        self._line.text = None

    def closed(self, closed: Closed, *, at_ns: int, actor: Actor) -> None:
        begun = self.open_block
        start, command_line = closed.start, closed.command_line
        if closed.after_echo:
            start, command_line = self._after_echo(closed)
            if command_line is None or command_line.endswith("^C"):
                return  # an empty or abandoned line; POSIX sh ends those too
        block = Block(
            id=block_id(self._profile.id, closed.number),
            number=closed.number,
            command_line=self._line.recorded_as
            or command_line
            or (begun.command_line if begun else None),
            cwd=(begun.cwd if begun else closed.cwd) or self._profile.cwd,
            start=start,
            end=closed.end,
            started_at_ns=self._started_ns(closed, begun, at_ns),
            finished_at_ns=at_ns,
            exit_code=closed.exit_code,
            actor=begun.actor if begun else actor,
        )
        self.open_block = None
        self.recent.append(block)
        for collector in self._collectors:
            collector.append(block)
        self._log.append(BlockFinished(block=block.id, exit_code=block.exit_code))
        self._on_closed(block)

    def _started_ns(self, closed: Closed, begun: Block | None, at_ns: int) -> int:
        if closed.took_ns is not None:
            return at_ns - closed.took_ns
        if begun is not None:
            return begun.started_at_ns
        return self._line.entered_at_ns or at_ns

    def unannounced(self, *, number: int, start: int, actor: Actor) -> Block | None:
        """The line that POSIX sh was sent and that runs, as far as its echo tells."""
        begin, line = self.echoed(start, self._journal.end)
        if line is None or not self._line.echoed:
            return None
        return Block(
            id=block_id(self._profile.id, number),
            number=number,
            command_line=line,
            cwd=self._profile.cwd,
            start=begin,
            end=None,
            started_at_ns=self._line.entered_at_ns or 0,
            finished_at_ns=None,
            exit_code=None,
            actor=actor,
        )

    def _typed(self, opened: Opened) -> str | None:
        """What a shell that tells its lines only when they end was given, as the screen shows it."""
        if self._profile.shell_kind.announces != "lines" or not opened.prompt_end:
            return None
        try:
            prompt = self._journal.read(opened.prompt_end, opened.input_end)
            echo = self._journal.read(opened.input_end, opened.start)
        except OutputExpired:
            return None
        return typed_line(prompt, echo, cols=self._profile.cols)

    def shown_text(self, prompt_end: int, input_end: int) -> str | None:
        """The text behind the prompt that was drawn between these; None if unknown."""
        drawn = self._drawn(prompt_end, input_end)
        return None if drawn is None else typed_line(*drawn, cols=self._profile.cols) or ""

    def shows_text(self, prompt_end: int, input_end: int) -> bool | None:
        """Whether a text stands behind the prompt that was drawn between these; None if unknown."""
        if (found := self._drawn(prompt_end, input_end)) is None:
            return None
        prompt, echo = found
        drawn, begins, typed = echo.rpartition(_BEGINS_EDITOR)
        return has_text(prompt + drawn + begins, typed, cols=self._profile.cols)

    def _drawn(self, prompt_end: int, input_end: int) -> tuple[bytes, bytes] | None:
        """The prompt, and all that was shown since."""
        end = self._journal.end
        if end - prompt_end > ECHO_BYTES:
            return None
        try:
            return self._journal.read(prompt_end, input_end), self._journal.read(input_end, end)
        except OutputExpired:
            return None

    def _after_echo(self, closed: Closed) -> tuple[int, str | None]:
        """Where output begins behind an echoed line, and that line (POSIX sh has no other)."""
        if self._profile.shell_kind.has_line_editor:
            return self._after_editor(closed)
        if not self._line.echoed:
            return closed.start, closed.command_line or self._line.text or "(typed without echo)"
        start, line = self.echoed(self._echo_start(closed), closed.end)
        return start, closed.command_line or line

    def _echo_start(self, closed: Closed) -> int:
        """Behind what a job in the background printed before the line was typed."""
        if self._line.text is None:
            return closed.start
        try:
            shown = self._journal.read(closed.start, min(closed.end, closed.start + ECHO_BYTES))
        except OutputExpired:
            return closed.start
        return closed.start + max(shown.find(self._line.text.encode() + b"\r\n"), 0)

    def _after_editor(self, closed: Closed) -> tuple[int, str | None]:
        """The same where the shell itself showed the line, whatever the terminal echoes."""
        start, line = self.echoed(closed.start, closed.end)
        try:
            shown = self._journal.read(closed.start, min(closed.end, closed.start + ECHO_BYTES))
        except OutputExpired:
            shown = b""
        for left in LEAVES_EDITOR.finditer(shown):
            start = closed.start + left.end()
        return start, closed.command_line or self._line.text or line

    def echoed(self, start: int, end: int) -> tuple[int, str | None]:
        """Where a line that was echoed at `start` ends, and its text."""
        try:
            head = self._journal.read(start, min(end, start + ECHO_BYTES))
        except OutputExpired:
            return start, None
        line, newline, _ = head.partition(b"\n")
        if not newline:
            return end, None
        text = _SEQUENCES.sub("", line.decode("utf-8", "replace"))
        return start + len(line) + 1, text.strip() or None

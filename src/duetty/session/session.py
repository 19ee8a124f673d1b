"""One PTY with its process, terminal, journal and log, from open to close.

Owns the order of things: bytes are in the journal before anything else sees
them; marks, terminal, blocks and log follow in the same turn of the loop.
"""

import logging
import os
import re
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, Protocol

import anyio

from duetty.blocks import BlockTracker, Phase, Probe, State, derive_state
from duetty.calls import Actor
from duetty.clock import Clock
from duetty.errors import SessionExited
from duetty.events import (
    Bell,
    Degraded,
    ElementsChanged,
    Event,
    EventLog,
    Exited,
    Resized,
    StateChanged,
    TitleChanged,
)
from duetty.journal import MAX_SNAPSHOT_BYTES, Journal
from duetty.platform.terminals import Foreground, directory_of, program, set_window_size
from duetty.session.activity import Activity
from duetty.session.block import Block
from duetty.session.bounds import BoundReached
from duetty.session.capture import Keyboard
from duetty.session.chronicle import Chronicle
from duetty.session.elements import Elements, KeptElements
from duetty.session.envelope import Envelope, pack_within
from duetty.session.lane import Lane
from duetty.session.last_shown import LastShown
from duetty.session.line import Line
from duetty.session.profile import Profile
from duetty.session.prompt import Prompt
from duetty.session.pty import Pty
from duetty.session.pulse import Pulse
from duetty.session.pump import INTERRUPT
from duetty.session.times import Times
from duetty.session.viewers import SizeRule, Viewers
from duetty.shell import Mark, MarkKind, MarkScanner
from duetty.surface import Frame, compose
from duetty.vt import Cursor, GridRow, Screen, Scrollback, Terminal, encode_keys, encode_paste

log = logging.getLogger("duetty.session")

LOOKS = 3
"""How often the kernel is asked about a program that prints meanwhile, until the state is not known."""

ECHO_BYTES = 64
"""What a key, or a few of them, make a program print."""

_CONTROL = re.compile(rb"[\x00-\x1f\x7f]")

TerminalMode = Literal["raw", "no_echo"]


class Owner(Protocol):
    """Who has the session: hears at once what happens in it, and can ask the kernel about it."""

    def happened(self, session: "Session", event: Event) -> None: ...
    def block_closed(self, session: "Session", block: Block) -> None: ...
    def left_changed(self, session: "Session") -> None: ...
    def elements_changed(self, session: "Session", *, urgent: bool) -> None:
        """`urgent`: the program is about to get another size on their account."""
        ...

    async def probe(self, session: "Session") -> Probe: ...


class Session:
    """Methods that return at once; waiting is in `waits` and `runs`."""

    def __init__(
        self,
        profile: Profile,
        *,
        journal: Journal,
        terminal: Terminal,
        scanner: MarkScanner,
        tracker: BlockTracker,
        clock: Clock,
        owner: Owner,
        size_rule: SizeRule = "smallest",
        lane: Lane | None = None,
    ) -> None:
        self.profile = profile
        self.journal = journal
        self.log = EventLog(clock, tap=self._on_event)
        self.activity = Activity(clock)
        self.pulse = Pulse()
        self.pty = Pty(journal, lane=lane)
        line = Line(clock)
        self.chronicle = Chronicle(
            profile, journal=journal, log=self.log, line=line, on_closed=self._on_block_closed
        )
        self.prompt = Prompt(
            profile, tracker=tracker, line=line, chronicle=self.chronicle, pty=self.pty
        )
        self.exit_code: int | None = None
        self.exit_signal: int | None = None
        self.exited_at_ns: int | None = None
        self.run_lock = anyio.Lock(fast_acquire=True)
        """Runs on one session queue here, in order."""

        self.left = dict(profile.bounds.left)
        """What callers stopped waiting for: blocks, or the session itself, by id."""

        self.bound_reached: BoundReached | None = None
        """Which of its bounds ended it, if one did."""

        self.ended_for: str | None = None
        """Why the server ended its processes, for people to read."""

        self.left_behind: str | None = None
        """What its sandbox did to a repository, when it has ended."""

        self.shown = LastShown()
        self.viewers = Viewers(size_rule)
        self.elements = Elements(self._on_elements)
        self.layout = self.elements.layout(rows=profile.rows)
        """How the rows of the surface are shared between the program and panels."""

        self.keyboard = Keyboard(self, clock, line_settings=self.pty.echo_and_canonical)

        self._owner: Owner | None = owner
        self._clock = clock
        self._terminal = terminal
        self._scanner = scanner
        self._probe: Probe | None = None
        self._probe_generation = -1
        self._announced_state: State | None = None
        self._announced_degraded: str | None = None
        self._failure: str | None = None
        """What kept output from the terminal."""

    # --- what it is -----------------------------------------------------------

    @property
    def name(self) -> str:
        return self.profile.name

    @property
    def is_exited(self) -> bool:
        return self.exited_at_ns is not None

    @property
    def degraded(self) -> str | None:
        """Why it does not all work as promised; None when it does."""
        return (
            self.ended_for
            or self.journal.degraded
            or self._failure
            or self.left_behind
            or self.journal.damage
        )

    @property
    def recent(self) -> deque[Block]:
        """The blocks that ended last, oldest first."""
        return self.chronicle.recent

    @property
    def cwd(self) -> str:
        known = self.prompt.cwd or self._terminal.cwd or self.profile.cwd
        profile = self.profile
        # Its shell tells at its prompt only; inside bubblewrap a path may be another place.
        if self.is_exited or self.prompt.is_open or profile.sandbox == "bubblewrap":
            return known
        return directory_of(profile.pid, known) if profile.is_shell else known

    @property
    def title(self) -> str:
        return self._terminal.title

    @property
    def alternate_active(self) -> bool:
        return self._terminal.alternate_active

    @property
    def bracketed_paste(self) -> bool:
        return self._terminal.modes().bracketed_paste

    def state(self) -> State:
        """The state, as far as it is known without asking the kernel."""
        fresh = self._probe if self._probe_generation == self.activity.generation else None
        prompt = self.prompt
        if prompt.phase is Phase.INPUT and self._is_raw_at_prompt():
            return State(word="awaiting_input", known_by="terminal")
        return derive_state(
            phase=prompt.phase,
            announces_lines=self.profile.shell_kind.announces == "lines",
            settled=prompt.line.is_settled,
            alternate_active=self._terminal.alternate_active,
            exited=self.is_exited,
            is_shell=self.profile.is_shell,
            probe=fresh,
        )

    def _is_raw_at_prompt(self) -> bool:
        """A program left the terminal so that a shell without a line editor gets no line."""
        return self.profile.shell_kind.terminal_assembles_lines and self.terminal_mode == "raw"

    async def look(self) -> State:
        """The state, with the kernel asked where only it can tell."""
        for _ in range(LOOKS):
            if self.is_exited or not self.prompt.is_unannounced:
                break
            generation = self.activity.generation
            probe = await self.probe()
            is_current = generation == self.activity.generation and not self.pty.has_output
            if not self.is_exited and is_current:
                self._probe = probe
                self._probe_generation = generation
                break
        self._tell_state()
        return self.state()

    async def probe(self) -> Probe:
        """Who reads the terminal, as the kernel knows it."""
        return Probe(known=False) if self._owner is None else await self._owner.probe(self)

    @property
    def terminal(self) -> Terminal:
        """To look at, and to copy."""
        return self._terminal

    def screen(self, *, styled: bool) -> Screen:
        return self._terminal.screen(styled=styled)

    def grid(self) -> tuple[GridRow, ...]:
        """The screen in pieces that know their columns, for pictures."""
        return self._terminal.grid()

    def frame(self) -> Frame:
        """The screen with its panels and overlays, as who is attached sees it."""
        cols, rows = self.profile.cols, self.profile.rows
        cursor = self.screen(styled=False).cursor
        return compose(self.grid(), cursor, self.elements.scene(cols=cols, rows=rows))

    def scrollback(self, *, offset: int, limit: int, styled: bool) -> Scrollback:
        return self._terminal.scrollback(offset=offset, limit=limit, styled=styled)

    def text(self, *, first_row: int) -> str:
        """Rows from this one on, with what the terminal wrapped joined again."""
        return self._terminal.text(join_wraps=True, first_row=first_row)

    @property
    def total_rows(self) -> int:
        return self._terminal.total_rows

    @property
    def terminal_size(self) -> tuple[int, int]:
        """Columns and rows that the program has."""
        return self._terminal.cols, self._terminal.rows

    def dump(self, *, scrollback_rows: int | None = None) -> bytes:
        """The whole terminal as VT bytes, for a viewer that starts now."""
        return self._terminal.dump(scrollback_rows=scrollback_rows)

    @property
    def foreground(self) -> Foreground | None:
        """The program that has the terminal; None for a shell at its prompt, or where it is unknown."""
        if self.prompt.is_open:
            return None
        found = self.pty.foreground()
        if found is None or (found.pid == self.profile.pid and self.profile.is_shell):
            return None
        return found

    @property
    def reader(self) -> Foreground | None:
        """Of the programs that have the terminal, the one that was last seen to read it: the editor that
        git started, not git. None where that is not known now.
        """
        probe = self._probe if self._probe_generation == self.activity.generation else None
        if probe is None or probe.reader is None or probe.by_shell or self.foreground is None:
            return None
        return program(probe.reader)

    @property
    def terminal_mode(self) -> TerminalMode | None:
        """An unusual mode: keys reach the program one by one, or are not shown.

        A shell that edits its line itself reads keys one by one too, but leaves the output
        processed: where it is not, a program left the terminal raw.
        """
        if not self.pty.is_open:
            return None
        if self.prompt.is_open and self.profile.shell_kind.has_line_editor:
            return None if self.pty.processes_output() else "raw"
        echo, canonical = self.pty.echo_and_canonical()
        if not canonical:
            return "raw"
        return None if echo else "no_echo"

    @property
    def is_echoed(self) -> bool:
        """By the terminal, or by a program that reads key by key and shows them itself."""
        echo, canonical = self.pty.echo_and_canonical()
        return echo or not canonical

    @property
    def cursor(self) -> Cursor:
        return self._terminal.cursor

    def rows(self) -> tuple[str, ...]:
        """The screen as text."""
        return tuple(row.rstrip() for row in self._terminal.screen(styled=False).text_lines)

    # --- effects ---------------------------------------------------

    def write(self, data: bytes, *, actor: Actor, judged: bool = False) -> None:
        """Bytes to the program, verbatim. `judged`: a run types them.

        Raises:
            SessionExited: if there is no program any more.
            InputRejected: if it does not read.
        """
        if not self.pty.is_open:
            raise SessionExited(self.name, self.exit_code)
        self.pty.write(data, hush=not judged)
        self.prompt.wrote(data, actor=actor, judged=judged)
        if self.left and data != INTERRUPT:
            self._is_used()
        self.activity.touch()
        self.pulse.fire()

    def _is_used(self) -> None:
        """An actor types into what was left running here: from now on only actors end it."""
        before = dict(self.left)
        for what, left in before.items():
            if left.is_bounded and left.bound_reached is None:
                self.left[what] = replace(left, ends_at_ns=None, max_output_bytes=None)
        if self.left != before and self._owner is not None:
            self._owner.left_changed(self)

    def interrupt(self, *, actor: Actor) -> bool:
        """Type Ctrl-C ahead of everything that waits; False if even that cannot be written.

        Raises:
            SessionExited: if there is no program any more.
        """
        if not self.pty.is_open:
            raise SessionExited(self.name, self.exit_code)
        self.prompt.interrupted(actor=actor)
        self.activity.touch()
        return self.pty.interrupt()

    def press(self, keys: list[str], *, actor: Actor) -> int:
        data = self.pressed(keys)
        self.write(data, actor=actor)
        return len(data)

    def pressed(self, keys: list[str]) -> bytes:
        """What these keys would write.

        Raises:
            UnknownKey: if one has no such name.
        """
        return encode_keys(keys, self._terminal)

    def paste(self, text: str, *, actor: Actor, judged: bool = False) -> int:
        data = self.pasted(text)
        self.write(data, actor=actor, judged=judged)
        return len(data)

    def pasted(self, text: str) -> bytes:
        """What this paste would write."""
        return encode_paste(text, self._terminal)

    def resize(self, *, cols: int, rows: int) -> None:
        """Change the size of the surface; panels keep their rows, the program has the rest."""
        profile = self.profile
        if (cols, rows) == (profile.cols, profile.rows):
            return
        profile.cols, profile.rows = cols, rows
        if self.layout.placed and self._owner is not None:
            self._owner.elements_changed(self, urgent=True)
        self._fit()

    def _fit(self) -> None:
        """Bring the program to the size that the surface and its panels leave."""
        profile = self.profile
        self.layout = self.elements.layout(rows=profile.rows)
        cols, rows = profile.cols, self.layout.program_rows
        if (cols, rows) != self.terminal_size:
            self.journal.note_size(cols=cols, rows=rows)
            changes = self._terminal.resize(cols=cols, rows=rows)
            self.pty.set_size(cols=cols, rows=rows)
            self.pty.reply(changes.replies)
        self.log.append(
            Resized(cols=cols, rows=profile.rows, program_rows=rows, top=self.layout.top)
        )
        self.pulse.fire()

    def _on_elements(self, relayout: bool) -> None:
        refit = relayout and self.elements.layout(rows=self.profile.rows) != self.layout
        if self._owner is not None:
            self._owner.elements_changed(self, urgent=refit)
        if refit:
            self._fit()
        self.log.append(ElementsChanged())

    def restore_elements(self, kept: KeptElements) -> None:
        """Begin with the elements that an earlier server kept."""
        self.elements.restore(kept)
        if self.elements.layout(rows=kept.rows).placed:
            self.profile.cols, self.profile.rows = kept.cols, kept.rows
            self._fit()

    def adopt_size(self, master: int) -> None:
        """Agree with a PTY whose size a server that was killed may not have noted.

        With panels it was perhaps not yet given the size that they leave: it gets it now.
        """
        size, (cols, rows) = os.get_terminal_size(master), self.terminal_size
        if (size.columns, size.lines) == (cols, rows):
            return
        if self.layout.placed:
            set_window_size(master, cols=cols, rows=rows)
        else:
            self.resize(cols=size.columns, rows=size.lines)

    # --- bytes up -------------------------------------------------------------

    def attach(self, fd: int) -> None:
        """Begin to read and write this PTY master, which is ours from now on."""
        self.pty.attach(
            fd,
            self.name,
            took=self._on_output,
            failed=self._failed,
            reads_keys=self.prompt.reads_keys,
        )

    def replay(self, data: bytes, offset: int, times: Times) -> None:
        """Feed journalled bytes again after a restart: no replies, no output events."""
        self._terminal.silent = True
        try:
            self._terminal.feed(data)
        finally:
            self._terminal.silent = False
        for mark in self._scanner.scan(data, offset):
            self.prompt.apply(mark, at_ns=times.at(mark.start))

    def replay_resize(self, *, cols: int, rows: int) -> None:
        self.profile.cols, self.profile.rows = cols, rows
        self._terminal.resize(cols=cols, rows=rows)

    def turn_over(self) -> None:
        """Begin the journal's next segment with everything that is known now."""
        self.pty.settle()
        envelope = Envelope(
            terminal=self._terminal.snapshot(),
            carry=self._scanner.carry,
            progress=self.prompt.progress,
            open_block=self.prompt.open_block,
        )
        cols, rows = self.terminal_size
        self.journal.turn_over(
            pack_within(envelope, self._terminal, limit_bytes=MAX_SNAPSHOT_BYTES),
            cols=cols,
            rows=rows,
        )

    def _on_output(self, data: memoryview, start: int) -> None:
        if len(data) <= ECHO_BYTES and not _CONTROL.search(data):
            self.log.pass_on()  # an echo: its viewers have it before the terminal here
        try:
            self._take_in(data, start)
        except Exception as error:  # noqa: BLE001 - logged; it is on record, and the next bytes are taken
            self._failed(error)
        self.log.printed()
        self.pulse.fire()

    def _failed(self, error: Exception) -> None:
        """Output could not be taken: a mistake of ours. Say so once, and go on."""
        failure = f"output was not taken in: {type(error).__name__}"
        if failure != self._failure:
            self._failure = failure
            log.error("output_failed", extra={"session": self.name}, exc_info=error)
            self.log.append(Degraded(part="terminal", reason=failure))

    def _take_in(self, data: memoryview, start: int) -> None:
        marks = self._scanner.scan(data, start)
        ended = _line_end(marks) if marks else None
        # Who asked before that is gone: an answer would be typed into the next line.
        unanswered = 0 if ended is None else max(ended - start, 0)
        changes = self._terminal.feed(data, unanswered=unanswered)
        self.activity.touch()
        if marks:
            now = self._clock.wall_ns()
            for mark in marks:
                self.prompt.apply(mark, at_ns=now)
        self.pty.reply(changes.replies, is_line_over=ended is not None)
        if changes.title_changed:
            self.log.append(TitleChanged(title=self._terminal.title))
        if changes.bells:
            self.log.append(Bell(count=changes.bells))
        if marks or changes.alternate_changed:
            self._tell_state()
        if self.journal.wants_snapshot:
            self.turn_over()
        if self.journal.degraded != self._announced_degraded:
            self._announced_degraded = self.journal.degraded
            self.log.append(Degraded(part="journal", reason=self.journal.degraded))

    def _on_event(self, event: Event) -> None:
        if self._owner is not None:
            self._owner.happened(self, event)

    def _on_block_closed(self, block: Block) -> None:
        if self._owner is not None:
            self._owner.block_closed(self, block)

    def _tell_state(self) -> None:
        state = self.state()
        if state != self._announced_state:
            self._announced_state = state
            self.log.append(StateChanged(state=state.word, known_by=state.known_by))
            self.pulse.fire()

    # --- the end --------------------------------------------------------------

    def ended(self, *, exit_code: int | None, exit_signal: int | None) -> None:
        """The process is gone: drain, close, keep everything readable."""
        if self.is_exited:
            return
        self.pty.drain()
        self.pty.detach()
        self.exit_code, self.exit_signal = exit_code, exit_signal
        self.exited_at_ns = self._clock.wall_ns()
        self.prompt.abandon(self.journal.end, exit_code=exit_code, at_ns=self.exited_at_ns)
        self._keep_end()
        self.log.append(Exited(exit_code=exit_code, signal=exit_signal))
        self._tell_state()
        self.activity.touch()
        self.pulse.fire()

    def _keep_end(self) -> None:
        """A snapshot of the last screen, so that no later server has to replay what led to it."""
        if self.journal.degraded is None:
            self.turn_over()
        self.journal.rest()

    def close(self) -> None:
        """Let go of everything; the journal's files stay until they are removed."""
        self.pty.detach()
        self.keyboard.close()
        self.log.close()
        self.journal.close()
        # Calls that still look at it keep the terminal; it goes with the last of them.
        self._owner = None


def _line_end(marks: Sequence[Mark]) -> int | None:
    """Where the last command line that is known to have ended did so."""
    for mark in reversed(marks):
        if mark.trusted and mark.kind is MarkKind.DONE:
            return mark.start
    return None

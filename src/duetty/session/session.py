"""One PTY with its process, terminal, journal and log, from open to close.

Owns the order of things: bytes are in the journal before anything else sees
them; marks, terminal, blocks and log follow in the same turn of the loop.
"""

import logging
import os
import re
from collections import deque
from collections.abc import Callable, Sequence
from typing import Literal

import anyio

from duetty.blocks import BlockTracker, Closed, Opened, Phase, Probe, State, derive_state
from duetty.calls import Actor
from duetty.clock import Clock
from duetty.errors import SessionExited
from duetty.events import (
    Bell,
    Degraded,
    ElementsChanged,
    EventLog,
    Exited,
    Resized,
    StateChanged,
    TitleChanged,
)
from duetty.journal import MAX_SNAPSHOT_BYTES, Journal
from duetty.platform.terminals import (
    Foreground,
    drop_unread,
    foreground,
    has_output,
    is_still_the_shell,
    line_settings,
    make_sane,
    set_window_size,
    unread_bytes,
)
from duetty.session.activity import Activity
from duetty.session.block import Block
from duetty.session.bounds import BoundReached
from duetty.session.capture import Keyboard
from duetty.session.chronicle import Chronicle
from duetty.session.elements import Elements, KeptElements
from duetty.session.envelope import Envelope, pack_within
from duetty.session.lane import Lane
from duetty.session.last_shown import LastShown
from duetty.session.line import SETTLE_S, Line
from duetty.session.profile import Profile
from duetty.session.pty_reader import Reading
from duetty.session.pulse import Pulse
from duetty.session.pump import INTERRUPT, InputQueue
from duetty.session.replies import Replies
from duetty.session.times import Times
from duetty.session.typed_text import TypedText
from duetty.session.viewers import Viewers
from duetty.session.wait_probe import Prober
from duetty.shell import Mark, MarkKind, MarkScanner
from duetty.surface import Frame, compose
from duetty.vt import Cursor, GridRow, Screen, Scrollback, Terminal, encode_keys, encode_paste

log = logging.getLogger("duetty.session")

REST_LOOK_S = 0.005
LOOKS = 3
"""How often the kernel is asked about a program that prints meanwhile, until the state is not known."""

REST_LOOKS = 200
"""How often, and how many times, a shell is looked at that somebody has typed at."""

ECHO_BYTES = 64
"""What a key, or a few of them, make a program print."""

_CONTROL = re.compile(rb"[\x00-\x1f\x7f]")

UNANNOUNCED = frozenset({Phase.RUNNING, Phase.ENTERED, Phase.SILENT})
"""Phases in which only the kernel can tell what the program does."""

_AT_PROMPT = frozenset({Phase.DONE, Phase.PROMPT, Phase.INPUT, Phase.CONTINUATION})

TerminalMode = Literal["raw", "no_echo"]

UNKNOWN_PERSON = Actor(kind="person", name="unknown")


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
        prober: Prober,
        lane: Lane | None = None,
    ) -> None:
        self.profile = profile
        self.journal = journal
        self.log = EventLog(clock)
        self.activity = Activity(clock)
        self.pulse = Pulse()
        self.line = Line(clock)
        self.chronicle = Chronicle(profile, journal=journal, log=self.log, line=self.line)
        self.exit_code: int | None = None
        self.exit_signal: int | None = None
        self.exited_at_ns: int | None = None
        self.typed = TypedText()
        self.typed_by_people = 0
        """How often a person wrote to it, by whatever way."""
        self.run_lock = anyio.Lock(fast_acquire=True)
        """Runs on one session queue here, in order."""

        self.actor = UNKNOWN_PERSON
        """Who wrote last: the next block is theirs."""

        self.left = dict(profile.bounds.left)
        """Blocks, or the session itself, that a caller stopped waiting for: whom to tell of their end."""

        self.bound_reached: BoundReached | None = None
        """Which of its bounds ended it, if one did."""

        self.ended_for: str | None = None
        """Why the server ended its processes, for people to read."""

        self.shown = LastShown()
        self.viewers = Viewers()
        self.last_dump: object = None
        """What viewers were shown last, so that many of them share it; see `following`."""

        self.elements = Elements(self._on_elements)
        self.layout = self.elements.layout(rows=profile.rows)
        """How the rows of the surface are shared between the program and panels."""

        self.on_elements_changed: Callable[[bool], None] | None = None
        """Told with true before the program gets another size on their account."""

        self.keyboard = Keyboard(self, clock)

        self._clock = clock
        self._terminal = terminal
        self._scanner = scanner
        self._tracker = tracker
        self._prober = prober
        self._lane = lane
        self._fd = -1
        self._reading: Reading | None = None
        self._input: InputQueue | None = None
        self._replies: Replies | None = None
        self._probe: Probe | None = None
        self._probe_generation = -1
        self._announced_state: State | None = None
        self._announced_degraded: str | None = None
        self._pressed_again_s = -SETTLE_S
        """When Ctrl-C was last pressed for somebody whose own one seemed to be lost."""

        self._failure: str | None = None
        """What kept output from the terminal."""

        self.left_behind: str | None = None
        """What its sandbox did to a repository, when it has ended."""

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
    def open_block(self) -> Block | None:
        """The command line that runs."""
        if self._tracker.phase is Phase.ENTERED and self.profile.shell_kind.announces == "ends":
            progress = self._tracker.progress
            return self.chronicle.unannounced(
                number=progress.count + 1, start=progress.input_end, actor=self.actor
            )
        return self.chronicle.open_block

    @property
    def phase(self) -> Phase:
        return self._tracker.phase

    @property
    def input_end(self) -> int:
        """Journal offset at which the last prompt was ready for input."""
        return self._tracker.progress.input_end

    @property
    def prompt_end(self) -> int:
        """Journal offset at which the last prompt began to be drawn."""
        return self._tracker.progress.prompt_end

    @property
    def prompts(self) -> int:
        """How many prompts the shell has begun."""
        return self._tracker.progress.prompts

    @property
    def continued_at(self) -> int:
        """Journal offset at which the shell last asked for the rest of a line."""
        return self._tracker.progress.continued_at

    @property
    def is_unannounced(self) -> bool:
        """Only the kernel can tell what the program does."""
        return self._tracker.phase in UNANNOUNCED

    @property
    def is_busy(self) -> bool:
        """A program other than a shell at its prompt reads what is typed, as far as is known."""
        return not self.profile.is_shell or self._tracker.phase is Phase.RUNNING

    @property
    def is_continuing(self) -> bool:
        """The shell asks for the rest of a line; some do so without a mark."""
        phase = self._tracker.phase
        is_silent = phase is Phase.ENTERED and self.profile.shell_kind.continues_silently
        return phase is Phase.CONTINUATION or (is_silent and self.line.is_settled)

    @property
    def has_marks(self) -> bool:
        return self._tracker.phase is not Phase.SILENT

    @property
    def cwd(self) -> str:
        return self._tracker.cwd or self._terminal.cwd or self.profile.cwd

    @property
    def title(self) -> str:
        return self._terminal.title

    @property
    def alternate_active(self) -> bool:
        return self._terminal.alternate_active

    @property
    def bracketed_paste(self) -> bool:
        return self._terminal.modes().bracketed_paste

    @property
    def pending_input_bytes(self) -> int:
        return self._input.pending_bytes if self._input else 0

    def state(self) -> State:
        """What is known without asking anybody."""
        fresh = self._probe if self._probe_generation == self.activity.generation else None
        if self._tracker.phase is Phase.INPUT and self._is_raw_at_prompt():
            return State(word="awaiting_input", known_by="terminal")
        return derive_state(
            phase=self._tracker.phase,
            announces_lines=self.profile.shell_kind.announces == "lines",
            settled=self.line.is_settled,
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
            if self.is_exited or self._tracker.phase not in UNANNOUNCED:
                break
            generation = self.activity.generation
            probe = await self._prober()
            is_current = generation == self.activity.generation and not has_output(self._fd)
            if not self.is_exited and is_current:
                self._probe = probe
                self._probe_generation = generation
                break
        self._tell_state()
        return self.state()

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
        if self._fd < 0 or self.is_at_prompt:
            return None
        found = foreground(self._fd)
        if found is None or (found.pid == self.profile.pid and self.profile.is_shell):
            return None
        return found

    @property
    def terminal_mode(self) -> TerminalMode | None:
        """What is not as usual: keys reach the program one by one, or are not shown. None at the
        prompt of a shell that edits its line itself.
        """
        if self._fd < 0 or (self.is_at_prompt and self.profile.shell_kind.has_line_editor):
            return None
        echo, canonical = self.echo_and_canonical()
        if not canonical:
            return "raw"
        return None if echo else "no_echo"

    @property
    def is_echoed(self) -> bool:
        """By the terminal, or by a program that reads key by key and shows them itself."""
        echo, canonical = self.echo_and_canonical()
        return echo or not canonical

    @property
    def cursor(self) -> Cursor:
        return self._terminal.cursor

    def make_sane(self) -> None:
        """Give the terminal the settings of a new one: lines, echo, signals."""
        if self._fd >= 0:
            make_sane(self._fd)

    def rows(self) -> tuple[str, ...]:
        """The screen as text."""
        return tuple(row.rstrip() for row in self._terminal.screen(styled=False).text_lines)

    def echo_and_canonical(self) -> tuple[bool, bool]:
        return line_settings(self._fd) if self._fd >= 0 else (True, True)

    # --- what is done to it ---------------------------------------------------

    def write(self, data: bytes, *, actor: Actor, judged: bool = False) -> None:
        """Bytes to the program, verbatim. `judged`: a run types them.

        Raises:
            SessionExited: if there is no program any more.
            InputRejected: if it does not read.
        """
        if self._input is None:
            raise SessionExited(self.name, self.exit_code)
        self._input.write(data)
        self.typed.add(data, actor)
        if self._lane is not None and not judged:
            self._lane.hush()  # a key, whose echo somebody waits for; not the line of a run
        if INTERRUPT in data:
            self.line.interrupted(self.prompts, self._tracker.phase)
        if not judged:
            self.line.is_touched = True
        if self.profile.shell_kind.terminal_assembles_lines and self.echo_and_canonical()[1]:
            self.line.assembled(data, self._tracker.phase)
        if self.line.typed(data, self._tracker.phase):
            self.enter()
        self.actor = actor
        self.typed_by_people += actor.kind == "person"
        self.activity.touch()
        self.pulse.fire()

    @property
    def is_at_prompt(self) -> bool:
        """A shell that announces its lines reads what is typed, as far as is known."""
        return self._tracker.phase in _AT_PROMPT or self.is_continuing

    def line_so_far(self, actor: Actor) -> str | None:
        """All of the shell's line that this actor's next text goes on with; None if that is not known."""
        if (text := self.typed.by(actor)) is not None:
            return text
        if self._tracker.phase is not Phase.INPUT:
            return None
        if not self.line.is_touched:
            return ""
        if not self._has_no_unread():
            return None
        shown = self.shown_line()
        if shown is None:
            shown = "?" if self.line.half_typed else ""
        settled = self.typed.settle(shown, actor)
        self.line.is_touched = settled != ""
        return settled

    async def wait_rest(self) -> bool:
        """Until the shell has shown what was typed; False when something else has begun meanwhile."""
        phase = self.phase
        for _ in range(REST_LOOKS):
            if self.is_exited or await self.is_at_rest():
                if self.is_exited or not self.line.take_deaf(self.prompts):
                    if (
                        self.is_exited
                        or self._clock.monotonic_s() - self._pressed_again_s > SETTLE_S
                    ):
                        return True
                    # It may have heard both: the second one takes what is typed meanwhile.
                    await self.pulse.nap(REST_LOOK_S)
                    continue
                # Now and then a shell that is busy drawing takes a Ctrl-C and does nothing about it.
                self.write(INTERRUPT, actor=self.actor, judged=True)
                self._pressed_again_s = self._clock.monotonic_s()
            await self.pulse.nap(REST_LOOK_S)
            if self.phase is not phase:
                return False
        return True

    def _has_no_unread(self) -> bool:
        is_written = self._input is not None and not self._input.pending_bytes
        return is_written and unread_bytes(self._fd) == 0

    def _is_interrupting(self) -> bool:
        at_prompt = self._tracker.phase in _AT_PROMPT
        return at_prompt and self.line.is_interrupting(self.prompts)

    async def is_at_rest(self) -> bool:
        """Who has the terminal has read all that was written, said all there is to say, and waits."""
        if not self._has_no_unread() or self._is_interrupting():
            return False
        generation = self.activity.generation
        probe = await self._prober()
        if self.is_exited:
            return True
        if not probe.known:
            return self.line.is_settled and self.activity.quiet_s() > SETTLE_S
        # In this order: what it printed before it waited is there by now.
        is_silent = not has_output(self._fd) and self.journal.is_all_taken()
        return probe.reading and is_silent and generation == self.activity.generation

    def has_half_line(self) -> bool:
        """A half-typed line stands at the prompt; ask while the shell is at rest."""
        progress = self._tracker.progress
        is_shown = self.profile.shell_kind.has_line_editor or self.echo_and_canonical()[0]
        shown = None
        if progress.phase is Phase.INPUT and is_shown:
            shown = self.chronicle.shows_text(progress.prompt_end, progress.input_end)
        return self.line.half_typed if shown is None else shown or self.line.half_ahead

    def enter(self) -> None:
        """A line was sent to the shell, which has not reported yet what it does with it."""
        self.line.entered(echo=self.echo_and_canonical()[0])
        self._tracker.enter()

    def interrupt(self, *, actor: Actor) -> bool:
        """Type Ctrl-C ahead of everything that waits; False if even that cannot be written.

        Raises:
            SessionExited: if there is no program any more.
        """
        if self._input is None:
            raise SessionExited(self.name, self.exit_code)
        if self._lane is not None:
            self._lane.hush()
        self.actor = actor
        self.line.is_touched = True
        self.line.interrupted(self.prompts, self._tracker.phase)
        self.line.assembled(INTERRUPT, self._tracker.phase)
        self.activity.touch()
        if self._input.pending_bytes:
            drop_unread(self._fd)
        return self._input.write_instead(INTERRUPT)

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

    def shown_line(self) -> str | None:
        """What stands behind the prompt now; None if unknown."""
        progress = self._tracker.progress
        if progress.phase is not Phase.INPUT:
            return ""
        return self.chronicle.shown_text(progress.prompt_end, progress.input_end)

    def resize(self, *, cols: int, rows: int) -> None:
        """Change the size of the surface; panels keep their rows, the program has the rest."""
        profile = self.profile
        if (cols, rows) == (profile.cols, profile.rows):
            return
        profile.cols, profile.rows = cols, rows
        if self.layout.placed and self.on_elements_changed is not None:
            self.on_elements_changed(True)
        self._fit()

    def _fit(self) -> None:
        """Bring the program to the size that the surface and its panels leave."""
        profile = self.profile
        self.layout = self.elements.layout(rows=profile.rows)
        cols, rows = profile.cols, self.layout.program_rows
        if (cols, rows) != self.terminal_size:
            self.journal.note_size(cols=cols, rows=rows)
            changes = self._terminal.resize(cols=cols, rows=rows)
            if self._fd >= 0:
                set_window_size(self._fd, cols=cols, rows=rows)
            self._reply(changes.replies)
        self.log.append(
            Resized(cols=cols, rows=profile.rows, program_rows=rows, top=self.layout.top)
        )
        self.pulse.fire()

    def _on_elements(self, relayout: bool) -> None:
        refit = relayout and self.elements.layout(rows=self.profile.rows) != self.layout
        if self.on_elements_changed is not None:
            self.on_elements_changed(refit)
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
        os.set_blocking(fd, False)
        self._fd = fd
        self._input = InputQueue(fd, self.name)
        self._replies = Replies(fd, self.journal, self._input, can_be_read=self._can_be_read)
        self._reading = Reading(
            fd, self.journal, lane=self._lane, took=self._on_output, failed=self._failed
        )

    def replay(self, data: bytes, offset: int, times: Times) -> None:
        """Feed journalled bytes again after a restart: no replies, no output events."""
        self._terminal.silent = True
        try:
            self._terminal.feed(data)
        finally:
            self._terminal.silent = False
        for mark in self._scanner.scan(data, offset):
            self._apply(mark, at_ns=times.at(mark.start))

    def replay_resize(self, *, cols: int, rows: int) -> None:
        self.profile.cols, self.profile.rows = cols, rows
        self._terminal.resize(cols=cols, rows=rows)

    def turn_over(self) -> None:
        """Begin the journal's next segment with everything that is known now."""
        if self._reading is not None:
            self._reading.settle()
        envelope = Envelope(
            terminal=self._terminal.snapshot(),
            carry=self._scanner.carry,
            progress=self._tracker.progress,
            open_block=self.open_block,
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
                self._apply(mark, at_ns=now)
        self._reply(changes.replies, is_line_over=ended is not None)
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

    def _can_be_read(self) -> bool:
        """Whether a program reads keys now, and not whole lines."""
        _, canonical = line_settings(self._fd)
        if canonical:
            return False
        kind = self.profile.shell_kind
        runs = kind.reads_keys_between_programs and self._tracker.phase is Phase.RUNNING
        return not (runs and is_still_the_shell(self._fd, kind.name))

    def _reply(self, replies: bytes, *, is_line_over: bool = False) -> None:
        if self._replies is None:
            return
        if is_line_over:
            self._replies.drop()
        if replies:
            self._replies.send(replies)
        else:
            self._replies.look()

    def _apply(self, mark: Mark, *, at_ns: int) -> None:
        if mark.trusted and mark.at_ns is not None:
            at_ns = mark.at_ns
        before = self._tracker.phase
        for change in self._tracker.apply(mark):
            match change:
                case Opened():
                    self.chronicle.opened(change, at_ns=at_ns, actor=self.actor)
                case Closed():
                    self.chronicle.closed(change, at_ns=at_ns, actor=self.actor)
        if mark.trusted and not mark.secondary:
            if mark.kind is MarkKind.DONE:
                self.typed.done()
            elif mark.kind in (MarkKind.OUTPUT, MarkKind.PROMPT):
                self.typed.prompt()
            if self.line.marked(mark.kind, before):
                self.enter()

    def output_start(self) -> int | None:
        """Where the output of the command line that runs now begins; None if none does."""
        if self.chronicle.open_block is not None:
            return self.chronicle.open_block.start
        if self._tracker.phase is Phase.ENTERED and self.profile.shell_kind.announces != "lines":
            return self.chronicle.echoed(self.input_end, self.journal.end)[0]
        return None

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
        if self._reading is not None:
            self._reading.drain()
        self.detach()
        self.exit_code, self.exit_signal = exit_code, exit_signal
        self.exited_at_ns = self._clock.wall_ns()
        for closed in self._tracker.abandon(
            self.journal.end,
            exit_code=exit_code,
            is_unannounced=self.profile.shell_kind.announces == "ends",
        ):
            self.chronicle.closed(closed, at_ns=self.exited_at_ns, actor=self.actor)
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

    def detach(self) -> None:
        """Stop reading and give the descriptor up; the keeper still has its own."""
        if self._reading is not None:
            self._reading.close()
            self._reading = None
        if self._replies is not None:
            self._replies.drop()
            self._replies = None
        if self._input is not None:
            self._input.close()
            self._input = None
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def close(self) -> None:
        """Let go of everything; the journal's files stay until they are removed."""
        self.detach()
        self.keyboard.close()
        self.log.close()
        self.journal.close()
        # Calls that still look at it keep the terminal; it goes with the last of them.
        self.chronicle.on_closed = None
        self._prober = _unknown

    def descriptor(self) -> int:
        """The PTY master, for handing to a new keeper; -1 when there is none."""
        return self._fd


def _line_end(marks: Sequence[Mark]) -> int | None:
    """Where the last command line that is known to have ended did so."""
    for mark in reversed(marks):
        if mark.trusted and mark.kind is MarkKind.DONE:
            return mark.start
    return None


async def _unknown() -> Probe:
    return Probe(known=False)

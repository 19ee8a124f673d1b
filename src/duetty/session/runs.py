"""Running a command line, exactly.

Type the line, then wait for the first of: the trusted end of *this* line, the
process's exit, a program that asks for something, a full-screen program that
has drawn itself, a text the caller asked for, or, only where the shell has no
marks, silence. The caller bounds the whole; what is known when the bound passes
is still an answer.
"""

import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import anyio

from duetty.blocks import Phase, State
from duetty.calls import Actor
from duetty.clock import Clock
from duetty.errors import BadArguments, OutputExpired, SessionBusy, SessionExited
from duetty.ids import BlockId, block_id
from duetty.session.block import Block
from duetty.session.chronicle import LEAVES_EDITOR
from duetty.session.echo import typed_line
from duetty.session.matcher import Found, Needle
from duetty.session.output import OutputText, output_text, plain_text
from duetty.session.pump import INTERRUPT
from duetty.session.rest import is_at_rest, wait_program_rest, wait_rest
from duetty.session.session import Session
from duetty.session.typed_text import ends_line
from duetty.session.wait_probe import LAST_LOOK_S, Looks
from duetty.shell import EXACT_LINE

CompletedBy = Literal["mark", "exit", "input", "fullscreen", "text", "idle", "deadline"]

SHELL_START_S = 5.0
"""How long the first line waits for a shell's first prompt before it is typed anyway."""

SHELL_STARTS = 6
"""How many times as long it waits for one that reads nothing yet."""

PROMPT_READY_S = 1.0
"""How long a line waits for a slow prompt function before it is typed anyway."""

PASTE_READY_S = 0.3
"""How long a paste of several lines waits for the line editor to ask for it bracketed."""

LONG_LINE_CHARS = 400
"""zsh redraws for each typed character: ten thousand of them take a second, pasted they take none."""

HELD_S = 0.1
"""A program that reads the terminal for this long without printing waits for a person."""

TAKEN_BACK_S = 1.0
"""How long a line that keys took back may still be shown, on a machine that is busy."""

ENDS_S = 0.03
"""How long a command that printed the text that was waited for may take to end, so that its answer has its exit code."""

BEGUN_CHARS = 200
"""Of a line that another actor has begun, in the error that names it."""

PRESSED_AGAIN = 3
"""How often Ctrl-C is pressed again for a line that it took back and that is still shown."""

STABLE_S = 0.15
"""A full-screen program that printed nothing for this long has drawn itself."""

RELAYED_S, SILENT_S = 0.3, 1.0
"""The same of one that sleeps and reads nothing, as ssh and tmux do: after it printed something, and
after a key that it made nothing of.
"""

NEXT_COMMAND_S = 0.3
"""After one command of several lines: how long until the prompt or the next one must come."""

KILL_LINE = b"\x15"
"""What Ctrl-U sends: the line editor forgets the line."""

CANONICAL_LINE_BYTES = 4_095
"""The kernel's bound on one line in canonical mode; what is longer it silently cuts."""

OVERLAP_BYTES = 4_096
"""A text that is cut by two turns of output is still found if it is shorter than this."""

_IDLE = frozenset({Phase.INPUT, Phase.CONTINUATION, Phase.ENTERED})

_ENDS_BLOCKS = re.compile(r"i?python|pypy|bpython|ptpython")
"""Programs in which an empty line ends a block."""

_PROMPT = re.compile(r"\W{0,8}")
"""What a program shows before a line that goes on."""

_EXITS = re.compile(r"\b(?:exit|logout)\b")

_LEAVES_SCREEN = re.compile(rb"\x1b\[\?(?:1049|1047|47)l")

MAX_ECHO_BYTES = 16 * 1024
"""How much is looked at for the echo of one line, or for a prompt."""

INLINE_BYTES = 64 * 1024
"""Output up to this is rendered at once; longer output in a worker thread."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunAnswer:
    completed_by: CompletedBy
    exit_code: int | None
    output: OutputText | None
    blocks: tuple[Block, ...]
    state: State
    cwd: str
    duration_ms: float
    generation: int
    into_program: bool
    """No shell was at its prompt: a program that had the terminal was given the line."""
    next_block: BlockId | None
    """What its block will be called, where the shell has taken the line and not yet begun with it."""
    match: Found | None = None


@dataclass(slots=True, kw_only=True)
class Run:
    """One line on its way; `start` and `wait` under the caller's bound, then `answer`."""

    session: Session
    line: str
    actor: Actor
    quiet_s: float
    clock: Clock
    until: Needle | None = None
    fed_from: Path | None = None
    """What the line reads as its standard input, in place of the terminal."""
    by_keys: bool = False
    """Keys were written, which need not be a line."""
    completed_by: CompletedBy | None = None
    typed: bool = False
    match: Found | None = None

    _at_prompt: bool = False
    _before: str = ""
    """The row that the line was typed into, up to it: the prompt of a program without marks."""
    _is_echoed: bool = True
    """What is typed is shown, as far as the terminal's settings tell."""
    _last_block: int = 0
    _gathered: list[Block] = field(default_factory=list[Block])
    _was_fullscreen: bool = False
    _prompts: int = 0
    _offset: int = 0
    _searched: int = 0
    _started_s: float = 0.0
    _held_since_s: float | None = None
    _held_generation: int = -1
    _looks: Looks = field(default_factory=Looks)

    async def start(self) -> None:
        """Type the line. The session's run lock is held by the caller.

        Raises:
            SessionExited: if no process is left to type to.
            BadArguments: if the terminal would cut the line.
            SessionBusy: if no shell reads it, and it has a standard input of its own.
        """
        session = self.session
        await self._wait_ready()
        if session.is_exited:
            raise SessionExited(session.name, session.exit_code)
        self._at_prompt = self._is_at_prompt()
        if not self._at_prompt:
            self._check_fed()
            session.prompt.line.is_touched = True  # a program may leave some of it to the shell
        self._begin()
        text = self._text()
        if self.fed_from is not None:
            session.prompt.line.recorded_as = text
            text = session.profile.shell_kind.read_from(text, self.fed_from)
        pieces = [text]
        if self._by_line(text):
            pieces = text.split("\n")
            self._check_length(pieces)
        for piece in pieces[:-1]:
            await self._type_one(piece)
        session.prompt.line.text = text if self._at_prompt and len(pieces) == 1 else None
        self._type(pieces[-1])

    def watch(self, typed: bytes) -> None:
        """In place of `start`: the caller writes these bytes itself, right after this."""
        self.by_keys = self.typed = True
        self._at_prompt = self._is_at_prompt() and ends_line(typed)
        self._begin()

    def _begin(self) -> None:
        """Note the state before the line, to compare later output with it."""
        session = self.session
        self._was_fullscreen = session.alternate_active
        self._is_echoed = session.is_echoed
        self._before = "" if self._at_prompt or session.alternate_active else _cursor_row(session)
        self._last_block = session.recent[-1].number if session.recent else 0
        session.chronicle.collect(self._gathered)
        self._prompts = session.prompt.count
        self._offset = self._searched = session.journal.end
        self._started_s = self.clock.monotonic_s()

    def _text(self) -> str:
        """What stands before Enter. Python ends a block only at an empty line, so there one is kept."""
        text = self.line.replace("\r\n", "\n").removesuffix("\r")
        if not self._at_prompt and "\n" in text.rstrip("\n"):
            program = self.session.foreground
            if program is not None and _ENDS_BLOCKS.match(program.name):
                return text
        return text.removesuffix("\n")

    def _check_fed(self) -> None:
        if self.fed_from is None:
            return
        raise SessionBusy(
            f"no shell of {self.session.name!r} is at its prompt, and only a shell can give a command its stdin",
            hint="in an inner shell write it as a here-document, cat > path <<'EOF'; else end the program that runs",
            details={"state": self.session.state().word},
        )

    @property
    def has_begun(self) -> bool:
        """The shell runs the line, or ran it: what the line reads is open by now."""
        return bool(self._blocks()) or self.session.prompt.phase is Phase.RUNNING

    async def wait(self) -> None:
        """Until the line has an end; sets `completed_by`."""
        await self._wait_end()
        if self.completed_by == "mark" and _EXITS.search(self.line):
            await self._wait_gone()
        if self.completed_by == "text" and self._at_prompt:
            # A text that a command prints last comes just before its exit code.
            with anyio.move_on_after(ENDS_S):
                while not self._blocks() and not self.session.is_exited:
                    await self.session.pulse.wait()
        if self.session.profile.shell_kind.keeps_refused_line and self.completed_by == "mark":
            await self._clear_line()

    async def _wait_gone(self) -> None:
        """A shell that announces the end of `exit` too, as fish does, ends a moment later."""
        with anyio.move_on_after(PROMPT_READY_S):
            while self.session.prompt.phase is not Phase.INPUT and not self.session.is_exited:
                await self.session.pulse.wait()
        if self.session.is_exited:
            self.completed_by = "exit"

    async def _clear_line(self) -> None:
        """Take back a line that the shell refused and kept in its editor."""
        session = self.session
        blocks = self._blocks()
        if not blocks or blocks[-1].exit_code is not None:
            return
        with anyio.move_on_after(PROMPT_READY_S):
            while session.prompt.phase is not Phase.INPUT and not session.is_exited:
                await session.pulse.wait()
        if session.is_exited:
            return
        # It kills within one line, or the line end before the cursor: twice for each.
        lines = self.line.count("\n") + self.line.count("\r") + (3 if self.fed_from else 1)
        session.write(KILL_LINE * (2 * lines), actor=self.actor, judged=True)
        await session.pulse.nap(HELD_S)

    async def _wait_end(self) -> None:
        session = self.session
        while True:
            self.completed_by = self._check()
            if self.completed_by is not None:
                return
            generation = session.activity.generation
            await session.pulse.nap(self._pause_s())
            if generation != session.activity.generation:
                self._looks.again_soon()
                continue
            self.completed_by = await self._look()
            if self.completed_by is not None:
                return

    async def answer(self, *, output_limit: int) -> RunAnswer:
        """The answer as of now; afterwards the run gathers nothing more."""
        session = self.session
        completed_by = self.completed_by or "deadline"
        state = session.state() if completed_by in ("mark", "exit") else await session.look()
        self.close()
        blocks = self._blocks()
        last = blocks[-1] if blocks else None
        exit_code = last.exit_code if last else None
        if completed_by == "exit":
            exit_code = session.exit_code
            if exit_code is None and session.exit_signal is not None:
                exit_code = 128 + session.exit_signal  # as a shell would say it
        elif completed_by != "mark" and (completed_by != "text" or self._several):
            exit_code = None
        elapsed_ms = round((self.clock.monotonic_s() - self._started_s) * 1e3, 3)
        known_ms = last.duration_ms if len(blocks) == 1 and last else None
        return RunAnswer(
            completed_by=completed_by,
            exit_code=exit_code,
            output=await self._output(blocks, limit=output_limit),
            blocks=blocks,
            state=state,
            cwd=session.cwd,
            duration_ms=known_ms if known_ms is not None and self._at_prompt else elapsed_ms,
            generation=session.activity.generation,
            into_program=not self._at_prompt,
            next_block=self._next_block(blocks),
            match=self.match,
        )

    def _next_block(self, blocks: tuple[Block, ...]) -> BlockId | None:
        session = self.session
        is_over = self.completed_by is not None or self.by_keys or session.prompt.is_continuing
        if is_over or blocks or session.prompt.open_block is not None or not self._at_prompt:
            return None
        return block_id(session.profile.id, self._last_block + 1)

    def close(self) -> None:
        self.session.chronicle.stop_collecting(self._gathered)

    # --- typing ---------------------------------------------------------------

    def _is_at_prompt(self) -> bool:
        """Whether the line goes to the shell itself, so that its end will be announced."""
        phase = self.session.prompt.phase
        if phase is Phase.ENTERED:
            return self.session.profile.shell_kind.announces == "lines"
        return phase in (Phase.DONE, Phase.PROMPT, Phase.INPUT, Phase.CONTINUATION)

    async def _wait_ready(self) -> None:
        """Wait until a program can take the line: the shell at its prompt, or a program that reads.

        Raises:
            SessionBusy: if a half-typed line stands at the prompt.
        """
        session = self.session
        await self._wait_started()
        pressed: list[bytes] = []
        while True:
            await self._wait_reader()
            await self._wait_prompt()
            if session.prompt.line.is_touched and not (
                await self._is_at_rest() and await self._is_taken_back()
            ):
                continue
            key = self._key_for_own(pressed)
            if key is None:
                break
            pressed.append(key)
            session.write(key, actor=self.actor, judged=True)
            session.prompt.line.is_touched = True
        self._check_empty()
        self._check_readable()
        if self._needs_paste(self.line.rstrip("\r\n")):
            # zsh asks for bracketed paste only after it has drawn its prompt.
            with anyio.move_on_after(PASTE_READY_S):
                while session.prompt.phase is Phase.INPUT and not session.bracketed_paste:
                    await session.pulse.wait()

    async def _wait_prompt(self) -> None:
        """The shell cannot read while it draws its prompt: typed now, the echo would be doubled."""
        session = self.session
        began_s = self.clock.monotonic_s()
        while session.prompt.phase in (Phase.DONE, Phase.PROMPT) and not session.is_exited:
            is_woken = await session.pulse.nap(STABLE_S)
            # fish that was interrupted draws none; one that takes so long to draw may never end.
            is_late = self.clock.monotonic_s() - began_s >= PROMPT_READY_S
            is_drawing = session.prompt.phase is Phase.PROMPT
            if not is_woken and ((is_drawing and is_late) or await is_at_rest(session)):
                return
            await self._wait_reader()  # another actor may have typed ahead

    async def _is_at_rest(self) -> bool:
        """Keys may be on their way that make the shell draw a prompt, which would be taken for the
        end of this line, or that make a program leave. False when something else has begun meanwhile.
        """
        session = self.session
        if session.prompt.phase not in (Phase.RUNNING, Phase.SILENT):
            return await wait_rest(session)
        return await wait_program_rest(session)

    async def _is_taken_back(self) -> bool:
        """A line that Ctrl-C or Ctrl-U took back may be shown for a moment more: a shell that reads in
        one thread and draws in another looks at rest. False when something else has begun meanwhile.
        """
        session = self.session
        if session.prompt.line.half_typed or session.prompt.phase is not Phase.INPUT:
            return True
        for _ in range(PRESSED_AGAIN):
            with anyio.move_on_after(TAKEN_BACK_S):
                while session.prompt.phase is Phase.INPUT and session.prompt.has_half_line():
                    await session.pulse.nap(HELD_S / 2)
            if session.prompt.phase is not Phase.INPUT or not session.prompt.has_half_line():
                break
            if not session.prompt.line.is_taken_back:
                break  # another actor's, typed ahead of the prompt
            # fish takes a Ctrl-C for the function that it runs to draw its prompt, and keeps the line.
            session.write(INTERRUPT, actor=self.actor, judged=True)
        return session.prompt.phase is Phase.INPUT

    def _key_for_own(self, pressed: list[bytes]) -> bytes | None:
        """What takes back that this agent itself left at the prompt, a key too many for a pager: it is no
        part of its run. None where nothing of its own is left, or `pressed` did not help.
        """
        session = self.session
        if not session.prompt.line.is_touched or session.prompt.phase is not Phase.INPUT:
            return None
        typed = session.prompt.typed
        is_shown = session.prompt.has_half_line()
        if not is_shown and (pressed or not typed.has_prefix):
            return None
        is_own = typed.is_only_of(self.actor) or (pressed and typed.is_empty)
        if is_shown and not pressed and session.profile.shell_kind.has_line_editor:
            own = typed.by(self.actor)
            if own is None:
                own = session.prompt.line_so_far(
                    self.actor
                )  # typed ahead of the prompt, and shown there
            if own and "\n" not in own:
                return KILL_LINE
        if not is_own or self.actor.kind == "person" or len(pressed) > PRESSED_AGAIN:
            return None
        # A recalled line, a search, Escape: only Ctrl-C ends them all. It costs the shell's `$?`.
        return INTERRUPT

    def _check_empty(self) -> None:
        """Refuse to type into a half-typed line."""
        session = self.session
        if not session.prompt.line.is_touched or session.prompt.phase not in (
            Phase.INPUT,
            Phase.CONTINUATION,
        ):
            return
        if session.prompt.has_half_line():
            typed, line = session.prompt.typed, session.prompt.shown_line()
            is_own = typed.is_empty or typed.is_only_of(self.actor)
            raise SessionBusy(
                f"a line stands at the prompt of {session.name!r} that Ctrl-C did not take away"
                if is_own
                else f"another actor has begun a line at the prompt of {session.name!r}",
                hint="call again with reset: true, or in another session"
                if is_own
                else "let them finish; if it is yours, press Ctrl-U, or call again with reset: true",
                details={"state": "prompt", "line": line and line[:BEGUN_CHARS]},
            )
        session.prompt.line.is_touched = False

    def _check_readable(self) -> None:
        """Refuse to type to a shell that gets no line: a program left its terminal raw."""
        session = self.session
        if session.profile.shell_kind.has_line_editor or session.prompt.phase not in _IDLE:
            return
        if session.terminal_mode == "raw" and session.foreground is None:
            raise SessionBusy(
                f"the terminal of {session.name!r} was left raw: its shell reads no line",
                hint="call again with reset: true, or press Ctrl-J, type `stty sane` and press Ctrl-J",
                details={"state": session.state().word, "terminal": "raw"},
            )

    async def _wait_started(self) -> None:
        """A shell that is starting gets a moment for its first prompt, once."""
        session = self.session
        if session.prompt.phase is not Phase.SILENT or session.profile.shell is None:
            return
        for _ in range(SHELL_STARTS):
            with anyio.move_on_after(SHELL_START_S) as bound:
                while session.prompt.phase is Phase.SILENT and not session.is_exited:
                    await session.pulse.wait()
            if not bound.cancelled_caught or (await session.look()).word != "running":
                break  # else no program reads yet: a busy machine, or rc files that take long
        if session.prompt.phase is Phase.SILENT and not session.is_exited:
            session.profile.forget_shell(
                f"no mark came within {SHELL_START_S:g} s: an rc file may have started another shell"
            )

    async def _wait_reader(self) -> None:
        """While a program runs and reads nothing, the line is not for it: it waits its turn."""
        session = self.session
        looks = Looks()
        seen_generation = -1
        while not session.is_exited:
            running = session.prompt.phase in (Phase.RUNNING, Phase.ENTERED)
            unmarked = (
                session.prompt.phase is Phase.SILENT and session.activity.quiet_s() < self.quiet_s
            )
            if not running and not unmarked:
                return
            state = await session.look()
            if state.word == "unknown" and not running:
                return
            if state.word not in ("running", "unknown"):
                # Twice the same: between two programs a shell reads for an instant.
                if seen_generation == session.activity.generation or state.word == "fullscreen":
                    return
                seen_generation = session.activity.generation
            await session.pulse.nap(looks.next_s())

    def _by_line(self, text: str) -> bool:
        """Whether each line needs its prompt: where the terminal itself assembles them (POSIX sh)."""
        if not self._at_prompt:
            return False
        if self.session.profile.shell_kind.has_line_editor:
            # Without pastes an editor takes each line for itself, and says so at each prompt.
            return "\n" in text and not self.session.bracketed_paste
        _, canonical = self.session.pty.echo_and_canonical()
        return canonical

    def _check_length(self, lines: list[str]) -> None:
        for number, line in enumerate(lines, 1):
            if len(line.encode()) > CANONICAL_LINE_BYTES:
                raise BadArguments(
                    f"line {number} has more than {CANONICAL_LINE_BYTES} bytes, which this terminal would cut",
                    hint="this shell has no line editor: give the text as stdin of a short line, or use bash",
                )

    def _type(self, text: str) -> None:
        session = self.session
        self.typed = True
        is_changed = self._at_prompt and session.profile.shell_kind.may_change(text)
        key = EXACT_LINE if is_changed else b""
        if self._needs_paste(text):
            session.write(key + session.pasted(text), actor=self.actor, judged=True)
            session.write(b"\r", actor=self.actor, judged=True)
        else:
            session.write(key + text.encode() + b"\r", actor=self.actor, judged=True)

    def _needs_paste(self, text: str) -> bool:
        """Several lines; keys that the editor would obey (Tab); or so much that it would redraw for long."""
        if "\n" in text:
            return True
        if (
            not self.session.profile.shell_kind.has_line_editor
            or self.session.prompt.phase is Phase.RUNNING
        ):
            return False
        return not text.isprintable() or len(text) > LONG_LINE_CHARS

    async def _type_one(self, line: str) -> None:
        """Type one of several lines and wait until the shell wants the next."""
        session = self.session
        offset, prompts = session.journal.end, session.prompt.count
        self._type(line)
        looks = Looks()
        while not session.is_exited:
            wants_more = (
                session.prompt.phase is Phase.CONTINUATION and session.prompt.continued_at > offset
            )
            if wants_more or (
                session.prompt.phase is Phase.INPUT and session.prompt.count > prompts
            ):
                return
            with anyio.move_on_after(looks.next_s()):
                await session.pulse.wait()
                continue
            if (await session.look()).word in ("awaiting_input", "awaiting_password"):
                return

    @property
    def _several(self) -> bool:
        return self.fed_from is None and "\n" in self.line.rstrip("\r\n")

    # --- is it over? ----------------------------------------------------------

    def _blocks(self) -> tuple[Block, ...]:
        later = [each for each in self._gathered if each.number > self._last_block]
        # One line is one block; what follows was typed by another actor.
        return tuple(later if self._several else later[:1])

    def _check(self) -> CompletedBy | None:
        """The end that is known without waiting or asking the kernel."""
        session = self.session
        if self.until is not None and self._has_match():
            return "text"
        if session.is_exited:
            return "exit"
        if session.prompt.phase is Phase.INPUT and session.prompt.count > self._prompts:
            return "mark"  # back at the prompt
        closed = bool(self._gathered)
        several = self._several
        if closed and not several:
            return "mark"
        if not self._at_prompt:
            return None
        quiet_s = session.activity.quiet_s()
        if (
            closed
            and session.prompt.phase in (Phase.DONE, Phase.PROMPT)
            and quiet_s > NEXT_COMMAND_S
        ):
            return "mark"  # the prompt is slow; the commands are done
        if (
            session.prompt.phase is Phase.CONTINUATION
            and session.prompt.continued_at > self._offset
        ):
            is_one = not several and self.fed_from is None
            return "input" if is_one or quiet_s > STABLE_S else None
        return None

    def _pause_s(self) -> float:
        if self._at_prompt and self.session.prompt.phase in (
            Phase.DONE,
            Phase.PROMPT,
            Phase.CONTINUATION,
        ):
            return NEXT_COMMAND_S / 4
        return self._looks.next_s()

    async def _look(self) -> CompletedBy | None:
        """Nothing happened for a while: ask the kernel, look at the clock."""
        session = self.session
        quiet_s = session.activity.quiet_s()
        state = await session.look()
        match state.word:
            case "fullscreen":
                return "fullscreen" if quiet_s >= STABLE_S and await self._has_drawn() else None
            case "awaiting_input" | "awaiting_password":
                if (session.prompt.phase is not Phase.CONTINUATION) and self._has_held():
                    return "input"
            case "prompt" if not self._at_prompt and (self.by_keys or state.known_by == "kernel"):
                if self._has_held():
                    return "input"
            case _:
                self._held_since_s = None
        if not self._at_prompt and quiet_s >= self.quiet_s:
            return "idle"
        return None

    async def _has_drawn(self) -> bool:
        """A pager that searches a large file is as silent as one that has drawn what it found, and so is
        a program that has just begun, on a busy machine.
        """
        session = self.session
        is_shown = not self.by_keys and any(session.rows())
        if is_shown or await is_at_rest(session):
            return True
        # ssh and tmux pass keys on to another program: as far as is known here, they never read.
        quiet_s = session.activity.quiet_s()
        has_printed = session.journal.end > self._offset
        return quiet_s >= (RELAYED_S if has_printed else SILENT_S) and session.pty.is_asleep()

    def _has_held(self) -> bool:
        now, generation = self.clock.monotonic_s(), self.session.activity.generation
        if self._held_since_s is None or generation != self._held_generation:
            self._held_since_s, self._held_generation = now, generation
            return False
        return now - self._held_since_s >= HELD_S - LAST_LOOK_S / 10

    def _has_match(self) -> bool:
        session = self.session
        start = self._searched
        if self._at_prompt:
            # The echo of the line is not its output.
            blocks = self._blocks()
            begun = blocks[0].start if blocks else session.prompt.output_start(session.journal.end)
            if begun is None or begun < self._offset:
                return False
            start = max(start, begun)
        else:
            start = max(start, self._echo_end())
        end = session.journal.end
        if end <= start:
            return False
        try:
            text = plain_text(session.journal.read(start, end), cols=session.profile.cols)
        except OutputExpired:
            self._searched = end
            return False
        assert self.until is not None
        self.match = self.until.find(text)
        if self.match is None:
            self._searched = max(start, end - OVERLAP_BYTES)
        return self.match is not None

    def _echo_end(self) -> int:
        """Where the echo of a line typed into a program ends; the end of output while it does not."""
        end = self.session.journal.end
        echo, _ = self.session.pty.echo_and_canonical()
        if not echo or self._searched > self._offset:
            return self._offset
        try:
            line_end = self.session.journal.read(self._offset, end).find(b"\n")
        except OutputExpired:
            return self._offset
        return self._offset + line_end + 1 if line_end >= 0 else end

    # --- what it printed ------------------------------------------------------

    async def _output(self, blocks: tuple[Block, ...], *, limit: int) -> OutputText | None:
        # A line typed into a program that was running already owns what came after it.
        slices: list[tuple[int, int]] = [
            (max(each.start, self._offset), each.end) for each in blocks if each.end is not None
        ]
        session = self.session
        if session.alternate_active and not slices:
            text = "\n".join(row for row in session.rows() if row)
            return OutputText(text=text, total_bytes=len(text.encode()))
        running = session.prompt.output_start(session.journal.end)
        if (
            running is not None
            and not (blocks and not self._several)
            and session.prompt.phase in (Phase.RUNNING, Phase.ENTERED)
        ):
            slices.append((max(running, self._offset), session.journal.end))
        if not slices and self.completed_by == "mark":
            return self._shell_message(limit)
        if not slices and self._at_prompt and session.prompt.is_continuing:
            return OutputText(text="", total_bytes=0)  # nothing ran; what is shown is the line
        if not slices:
            slices = [(self._offset, session.journal.end)]
        if self._was_fullscreen:
            slices = [self._behind_screen(*slices[0]), *slices[1:]]
        if not self._at_prompt:
            slices = [(self._own_start(slices[0][0]), slices[0][1]), *slices[1:]]
            slices = [*slices[:-1], (slices[-1][0], self._own_end(*slices[-1]))]
        if sum(end - start for start, end in slices) <= INLINE_BYTES:
            return self._render(slices, limit)
        return await anyio.to_thread.run_sync(self._render, slices, limit)

    def _behind_screen(self, start: int, end: int) -> tuple[int, int]:
        """What came after the full-screen program left: it drew for a screen that is gone."""
        try:
            drawn = self.session.journal.read(start, min(end, start + INLINE_BYTES))
        except OutputExpired:
            return start, end
        left = list(_LEAVES_SCREEN.finditer(drawn))
        return (start + left[-1].end() if left else start), end

    def _shell_message(self, limit: int) -> OutputText | None:
        """What the shell printed about a line that it did not run."""
        session = self.session
        is_announced = session.prompt.prompt_end > self._offset
        end = session.prompt.prompt_end if is_announced else session.prompt.input_end
        nothing = OutputText(text="", total_bytes=0)
        try:
            shown = session.journal.read(self._offset, min(end, self._offset + MAX_ECHO_BYTES))
        except OutputExpired:
            return nothing
        left = list(LEAVES_EDITOR.finditer(shown))
        if not left:
            return nothing
        text = self._render([(self._offset + left[-1].end(), end)], limit)
        if text is None or is_announced:
            return text
        return replace(text, text=text.text.rpartition("\n")[0])  # behind it, the prompt

    def _own_start(self, start: int) -> int:
        """Behind the echo of what was typed into a program that announces nothing."""
        session = self.session
        if start != self._offset or not self._is_echoed:
            return start
        prompts: set[str] = set()
        lines = self._text().split("\n")
        for typed in lines:
            begun = start
            while True:
                try:
                    shown = self._shown_line(start)
                except OutputExpired:
                    return begun
                if shown is None:
                    return begun
                prompt = self._before.encode() if start == self._offset else b""
                found = typed_line(prompt, shown, cols=session.profile.cols) or ""
                is_echo = found == typed.strip()
                if start != self._offset and found.endswith(typed.strip()):
                    before = found.removesuffix(typed.strip())
                    is_echo = _PROMPT.fullmatch(before) is not None
                    if is_echo:
                        prompts.add(before.strip())
                if is_echo:
                    break
                if found and found not in prompts:
                    return self._accepted() or begun
                start += len(shown) + 1  # of a line end that was echoed before its prompt came
            start += len(shown) + 1
        # The same behind the last line.
        for _ in lines:
            shown = self._shown_line(start)
            if shown is None or shown.decode(errors="replace").strip() not in prompts - {""}:
                break
            start += len(shown) + 1
        return start

    def _accepted(self) -> int | None:
        """Behind what a line editor drew of a paste, which it does in its own way, until it took the line."""
        journal = self.session.journal
        drawn = journal.read(self._offset, min(journal.end, self._offset + MAX_ECHO_BYTES))
        left = LEAVES_EDITOR.search(drawn) if self._several else None
        return self._offset + left.end() if left else None

    def _shown_line(self, start: int) -> bytes | None:
        """The whole line there, without its end. Raises OutputExpired."""
        journal = self.session.journal
        shown, line_end, _ = journal.read(
            start, min(journal.end, start + MAX_ECHO_BYTES)
        ).partition(b"\n")
        return shown if line_end else None

    def _own_end(self, start: int, end: int) -> int:
        """Before a prompt that is the one the line was typed at, shown again."""
        if not self._before.strip() or end != self.session.journal.end:
            return end
        try:
            last = self.session.journal.read(max(start, end - MAX_ECHO_BYTES), end)
        except OutputExpired:
            return end
        cols, prompt = self.session.profile.cols, self._before.strip()
        # Each empty line that was typed shows one more.
        while plain_text(line := last[last.rfind(b"\n", 0, -1) + 1 :], cols=cols).strip() == prompt:
            last = last.removesuffix(line)
            end -= len(line)
        return end

    def _render(self, slices: list[tuple[int, int]], limit: int) -> OutputText | None:
        """None when the journal has already turned over past all of it."""
        cols = self.session.profile.cols
        parts: list[OutputText] = []
        for start, end in slices:
            kept = min(max(start, self.session.journal.start), end)
            try:
                part = output_text(self.session.journal, kept, end, cols=cols, limit=limit)
            except OutputExpired:
                continue
            if kept > start:  # the journal turned over while it ran
                part = replace(
                    part,
                    text=f"[... {kept - start} bytes no longer kept ...]\n{part.text}",
                    total_bytes=end - start,
                    omitted_bytes=part.omitted_bytes + kept - start,
                )
            parts.append(part)
        if not parts:
            return None
        if self._was_fullscreen:  # the rows above are the program's, which left
            parts[0] = replace(parts[0], text=parts[0].text.lstrip("\n"))
        if len(parts) == 1:
            return parts[0]
        return OutputText(
            text="\n".join(part.text for part in parts if part.text),
            total_bytes=sum(part.total_bytes for part in parts),
            omitted_bytes=sum(part.omitted_bytes for part in parts),
            omitted_lines=sum(part.omitted_lines for part in parts),
        )


def _cursor_row(session: Session) -> str:
    screen = session.screen(styled=False)
    row, col = screen.cursor.row, screen.cursor.col
    return screen.text_lines[row][:col].ljust(col) if row < len(screen.lines) else ""

"""The shell's prompt, and the line that is typed at it.

Keys and marks go in. It knows whether the shell reads, what stands at its prompt and who typed that,
and it closes blocks. It knows nothing of screens, viewers or runs.
"""

from duetty.blocks import BlockTracker, Closed, Opened, Phase, Progress
from duetty.calls import Actor
from duetty.session.block import Block
from duetty.session.chronicle import Chronicle
from duetty.session.line import Line
from duetty.session.profile import Profile
from duetty.session.pty import Pty
from duetty.session.pump import INTERRUPT
from duetty.session.typed_text import TypedText
from duetty.shell import Mark, MarkKind

UNANNOUNCED = frozenset({Phase.RUNNING, Phase.ENTERED, Phase.SILENT})
"""Phases in which only the kernel can tell what the program does."""

_OPEN = frozenset({Phase.DONE, Phase.PROMPT, Phase.INPUT, Phase.CONTINUATION})

UNKNOWN_PERSON = Actor(kind="person", name="unknown")


class Prompt:
    """Of one session."""

    __slots__ = (
        "_chronicle",
        "_profile",
        "_pty",
        "_tracker",
        "actor",
        "line",
        "typed",
        "typed_by_people",
    )

    def __init__(
        self,
        profile: Profile,
        *,
        tracker: BlockTracker,
        line: Line,
        chronicle: Chronicle,
        pty: Pty,
    ) -> None:
        self.line = line
        self.typed = TypedText()
        self.actor = UNKNOWN_PERSON
        """Who wrote last: the next block is theirs."""

        self.typed_by_people = 0
        """How often a person wrote, by whatever way."""

        self._profile = profile
        self._tracker = tracker
        self._chronicle = chronicle
        self._pty = pty

    # --- what the shell announced ---------------------------------------------

    @property
    def phase(self) -> Phase:
        return self._tracker.phase

    @property
    def progress(self) -> Progress:
        """The state that marks have built, for a snapshot."""
        return self._tracker.progress

    @property
    def input_end(self) -> int:
        """Journal offset at which the last prompt was ready for input."""
        return self._tracker.progress.input_end

    @property
    def prompt_end(self) -> int:
        """Journal offset at which the last prompt began to be drawn."""
        return self._tracker.progress.prompt_end

    @property
    def count(self) -> int:
        """How many prompts the shell has begun."""
        return self._tracker.progress.prompts

    @property
    def continued_at(self) -> int:
        """Journal offset at which the shell last asked for the rest of a line."""
        return self._tracker.progress.continued_at

    @property
    def cwd(self) -> str | None:
        return self._tracker.cwd

    @property
    def is_open(self) -> bool:
        """A shell that announces its lines reads what is typed, as far as is known."""
        return self._tracker.phase in _OPEN or self.is_continuing

    @property
    def is_busy(self) -> bool:
        """A program other than a shell at its prompt reads what is typed, as far as is known."""
        return not self._profile.is_shell or self._tracker.phase is Phase.RUNNING

    @property
    def is_continuing(self) -> bool:
        """The shell asks for the rest of a line; some do so without a mark."""
        phase = self._tracker.phase
        is_silent = phase is Phase.ENTERED and self._profile.shell_kind.continues_silently
        return phase is Phase.CONTINUATION or (is_silent and self.line.is_settled)

    @property
    def is_unannounced(self) -> bool:
        """Only the kernel can tell what the program does."""
        return self._tracker.phase in UNANNOUNCED

    @property
    def has_marks(self) -> bool:
        """The shell has announced something."""
        return self._tracker.phase is not Phase.SILENT

    @property
    def is_interrupting(self) -> bool:
        """The shell may not have heard of a Ctrl-C yet."""
        return self._tracker.phase in _OPEN and self.line.is_interrupting(self.count)

    @property
    def open_block(self) -> Block | None:
        """The command line that runs."""
        if self._tracker.phase is Phase.ENTERED and self._profile.shell_kind.announces == "ends":
            progress = self._tracker.progress
            return self._chronicle.unannounced(
                number=progress.count + 1, start=progress.input_end, actor=self.actor
            )
        return self._chronicle.open_block

    def output_start(self, end: int) -> int | None:
        """Where the output of the command line that runs now begins; None if none does."""
        if self._chronicle.open_block is not None:
            return self._chronicle.open_block.start
        if self._tracker.phase is Phase.ENTERED and self._profile.shell_kind.announces != "lines":
            return self._chronicle.echoed(self.input_end, end)[0]
        return None

    def apply(self, mark: Mark, *, at_ns: int) -> None:
        """The shell announced something."""
        if mark.trusted and mark.at_ns is not None:
            at_ns = mark.at_ns
        before = self._tracker.phase
        for change in self._tracker.apply(mark):
            match change:
                case Opened():
                    self._chronicle.opened(change, at_ns=at_ns, actor=self.actor)
                case Closed():
                    self._chronicle.closed(change, at_ns=at_ns, actor=self.actor)
        if mark.trusted and not mark.secondary:
            if mark.kind is MarkKind.DONE:
                self.typed.done()
            elif mark.kind in (MarkKind.OUTPUT, MarkKind.PROMPT):
                self.typed.prompt()
            if self.line.marked(mark.kind, before):
                self.enter()

    def abandon(self, end: int, *, exit_code: int | None, at_ns: int) -> None:
        """The process is gone: close the block that was open."""
        for closed in self._tracker.abandon(
            end,
            exit_code=exit_code,
            is_unannounced=self._profile.shell_kind.announces == "ends",
        ):
            self._chronicle.closed(closed, at_ns=at_ns, actor=self.actor)

    # --- what was typed -------------------------------------------------------

    def wrote(self, data: bytes, *, actor: Actor, judged: bool) -> None:
        """These bytes went to the program. `judged`: a run typed them."""
        phase = self._tracker.phase
        self.typed.add(data, actor)
        if INTERRUPT in data:
            self.line.interrupted(self.count, phase)
        if not judged:
            self.line.is_touched = True
        if self._profile.shell_kind.terminal_assembles_lines and self._is_canonical:
            self.line.assembled(data, phase)
        if self.line.typed(data, phase):
            self.enter()
        self.actor = actor
        self.typed_by_people += actor.kind == "person"

    def interrupted(self, *, actor: Actor) -> None:
        """Ctrl-C went to the program ahead of everything that waited."""
        phase = self._tracker.phase
        self.actor = actor
        self.line.is_touched = True
        self.line.interrupted(self.count, phase)
        self.line.assembled(INTERRUPT, phase)

    def enter(self) -> None:
        """A line was sent to the shell, which has not reported yet what it does with it."""
        self.line.entered(echo=self._pty.echo_and_canonical()[0])
        self._tracker.enter()

    def line_so_far(self, actor: Actor) -> str | None:
        """All of the shell's line that this actor's next text goes on with; None if that is not known."""
        if (text := self.typed.by(actor)) is not None:
            return text
        if self._tracker.phase is not Phase.INPUT:
            return None
        if not self.line.is_touched:
            return ""
        if not self._pty.is_all_read:
            return None
        shown = self.shown_line()
        if shown is None:
            shown = "?" if self.line.half_typed else ""
        settled = self.typed.settle(shown, actor)
        self.line.is_touched = settled != ""
        return settled

    def shown_line(self) -> str | None:
        """What stands behind the prompt now; None if unknown."""
        progress = self._tracker.progress
        if progress.phase is not Phase.INPUT:
            return ""
        return self._chronicle.shown_text(progress.prompt_end, progress.input_end)

    def has_half_line(self) -> bool:
        """A half-typed line stands at the prompt; ask while the shell is at rest."""
        progress = self._tracker.progress
        is_shown = self._profile.shell_kind.has_line_editor or self._pty.echo_and_canonical()[0]
        shown = None
        if progress.phase is Phase.INPUT and is_shown:
            shown = self._chronicle.shows_text(progress.prompt_end, progress.input_end)
        return self.line.half_typed if shown is None else shown or self.line.half_ahead

    def reads_keys(self) -> bool:
        """Whether a program reads keys now, and not whole lines."""
        if self._is_canonical:
            return False
        kind = self._profile.shell_kind
        runs = kind.reads_keys_between_programs and self._tracker.phase is Phase.RUNNING
        return not (runs and self._pty.is_still_the_shell(kind.name))

    @property
    def _is_canonical(self) -> bool:
        return self._pty.echo_and_canonical()[1]

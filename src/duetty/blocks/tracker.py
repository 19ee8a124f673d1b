"""Marks in, blocks out: which command line is where in the journal.

Theory of operation. A shell with integration announces, by trusted marks,

    PROMPT … INPUT … OUTPUT … DONE   PROMPT … INPUT …

A *block* is open from OUTPUT to DONE. Shells that cannot announce OUTPUT (POSIX
sh) go from INPUT straight to DONE; their block begins at the first line end
after the INPUT mark, which is where the terminal's echo of the line ends. A
prompt that comes without a DONE means that the line was abandoned (Ctrl-C), was
empty, or did not parse; what was printed in between is kept as a block only if
the shell reported an exit code.

Untrusted marks are text. A trusted mark in a place the table does not know is a
shell we did not expect, and costs a block, never a session.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from duetty.shell import Mark, MarkKind


class Phase(StrEnum):
    """Where the shell is in its cycle, as far as marks tell."""

    SILENT = "silent"
    """No trusted mark yet: no integration, or the shell has not drawn its first prompt."""

    PROMPT = "prompt"
    INPUT = "input"
    CONTINUATION = "continuation"
    ENTERED = "entered"
    """A line was sent: it runs, wants more or is taken back."""

    RUNNING = "running"
    DONE = "done"


_NEXT: dict[tuple[Phase, MarkKind], Phase] = {
    (Phase.SILENT, MarkKind.PROMPT): Phase.PROMPT,
    (Phase.PROMPT, MarkKind.PROMPT): Phase.PROMPT,  # redrawn
    (Phase.PROMPT, MarkKind.INPUT): Phase.INPUT,
    (Phase.PROMPT, MarkKind.OUTPUT): Phase.RUNNING,  # bash draws no prompt in one column
    (Phase.INPUT, MarkKind.INPUT): Phase.INPUT,  # redrawn by the line editor
    (Phase.INPUT, MarkKind.PROMPT): Phase.PROMPT,  # empty, abandoned or unparsable line
    (Phase.INPUT, MarkKind.OUTPUT): Phase.RUNNING,
    (Phase.INPUT, MarkKind.DONE): Phase.DONE,  # POSIX sh; or a line that did not parse
    (Phase.PROMPT, MarkKind.DONE): Phase.DONE,  # a prompt written elsewhere: `exec 2>file` in bash
    (Phase.CONTINUATION, MarkKind.INPUT): Phase.CONTINUATION,
    (Phase.CONTINUATION, MarkKind.PROMPT): Phase.PROMPT,
    (Phase.CONTINUATION, MarkKind.OUTPUT): Phase.RUNNING,
    (Phase.CONTINUATION, MarkKind.DONE): Phase.DONE,
    (Phase.ENTERED, MarkKind.PROMPT): Phase.PROMPT,
    (Phase.ENTERED, MarkKind.INPUT): Phase.INPUT,  # bash refused its history expansion
    (Phase.ENTERED, MarkKind.OUTPUT): Phase.RUNNING,
    (Phase.ENTERED, MarkKind.DONE): Phase.DONE,
    (Phase.RUNNING, MarkKind.DONE): Phase.DONE,
    (Phase.RUNNING, MarkKind.PROMPT): Phase.PROMPT,  # the shell lost its DONE
    (Phase.DONE, MarkKind.PROMPT): Phase.PROMPT,
    (Phase.DONE, MarkKind.INPUT): Phase.INPUT,
    (Phase.DONE, MarkKind.OUTPUT): Phase.RUNNING,  # next command of a multi-line paste
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A command line is about to run; its output begins at `start`."""

    number: int
    start: int
    command_line: str | None
    cwd: str | None
    prompt_end: int = 0
    input_end: int = 0
    """Where the prompt began, and where input did: the line is echoed from there on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Closed:
    """A command line has finished; its output is `start` to `end`."""

    number: int
    start: int
    end: int
    after_echo: bool
    """`start` is where input began: the output begins after the first line end behind it."""

    command_line: str | None
    exit_code: int | None
    cwd: str | None
    """The directory the shell is in now, after the command line."""

    took_ns: int | None = None
    """How long it ran, where the shell tells that and no times."""

    prompt_end: int = 0


class Progress(NamedTuple):
    """All that the tracker remembers; a snapshot carries it.

    A tuple, because each mark makes another one, in about a quarter of a dataclass's time.
    """

    phase: Phase = Phase.SILENT
    count: int = 0  # pyright: ignore[reportIncompatibleMethodOverride]  # no caller counts in it
    """Blocks opened so far; the next one gets this number plus one."""

    prompts: int = 0
    """Prompts begun so far. Line editors redraw a prompt's end, never its beginning."""

    start: int = 0
    command_line: str | None = None
    prompt_cwd: str | None = None
    line_cwd: str | None = None
    """Where the shell was when the open block began."""

    input_end: int = 0
    """Where the last INPUT mark ended."""

    continued_at: int = 0
    """Where the shell last asked for the rest of a line."""

    prompt_end: int = 0
    """Where the last PROMPT mark ended."""


class BlockTracker:
    """Applies marks in the order they were printed."""

    def __init__(self, progress: Progress | None = None) -> None:
        self.progress = progress or Progress()

    @property
    def phase(self) -> Phase:
        return self.progress.phase

    @property
    def cwd(self) -> str | None:
        return self.progress.prompt_cwd

    def apply(self, mark: Mark) -> tuple[Opened | Closed, ...]:
        """What this mark opened or closed."""
        if not mark.trusted:
            return ()
        if mark.kind is MarkKind.PROMPT and mark.secondary:
            return self._continue(mark)
        before = self.progress
        phase = _NEXT.get((before.phase, mark.kind))
        if phase is None:
            return ()
        cwd = mark.cwd if mark.cwd is not None else before.prompt_cwd
        is_prompt, is_input = mark.kind is MarkKind.PROMPT, mark.kind is MarkKind.INPUT
        self.progress = before._replace(
            phase=phase,
            prompt_cwd=cwd,
            prompts=before.prompts + is_prompt,
            prompt_end=mark.end if is_prompt else before.prompt_end,
            input_end=mark.end if is_input else before.input_end,
        )
        match mark.kind:
            case MarkKind.PROMPT:
                return self._close_unended(before, mark)
            case MarkKind.INPUT:
                return ()
            case MarkKind.OUTPUT:
                return self._open(before, mark)
            case MarkKind.DONE:
                return self._close(before, mark)

    def enter(self) -> None:
        """A line end was typed. Only for shells that cannot say OUTPUT themselves."""
        if self.progress.phase in (Phase.INPUT, Phase.CONTINUATION):
            self.progress = self.progress._replace(phase=Phase.ENTERED)

    def abandon(
        self, end: int, *, exit_code: int | None = None, is_unannounced: bool = False
    ) -> tuple[Closed, ...]:
        """The process is gone: close what is open.

        `exit_code` is the shell's own, if it exited: that of the line that ended it.
        `is_unannounced`: it cannot say OUTPUT, so a line that was sent may have run.
        """
        before = self.progress
        if before.phase is Phase.RUNNING:
            self.progress = before._replace(phase=Phase.DONE)
            return (self._closed(before, end=end, exit_code=exit_code),)
        if before.phase is Phase.ENTERED and is_unannounced:
            number = before.count + 1
            self.progress = before._replace(phase=Phase.DONE, count=number)
            return (
                Closed(
                    number=number,
                    start=before.input_end,
                    end=end,
                    after_echo=True,
                    command_line=None,
                    exit_code=exit_code,
                    cwd=before.prompt_cwd,
                ),
            )
        return ()

    def _continue(self, mark: Mark) -> tuple[Opened | Closed, ...]:
        if self.progress.phase in (Phase.INPUT, Phase.CONTINUATION, Phase.ENTERED):
            self.progress = self.progress._replace(phase=Phase.CONTINUATION, continued_at=mark.end)
        return ()

    def _open(self, before: Progress, mark: Mark) -> tuple[Opened, ...]:
        number = self.progress.count + 1
        cwd = self.progress.prompt_cwd
        command_line = mark.command_line
        self.progress = self.progress._replace(
            count=number,
            start=mark.end,
            command_line=command_line,
            line_cwd=cwd,
        )
        return (
            Opened(
                number=number,
                start=mark.end,
                command_line=command_line,
                cwd=cwd,
                prompt_end=before.prompt_end if before.phase is not Phase.DONE else 0,
                input_end=before.input_end,
            ),
        )

    def _close(self, before: Progress, mark: Mark) -> tuple[Opened | Closed, ...]:
        if before.phase is Phase.RUNNING:
            return (self._closed(before, end=mark.start, exit_code=mark.exit_code, mark=mark),)
        # No OUTPUT mark: the block is what lies between the echoed line and here.
        number = before.count + 1
        self.progress = self.progress._replace(count=number)
        return (
            Closed(
                number=number,
                start=before.input_end,
                end=mark.start,
                after_echo=True,
                command_line=mark.command_line,
                exit_code=mark.exit_code,
                cwd=self.progress.prompt_cwd,
                prompt_end=before.prompt_end,
            ),
        )

    def _close_unended(self, before: Progress, mark: Mark) -> tuple[Closed, ...]:
        if before.phase is Phase.RUNNING:
            return (self._closed(before, end=mark.start, exit_code=None, mark=mark),)
        return ()

    def _closed(
        self, before: Progress, *, end: int, exit_code: int | None, mark: Mark | None = None
    ) -> Closed:
        marked = mark.command_line if mark is not None else None
        return Closed(
            number=before.count,
            start=before.start,
            end=end,
            after_echo=False,
            command_line=before.command_line if before.command_line is not None else marked,
            exit_code=exit_code,
            cwd=self.progress.prompt_cwd,
            took_ns=mark.took_ns if mark is not None else None,
        )

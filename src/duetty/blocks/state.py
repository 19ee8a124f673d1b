"""What a session is doing, and how that is known.

One pure function over facts from four sources, strongest first: the keeper (the
process is gone), the shell's marks, the terminal (full-screen programs), the
kernel (who reads the terminal, with which line settings).
"""

from dataclasses import dataclass
from typing import Literal

from duetty.blocks.tracker import Phase
from duetty.ids import StateWord

KnownBy = Literal["keeper", "marks", "terminal", "kernel", "nothing"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """What the kernel says about the foreground of the terminal at one moment."""

    known: bool
    """False when the kernel would not say (permissions, another system)."""

    reading: bool = False
    """A foreground process is blocked reading the terminal."""

    by_shell: bool = False
    """That process is the session's own child."""

    reader: int | None = None
    """Its process id."""

    echo: bool = True
    canonical: bool = True
    """The terminal's line settings; a password is read with echo off, line by line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    word: StateWord
    known_by: KnownBy
    continuation: bool = False
    """The shell waits for the rest of an unfinished command line."""


EXITED = State(word="exited", known_by="keeper")
PROMPT = State(word="prompt", known_by="marks")
CONTINUATION = State(word="awaiting_input", known_by="marks", continuation=True)
RUNNING = State(word="running", known_by="marks")
FULLSCREEN = State(word="fullscreen", known_by="terminal")
UNKNOWN = State(word="unknown", known_by="nothing")

_AT_PROMPT = frozenset({Phase.PROMPT, Phase.INPUT, Phase.DONE})


def derive_state(
    *,
    phase: Phase,
    alternate_active: bool,
    exited: bool,
    is_shell: bool,
    probe: Probe | None,
    announces_lines: bool = False,
    settled: bool = True,
) -> State:
    """`probe` is None when the kernel was not asked; it is only needed while something runs.

    `announces_lines`: the shell says where each of its lines begins. `settled`: it has
    had the time to take the line that was sent last.
    """
    if exited:
        return EXITED
    if phase in _AT_PROMPT:
        return PROMPT
    if phase is Phase.CONTINUATION:
        return CONTINUATION
    if alternate_active:
        return FULLSCREEN
    if probe is not None and probe.known:
        if not probe.reading:
            return State(word="running", known_by="marks" if phase is Phase.RUNNING else "kernel")
        if phase is Phase.ENTERED and announces_lines and probe.by_shell:
            if not settled:
                return State(word="running", known_by="kernel")
            # Enter was typed, nothing runs, and the shell reads on: it wants more of the line.
            return State(word="awaiting_input", known_by="kernel", continuation=True)
        if probe.canonical and not probe.echo:
            return State(word="awaiting_password", known_by="kernel")
        if is_shell and probe.by_shell and phase is Phase.SILENT:
            # A shell without marks, in the foreground, reading: its prompt, as far as anyone can say.
            return State(word="prompt", known_by="kernel")
        return State(word="awaiting_input", known_by="kernel")
    if probe is not None and probe.canonical and not probe.echo:
        # The kernel hides the reader (sudo is another user's), but no program turns
        # echo off and keeps line mode for anything else.
        return State(word="awaiting_password", known_by="kernel")
    return RUNNING if phase in (Phase.RUNNING, Phase.ENTERED) else UNKNOWN

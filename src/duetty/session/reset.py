"""Bring a session back to its shell's empty prompt: what a person does with Ctrl-C, kill and `stty sane`."""

import anyio

from duetty.calls import Actor
from duetty.clock import Clock
from duetty.errors import SessionBusy, SessionExited
from duetty.session.foreground_end import STEP_S, end_foreground
from duetty.session.registry import Registry
from duetty.session.rest import wait_rest
from duetty.session.runs import Run
from duetty.session.session import Session

CURE_S = 10.0
"""For the line that puts the terminal right, on a machine that is busy."""

CURE = r"stty sane; printf '\033[?1049l\033[r\033[999;1H\033[?1000l\033[?1002l\033[?1003l\033[?1006l\033[?25h\033[0m'"
"""Lines, echo and signals again; off the alternate screen, without the mouse, with a cursor."""


async def reset(registry: Registry, session: Session, *, actor: Actor, clock: Clock) -> None:
    """End what has the terminal, forget what was typed, and put the terminal's settings right.

    Raises:
        SessionExited: if there is no shell any more.
        SessionBusy: if something holds the terminal that not even KILL ends.
    """
    if not session.profile.shell_kind.has_line_editor:
        session.pty.make_sane()  # else Ctrl-C is a byte like any other
    is_free = await end_foreground(registry, session, actor=actor)
    if session.is_exited:
        raise SessionExited(session.name, session.exit_code)
    if not is_free:
        raise SessionBusy(
            f"{session.name!r} did not come back to its prompt",
            hint="kill this session and open another",
            details={"state": session.state().word},
        )
    if session.prompt.line.is_touched or session.prompt.is_continuing:
        session.write(b"\x03", actor=actor, judged=True)
        session.prompt.line.is_touched = True
        await wait_rest(session)
    run = Run(session=session, line=CURE, actor=actor, quiet_s=STEP_S, clock=clock)
    try:
        with anyio.move_on_after(CURE_S):
            await run.start()
            await run.wait()
    finally:
        run.close()

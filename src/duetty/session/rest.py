"""Waiting until a shell is at rest: it has read all that was typed, and says no more."""

from duetty.blocks import Phase
from duetty.session.line import SETTLE_S
from duetty.session.pump import INTERRUPT
from duetty.session.session import Session

REST_LOOK_S = 0.005
REST_LOOKS = 200
"""How often, and how many times, a shell is checked that an actor has typed at."""


async def is_at_rest(session: Session) -> bool:
    """The program in the foreground has read all input, printed all output, and waits."""
    if not session.pty.is_all_read or session.prompt.is_interrupting:
        return False
    generation = session.activity.generation
    probe = await session.probe()
    if session.is_exited:
        return True
    if not probe.known:
        return session.prompt.line.is_settled and session.activity.quiet_s() > SETTLE_S
    # In this order: what it printed before it waited is there by now.
    is_silent = not session.pty.has_output and session.journal.is_all_taken()
    return probe.reading and is_silent and generation == session.activity.generation


async def wait_rest(session: Session) -> bool:
    """Until the shell has shown what was typed; False when something else has begun meanwhile."""
    prompt = session.prompt
    phase = prompt.phase
    was_deaf = False
    for _ in range(REST_LOOKS):
        if session.is_exited:
            return True
        if await is_at_rest(session):
            if session.is_exited:
                return True
            is_deaf = prompt.line.take_deaf(prompt.count)
            is_empty = phase in (Phase.INPUT, Phase.PROMPT) and not prompt.has_half_line()
            if is_deaf and was_deaf and is_empty:
                return True  # fish draws no prompt for a Ctrl-C on an empty line
            was_deaf = was_deaf or is_deaf
            if not is_deaf:
                if not prompt.line.is_pressed_again:
                    return True
                # It may have heard both: the second one takes what is typed meanwhile.
                await session.pulse.nap(REST_LOOK_S)
                continue
            # Now and then a shell that is busy drawing takes a Ctrl-C and does nothing about it.
            session.write(INTERRUPT, actor=prompt.actor, judged=True)
            prompt.line.pressed_again()
        await session.pulse.nap(REST_LOOK_S)
        if prompt.phase is not phase:
            return False
    return True


async def wait_program_rest(session: Session) -> bool:
    """The same of a program that runs, which may take no notice of a Ctrl-C."""
    phase = session.prompt.phase
    for _ in range(REST_LOOKS):
        if session.is_exited or await is_at_rest(session):
            return True
        await session.pulse.nap(REST_LOOK_S)
        if session.prompt.phase is not phase:
            return False
    return True

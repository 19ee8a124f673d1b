"""From a shell to the program of its line: the moment in which an interrupt would be lost.

A shell announces a line, then forks, hands the terminal over and becomes the
program. Ctrl-C that comes earlier reaches the shell, which drops it, and the
program runs on. A person presses it again; a call was answered as done.
"""

import anyio

from duetty.blocks import Phase
from duetty.clock import Clock
from duetty.session.session import Session

HAND_OVER_S = 1.0
"""How long a line may take to have its program. A loop of the shell itself never has one."""

_LOOK_S = 0.005
_BEGUN = frozenset({Phase.ENTERED, Phase.RUNNING})


async def wait_handed_over(session: Session, clock: Clock) -> None:
    """Return when a program has the terminal, or when the line that runs has none this long."""
    while session.prompt.phase in _BEGUN and session.profile.shell_kind.announces == "lines":
        begun_ns = _begun_ns(session)
        if begun_ns is None or clock.wall_ns() - begun_ns > HAND_OVER_S * 1e9:
            return
        if not session.pty.is_still_the_shell(session.profile.integration):
            return
        await anyio.sleep(_LOOK_S)


def _begun_ns(session: Session) -> int | None:
    block = session.prompt.open_block
    return session.prompt.line.entered_at_ns if block is None else block.started_at_ns

"""Whether a person can see what an agent does, and how a view can be had."""

import anyio

from duetty.ops.contract.failures import GuiUnavailable
from duetty.ops.contract.steps import Doing
from duetty.ops.services import Services
from duetty.session import Session

OPEN_WAIT_S = 20.0
"""How long a browser gets to show the page."""

LOOK_S = 0.05


def is_seen(services: Services, session: Session | None) -> bool:
    """Whether a person sees this session now, or with None one that is yet to be opened.

    A page shows every session, also one that comes; an attached terminal shows its own.
    """
    if session is None:
        return services.approvals.attendance.is_attended()
    return services.approvals.attendance.is_attended(
        session=session.name, session_id=session.profile.id
    )


async def obtain_view(doing: Doing, session: Session | None) -> None:
    """Return when a person sees the session, or would see a new one.

    Raises:
        GuiUnavailable: if no viewer is there and no page can be opened. Nothing runs unseen instead.
    """
    request, services = doing.request, doing.services
    if is_seen(services, session):
        return
    offered = services.page_opening.is_possible and services.settings.terminal_open_page
    if not (offered and request.runtime.open_page):
        raise _unavailable(offered=offered, asked=request.runtime.open_page)
    patience_s = doing.patience_s
    with anyio.move_on_after(OPEN_WAIT_S if patience_s is None else min(OPEN_WAIT_S, patience_s)):
        await services.page_opening.open(lambda: services.node.new_link(None))
        while not is_seen(services, session):  # noqa: ASYNC110 - who comes is counted, not announced
            await anyio.sleep(LOOK_S)
        return
    raise _unavailable(offered=offered, asked=True)


def _unavailable(*, offered: bool, asked: bool) -> GuiUnavailable:
    hint = GuiUnavailable.guidance
    if offered and not asked:
        hint += "; or retry with runtime.open_page = true to open it in the person's browser"
    return GuiUnavailable(
        "no person can see this terminal now, so nothing was run",
        hint=hint,
        can_open_page=offered,
    )

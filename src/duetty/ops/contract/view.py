"""Whether a person can see what an agent does, and how a view can be had."""

import anyio

from duetty.ops.contract.failures import GuiUnavailable
from duetty.ops.contract.request import Request
from duetty.ops.services import Services

OPEN_WAIT_S = 20.0
"""How long a browser gets to show the page."""

LOOK_S = 0.05


async def obtain_view(request: Request, services: Services) -> None:
    """Return when a person's page or attached terminal is connected.

    Raises:
        GuiUnavailable: if none is and none can be had. Nothing runs unseen instead.
    """
    approvals = services.approvals
    if approvals.is_attended:
        return
    offered = services.page_opening.is_possible and services.settings.terminal_open_page
    if not (offered and request.runtime.open_page):
        raise _unavailable(offered=offered, asked=request.runtime.open_page)
    with anyio.move_on_after(OPEN_WAIT_S):
        await services.page_opening.open(services.node.new_link)
        while not approvals.is_attended:  # noqa: ASYNC110 - who comes is counted, not announced
            await anyio.sleep(LOOK_S)
        return
    raise _unavailable(offered=offered, asked=True)


def _unavailable(*, offered: bool, asked: bool) -> GuiUnavailable:
    hint = GuiUnavailable.guidance
    if offered and not asked:
        hint += "; or retry with runtime.open_page = true to open it in the person's browser"
    return GuiUnavailable(
        "no person can see a terminal of this server now, so nothing was run",
        hint=hint,
        can_open_page=offered,
    )

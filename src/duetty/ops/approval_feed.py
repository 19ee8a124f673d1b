"""Questions to a person, for viewers of the list of sessions."""

from collections.abc import Generator
from contextlib import contextmanager

from duetty.approvals import ApprovalEntry, may_see
from duetty.calls import Actor, Scope
from duetty.events import Lagged, Subscription
from duetty.ops.approval_operations import approval_info, standing_info
from duetty.ops.permits import permit
from duetty.ops.services import Services
from duetty.store import ApprovalRecord
from duetty.wire.approval_shapes import ApprovalInfo, StandingInfo


class ApprovalFeed:
    """What waits now, and each question as it is asked or settled."""

    def __init__(
        self, services: Services, actor: Actor, entries: Subscription[ApprovalEntry]
    ) -> None:
        self._services = services
        self._actor = actor
        self._entries = entries

    def pending(self) -> list[ApprovalInfo]:
        """All that wait; changes go on from here."""
        self._entries.clear()
        return [
            approval_info(each) for each in self._services.approvals.pending() if self._is_for(each)
        ]

    def _is_for(self, record: ApprovalRecord) -> bool:
        return may_see(self._actor, session=record.session, session_id=record.session_id)

    def standing(self) -> list[StandingInfo]:
        """The answers that cover later calls; none for who reaches one session only."""
        if self._actor.session is not None:
            return []
        return [standing_info(each) for each in self._services.approvals.standing.in_force()]

    async def standing_changed(self) -> None:
        """Returns when `standing` has more to say."""
        await self._services.approvals.standing.changed.wait()

    async def receive(self) -> ApprovalInfo | None:
        """The next change; None after falling behind: take `pending` again.

        Raises:
            anyio.EndOfStream: when the server ends.
        """
        while True:
            entry = await self._entries.receive()
            if isinstance(entry, Lagged):
                return None
            record = self._services.approvals.current(entry.record)
            if self._is_for(record):
                return approval_info(record)


def approval_shape(approval: ApprovalInfo) -> dict[str, object]:
    """A question as an event of the server."""
    return {"event": "approval", "params": approval}


@contextmanager
def follow_approvals(services: Services, actor: Actor) -> Generator[ApprovalFeed]:
    """Raises:
    ScopeMissing: if the actor may not read.
    """
    permit(actor, Scope.READ)
    with services.approvals.subscribe() as entries:
        yield ApprovalFeed(services, actor, entries)

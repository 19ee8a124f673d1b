"""What a route is given, and the calls of operations it is made of."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from duetty.calls import Actor
from duetty.ops.contract.request import Request
from duetty.ops.services import Services
from duetty.wire.contract import Executed, Listing, OutputRead, TargetInfo, Terminated
from duetty.wire.results import Approved

DIALECT = "terminal"
"""What rules of policy know these calls by, over MCP and HTTP alike."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Doing:
    """One request under way."""

    request: Request
    services: Services
    actor: Actor
    until_s: float | None
    """When its caller's own bound is over, if it has one."""

    approved: list[Approved] = field(default_factory=list[Approved])
    """How a person answered for its steps, as they are taken."""

    async def call(self, operation: str, arguments: Mapping[str, object]) -> Any:
        """As a call of the actor's own: permitted, decided, asked about, recorded.

        Raises:
            DuettyError: as the operation says.
        """
        steps = self.services.steps
        assert steps is not None, "the dispatcher gives them to what is composed"
        given = {name: value for name, value in arguments.items() if value is not None}
        result = await steps(
            operation,
            given,
            dialect=DIALECT,
            mode=self.request.mode,
            patience_s=self.patience_s,
        )
        approved = getattr(getattr(result, "process", result), "approved", None)
        if approved is not None:
            self.approved.append(approved)
        return result

    @property
    def patience_s(self) -> float | None:
        """The rest of the time, for a person to answer or to open the page."""
        if self.until_s is None:
            return None
        return max(0.0, self.until_s - self.services.clock.monotonic_s())

    @property
    def timeout_ms(self) -> int:
        return self.request.timeout_ms or self.services.settings.process_timeout_ms

    @property
    def output_bytes(self) -> int:
        return self.request.runtime.max_output_bytes or self.services.settings.run_output_bytes


Outcome = tuple[TargetInfo | None, Executed | OutputRead | Terminated | Listing]

"""The routing matrix: canonical action and mode to the one path that serves them."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from duetty.ops.contract import headless, interactive, list_route
from duetty.ops.contract.steps import Doing, Outcome
from duetty.wire.contract import Action, Mode


@dataclass(frozen=True, slots=True)
class Path:
    name: str
    """As answers tell it."""

    gate: str
    serve: Callable[[Doing], Awaitable[Outcome]]


MATRIX: Mapping[tuple[Action, Mode], Path] = {
    ("execute", "interactive"): Path(
        "dispatcher > visible session > shell", "policy, person", interactive.execute
    ),
    ("execute", "headless"): Path(
        "dispatcher > headless gate > process",
        "strict allowlist, destructive block",
        headless.execute,
    ),
    ("read_output", "interactive"): Path(
        "dispatcher > session read", "owner", interactive.read_output
    ),
    ("read_output", "headless"): Path(
        "dispatcher > process read", "owner, policy", headless.read_output
    ),
    ("terminate", "interactive"): Path(
        "dispatcher > session close", "owner", interactive.terminate
    ),
    ("terminate", "headless"): Path(
        "dispatcher > process stop", "owner, policy", headless.terminate
    ),
    ("list", "interactive"): Path(
        "dispatcher > sessions", "owner, mode", list_route.list_terminals
    ),
    ("list", "headless"): Path("dispatcher > processes", "owner, mode", list_route.list_terminals),
}

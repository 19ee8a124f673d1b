"""From call to effect, on one path: find, validate, run.

Deciding, approving and recording have their place here, between validate and
run, so that no edge can reach a session around them.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from duetty.calls import Actor, Call
from duetty.errors import BadArguments, NotFound
from duetty.ops.operation import Operation
from duetty.ops.services import Services
from duetty.ops.table import OPERATIONS


class UnknownOperation(NotFound):
    code = "unknown_method"


class Dispatcher:
    """What an edge is given: names and arguments in, results or coded errors out."""

    def __init__(self, services: Services) -> None:
        self._services = services

    @property
    def operations(self) -> Mapping[str, Operation[Any, Any]]:
        return OPERATIONS

    async def dispatch(self, call: Call) -> Any:
        """Run the operation for this actor.

        Raises:
            DuettyError: with a code, whatever went wrong.
        """
        operation = OPERATIONS.get(call.operation)
        if operation is None:
            raise UnknownOperation(f"no operation {call.operation!r}")
        try:
            params = operation.params.model_validate(call.arguments)
        except ValidationError as error:
            raise bad_arguments(error) from error
        return await operation.run(params, self._services, call.actor)

    async def call(self, actor: Actor, name: str, arguments: Mapping[str, object]) -> Any:
        return await self.dispatch(Call(actor=actor, operation=name, arguments=arguments))


def bad_arguments(error: ValidationError) -> BadArguments:
    """One sentence per wrong field; never the value, which may be input."""
    problems = {
        ".".join(str(part) for part in problem["loc"]) or "arguments": problem["msg"]
        for problem in error.errors(include_url=False, include_input=False, include_context=False)
    }
    return BadArguments(
        "; ".join(f"{place}: {message}" for place, message in problems.items()),
        details={"fields": problems},
    )

"""An operation: a thing the product can do, said once.

Route, tool, CLI command, schema and docs page are made from it.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from duetty.calls import Actor, Effect
from duetty.ops.services import Services
from duetty.wire.base import Params

P = TypeVar("P", bound=Params)
R = TypeVar("R")

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Where the HTTP edge offers an operation."""

    method: Method
    path: str
    """`{session}` and `{block}` in it fill the arguments of that name."""

    status: int = 200
    raw_body: str | None = None
    """The argument that the request's body fills as bytes, where the body is not JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation(Generic[P, R]):
    name: str
    """`noun.verb`."""

    summary: str
    effect: Effect
    params: type[P]
    result: Any
    """The type of what it answers with, for schemas."""

    run: Callable[[P, Services, Actor], Awaitable[R]]
    route: Route
    waits: bool = False
    """It may take as long as its caller allows, and ends when the caller goes."""

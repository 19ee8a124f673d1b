"""A call with its operation, its arguments and its session: found and checked once, then carried.

Knows nothing of how any of them was found, nor of what becomes of the call.
"""

from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar

from duetty.calls import Actor, Call, Effect
from duetty.errors import SessionNotFound
from duetty.ops.judgements import Judgement
from duetty.session import Session
from duetty.wire.base import field_of


class JudgedOperation(Protocol):
    """An operation, as far as deciding and recording need to know it."""

    @property
    def name(self) -> str: ...
    @property
    def effect(self) -> Effect: ...
    @property
    def judged(self) -> Judgement: ...


O_co = TypeVar("O_co", bound=JudgedOperation, covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedCall(Generic[O_co]):
    call: Call
    operation: O_co
    params: Any
    """The arguments, validated."""

    session: Session | None = None
    """The session that the arguments name; None where they name none, or none that is here."""

    @property
    def actor(self) -> Actor:
        return self.call.actor

    @property
    def session_name(self) -> str | None:
        """As the arguments give it."""
        name = field_of(self.params, "session")
        return name if isinstance(name, str) else None

    def found_session(self) -> Session:
        """Raises:
        SessionNotFound: if there is none of this name.
        """
        if self.session is None:
            raise SessionNotFound(self.session_name or "")
        return self.session

    def with_params(self, params: Any) -> "ResolvedCall[O_co]":
        return self if params is self.params else replace(self, params=params)


AnyCall = ResolvedCall[JudgedOperation]
"""For who only judges and records it."""

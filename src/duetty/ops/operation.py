"""An operation: a thing the product can do, defined once.

Route, tool, CLI command, schema and docs page are made from it.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from duetty.calls import SCOPE_OF, Actor, Effect, Scope
from duetty.errors import DuettyError
from duetty.ops.judgements import Judgement
from duetty.ops.resolved_call import ResolvedCall
from duetty.ops.services import Services
from duetty.session import Session
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

    media: tuple[str, ...] = ()
    """Kinds of document it may answer with, where that is not JSON."""


@dataclass(frozen=True, slots=True)
class InSession(Generic[P, R]):
    """Runs in the session that its arguments name, which it is given."""

    run: Callable[[P, Session, Services, Actor], Awaitable[R]]


@dataclass(frozen=True, slots=True)
class PerhapsInSession(Generic[P, R]):
    """Is given the session that its arguments name, where they name one."""

    run: Callable[[P, Session | None, Services, Actor], Awaitable[R]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation(Generic[P, R]):
    name: str
    """`noun.verb`."""

    summary: str
    effect: Effect
    judged: Judgement
    """How policy judges a call of it."""

    params: type[P]
    result: Any
    """The type of what it answers with, for schemas."""

    run: Callable[[P, Services, Actor], Awaitable[R]] | InSession[P, R] | PerhapsInSession[P, R]
    route: Route
    waits: bool = False
    """It may take as long as its caller allows, and ends when the caller goes."""

    needs: Scope | None = None
    """What a credential must allow, where the effect does not say it all."""

    admin: bool = False
    """About the server and who may use it: needs the scope of that name, whatever its effect."""

    any_scope: bool = False
    """About the credential itself: one with any scope may call it."""

    answers: bool = False
    """It answers a question to a person: needs the scope `approve`, whatever its effect."""

    shared: bool = False
    """Names no session, and shows nothing of one that the actor may not reach: a token for one
    session may call it too."""

    composed: bool = False
    """Made of calls of other operations (`services.steps`), each of which is permitted, decided,
    asked about and recorded as any call: so it is not itself."""

    everywhere: bool = False
    """Answers with a list, and when `server` is left out with that of every node together."""

    malformed: Callable[[DuettyError], DuettyError] | None = None
    """How it tells of a request that holds no arguments at all, or comes with a credential that is
    not enough for any, where it has words of its own."""

    cut_off: Callable[[Mapping[str, object], str], DuettyError] | None = None
    """How it tells of a request that the end of the server cuts off, where it has words of its own."""

    check: Callable[[P, Services, Actor], Awaitable[None]] | InSession[P, None] | None = None
    """Finds what `run` would refuse, and changes nothing: no person is asked about such a call."""

    errors: tuple[type[DuettyError], ...] = ()
    """What it can fail with, beyond what any call of its kind can: for schemas and docs."""

    @property
    def ends_with_caller(self) -> bool:
        """Nothing is left half done when it ends in the middle."""
        return self.waits or (self.effect is Effect.READ and self.route.method == "GET")

    @property
    def scope(self) -> Scope:
        """What a credential must allow."""
        if self.composed:
            return Scope.READ  # each step says what it needs
        if self.answers:
            return Scope.APPROVE
        return Scope.ADMIN if self.admin else self.needs or SCOPE_OF[self.effect]

    @property
    def function(self) -> Callable[..., Awaitable[R]]:
        """What does the work."""
        match self.run:
            case InSession(run) | PerhapsInSession(run):
                return run
            case run:
                return run

    def perform(self, call: "OperationCall", services: Services) -> Awaitable[R]:
        """Raises:
        SessionNotFound: if the arguments name a session that is not here, and it runs in one.
        """
        match self.run:
            case InSession(run):
                return run(call.params, call.found_session(), services, call.actor)
            case PerhapsInSession(run):
                session = call.found_session() if call.session_name else None
                return run(call.params, session, services, call.actor)
            case run:
                return run(call.params, services, call.actor)

    async def check_of(self, call: "OperationCall", services: Services) -> None:
        """Raises what `perform` would."""
        match self.check:
            case None:
                pass
            case InSession(check):
                await check(call.params, call.found_session(), services, call.actor)
            case check:
                await check(call.params, services, call.actor)


OperationCall = ResolvedCall[Operation[Any, Any]]

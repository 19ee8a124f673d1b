"""Who asks for what: actor, scope, effect, call."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal


class Effect(StrEnum):
    """The worst an operation can do, from harmless to grave."""

    READ = "read"
    DISPLAY = "display"
    INPUT = "input"
    CONTROL = "control"


class Scope(StrEnum):
    """What a credential allows. None includes another: what a credential does not name is refused."""

    READ = "read"
    INPUT = "input"
    CONTROL = "control"
    APPROVE = "approve"
    """Answering questions to a person; goes with `read` and nothing else, and makes a person."""

    JOIN = "join"
    """Bringing a machine into a hub."""

    ADMIN = "admin"


EVERY_SCOPE = frozenset(Scope)

RecordKind = Literal["call", "outcome", "approval", "standing", "rules", "trail"]
"""What the trail records."""

DIALECTS = ("wsh", "command", "terminal", "elwood", "gateway", "rooms", "front")
"""The vocabularies in which calls may come, besides our own."""

SCOPE_OF: Mapping[Effect, Scope] = {
    Effect.READ: Scope.READ,
    Effect.DISPLAY: Scope.INPUT,
    Effect.INPUT: Scope.INPUT,
    Effect.CONTROL: Scope.CONTROL,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Confinement:
    """What a connection was opened with: all that it starts runs so, and it touches nothing bare."""

    sandbox: Literal["any", "landlock", "bubblewrap"]
    workspaces: tuple[str, ...] = ()
    """What may be written there; none: what the settings name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """Who makes a call, and what the credential that was shown allows."""

    kind: Literal["person", "agent", "node"]
    name: str
    scopes: frozenset[Scope] = EVERY_SCOPE
    session: str | None = None
    """Name of the only session it reaches; None means all of them."""

    session_id: str | None = None
    """Its id, where the credential was made for a session that there was. Then that counts: the
    name above is what it is called now, and another session of an old name is not meant."""

    token: str | None = None
    """Id of the stored token or browser behind it; None for the server's own user."""

    user: str | None = None
    """On a hub: the user behind the credential; None is who runs the server."""

    via: str | None = None
    """The hub that the call came through, where it did; then the name is `ann@hub`."""

    confined: Confinement | None = None
    """Of a connection that can open and change nothing outside a sandbox."""

    conversation: str | None = None
    """Of the server's own agent: the conversation that it acts for."""

    source: str = field(default="", compare=False)
    """The other machine that it calls from; empty for this one. It is no part of who it is."""

    client: str | None = field(default=None, compare=False)
    """What its program calls itself: for people to read. It is not verified, and no part
    of who it is."""

    connection: str | None = field(default=None, compare=False)
    """Which of its hosts calls, where that is known. It is no part of who it is."""

    @property
    def identity(self) -> str:
        """What it owns is known by this: two tokens of one name are two actors."""
        return f"token:{self.token}" if self.token is not None else f"{self.kind}:{self.name}"

    @property
    def caller(self) -> str:
        """What it typed, saw last and waits for is known by this: two hosts of one user are two callers."""
        return self.identity if self.connection is None else f"{self.identity}\t{self.connection}"


INSIDE = Actor(kind="agent", name="inside")
"""A program that runs in a session, or that the server started: it may be an agent's, so it
answers for no person and changes nothing of the server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """An actor's request for an operation."""

    actor: Actor
    operation: str
    arguments: Mapping[str, object] = field(default_factory=dict[str, object])
    dialect: str = ""
    """The vocabulary it came in; empty for our own."""

    mode: Literal["interactive", "headless"] = "interactive"
    """Headless: no person watches, so only proven commands run."""

    command_id: str = ""
    """The caller's own name for it: a node does what has the same one once."""

    patience_s: float | None = None
    """How long its caller waits for a person's answer; None: for as long as questions wait."""

"""What an operation may use, gathered by the server and handed to each run."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from duetty.agent import Agents
from duetty.approvals import Approvals, HostAsk
from duetty.audit import Trail
from duetty.clock import Clock, SystemClock
from duetty.config import Settings
from duetty.hosts import HostClient, Hosts
from duetty.hub import Claim, Hub, HubMetrics, Membership, Replicas, Rooms, SharedRecords, Users
from duetty.ops.access import Access
from duetty.ops.guardrail.decision_path import Deciding
from duetty.ops.page_opening import PageOpening
from duetty.ops.selection import Candidates
from duetty.processes import Processes
from duetty.session import Registry
from duetty.store import Store
from duetty.upstreams import Progress, Upstreams, no_upstreams


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """Facts about this running server."""

    hostname: str
    identify: Callable[[], str]
    """Answers with the server's id."""

    instance: str
    version: str
    started_s: float
    address: Callable[[], str]
    new_link: Callable[[str | None], str]
    """A link that signs one browser in, once."""

    stop: Callable[[bool], None]
    """Ask the server to end; True keeps the sessions with the keeper."""

    is_persistent: Callable[[], bool]
    """Whether it stays when no session and no client is left."""

    persist: Callable[[bool], None]

    put_aside: Callable[[], Sequence[str]]
    """Names of files that were found damaged, and are not in use."""

    @property
    def server_id(self) -> str:
        return self.identify()


class Steps(Protocol):
    """Calls of other operations as parts of one: by the same actor, on the one path."""

    async def __call__(
        self,
        operation: str,
        arguments: Mapping[str, object],
        *,
        dialect: str = "",
        mode: Literal["interactive", "headless"] = "interactive",
        patience_s: float | None = None,
    ) -> Any: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    node: Node
    settings: Settings
    clock: Clock
    registry: Registry
    store: Store
    access: Access
    processes: Processes
    approvals: Approvals
    trail: Trail
    deciding: Deciding
    page_opening: PageOpening
    hub: Hub
    agents: Agents
    membership: Membership
    """In a hub that this server joined."""

    rooms: Rooms
    users: Users

    replicas: Replicas | None = None
    """Of this hub; None where none can join."""

    records: SharedRecords | None = None
    """Tokens, users and shares, where other replicas of this hub have them too."""

    room_claims: dict[str, Claim] = field(default_factory=dict[str, Claim])
    """By which other replicas of this hub find rooms that are here."""

    metrics: HubMetrics = field(default_factory=lambda: HubMetrics(SystemClock()))
    upstreams: Upstreams = field(default_factory=no_upstreams)
    taken: set[str] = field(default_factory=set[str])
    """Ids of free sessions that calls of the terminal contract are about to use."""

    candidates: Candidates | None = None
    """Sessions that a call may mean which names none, where that is not those of this node."""

    steps: Steps | None = None
    """Set for the run of an operation that is composed of others."""

    progress: Progress | None = None
    """Set for the run of a call whose caller wants to know how far it is."""

    hosts: Hosts = field(default_factory=Hosts)
    host: HostAsk | None = None
    """Set for the run of a call whose caller's own host can show its person a question of ours."""

    client: HostClient | None = None
    """Set for the run of a call whose caller's own host can be asked: for a completion, or its person."""

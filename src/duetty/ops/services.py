"""What an operation may use, gathered by the server and handed to each run."""

from collections.abc import Callable
from dataclasses import dataclass

from duetty.clock import Clock
from duetty.config import Settings
from duetty.session import Registry
from duetty.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """Facts about this running server."""

    hostname: str
    server_id: str
    instance: str
    version: str
    started_s: float
    address: Callable[[], str]
    new_link: Callable[[], str]
    """A link that signs one browser in, once."""

    stop: Callable[[bool], None]
    """Ask the server to end; True keeps the sessions with the keeper."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    node: Node
    settings: Settings
    clock: Clock
    registry: Registry
    store: Store

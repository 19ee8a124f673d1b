"""The other nodes: added by a person, remembered over a restart, watched by one link each."""

import json
import logging
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import anyio.abc

from duetty.errors import (
    BadArguments,
    DuettyError,
    Exhausted,
    ServerAlreadyRegistered,
    ServerNotFound,
    ServerUnavailable,
)
from duetty.hub.addresses import parse_address
from duetty.hub.link import keep_link
from duetty.hub.network import Network
from duetty.hub.nodes import Identity, RemoteNode

log = logging.getLogger("duetty.hub")

MAX_NODES = 64
MAX_TOKEN_CHARS = 1_000


class Hub:
    def __init__(
        self,
        *,
        file: Path,
        hostname: str,
        server_id: str,
        network: Network,
        tasks: anyio.abc.TaskGroup,
    ) -> None:
        self.hostname = hostname
        self.server_id = server_id
        self._file = file
        self.network = network
        self._tasks = tasks
        self._nodes: list[RemoteNode] = []

    # --- which there are --------------------------------------------------------

    def nodes(self) -> list[RemoteNode]:
        """In the order in which they were added."""
        return list(self._nodes)

    def is_self(self, name: str) -> bool:
        """`local`, as it stands in the list of servers, means this one everywhere."""
        return name.lower() in ("local", self.hostname.lower(), self.server_id)

    def find(self, name: str) -> RemoteNode:
        """By hostname, or by `host:port` of its address.

        Raises:
            ServerNotFound: if there is none.
        """
        for node in self._nodes:
            if node.is_called(name):
                return node
        raise ServerNotFound(name[:100])

    async def add(self, text: str, token: str | None) -> RemoteNode:
        """Raises:
        BadArguments: if it is no address, or one that this node may not go to.
        ServerAlreadyRegistered: if there is one at this address.
        Exhausted: if there are too many.
        """
        address = parse_address(text)
        _check_token(token)
        with suppress(ServerUnavailable):  # a name that nobody knows yet may be known later
            await self.network.resolved(address)
        if any(each.address == address for each in self._nodes):
            raise ServerAlreadyRegistered(str(address))
        if len(self._nodes) >= MAX_NODES:
            raise Exhausted(f"there are {MAX_NODES} servers", hint="remove one")
        node = RemoteNode(address=address, token=token)
        self._nodes.append(node)
        self._save()
        self._start(node)
        return node

    def remove(self, name: str) -> None:
        """Raises:
        ServerNotFound: if there is none.
        """
        node = self.find(name)
        self._nodes.remove(node)
        self._save()
        node.is_not_well("unavailable", "it was removed")
        node.scope.cancel()

    # --- over a restart ---------------------------------------------------------

    def restore(self) -> None:
        """Take up the nodes that were added before."""
        try:
            kept = json.loads(self._file.read_text(encoding="utf-8"))["servers"]
        except FileNotFoundError:
            return
        except (OSError, ValueError, KeyError, TypeError) as error:
            log.warning("servers_unreadable", extra={"file": str(self._file), "reason": str(error)})
            return
        for each in cast("list[dict[str, Any]]", kept)[:MAX_NODES]:
            try:
                node = RemoteNode(address=parse_address(each["address"]), token=each.get("token"))
            except (DuettyError, KeyError, TypeError) as error:
                log.warning("server_unreadable", extra={"reason": str(error)})
                continue
            self._nodes.append(node)
            self._start(node)

    def _save(self) -> None:
        """Whole or not at all, and for this user only: it holds tokens."""
        kept: list[Mapping[str, object]] = [
            {"address": str(each.address), "token": each.token} for each in self._nodes
        ]
        beside = self._file.with_suffix(".new")
        try:
            beside.unlink(missing_ok=True)
            descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as out:
                json.dump({"servers": kept}, out)
            beside.replace(self._file)
        except OSError as error:
            log.warning("servers_not_saved", extra={"reason": str(error)})

    # --- links ------------------------------------------------------------------

    def _start(self, node: RemoteNode) -> None:
        def clash(identity: Identity) -> str | None:
            return self._clash(node, identity)

        self._tasks.start_soon(keep_link, node, self.network, clash)

    def _clash(self, node: RemoteNode, identity: Identity) -> str | None:
        """Why a node of this identity cannot be one of ours; None if it can."""
        if identity.server_id == self.server_id:
            return "it is this server itself"
        if self.is_self(identity.hostname):
            return f"it is called {identity.hostname!r}, as this server is"
        for other in self._nodes:
            if other is node or other.identity is None or other.health == "rejected":
                continue
            if other.identity.server_id == identity.server_id:
                return f"it is the server at {other.address}"
            if other.identity.hostname.lower() == identity.hostname.lower():
                return f"the server at {other.address} is called {identity.hostname!r} too"
        return None


def _check_token(token: str | None) -> None:
    if token is None:
        return
    if not 0 < len(token) <= MAX_TOKEN_CHARS or not all("!" <= char <= "~" for char in token):
        raise BadArguments("token: printable characters without spaces")

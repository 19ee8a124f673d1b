"""Shapes of the servers that one server speaks for."""

from typing import Literal

from pydantic import Field

from duetty.wire.base import Params, Result


class AddServerParams(Params):
    address: str = Field(
        description="where it is: http:// or https://, name, port, and its base prefix if it has one",
        max_length=500,
    )
    token: str | None = Field(
        None, description="a token of that server; ours is never sent", max_length=1_000
    )


class ServerParams(Params):
    hostname: str = Field(description="its hostname, or host:port of its address", max_length=300)


class ServerAdded(Result):
    address: str
    health: Literal["connecting"]


class ServerInfo(Result):
    hostname: str | None = Field(description="as it says itself; null until it was reached")
    address: str = Field(description="`local` for this server itself")
    health: Literal["connecting", "healthy", "unavailable", "rejected", "away"] = Field(
        description="`away`: it joined this hub before, and is not connected now"
    )
    role: Literal["member"] = "member"
    server_id: str | None = Field(
        description="made from the key of that machine; its names are for show"
    )
    version: str | None
    sessions: int | None = Field(description="open sessions; only this server's own are known")
    reason: str | None = Field(description="why it is not healthy")
    away_since: str | None = Field(None, description="when its connection to this hub ended")


class JoinParams(Params):
    address: str = Field(
        description="of the hub: http:// or https://, name, port, and its base prefix if it has one",
        max_length=500,
    )
    token: str = Field(description="a token of that hub which may `join`", max_length=4_000)


class HubInfo(Result):
    hub: str | None = Field(description="address of the hub that this server joined; null for none")
    state: Literal["connecting", "joined", "unavailable", "none"]
    user: str | None = Field(description="whose machine it is there; null for who runs the hub")
    machine: str = Field(description="by which the hub knows this machine")
    reason: str | None = Field(description="why it is not joined")

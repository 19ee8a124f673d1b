"""Shapes of a hub's users and of what they share."""

from typing import Literal

from pydantic import Field

from duetty.wire.base import Params, Result
from duetty.wire.servers import ServerInfo

UserScope = Literal["read", "input", "control", "approve", "join"]


class UserParams(Params):
    name: str = Field(description="letters, digits, '.', '_' and '-'", max_length=100)


class UserTokenParams(Params):
    name: str = Field(description="the user", max_length=100)
    label: str = Field("token", description="what it is for", max_length=100)
    scopes: list[UserScope] = Field(
        default_factory=lambda: ["read", "input", "control"], description="what it allows"
    )
    person: bool = Field(False, description="the person's own, as `duetty login` stores it")
    expires_in_s: float | None = Field(
        None, description="null: until revoked", gt=0, le=315_360_000
    )


class UserInfo(Result):
    name: str
    created_at: str
    tokens: int
    machines: int
    rooms: int


class MachineInfo(Result):
    user: str | None = Field(description="whose it is; null for who runs the hub")
    machine: ServerInfo


class NewUserToken(Result):
    token: str = Field(description="the token itself: it is not kept and cannot be shown again")
    id: str
    user: str
    scopes: list[str]


class ShareSessionParams(Params):
    session: str = Field(description="its id, name, or MACHINE/SESSION", max_length=300)
    user: str = Field(description="another user of the hub", max_length=100)
    role: Literal["watch", "drive", "moderate"] = "watch"
    expires_in_s: float | None = Field(
        3600.0, description="null: until revoked", gt=0, le=31_536_000
    )


class ShareParams(Params):
    share: str = Field(description="its id", max_length=100)


class ShareInfo(Result):
    id: str
    session_id: str
    session: str | None = Field(description="its name, while its machine is here")
    machine: str | None
    owner: str | None = Field(description="null: who runs the hub")
    user: str
    role: Literal["watch", "drive", "moderate"]
    expires_at: str | None


class LinkParams(Params):
    user: str | None = Field(None, description="of a hub: whom it signs in", max_length=100)

"""Users of a hub, and what they share with each other. Tokens are kept elsewhere, by their hashes."""

import logging
import re
import secrets
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from duetty.calls import Scope
from duetty.clock import Clock, ForwardClock
from duetty.errors import (
    BadArguments,
    Exhausted,
    ShareNotFound,
    StateUnwritable,
    UserExists,
    UserNotFound,
)
from duetty.private_file import read_private, write_private

log = logging.getLogger("duetty.hub")

MAX_USERS = 10_000
SHARES_EACH = 200
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")

Role = Literal["watch", "drive", "moderate"]

SCOPES_OF: dict[Role, frozenset[Scope]] = {
    "watch": frozenset({Scope.READ}),
    "drive": frozenset({Scope.READ, Scope.INPUT}),
    "moderate": frozenset({Scope.READ, Scope.INPUT, Scope.CONTROL, Scope.APPROVE}),
}
"""Watch looks on, drive types too, moderate may end the session and answer questions about it."""

USER_SCOPES = frozenset({Scope.READ, Scope.INPUT, Scope.CONTROL, Scope.APPROVE, Scope.JOIN})
"""What a user may have at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    name: str
    created_at_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """One session of a machine, for another user."""

    id: str
    owner: str | None
    node: str
    session: str
    """Its id."""

    user: str
    role: Role
    created_at_ns: int
    expires_at_ns: int | None = None


def _nobody(_kind: str, _id: str, _fields: Mapping[str, Any] | None) -> None: ...


Changed = Callable[[str, str, Mapping[str, Any] | None], None]


class Users:
    """Remembered over a restart in one small file."""

    def __init__(self, file: Path, clock: Clock) -> None:
        self._file = file
        self._clock = ForwardClock(clock)
        self._users: dict[str, User] = {}
        self._shares: dict[str, Share] = {}
        self._held: dict[tuple[str, str], set[Callable[[], object]]] = {}
        """How to close what shares hold open, by user and session."""
        self._is_unsaved = False
        self._on_change: Changed = _nobody

    def listen(self, changed: Changed) -> None:
        """Call this with each record that changes here: its kind, its id, and what it is now."""
        self._on_change = changed

    def restore(self) -> None:
        def shape(kept: Any) -> tuple[dict[str, User], dict[str, Share]]:
            return (
                {each["name"]: User(**each) for each in kept["users"]},
                {each["id"]: Share(**each) for each in kept["shares"]},
            )

        self._users, self._shares = read_private(self._file, shape) or ({}, {})

    # --- users --------------------------------------------------------------------

    def all(self) -> list[User]:
        return list(self._users.values())

    def has(self, name: str) -> bool:
        return name in self._users

    def find(self, name: str) -> User:
        """Raises:
        UserNotFound: if there is none.
        """
        if name not in self._users:
            raise UserNotFound(name[:100])
        return self._users[name]

    def add(self, name: str) -> User:
        """Raises:
        BadArguments: if it cannot be a name.
        UserExists: if there is one.
        Exhausted: if there are too many.
        """
        if not _NAME.fullmatch(name):
            raise BadArguments("name: letters, digits, '.', '_' and '-', at most 64")
        if name in self._users:
            raise UserExists(name)
        if len(self._users) >= MAX_USERS:
            raise Exhausted(f"there are {MAX_USERS} users", hint="remove one")
        user = self._users[name] = User(name=name, created_at_ns=self._clock.wall_ns())
        self._save()
        self._on_change("user", name, asdict(user))
        return user

    def remove(self, name: str) -> None:
        """Raises:
        UserNotFound: if there is none.
        """
        self.find(name)
        self._removed(name)
        self._save()
        self._on_change("user", name, None)

    def _removed(self, name: str) -> None:
        self._users.pop(name, None)
        for share in list(self._shares.values()):
            if name in (share.user, share.owner):
                self._end(share)

    # --- what another replica of this hub changed --------------------------------------

    def records(self, kind: Literal["user", "share"]) -> list[tuple[str, Mapping[str, Any]]]:
        kept = self._users if kind == "user" else self._shares
        return [(id_, asdict(each)) for id_, each in kept.items()]

    def take_user(self, name: str, fields: Mapping[str, Any] | None) -> None:
        """None: the user was removed. It is saved soon, many at once."""
        if fields is None:
            self._removed(name)
        else:
            self._users[name] = User(**fields)
        self._is_unsaved = True

    def take_share(self, id_: str, fields: Mapping[str, Any] | None) -> None:
        if fields is not None:
            self._shares[id_] = Share(**fields)
        elif (share := self._shares.get(id_)) is not None:
            self._end(share)
        self._is_unsaved = True

    # --- shares -------------------------------------------------------------------

    def share(
        self,
        *,
        owner: str | None,
        node: str,
        session: str,
        user: str,
        role: Role,
        for_s: float | None,
    ) -> Share:
        """Raises:
        UserNotFound: if there is no such user.
        BadArguments: if it is the owner.
        Exhausted: if the owner has too many.
        """
        self.find(user)
        if user == owner:
            raise BadArguments("user: the session is this user's already")
        if len(self.by(owner)) >= SHARES_EACH:
            raise Exhausted(f"this user has {SHARES_EACH} shares", hint="revoke one")
        now_ns = self._clock.wall_ns()
        share = Share(
            id=secrets.token_hex(8),
            owner=owner,
            node=node,
            session=session,
            user=user,
            role=role,
            created_at_ns=now_ns,
            expires_at_ns=None if for_s is None else now_ns + int(for_s * 1e9),
        )
        self._shares[share.id] = share
        self._save()
        self._on_change("share", share.id, asdict(share))
        return share

    def revoke(self, id_: str, owner: str | None) -> None:
        """Raises:
        ShareNotFound: if this user has none of this id.
        """
        share = self._shares.get(id_)
        if share is None or share.owner != owner:
            raise ShareNotFound(id_[:100])
        self._end(share)
        self._save()

    def by(self, owner: str | None) -> list[Share]:
        """What this user gave, as far as it is good."""
        return [
            share
            for share in self._shares.values()
            if share.owner == owner and self._is_good(share)
        ]

    def of(self, user: str | None) -> list[Share]:
        """What this user was given, as far as it is good."""
        return [
            share for share in self._shares.values() if share.user == user and self._is_good(share)
        ]

    def end_expired(self) -> None:
        expired = [share for share in self._shares.values() if not self._is_good(share)]
        for share in expired:
            self._end(share)
        if expired or self._is_unsaved:
            self._save()

    def _is_good(self, share: Share) -> bool:
        return share.expires_at_ns is None or self._clock.wall_ns() < share.expires_at_ns

    def _end(self, share: Share) -> None:
        if self._shares.pop(share.id, None) is not None:
            self._on_change("share", share.id, None)
        for close in list(self._held.get((share.user, share.session), ())):
            close()

    @contextmanager
    def held(
        self, user: str | None, session: str | None, close: Callable[[], object]
    ) -> Generator[None]:
        """While inside, `close` is called when the share of this session with this user ends."""
        if user is None or session is None:
            yield
            return
        held = self._held.setdefault((user, session), set())
        held.add(close)
        try:
            yield
        finally:
            held.discard(close)
            if not held:
                self._held.pop((user, session), None)

    def _save(self) -> None:
        self._is_unsaved = False
        kept = {
            "users": [asdict(each) for each in self._users.values()],
            "shares": [asdict(each) for each in self._shares.values()],
        }
        try:
            write_private(self._file, kept)
        except OSError as error:
            raise StateUnwritable(f"cannot write {self._file}: {error.strerror}") from error

"""Who may call: stored tokens, browsers that signed in, links and tickets that work once.

Knows secrets only by their digests. How a secret is shown (header, cookie,
query) is the edge's business.
"""

import hashlib
import hmac
import secrets
import string
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, NamedTuple

import anyio
import anyio.to_thread

from duetty.calls import EVERY_SCOPE, Actor, Scope
from duetty.clock import Clock, ForwardClock
from duetty.errors import BadArguments, Exhausted, SignInAgain, TokenRevoked
from duetty.hub import JwtTokens
from duetty.ops import page_keys
from duetty.ops.bounds import Bounds
from duetty.store import Store, TokenRecord, new_token

LINK_S = 600
"""How long a one-time link works; it is printed for the person who starts the server."""

BROWSER_S = 30 * 24 * 3600
KEY_S = 600
"""How long after it signed in a browser may bring the key of its page: the first page does so at once."""

TICKET_S = 30.0
MAX_LINKS = 64
MAX_BROWSERS = 1_024
MAX_JWTS = MAX_ACTORS = 10_000
MAX_TOKENS = 1_024
"""Valid ones, of one user. Those that are not are forgotten after a while, oldest first."""

KEPT_NS = 30 * 24 * 3600 * 10**9
"""How long a revoked or expired token stays listed: a person may look for it."""

EXPIRY_LOOK_S = 1.0
"""Between two looks for connections whose token has expired meanwhile."""

LOOKING = frozenset({Scope.READ})
"""What a browser's cookie allows by itself."""

_ALNUM = string.ascii_letters + string.digits


def digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode(errors="surrogatepass")).digest()


class _Ticket(NamedTuple):
    actor: Actor
    until_s: float
    give_back: Callable[[], None]


@dataclass(eq=False, slots=True)
class _Connection:
    token: str
    close: Callable[[], object]


class Live:
    """Connections that outlast one request, so that they can end with their token."""

    def __init__(self) -> None:
        self._connections: set[_Connection] = set()

    @contextmanager
    def joined(self, actor: Actor, close: Callable[[], object]) -> Generator[None]:
        """While inside, `close` is called (once, from the loop, and must not wait) when the
        actor's token is revoked or expires.
        """
        leave = self.join(actor.token, close)
        try:
            yield
        finally:
            leave()

    def join(self, token: str | None, close: Callable[[], object]) -> Callable[[], None]:
        """The same for what has no block to leave; gives how to leave."""
        if token is None:
            return lambda: None
        connection = _Connection(token, close)
        self._connections.add(connection)
        return lambda: self._connections.discard(connection)

    @property
    def tokens(self) -> frozenset[str]:
        return frozenset(connection.token for connection in self._connections)

    def close(self, token: str) -> None:
        ending = [each for each in self._connections if each.token == token]
        self._connections.difference_update(ending)
        for connection in ending:
            connection.close()


class Access:
    def __init__(
        self,
        store: Store,
        clock: Clock,
        *,
        own_token: str,
        is_user: Callable[[str], bool] = lambda _name: False,
        jwt: JwtTokens | None = None,
    ) -> None:
        """`jwt`: of a hub whose users come with tokens of their own identity provider."""
        self._store = store
        self._clock = ForwardClock(clock)
        self._own_digest = digest(own_token)
        self._links: dict[bytes, float] = {}
        self._link_users: dict[bytes, str | None] = {}
        self._tickets: dict[bytes, _Ticket] = {}
        self.bounds = Bounds()
        self.live = Live()
        self.jwt = jwt
        self._is_user = is_user
        self._by_jwt: OrderedDict[str, tuple[str, float]] = OrderedDict()
        """User and end of each such token that was shown, by what stands for it."""

        self._actors: dict[str, tuple[TokenRecord, Actor]] = {}
        self.mark = ""
        """How tickets and links of this replica of a hub begin."""

        self._fetch: Callable[[str], Awaitable[None]] | None = None

    @property
    def fetch(self) -> Callable[[str], Awaitable[None]] | None:
        """Has a ticket or link here that another replica made; None where there is no other."""
        return self._fetch

    def join_replicas(self, *, mark: str, fetch: Callable[[str], Awaitable[None]]) -> None:
        self.mark, self._fetch = mark, fetch

    # --- tokens ---------------------------------------------------------------

    def issue(
        self,
        name: str,
        *,
        scopes: Iterable[Scope],
        session: str | None = None,
        expires_in_s: float | None = None,
        user: str | None = None,
        kind: Literal["token", "login"] = "token",
    ) -> tuple[str, TokenRecord]:
        """A token to hand out once, and what is kept of it.

        Raises:
            Exhausted: if there are too many.
        """
        self._forget_old()
        if sum(each.user == user for each in self._valid("token")) >= MAX_TOKENS:
            raise Exhausted(f"there are {MAX_TOKENS} tokens", hint="revoke one")
        now_ns = self._clock.wall_ns()
        token, record = new_token(
            name,
            scopes=sorted(scopes),
            created_at_ns=now_ns,
            session=session,
            user=user,
            kind=kind,
            expires_at_ns=None if expires_in_s is None else now_ns + int(expires_in_s * 1e9),
        )
        self._store.add_token(record)
        return token, record

    def tokens(self) -> list[TokenRecord]:
        """All that are remembered, browsers too, oldest first."""
        return self._store.tokens()

    def revoke(self, token: str) -> TokenRecord:
        """By id. Refused at once; what it holds open is closed.

        Raises:
            TokenNotFound: if there is none.
        """
        record = self._store.revoke_token(token)
        self._end(token)
        return record

    def take_token(self, token: str, record: TokenRecord | None) -> None:
        """As another replica of this hub has it; None: that forgot it."""
        self._store.take_token(token, record)
        if record is None or record.revoked_at_ns is not None:
            self._end(token)

    def _end(self, token: str) -> None:
        """What it holds open."""
        self._drop_tickets(lambda ticket: ticket.actor.token == token)
        self.live.close(token)

    def revoke_user(self, user: str) -> None:
        """All that the user has; machines that it brought leave with it."""
        for record in self._store.tokens():
            if record.user == user and record.revoked_at_ns is None:
                self.revoke(record.id)
        self.end_jwts(user)

    def end_jwts(self, user: str) -> None:
        """Of who is no user any more."""
        for token in [id_ for id_, (whose, _) in self._by_jwt.items() if whose == user]:
            del self._by_jwt[token]
            self._end(token)

    def _of_jwt(self, token: str) -> Actor | None:
        claims = None if self.jwt is None else self.jwt.claims(token)
        if claims is None or not self._is_user(claims.user):
            return None
        id_ = f"jwt-{digest(token).hex()[:32]}"
        self._by_jwt[id_] = claims.user, claims.expires_s
        self._by_jwt.move_to_end(id_)
        if len(self._by_jwt) > MAX_JWTS:
            self._by_jwt.popitem(last=False)
        return Actor(
            kind="agent", name=claims.user, scopes=claims.scopes, token=id_, user=claims.user
        )

    def is_valid(self, token: str) -> bool:
        """Of the credential with this id: whether it lets its holder in now."""
        now_ns = self._clock.wall_ns()
        if (shown := self._by_jwt.get(token)) is not None:
            return now_ns < shown[1] * 1e9 and self._is_user(shown[0])
        record = self._store.token(token)
        return record is not None and record.is_valid(now_ns)

    def by_token(self, token: str) -> Actor | None:
        if self.jwt is not None and self.jwt.looks_like_one(token):
            return self._of_jwt(token)
        if hmac.compare_digest(digest(token), self._own_digest):
            return Actor(kind="agent", name="token")
        record = self._store.valid_token(token, kinds=("token", "login"))
        return None if record is None else self._actor_of(record)

    def _actor_of(self, record: TokenRecord) -> Actor:
        """Made once: each of thousands of calls a second has the same."""
        known = self._actors.get(record.id)
        if known is None or known[0] is not record:
            # Made by a person for a person, and good for nothing but looking and answering.
            is_person = record.kind == "login" or Scope.APPROVE in record.scopes
            known = record, _actor(record, kind="person" if is_person else "agent")
            if len(self._actors) >= MAX_ACTORS:
                self._actors.clear()
            self._actors[record.id] = known
        return known[1]

    # --- browsers -------------------------------------------------------------

    def new_link_code(self, user: str | None = None) -> str:
        """A code that signs one browser in, once; as this user of a hub, if one is named."""
        now_s = self._clock.monotonic_s()
        code = self.mark + secrets.token_urlsafe(24)
        _drop(self._links, [each for each, until_s in self._links.items() if until_s < now_s])
        if len(self._links) >= MAX_LINKS:
            self._links.pop(next(iter(self._links)))
        self._links[digest(code)] = now_s + LINK_S
        self._link_users[digest(code)] = user
        _drop(self._link_users, [each for each in self._link_users if each not in self._links])
        return code

    def sign_in(self, code: str) -> str | None:
        """The cookie that this code buys, the first time; it outlives the server."""
        until_s = self._links.pop(digest(code), None)
        user = self._link_users.pop(digest(code), None)
        if until_s is None or until_s < self._clock.monotonic_s():
            return None
        self._forget_old()
        browsers = self._valid("browser")
        for oldest in browsers[: max(0, len(browsers) - MAX_BROWSERS + 1)]:
            self.revoke(oldest.id)
        now_ns = self._clock.wall_ns()
        cookie, record = new_token(
            "browser",
            kind="browser",
            scopes=sorted(EVERY_SCOPE if user is None else EVERY_SCOPE - {Scope.ADMIN}),
            user=user,
            created_at_ns=now_ns,
            expires_at_ns=now_ns + BROWSER_S * 10**9,
        )
        self._store.add_token(record)
        return cookie

    def by_cookie(self, cookie: str) -> Actor | None:
        """A browser, which may look; its page shows its key (`prove`) before it may do more."""
        record = self._store.valid_token(cookie, kinds=("browser",))
        if record is None:
            return None
        return replace(_actor(record, kind="person"), scopes=LOOKING)

    def is_unproven(self, actor: Actor) -> bool:
        record = None if actor.token is None else self._store.token(actor.token)
        return record is not None and record.kind == "browser" and actor.scopes == LOOKING

    async def prove(self, actor: Actor, *, challenge: str, key: str, proof: str) -> Actor:
        """What a browser may do whose page holds the key of its sign-in.

        The first page after it signed in brings the key, at once; no other is taken later.

        Raises:
            SignInAgain: if it does not hold that key.
        """
        record = None if actor.token is None else self._store.token(actor.token)
        if record is None or record.kind != "browser":
            raise BadArguments("only a browser that signed in has something to prove")
        known = record.key
        if known is None:
            if self._clock.wall_ns() > record.created_at_ns + KEY_S * 10**9:
                raise SignInAgain
            known = page_keys.kept(key)
        if not await anyio.to_thread.run_sync(page_keys.is_proof, known, challenge, proof):
            raise SignInAgain
        if record.key is None:
            newest = self._store.token(record.id)
            if newest is None or newest.key not in (None, known):
                raise SignInAgain  # another page was faster
            self._store.give_key(record.id, known)
        return _actor(record, kind="person")

    # --- tickets --------------------------------------------------------------

    def new_ticket(self, actor: Actor) -> str:
        """What a WebSocket upgrade may carry in its address: for this actor, once, and soon.

        Raises:
            Exhausted: if too many wait to be used.
        """
        now_s = self._clock.monotonic_s()
        self._drop_tickets(lambda ticket: ticket.until_s <= now_s)
        give_back = self.bounds["tickets"].take(actor)
        letters = 32 - len(self.mark)
        ticket = self.mark + "".join(secrets.choice(_ALNUM) for _ in range(letters))
        self._tickets[digest(ticket)] = _Ticket(actor, now_s + TICKET_S, give_back)
        return ticket

    def _drop_tickets(self, is_over: Callable[[_Ticket], bool]) -> None:
        for key in [key for key, ticket in self._tickets.items() if is_over(ticket)]:
            self._tickets.pop(key).give_back()

    def by_ticket(self, ticket: str) -> Actor | None:
        """The actor who asked for it, if it is new enough and their token still good; it is used up."""
        found = self._tickets.pop(digest(ticket), None)
        if found is not None:
            found.give_back()
        if found is None or found.until_s <= self._clock.monotonic_s():
            return None
        return found.actor if self.is_good(found.actor) else None

    # --- between replicas of a hub -----------------------------------------------

    def pass_on(self, key: bytes) -> dict[str, Any] | None:
        """Give a ticket or link to the replica to which it was shown; it is used up here."""
        now_s = self._clock.monotonic_s()
        if (ticket := self._tickets.pop(key, None)) is not None:
            ticket.give_back()
            if not self.is_good(ticket.actor):
                return None
            actor = {**asdict(ticket.actor), "scopes": sorted(ticket.actor.scopes)}
            jwt = self._by_jwt.get(ticket.actor.token or "")
            return {"ticket": actor, "jwt": jwt, "left_s": ticket.until_s - now_s}
        if (until_s := self._links.pop(key, None)) is not None:
            return {"user": self._link_users.pop(key, None), "left_s": until_s - now_s}
        return None

    def take_passed(self, key: bytes, passed: Mapping[str, Any]) -> None:
        """What another replica gave away."""
        until_s = self._clock.monotonic_s() + float(passed["left_s"])
        if "ticket" not in passed:
            self._links[key], self._link_users[key] = until_s, passed["user"]
            return
        fields: dict[str, Any] = dict(passed["ticket"])
        fields |= {"confined": None, "scopes": frozenset(map(Scope, fields["scopes"]))}
        actor = Actor(**fields)
        if passed["jwt"] is not None and actor.token is not None:
            user, expires_s = passed["jwt"]
            self._by_jwt[actor.token] = user, expires_s
        self._tickets[key] = _Ticket(actor, until_s, self.bounds["tickets"].take(actor))

    # --- time -----------------------------------------------------------------

    def is_good(self, actor: Actor) -> bool:
        """Whether what let this actor in would still do so."""
        return actor.token is None or self.is_valid(actor.token)

    @contextmanager
    def lasting(self, actor: Actor) -> Generator[None]:
        """A call that waits ends with the credential that it came with.

        Raises:
            TokenRevoked: then; what was asked for may have been done.
        """
        with anyio.CancelScope() as scope, self.live.joined(actor, scope.cancel):
            yield
        if scope.cancelled_caught:
            raise TokenRevoked("unknown")

    async def close_expired(self) -> None:
        """Ends connections when their token's time is up; runs as long as the server."""
        while True:
            await anyio.sleep(EXPIRY_LOOK_S)
            for token in self.live.tokens:
                if not self.is_valid(token):
                    self.live.close(token)

    def _valid(self, kind: str) -> list[TokenRecord]:
        now_ns = self._clock.wall_ns()
        return [
            each for each in self._store.tokens() if each.kind == kind and each.is_valid(now_ns)
        ]

    def _forget_old(self) -> None:
        """Tokens that are long dead, and the oldest dead ones when there are many."""
        now_ns = self._clock.wall_ns()
        dead = [each for each in self._store.tokens() if not each.is_valid(now_ns)]
        old = [each for each in dead if _died_ns(each) + KEPT_NS < now_ns]
        for record in old or dead[: max(0, len(dead) - MAX_TOKENS)]:
            self._store.forget_token(record.id)


def _died_ns(record: TokenRecord) -> int:
    ends = [at for at in (record.revoked_at_ns, record.expires_at_ns) if at is not None]
    return min(ends, default=record.created_at_ns)


def _actor(record: TokenRecord, *, kind: str) -> Actor:
    return Actor(
        kind="person" if kind == "person" else "agent",
        name=record.name,
        scopes=frozenset(scope for scope in Scope if scope in record.scopes),
        session=record.session,
        session_id=record.session,
        token=record.id,
        user=record.user,
    )


def _drop(kept: dict[bytes, Any], keys: list[bytes]) -> None:
    for key in keys:
        del kept[key]

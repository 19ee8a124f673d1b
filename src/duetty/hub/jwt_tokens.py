"""Tokens of a user's own identity provider: JWTs, checked against the keys that it publishes (JWKS).

Only public keys count, each for the algorithms of its own kind: a token signed with `none`, or with a
public key as if it were a shared secret, is refused. Issuer, audience, expiry and user are required.
"""

from __future__ import (
    annotations,  # the library is imported at the first token: few servers see one
)

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import anyio

from duetty.calls import Scope
from duetty.clock import Clock
from duetty.errors import DuettyError
from duetty.hub.addresses import Address, parse_address
from duetty.hub.exchange import exchange
from duetty.hub.network import Network
from duetty.hub.users import USER_SCOPES
from duetty.wire.json_values import has_few_values

if TYPE_CHECKING:
    import jwt

FETCH_S = 5.0
FRESH_S = 300.0
"""After this the keys are fetched again, so that one that was withdrawn is not good for long."""

STALE_S = 3600.0
"""For so long the last keys count when the provider does not answer."""

AGAIN_S = 10.0
"""At most so often are keys fetched for a key that is not known: any client can name one."""

LEEWAY_S = 30
MAX_KEYS = 64
MAX_TOKEN_CHARS = 16_384
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")  # fmt: skip
_KINDS = {"RSA": ("RS", "PS"), "EC": ("ES",), "OKP": ("Ed",)}

GIVEN = USER_SCOPES - {Scope.APPROVE}
"""What such a token can have at most: it is an agent's; a person signs in by link or own token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    issuer: str
    audience: str
    jwks: str
    user_claim: str = "sub"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    user: str
    scopes: frozenset[Scope]
    expires_s: float


@dataclass(slots=True)
class _Keys:
    by_id: Mapping[str, jwt.PyJWK]
    fetched_s: float = -STALE_S
    tried_s: float = -STALE_S


class JwtTokens:
    def __init__(self, provider: Provider, network: Network, clock: Clock) -> None:
        """Raises:
        BadArguments: if the address of the keys is none.
        """
        self.provider = provider
        base, slash, path = _split(provider.jwks)
        self._address: Address = parse_address(base)
        self._target = slash + path
        self._network = network
        self._clock = clock
        self._keys = _Keys({})
        self._fetching = anyio.Lock()

    def looks_like_one(self, token: str) -> bool:
        return token.count(".") == 2 and len(token) <= MAX_TOKEN_CHARS

    async def prepare(self, token: str) -> None:
        """Have the keys there that this token needs, if the provider answers in time."""
        key = _key_id(token)
        if key is None or not self._wants(key):
            return
        async with self._fetching:
            if self._wants(key):
                self._keys.tried_s = self._clock.monotonic_s()
                with anyio.move_on_after(FETCH_S):
                    await self._fetch()

    def _wants(self, key: str) -> bool:
        now_s = self._clock.monotonic_s()
        is_fresh = key in self._keys.by_id and now_s - self._keys.fetched_s < FRESH_S
        return not is_fresh and now_s - self._keys.tried_s >= AGAIN_S

    async def _fetch(self) -> None:
        try:
            asking = exchange(
                self._address,
                await self._network.resolved(self._address),
                self._network.tls(self._address),
                method="GET",
                target=self._target,
                headers={"Accept": "application/json"},
                body=None,
            )
            async with asking as answer:
                if answer.status == 200:
                    self.learn(await answer.body())
        except DuettyError:
            return  # the last keys count for a while

    def learn(self, published: bytes) -> None:
        """Take the keys that are published; where these are none, the last ones count for a while."""
        found = parse_keys(published)
        if found is not None:
            self._keys = _Keys(found, self._clock.monotonic_s(), self._keys.tried_s)

    def claims(self, token: str) -> Claims | None:
        """What a good token says; None for any other."""
        import jwt

        id_ = _key_id(token)
        now_s = self._clock.monotonic_s()
        key = None if id_ is None else self._keys.by_id.get(id_)
        if key is None or now_s - self._keys.fetched_s > STALE_S:
            return None
        provider = self.provider
        try:
            claims: dict[str, Any] = jwt.decode(
                token,
                key.key,
                algorithms=_algorithms(key),
                audience=provider.audience,
                issuer=provider.issuer,
                leeway=LEEWAY_S,
                options={"require": ["exp", "iss", "aud", provider.user_claim]},
            )
        except (jwt.PyJWTError, ValueError, TypeError):
            return None
        user = claims.get(provider.user_claim)
        if not isinstance(user, str) or not user:
            return None
        try:
            expires_s = float(claims["exp"]) + LEEWAY_S
        except OverflowError:  # a number of hundreds of digits
            return None
        return Claims(user=user, scopes=_scopes(claims), expires_s=expires_s)


def _split(url: str) -> tuple[str, str, str]:
    scheme, _, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}://{host}", slash or "/", path


def _key_id(token: str) -> str | None:
    import jwt

    try:
        header = jwt.get_unverified_header(token)
    except (jwt.PyJWTError, ValueError, RecursionError):
        return None
    if header.get("alg") not in ALGORITHMS:
        return None
    return str(header.get("kid", ""))


def parse_keys(body: bytes) -> dict[str, jwt.PyJWK] | None:
    """Public keys for signatures, by their ids; what is none is left out. None: it is no list of keys."""
    import jwt

    if not has_few_values(body):
        return None
    try:
        listed: Any = json.loads(body)["keys"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    if not isinstance(listed, list):
        return None
    found: dict[str, jwt.PyJWK] = {}
    for each in cast("list[Any]", listed)[:MAX_KEYS]:
        if not isinstance(each, dict):
            continue
        fields = cast("dict[str, Any]", each)
        if fields.get("kty") in _KINDS and fields.get("use", "sig") == "sig" and "d" not in fields:
            try:
                found[str(fields.get("kid", ""))] = jwt.PyJWK.from_dict(fields)
            except (jwt.PyJWTError, ValueError, TypeError, KeyError):
                continue
    return found


def _algorithms(key: jwt.PyJWK) -> list[str]:
    begins = _KINDS[str(key.key_type)]
    return [each for each in ALGORITHMS if each.startswith(begins)]


def _scopes(claims: Mapping[str, Any]) -> frozenset[Scope]:
    given: Any = claims.get("scope", claims.get("scp", ""))
    names = cast("list[Any]", given) if isinstance(given, list) else str(given).split()
    return frozenset(scope for scope in GIVEN if scope.value in names)

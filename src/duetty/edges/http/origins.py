"""Names by which the server may be called, and pages that may call it.

A page of a rebound name calls by that name; so only names we know are answered.
An address in numbers needs no list: no attacker can point a name at it.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from duetty.errors import BadSetting

_HOST = re.compile(r"(?:\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(?::\d{1,5})?\Z")
_ORIGIN = re.compile(r"https?://(?:\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(?::\d{1,5})?\Z")
_DEFAULT_PORT = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True, kw_only=True)
class Origins:
    scheme: str
    port: int
    hosts: frozenset[str]
    """What a Host header may say."""

    own: frozenset[str]
    """Origins of our own page."""

    listed: frozenset[str]
    """Origins of other sites, whose pages may call with a token."""

    def is_own_host(self, host: str, local: tuple[str, int | None] | None) -> bool:
        """Whether a Host header names us; `local` is the address the request came in by."""
        host = host.lower()
        if host in self.hosts:
            return True
        return local is not None and host in _with_port(
            _bracketed(local[0]), self.port, self.scheme
        )

    def is_own(self, origin: str, host: str) -> bool:
        """Whether a page of this origin is one of ours, called by a host that is ours."""
        origin = origin.lower()
        return origin in self.own or origin == f"{self.scheme}://{host.lower()}"

    def is_listed(self, origin: str) -> bool:
        return origin.lower() in self.listed


def origins(
    *,
    scheme: Literal["http", "https"],
    port: int,
    names: Iterable[str],
    further: Iterable[str] = (),
    listed: Iterable[str] = (),
) -> Origins:
    """`names` are those it listens by; `further` and `listed` come from the settings.

    Raises:
        BadSetting: if a name or an origin is none.
    """
    own = {host for name in names for host in _with_port(_bracketed(name), port, scheme)}
    more = [checked_host(name) for name in further]
    more += [f"{name}:{port}" for name in more if not _has_port(name)]
    return Origins(
        scheme=scheme,
        port=port,
        hosts=frozenset([*own, *more]),
        own=frozenset(
            [f"{scheme}://{host}" for host in own]
            # A proxy in front may speak TLS for us.
            + [f"{proxied}://{host}" for host in more for proxied in {scheme, "https"}]
        ),
        listed=frozenset(checked_origin(origin) for origin in listed),
    )


def _with_port(name: str, port: int, scheme: str) -> set[str]:
    return {f"{name}:{port}"} | ({name} if port == _DEFAULT_PORT[scheme] else set[str]())


def checked_host(text: str) -> str:
    """A name for `Origins.further`.

    Raises:
        BadSetting: if it is not one.
    """
    if not _HOST.match(text.lower()):
        raise BadSetting(
            f"{text!r} in server.hosts is not a name", hint="for example term.example.org"
        )
    return text.lower()


def checked_origin(text: str) -> str:
    """An origin for `Origins.listed`.

    Raises:
        BadSetting: if it is not one; a pattern is none.
    """
    if not _ORIGIN.match(text.lower()):
        raise BadSetting(
            f"{text!r} in server.cors_origins is not an origin",
            hint="give each whole, without a path: https://app.example.org or http://localhost:3000",
        )
    return text.lower()


def _bracketed(address: str) -> str:
    return f"[{address}]" if ":" in address else address


def _has_port(host: str) -> bool:
    return bool(re.search(r":\d+\Z", host)) and not host.endswith("]")

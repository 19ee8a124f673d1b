"""Where another node is, and whether this one may go there. Knows no sockets."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Literal
from urllib.parse import urlsplit

from duetty.errors import BadArguments, BadSetting

MAX_ADDRESS_CHARS = 500

_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9.])?")
_PREFIX = re.compile(r"(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*")
_HINT = "for example https://build.example:9315"

Ip = IPv4Address | IPv6Address


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """As a person gave it, and no more: credentials and queries have no place in it."""

    scheme: Literal["http", "https"]
    host: str
    port: int
    prefix: str = ""
    """The node's own base prefix, if it has one."""

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.prefix}"

    @property
    def authority(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(text: str) -> Address:
    """Raises:
    BadArguments: if it is not the address of a node.
    """
    if len(text) > MAX_ADDRESS_CHARS or not text.isascii() or not text.isprintable():
        raise BadArguments("address: not the address of a server", hint=_HINT)
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise BadArguments(f"address: {error}", hint=_HINT) from error
    if parts.scheme not in ("http", "https"):
        raise BadArguments("address: begins with http:// or https://", hint=_HINT)
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise BadArguments("address: scheme, name, port and prefix only", hint=_HINT)
    prefix = parts.path.rstrip("/")
    if not _is_host(host) or not _PREFIX.fullmatch(prefix) or port == 0:
        raise BadArguments("address: a name and a port are missing or not well-formed", hint=_HINT)
    scheme: Literal["http", "https"] = "https" if parts.scheme == "https" else "http"
    usual = 443 if scheme == "https" else 80
    return Address(scheme=scheme, host=host.lower(), port=port or usual, prefix=prefix)


def _is_host(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        # A name of digits and dots only is an address in a notation that few would read.
        return bool(_HOST.fullmatch(host)) and not re.fullmatch(r"[0-9.]+|0x.*", host)
    return "%" not in host


class IpRules:
    """Which addresses of the network this node may connect to for others.

    What is listed in `block` never; if `allow` lists any, then nothing else. Addresses that
    name no one machine, and those that a cloud gives its machines' secrets out at, never.
    """

    def __init__(self, *, block: Iterable[str] = (), allow: Iterable[str] = ()) -> None:
        """Raises:
        BadSetting: if one is no network.
        """
        self._block = [_network("block", each) for each in block]
        self._allow = [_network("allow", each) for each in allow]

    def refusal(self, text: str) -> str | None:
        """Why not there; None if nothing speaks against it."""
        ip = _plain(ip_address(text))
        if ip.is_unspecified or ip.is_multicast or ip.is_reserved:
            return f"{ip} names no one machine"
        if any(ip in network for network in self._block):
            return f"{ip} is blocked by the setting hub.block"
        if self._allow:
            allowed = any(ip in network for network in self._allow)
            return None if allowed else f"{ip} is not in the setting hub.allow"
        return f"{ip} is link-local" if ip.is_link_local else None


def _plain(ip: Ip) -> Ip:
    """What an IPv4 address in IPv6 clothes is."""
    return (isinstance(ip, IPv6Address) and ip.ipv4_mapped) or ip


def _network(setting: str, text: str) -> IPv4Network | IPv6Network:
    try:
        return ip_network(text.strip(), strict=False)
    except ValueError as error:
        raise BadSetting(
            f"hub.{setting}: {error}", hint="networks look like 10.0.0.0/8 or fd00::/8"
        ) from error

"""The way to another node: its name as an address that may be used, and TLS where it speaks that."""

import socket
import ssl

import anyio

from duetty.errors import BadArguments, ServerUnavailable
from duetty.hub.addresses import Address, IpRules

RESOLVE_S = 5.0


class Network:
    def __init__(self, rules: IpRules, *, ca_file: str = "") -> None:
        self._rules = rules
        self._ca_file = ca_file
        self._tls: ssl.SSLContext | None = None

    async def resolved(self, address: Address) -> str:
        """An IP address to connect to; every one that the name has must be allowed.

        Raises:
            BadArguments: if one of them is not.
            ServerUnavailable: if the name means nothing.
        """
        try:
            with anyio.fail_after(RESOLVE_S):
                found = await anyio.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
        except (OSError, TimeoutError, UnicodeError) as error:
            raise ServerUnavailable("its name is not known") from error
        ips = [str(each[4][0]).partition("%")[0] for each in found]
        for ip in ips:
            if (refusal := self._rules.refusal(ip)) is not None:
                raise BadArguments(
                    f"address: {refusal}", hint="the settings hub.block and hub.allow decide"
                )
        return ips[0]

    def tls(self, address: Address) -> ssl.SSLContext | None:
        """Raises:
        ServerUnavailable: if the file of the setting `hub.tls_ca` cannot be used.
        """
        if address.scheme == "http":
            return None
        if self._tls is None:
            try:
                self._tls = ssl.create_default_context(cafile=self._ca_file or None)
            except (OSError, ssl.SSLError) as error:
                raise ServerUnavailable(f"hub.tls_ca cannot be used: {error}") from error
        return self._tls

"""A bridge elsewhere, as its front calls it: `POST /rooms` and `POST /rooms/{sessionId}` (docs/rooms.md)."""

import json
from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import quote

import anyio

from duetty.errors import BadArguments, DuettyError, ServerUnavailable
from duetty.hub.addresses import Address, IpRules, parse_address
from duetty.hub.exchange import exchange
from duetty.hub.network import Network
from duetty.hub.remote_rooms import error_of

ANSWER_S = 30.0


class Bridge:
    def __init__(self, address: str, secret: str, *, ca_file: str = "") -> None:
        """Raises:
        BadArguments: if it is no address, or there is no secret.
        """
        if not secret:
            raise BadArguments("a bridge has a secret", hint="set BRIDGE_SECRET, as at the bridge")
        self._address: Address = parse_address(_with_scheme(address))
        self._secret = secret
        self._network = Network(IpRules(), ca_file=ca_file)

    async def sessions(
        self, token: str, *, after: int | None = None, wait_s: float = 0.0
    ) -> dict[str, Any]:
        """The active sessions of the user whose token this is.

        Raises:
            DuettyError: what the bridge says; `ServerUnavailable` if it says nothing.
        """
        asked = {"after": after, "waitMs": int(wait_s * 1000)}
        found = await self._post("/rooms", asked, token, wait_s + ANSWER_S)
        if not isinstance(found, dict):
            raise ServerUnavailable("the bridge's answer is no list of sessions")
        return cast("dict[str, Any]", found)

    async def call(
        self, session: str, command_id: str, tool: str, args: Mapping[str, Any], token: str,
        *, within_s: float,
    ) -> Any:  # fmt: skip
        """Raises:
        DuettyError: as `sessions` does.
        """
        asked = {"commandId": command_id, "tool": tool, "args": args}
        return await self._post(f"/rooms/{quote(session, safe='')}", asked, token, within_s)

    async def _post(self, path: str, asked: Mapping[str, Any], token: str, within_s: float) -> Any:
        body = json.dumps({**asked, "secret": self._secret}).encode()
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
        try:
            with anyio.fail_after(within_s):
                asking = exchange(
                    self._address,
                    await self._network.resolved(self._address),
                    self._network.tls(self._address),
                    method="POST",
                    target=path,
                    headers=headers,
                    body=body,
                )
                async with asking as answer:
                    status, received = answer.status, await answer.body()
            reply: Any = json.loads(received)
        except TimeoutError as error:
            raise ServerUnavailable("the bridge did not answer in time") from error
        except ServerUnavailable as error:
            raise ServerUnavailable(f"the bridge cannot be asked: {error.message}") from error
        except (ValueError, RecursionError) as error:
            raise ServerUnavailable("the bridge's answer is not JSON") from error
        if status >= 400:
            raise _refusal(reply, status)
        return reply


def _refusal(reply: Any, status: int) -> DuettyError:
    error: Any = cast("dict[str, Any]", reply).get("error") if isinstance(reply, dict) else None
    if not isinstance(error, dict):
        return ServerUnavailable(f"the bridge answered with status {status} and no reason")
    fields = cast("dict[str, Any]", error)
    details: object = fields.get("details")
    if isinstance(details, dict) and cast("dict[str, Any]", details).get("field") == "secret":
        # Its user has nothing to mend, and no other token would help.
        return ServerUnavailable(
            "this front does not have the secret of its bridge",
            hint="who runs the front sets BRIDGE_SECRET to what the bridge has",
            details={"executed": False},
        )
    return error_of(fields)


def _with_scheme(address: str) -> str:
    """PartyKit's variable holds a host without one."""
    if "://" in address:
        return address
    host = address.partition(":")[0]
    return f"{'http' if host in ('localhost', '127.0.0.1') else 'https'}://{address}"

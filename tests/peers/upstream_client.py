"""Our side of the conformance suite's client scenarios: an upstream at the address that the suite names.

Run as `python -m tests.peers.upstream_client SOCKET`, it loads everything once and waits; the
suite starts `send_scenario.py` for each scenario, which passes it on through the socket.
"""

import json
import sys
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import httpx2
from anyio.abc import SocketStream
from mcp import MCPDeprecationWarning

from duetty.errors import DuettyError
from duetty.upstreams import Asking, Upstreams
from tests.upstreams.running import Home, trusted

warnings.simplefilter("ignore", MCPDeprecationWarning)

SCENARIO_S = 25
CLIENT_METADATA = "https://conformance-test.local/client-metadata.json"
"""Which the suite takes for the page of a client."""

EXAMPLES: Mapping[str, Any] = {
    "string": "a", "number": 1.5, "integer": 1, "boolean": True, "array": [], "object": {},
}  # fmt: skip


async def accept(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """A person who presses "send" and changes nothing."""
    schema: dict[str, Any] = params.get("requestedSchema") or {}
    wanted: dict[str, Any] = schema.get("properties") or {}
    asked = {name: EXAMPLES.get(each.get("type")) for name, each in wanted.items()}
    left_alone = {name for name, each in wanted.items() if "default" in each}
    return {"action": "accept", "content": {k: v for k, v in asked.items() if k not in left_alone}}


def arguments_for(scenario: str, name: str, tools: Mapping[str, Any]) -> dict[str, Any]:
    if scenario == "json-schema-2020-12-preservation" and name == "json_schema_echo":
        return {"schema": tools["json_schema_2020_12_tool"].wire["inputSchema"]}
    schema: dict[str, Any] = tools[name].wire["inputSchema"]
    wanted: dict[str, Any] = schema.get("properties") or {}
    return {each: EXAMPLES.get(wanted[each].get("type")) for each in schema.get("required") or ()}


async def use_everything(upstreams: Upstreams, scenario: str, context: dict[str, Any]) -> None:
    """List and use all that the server offers, as callers of the gateway do."""
    upstream = await trusted(upstreams)
    asking = Asking(caller="conformance", answer=accept)
    calls = [(each["name"], each["arguments"]) for each in context.get("toolCalls") or ()] or [
        (name, arguments_for(scenario, name, upstream.tools)) for name in upstream.tools
    ]

    async def call(name: str, arguments: dict[str, Any]) -> None:
        try:
            await upstreams.call("it", name, arguments, asking=asking)
        except DuettyError as error:
            sys.stderr.write(f"{scenario}: {name}: {error}\n")

    async with anyio.create_task_group() as tasks:
        for name, arguments in calls:
            tasks.start_soon(call, name, arguments)
    resources, _ = await upstreams.resources("it")
    for each in resources:
        await upstreams.read("it", each["uri"])
    for each in await upstreams.prompts("it"):
        await upstreams.prompt("it", each["name"], {})


async def follow(url: str) -> str:
    """A person whose browser is sent back at once."""
    async with httpx2.AsyncClient() as browser:
        return (await browser.get(url, follow_redirects=False)).headers["location"]


def signing_in(scenario: str, context: dict[str, Any]) -> dict[str, Any]:
    """What a person has in the table of a server with which they registered Duetty, or of any."""
    if "client_id" not in context:
        return {"client_metadata_url": CLIENT_METADATA}
    table = {"client_id": context["client_id"], "client_secret": "${CLIENT_SECRET}"}
    if scenario == "auth/client-credentials-basic":
        table["grant"] = "client_credentials"
    return table


async def run(order: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as place, anyio.fail_after(SCENARIO_S):
        signing = signing_in(order["scenario"], order["context"])
        table = {"url": order["url"], "elicitation": True, "oauth": signing}
        home = Home(Path(place))
        home.environment["CLIENT_SECRET"] = order["context"].get("client_secret", "")
        async with home.running(it=table, sign_in=follow) as upstreams:
            await use_everything(upstreams, order["scenario"], order["context"])


async def serve(stream: SocketStream) -> None:
    async with stream:
        order = json.loads(await stream.receive(1_000_000))
        told = ""
        try:
            await run(order)
        except Exception as error:  # noqa: BLE001 - the suite judges by what it saw
            told = f"{order['scenario']}: {type(error).__name__}: {error}"
        await stream.send(told.encode() + b"\n")


async def main() -> None:
    listener = await anyio.create_unix_listener(sys.argv[1])
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    await listener.serve(serve)


if __name__ == "__main__":
    anyio.run(main)

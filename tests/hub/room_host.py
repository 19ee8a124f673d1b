"""A tool host whose every message the test sends itself."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
from websockets.asyncio.client import ClientConnection, connect

from tests.hub.conftest import Servers

ECHO = {
    "name": "echo",
    "description": "Says it again.",
    "inputSchema": {
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "required": ["text"],
        "additionalProperties": False,
    },
}


class Host:
    def __init__(self, socket: ClientConnection, welcome: dict[str, Any]) -> None:
        self.socket = socket
        self.room = welcome["sessionId"]
        self.key = welcome["key"]
        self.calls: list[dict[str, Any]] = []

    async def next(self) -> dict[str, Any]:
        with anyio.fail_after(30):
            told = json.loads(await self.socket.recv())
        self.calls.append(told)
        return told

    async def answer(self, call: dict[str, Any], result: object) -> None:
        told = {"type": "result", "commandId": call["commandId"], "result": result}
        await self.socket.send(json.dumps(told))


@asynccontextmanager
async def hosting(hub: Servers, token: str | None = None, **more: Any) -> AsyncGenerator[Host]:
    url = f"{hub.hub.url().replace('http', 'ws')}/ws/room"
    headers = {"Authorization": f"Bearer {token or hub.hub.token()}"}
    async with connect(url, additional_headers=headers, proxy=None) as socket:
        said = {"type": "announce", "protocol": 1, "tools": [ECHO], "title": "Home page", **more}
        await socket.send(json.dumps(said))
        with anyio.fail_after(30):
            yield Host(socket, json.loads(await socket.recv()))

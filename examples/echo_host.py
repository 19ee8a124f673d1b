"""A tool host in a room of a hub: one WebSocket, one tool. The protocol is docs/rooms.md.

    python examples/echo_host.py ws://127.0.0.1:9320/ws/room     # DUETTY_TOKEN: one with the scope join

It prints the id of its room, answers `echo` and `wait`, and comes back to the same room when the
connection is lost. What it was asked once it does once, by `commandId`.
"""

import asyncio
import json
import os
import random
import sys
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

TOOLS = [
    {
        "name": "echo",
        "description": "Answers with the text that it was given.",
        "inputSchema": {
            "type": "object",
            "properties": {"text": {"type": "string"}},
            "required": ["text"],
            "additionalProperties": False,
        },
    },
    {
        "name": "wait",
        "description": "Answers after so many milliseconds.",
        "inputSchema": {
            "type": "object",
            "properties": {"ms": {"type": "integer", "minimum": 0, "maximum": 60000}},
            "required": ["ms"],
            "additionalProperties": False,
        },
    },
]

KEPT = 1_000
REPLACED = 4409


class EchoHost:
    def __init__(self, url: str, token: str, title: str) -> None:
        self._url = url
        self._token = token
        self._announcement: dict[str, Any] = {
            "type": "announce",
            "protocol": 1,
            "title": title,
            "documentName": title,
            "tools": TOOLS,
        }
        self._running: dict[str, asyncio.Task[Any]] = {}
        """By commandId: a repetition gets the same answer."""

    async def run(self) -> None:
        pause_s = 0.5
        while True:
            try:
                headers = {"Authorization": f"Bearer {self._token}"}
                async with connect(self._url, additional_headers=headers) as socket:
                    await self._serve(socket)
            except InvalidStatus as error:
                sys.exit(f"the hub refuses this host: {error}")
            except ConnectionClosed as error:
                if error.rcvd is not None and error.rcvd.code == REPLACED:
                    sys.exit("another connection took this room")
                pause_s = 0.5
            except OSError:
                pass
            await asyncio.sleep(pause_s * random.uniform(0.5, 1.5))
            pause_s = min(30.0, pause_s * 2)

    async def _serve(self, socket: ClientConnection) -> None:
        await socket.send(json.dumps(self._announcement))
        answers: set[asyncio.Task[None]] = set()
        async for text in socket:
            message = json.loads(text)
            match message["type"]:
                case "welcome":
                    room = message["sessionId"]
                    self._announcement |= {"sessionId": room, "key": message["key"]}
                    print(f"room {room}", flush=True)
                case "refused":
                    sys.exit(f"the hub refuses this host: {message['error']['message']}")
                case "call":
                    answer = asyncio.create_task(self._answer(socket, message))
                    answers.add(answer)
                    answer.add_done_callback(answers.discard)
                case "cancel":
                    if task := self._running.get(message["commandId"]):
                        task.cancel()
                case _:
                    pass  # of a newer version

    async def _answer(self, socket: ClientConnection, call: dict[str, Any]) -> None:
        id_ = call["commandId"]
        if id_ not in self._running:
            self._running[id_] = asyncio.create_task(self._done(call["tool"], call["args"]))
            while len(self._running) > KEPT:
                del self._running[next(iter(self._running))]
        try:
            told = {"type": "result", "result": await asyncio.shield(self._running[id_])}
        except asyncio.CancelledError:
            told = {"type": "error", "error": {"code": "cancelled", "message": "it was cancelled"}}
        try:
            await socket.send(json.dumps({**told, "commandId": id_}))
        except ConnectionClosed:
            pass  # asked for again, it is answered again

    async def _done(self, tool: str, args: dict[str, Any]) -> Any:
        if tool == "wait":
            await asyncio.sleep(args["ms"] / 1000)
            return {"waited_ms": args["ms"]}
        return {"text": args["text"]}


if __name__ == "__main__":
    if len(sys.argv) < 2 or not os.environ.get("DUETTY_TOKEN"):
        sys.exit(__doc__)
    title = sys.argv[2] if len(sys.argv) > 2 else "Echo"
    try:
        asyncio.run(EchoHost(sys.argv[1], os.environ["DUETTY_TOKEN"], title).run())
    except KeyboardInterrupt:
        pass

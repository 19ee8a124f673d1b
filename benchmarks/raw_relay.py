"""The least that a relay of rooms can be, for comparison: no users, deadlines, limits, policy, trail or metrics.

`python -m benchmarks.raw_relay`: POST /rooms/{id}/call goes to the one WebSocket of that room, and its
answer back. It has one token and checks arguments against the announced schema, as any door must; the same
server library and settings as the hub's.
"""

import hmac
import json
import sys
from hashlib import sha256
from typing import Any

import anyio
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from duetty.tool_schemas import Problem, checker_of

TOKEN = sha256(b"-").digest()

_rooms: dict[str, tuple[WebSocket, dict[str, Problem]]] = {}
_waiting: dict[str, tuple[anyio.Event, list[Any]]] = {}


async def _room(websocket: WebSocket) -> None:
    await websocket.accept()
    announced = json.loads(await websocket.receive_text())
    room = f"raw{len(_rooms)}"
    tools = {each["name"]: checker_of(each["inputSchema"]) for each in announced["tools"]}
    _rooms[room] = websocket, tools
    await websocket.send_text(json.dumps({"type": "welcome", "sessionId": room, "key": ""}))
    try:
        while True:
            told = json.loads(await websocket.receive_text())
            event, answers = _waiting[told["commandId"]]
            answers.append(told["result"])
            event.set()
    except WebSocketDisconnect:
        _rooms.pop(room, None)


async def _call(request: Request) -> Response:
    token = request.headers.get("authorization", "").removeprefix("Bearer ")
    if not hmac.compare_digest(sha256(token.encode()).digest(), TOKEN):
        return Response(status_code=401)
    asked = json.loads(await request.body())
    websocket, tools = _rooms[request.path_params["room"]]
    if (problem := tools[asked["tool"]](asked["args"])) is not None:
        return Response(problem, status_code=400)
    id_ = asked["command_id"]
    event, answers = _waiting[id_] = anyio.Event(), []
    call = {"type": "call", "commandId": id_, "tool": asked["tool"], "args": asked["args"]}
    await websocket.send_text(json.dumps(call))
    await event.wait()
    del _waiting[id_]
    body = json.dumps({"command_id": id_, "result": answers[0]})
    return Response(body, media_type="application/json")


def main() -> None:
    app = Starlette(
        routes=[
            WebSocketRoute("/ws/room", _room),
            Route("/rooms/{room}/call", _call, methods=["POST"]),
        ]
    )
    uvicorn.run(
        app,
        host="127.0.0.1",
        port=int(sys.argv[1]),
        log_config=None,
        access_log=False,
        lifespan="off",
        ws="websockets-sansio",
        ws_per_message_deflate=False,
    )


if __name__ == "__main__":
    main()

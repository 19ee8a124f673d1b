"""`python -m benchmarks.idle_nodes URL COUNT`: so many nodes that join a hub, each with a key of its own,
and then do nothing. Says how many joined and in how many seconds; ends with its standard input."""

import asyncio
import json
import os
import sys
import time

from websockets.asyncio.client import ClientConnection, connect

from duetty.hub.identity import new_key

AT_ONCE = 32


async def _join(url: str, token: str, number: int) -> ClientConnection:
    key = new_key()
    socket = await connect(
        url.replace("http", "ws", 1) + "/ws/node",
        additional_headers={"Authorization": f"Bearer {token}"},
        compression=None,
        ping_interval=None,
        open_timeout=60,
        proxy=None,
    )
    challenge = json.loads(await socket.recv())
    hello = {
        "node": key.public,
        "signature": key.sign(challenge["challenge"]),
        "protocols": challenge["protocols"],
        "hostname": f"idle-{number}",
        "version": "bench",
        "sessions": [[os.urandom(8).hex(), "bash"]],
    }
    await socket.send(json.dumps(hello))
    answer = json.loads(await socket.recv())
    assert "welcome" in answer, answer
    return socket


async def _main() -> None:
    url, count, tokens = sys.argv[1], int(sys.argv[2]), os.environ["DUETTY_TOKEN"].split()
    held: list[ClientConnection] = []
    numbers = iter(range(count))
    began_s = time.monotonic()

    async def work() -> None:
        for number in numbers:
            socket = await _join(url, tokens[number % len(tokens)], number)
            held.append(socket)

    await asyncio.gather(*(work() for _ in range(AT_ONCE)), return_exceptions=True)
    print(len(held), time.monotonic() - began_s, flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(_main())

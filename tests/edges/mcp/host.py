"""An MCP host as far as its pipes go: raw lines, for what no client library would say."""

import json
import os
import select
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.server_process import ServerProcess

ANSWER_S = 60
INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "0"},
}
MODERN: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Host:
    """An MCP host, as far as its pipes go."""

    def __init__(self, server: ServerProcess, *options: str, cwd: Path | None = None) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "duetty", "mcp", *options],
            env=server.env,
            cwd=cwd or server.home,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.stdin, self.stdout = self.process.stdin, self.process.stdout
        self._read = b""
        self.last_id = 0
        self.told: list[dict[str, Any]] = []
        """What the server said unasked."""

    def say(self, line: bytes) -> None:
        self.stdin.write(line + b"\n")

    def ask(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        self.begin(method, params)
        return self.hear_answer()

    def hear_answer(self) -> dict[str, Any]:
        """The next answer; what the server says unasked may come before it at any time."""
        while "method" in (message := self.hear()):
            self.told.append(message)
        return message

    def begin(self, method: str, params: dict[str, Any] | None = None) -> None:
        self.last_id += 1
        request = {"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params or {}}
        self.say(json.dumps(request).encode())

    def hear(self) -> dict[str, Any]:
        while b"\n" not in self._read:
            ready, _, _ = select.select([self.stdout], [], [], ANSWER_S)
            assert ready, "no answer"
            chunk = os.read(self.stdout.fileno(), 65_536)
            assert chunk, "the bridge ended"
            self._read += chunk
        line, _, self._read = self._read.partition(b"\n")
        return json.loads(line)

    def shake_hands(self, version: str = "2025-06-18") -> dict[str, Any]:
        answer = self.ask("initialize", INITIALIZE | {"protocolVersion": version})["result"]
        assert answer["protocolVersion"] == version
        self.say(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
        return answer

    def hear_told(self, method: str) -> dict[str, Any]:
        """The next thing of this kind that the server says unasked."""
        while True:
            for message in self.told:
                if message["method"] == method:
                    self.told.remove(message)
                    return message
            self.told.append(self.hear())

    def reply(self, request: dict[str, Any], result: dict[str, Any]) -> None:
        """To a request of the server."""
        answer = {"jsonrpc": "2.0", "id": request["id"], "result": result}
        self.say(json.dumps(answer).encode())

    def call(self, tool: str, **arguments: object) -> dict[str, Any]:
        answer = self.ask("tools/call", {"name": tool, "arguments": arguments})
        return answer["result"]["structuredContent"]

    def close(self) -> int:
        self.stdin.close()
        return self.process.wait(60)


@contextmanager
def hosted(server: ServerProcess, *options: str, cwd: Path | None = None) -> Generator[Host]:
    host = Host(server, *options, cwd=cwd)
    try:
        yield host
    finally:
        if host.process.poll() is None:
            host.process.kill()
        host.process.wait(60)
        for pipe in (host.stdin, host.stdout, host.process.stderr):
            if pipe is not None:
                pipe.close()

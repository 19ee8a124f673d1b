"""An agent over MCP: the smallest client, on the bridge's standard input and output."""

import json
import queue
import subprocess
import sys
import threading
from typing import Any, cast

from tests.server_process import ServerProcess

WAIT_S = 60


class Mcp:
    """Calls wait for their answer, or are begun here and answered later."""

    def __init__(self, server: ServerProcess, name: str = "claude") -> None:
        self._server = server
        self._name = name
        self._next = 0
        self._answers: dict[int, dict[str, Any]] = {}
        self._lines: queue.Queue[str] = queue.Queue()

    def __enter__(self) -> "Mcp":
        self._process = subprocess.Popen(
            [sys.executable, "-m", "duetty", "mcp"],
            env=self._server.env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._ask(
            "initialize",
            {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": self._name, "version": "1"},
            },
        )
        self._say({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(WAIT_S)
        self._reader.join(WAIT_S)
        self._process.stdout.close()

    def call(self, tool: str, arguments: dict[str, Any]) -> Any:
        answer = self.answer(self.begin(tool, arguments))
        assert not answer.get("isError"), answer
        return answer

    def begin(self, tool: str, arguments: dict[str, Any]) -> int:
        """Call, and do not wait."""
        return self._begin("tools/call", {"name": tool, "arguments": arguments})

    def answer(self, call: int) -> dict[str, Any]:
        """What a call that was begun has come to."""
        while call not in self._answers:
            message = json.loads(self._lines.get(timeout=WAIT_S))
            if "id" in message and "method" not in message:
                self._answers[message["id"]] = message
        message = self._answers.pop(call)
        assert "result" in message, message
        return cast(dict[str, Any], message["result"])

    def text(self, call: int) -> str:
        """The same, as the model reads it."""
        return "\n".join(str(each.get("text", "")) for each in self.answer(call)["content"])

    def _ask(self, method: str, params: dict[str, Any]) -> Any:
        return self.answer(self._begin(method, params))

    def _begin(self, method: str, params: dict[str, Any]) -> int:
        self._next += 1
        self._say({"jsonrpc": "2.0", "id": self._next, "method": method, "params": params})
        return self._next

    def _say(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)

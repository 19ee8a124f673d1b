"""`duetty mcp test`: connects as a host does, runs a command, says how long each step took."""

import argparse
import json
import os
import select
import subprocess
import sys
import time
from typing import Any

from duetty import __version__
from duetty.errors import DuettyError, ServerUnreachable

ANSWER_S = 30.0


class HostTestFailed(DuettyError):
    """A step of the test did not give what it should."""

    code = "mcp_test_failed"


class _Host:
    """The bridge as a child, spoken to over its pipes."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        spoken = ["--dialect", arguments.dialect] if arguments.dialect else []
        kept = [] if arguments.sandbox is None else [f"--sandbox={arguments.sandbox}"]
        kept += [f"--workspace={each}" for each in arguments.workspace or ()]
        words = ["mcp", "--instance", arguments.instance, *spoken, *kept]
        self.process = subprocess.Popen(  # noqa: S603 - ourselves
            [sys.executable, "-m", "duetty", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._stdin, self._stdout = self.process.stdin, self.process.stdout
        self._read = b""
        self._last_id = 0

    def tell(self, method: str) -> None:
        self._send({"jsonrpc": "2.0", "method": method})

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._last_id += 1
        self._send({"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params})
        until_s = time.monotonic() + ANSWER_S
        while True:
            message = self._next(until_s)
            if message.get("id") == self._last_id and "method" not in message:
                if "error" in message:
                    raise HostTestFailed(f"{method}: {message['error']['message']}")
                return message["result"]

    def call(self, tool: str, **arguments: object) -> dict[str, Any]:
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})
        if result.get("isError"):
            raise HostTestFailed(f"{tool}: {result['content'][0]['text']}")
        return result["structuredContent"]

    def _send(self, message: dict[str, Any]) -> None:
        self._stdin.write(json.dumps(message).encode() + b"\n")
        self._stdin.flush()

    def _next(self, until_s: float) -> dict[str, Any]:
        while b"\n" not in self._read:
            left_s = max(0.0, until_s - time.monotonic())
            if not select.select([self._stdout], [], [], left_s)[0]:
                raise ServerUnreachable(f"no answer within {ANSWER_S:.0f} s")
            chunk = os.read(self._stdout.fileno(), 65_536)
            if not chunk:
                raise ServerUnreachable("the bridge ended; it says above why")
            self._read += chunk
        line, _, self._read = self._read.partition(b"\n")
        return json.loads(line)

    def close(self) -> None:
        self._stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._stdout.close()


class _Steps:
    def __init__(self) -> None:
        self._since_s = time.perf_counter()

    def done(self, what: str) -> None:
        now_s = time.perf_counter()
        print(f"  {(now_s - self._since_s) * 1000:8.1f} ms  {what}", flush=True)
        self._since_s = time.perf_counter()


def run(arguments: argparse.Namespace) -> int:
    steps = _Steps()
    host = _Host(arguments)
    try:
        about = host.ask(
            "initialize",
            {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "duetty mcp test", "version": __version__},
            },
        )
        host.tell("notifications/initialized")
        named = about["serverInfo"]
        steps.done(f"connected to {named['name']} {named['version']} ({about['protocolVersion']})")
        tools = [tool["name"] for tool in host.ask("tools/list", {})["tools"]]
        steps.done(f"{len(tools)} tools")
        if "wsh_run_command" in tools:
            _try_session(host, steps)
        if "run_command" in tools:
            answer = host.call("run_command", command="echo hello")
            _expect(
                answer["stdout"] == "hello\n" and answer["exit_code"] == 0, "run_command", answer
            )
            steps.done("run_command: echo hello")
    finally:
        host.close()
    print("It works.")
    return 0


def _try_session(host: _Host, steps: _Steps) -> None:
    session = host.call("wsh_create_session")["session"]
    steps.done(f"session {session} opened")
    try:
        for what in ("echo hello (the shell starts)", "echo hello"):
            ran = host.call("wsh_run_command", session=session, input="echo hello", view="output")
            _expect(ran["output"] == "hello" and ran["exit_code"] == 0, "wsh_run_command", ran)
            steps.done(f"{what}: exit code {ran['exit_code']}, known by {ran['completed_by']}")
    finally:
        host.call("wsh_manage_session", session=session, action="kill")
    steps.done("session ended")


def _expect(is_so: bool, tool: str, answer: dict[str, Any]) -> None:
    if not is_so:
        raise HostTestFailed(f"{tool} did not answer as it should: exit code {answer['exit_code']}")

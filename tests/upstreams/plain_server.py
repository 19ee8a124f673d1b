"""An MCP server without any SDK, of the handshake era: starts at once, and misbehaves as told.

Its first argument is JSON: `{"tools": [{"name": …}], "dies": …, "mute": …}`.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

PLAN: dict[str, Any] = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}
if "tools_file" in PLAN:
    PLAN["tools"] = json.loads(Path(PLAN["tools_file"]).read_text(encoding="utf-8"))
SCHEMA: dict[str, Any] = {"type": "object", "properties": {}}
TOOLS: list[dict[str, Any]] = [
    {"inputSchema": SCHEMA, **each} for each in PLAN.get("tools", [{"name": "echo"}])
]
LITTER = "trap '' TERM HUP INT; while :; do sleep 0.1; done"


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def complain(line: str) -> None:
    os.write(2, f"{line}\n".encode())


def note(word: str) -> None:
    if path := PLAN.get("notes"):
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(f"{word}\n")


def text(said: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": said}]}


def ask(method: str, params: dict[str, Any]) -> dict[str, Any]:
    """A request to the client; what it answers."""
    send({"id": "q", "method": method, "params": params})
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("id") == "q" and "method" not in message:
            return {key: message[key] for key in ("result", "error") if key in message}
    raise SystemExit


SUBSCRIBED: set[str] = set()


def call(name: str, given: dict[str, Any]) -> dict[str, Any] | None:
    match name:
        case "crash":
            complain("about to crash")
            os._exit(3)
        case "hang":
            note("hung")
            return None
        case "environment":
            return text(json.dumps(dict(os.environ)))
        case "directory":
            return text(str(Path.cwd()))
        case "large":
            return text("x" * given["bytes"])
        case "noise":
            for _ in range(20_000):
                complain("n" * 200)
            complain("enough")
            return text("noise made")
        case "ask":
            return text(json.dumps(ask(given["method"], given["params"])))
        case "log":
            send({"method": "notifications/message", "params": given})
            return text("logged")
        case "update":
            send({"method": "notifications/resources/updated", "params": given})
            return text(json.dumps(sorted(SUBSCRIBED)))
        case "garbage":
            sys.stdout.buffer.write(b'hello, I am a program\n\xff\xfe\n{"jsonrpc": 1}\n[[[[\n\n')
            return text("garbage said")
        case "flood":
            while True:
                sys.stdout.write("not a message\n")
        case "wrong":
            return {"content": "this should be a list"}
        case "litter":
            child = subprocess.Popen(
                ["setsid", "sh", "-c", LITTER],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            return text(str(child.pid))
        case "change":
            TOOLS[:] = [{"inputSchema": SCHEMA, **each} for each in given["tools"]]
            send({"method": "notifications/tools/list_changed"})
            return text("changed")
        case "write":
            try:
                Path(given["path"]).write_text("written", encoding="utf-8")
            except OSError as error:
                return {**text(str(error.strerror)), "isError": True}
            return text("written")
        case _:
            note(name)
            return {**text(json.dumps(given)), "structuredContent": given}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    match method:
        case "initialize":
            return {
                "protocolVersion": "2025-06-18",
                "capabilities": {
                    "tools": {"listChanged": True},
                    **({"resources": {}, "prompts": {}} if "resources" in PLAN else {}),
                    **(
                        {"logging": {}, "resources": {"subscribe": True}} if "talks" in PLAN else {}
                    ),
                },
                **({"instructions": PLAN["talks"]} if "talks" in PLAN else {}),
                "serverInfo": {"name": "plain", "version": "1"},
            }
        case "tools/list":
            return None if PLAN.get("silent") else {"tools": TOOLS}
        case "resources/list" if "resources" in PLAN:
            found = PLAN["resources"]
            return None if found is None else {"resources": found}
        case "resources/read" if "resources" in PLAN:
            [found] = [each for each in PLAN["resources"] if each["uri"] == params["uri"]]
            return {"contents": [{"uri": found["uri"], "text": found.get("text", "")}]}
        case "resources/templates/list" if "resources" in PLAN:
            return {"resourceTemplates": []}
        case "prompts/list" if "resources" in PLAN:
            return {"prompts": []}
        case "logging/setLevel":
            note(f"level {params['level']}")
            return {}
        case "resources/subscribe":
            SUBSCRIBED.add(params["uri"])
            return {}
        case "resources/unsubscribe":
            SUBSCRIBED.discard(params["uri"])
            return {}
        case "tools/call":
            return call(params["name"], params.get("arguments") or {})
        case _:
            raise LookupError(method)


def main() -> None:
    if PLAN.get("dies"):
        complain("cannot find my configuration")
        sys.exit(7)
    if PLAN.get("deaf"):
        while True:
            time.sleep(3600)
    if PLAN.get("tells_start"):
        note("started")
    while (path := PLAN.get("waits_for")) and not Path(path).exists():
        time.sleep(0.02)
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("method") == "notifications/cancelled":
            note("cancelled")
        if "id" not in message or PLAN.get("mute"):
            continue
        try:
            result = answer(message["method"], message.get("params") or {})
        except LookupError:
            send({"id": message["id"], "error": {"code": -32601, "message": "Method not found"}})
            continue
        if result is not None:
            send({"id": message["id"], "result": result})
    note("input closed")


main()

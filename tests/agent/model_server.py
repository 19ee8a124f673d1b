"""An OpenAI-compatible server on loopback with a script: what it answers, request by request.

It speaks the real protocol: chat completions, streamed as server-sent events, with tool calls,
usage, errors, and answers that break off.
"""

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Request = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    text: str = ""
    calls: tuple[tuple[str, Mapping[str, Any] | str], ...] = ()
    """Tool and arguments; a text as it is, if it should be malformed."""

    status: int = 200
    error: str = ""
    error_code: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    breaks_off: bool = False
    """Half of the text, and then the connection is gone."""

    pieces: int = 4
    second_half: threading.Event | None = None
    """Half of the pieces, and the others when this is set."""

    before: threading.Event | None = None
    """Nothing is sent before this is set."""

    finish: str = ""
    """Why the answer ends, where it is no usual end."""

    tokens_in: int = 100
    """0: the server names no usage."""

    tokens_out: int = 20


def say(text: str, **fields: Any) -> Reply:
    return Reply(text=text, **fields)


def call(tool: str, arguments: Mapping[str, Any] | str | None = None, text: str = "") -> Reply:
    return Reply(text=text, calls=((tool, {} if arguments is None else arguments),))


Step = Reply | Callable[[Request], Reply]


class ModelServer:
    def __init__(self, *script: Step) -> None:
        self.script: Sequence[Step] = script
        self.requests: list[Request] = []
        self.sent_at: list[float] = []
        """When the first piece of each answer was sent, on the monotonic clock."""

        self.keys: list[str] = []
        self.listing = Reply(text="scripted")
        """Its answer to who asks which models it has: their names, or an error."""

        self._lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.keys.append(self.headers.get("Authorization", ""))
                reply = outer._next(body)
                if reply.before is not None:
                    reply.before.wait(60)
                if reply.status != 200:
                    self._refuse(reply)
                else:
                    self._stream(reply)

            def do_GET(self) -> None:
                outer.keys.append(self.headers.get("Authorization", ""))
                if outer.listing.status != 200:
                    self._refuse(outer.listing)
                    return
                names = outer.listing.text.split()
                listed = [{"id": each, "object": "model", "created": 1} for each in names]
                self._whole(200, {"object": "list", "data": listed}, {})

            def _refuse(self, reply: Reply) -> None:
                told = {"message": reply.error, "type": "error", "code": reply.error_code}
                self._whole(reply.status, {"error": told}, reply.headers)

            def _whole(self, status: int, body: Any, headers: Mapping[str, str]) -> None:
                content = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

            def _stream(self, reply: Reply) -> None:
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Connection", "close")
                self.end_headers()
                self.close_connection = True
                chunks = list(_chunks(reply))
                try:
                    for at, chunk in enumerate(chunks):
                        if at == 1:
                            outer.sent_at.append(time.monotonic())
                        self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
                        self.wfile.flush()
                        if reply.second_half is not None and at == len(chunks) // 2:
                            reply.second_half.wait(60)
                        if reply.breaks_off and at >= len(chunks) // 2:
                            return
                    self.wfile.write(b"data: [DONE]\n\n")
                except OSError:
                    pass  # the client has gone: it was stopped

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.05,), daemon=True
        )

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    @property
    def settings(self) -> dict[str, str]:
        """As variables of a server's environment."""
        return {
            "DUETTY_AGENT_MODEL": "scripted",
            "DUETTY_AGENT_BASE_URL": self.url,
            "OPENAI_API_KEY": "sk-secret-of-the-model",
            "DUETTY_AGENT_INPUT_CENTS": "100",
            "DUETTY_AGENT_OUTPUT_CENTS": "1000",
        }

    def _next(self, body: Request) -> Reply:
        with self._lock:
            self.requests.append(body)
            if not self.script:
                return Reply(status=400, error="the script is at its end")
            step, *rest = self.script
            self.script = rest
        return step(body) if callable(step) else step

    def __enter__(self) -> "ModelServer":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def _chunks(reply: Reply) -> Iterator[dict[str, Any]]:
    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "scripted",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
        }

    yield chunk({"role": "assistant", "content": ""})
    size = max(1, len(reply.text) // reply.pieces)
    for at in range(0, len(reply.text), size):
        yield chunk({"content": reply.text[at : at + size]})
    for at, (tool, arguments) in enumerate(reply.calls):
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        head = {"name": tool, "arguments": ""}
        first = {"index": at, "id": f"call_{time.monotonic_ns()}_{at}", "type": "function"}
        yield chunk({"tool_calls": [{**first, "function": head}]})
        half = len(text) // 2
        for part in (text[:half], text[half:]):
            yield chunk({"tool_calls": [{"index": at, "function": {"arguments": part}}]})
    yield chunk({}, reply.finish or ("tool_calls" if reply.calls else "stop"))
    if not reply.tokens_in:
        return
    yield {
        **chunk({}),
        "choices": [],
        "usage": {
            "prompt_tokens": reply.tokens_in,
            "completion_tokens": reply.tokens_out,
            "total_tokens": reply.tokens_in + reply.tokens_out,
        },
    }


def results(request: Request) -> list[str]:
    """The results of tools that the model was given."""
    return [str(each["content"]) for each in request["messages"] if each["role"] == "tool"]

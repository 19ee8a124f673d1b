"""An MCP server that asks for a sign-in, and the authorization server beside it; one small process' worth of both."""

import json
import secrets
from collections.abc import Generator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

MOST_FLOODED = 128 * 1024 * 1024


class SignInServer:
    """Everybody who comes to its sign-in page is let in at once."""

    def __init__(self) -> None:
        self.registered = 0
        self.asked_scopes: list[str] = []
        self.grants: list[str] = []
        """Of each request for a token: `authorization_code` or `refresh_token`."""

        self.valid: dict[str, str] = {}
        """Tokens, with their scope."""

        self.floods = False
        """Its metadata never end, and call themselves a stream of events."""

        self.flooded = 0
        self.renewals: set[str] = set()
        self.signs_in_at = ""
        """Where it sends people to sign in; at itself, when empty."""

        self.port = 0

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def table(self, **more: Any) -> dict[str, Any]:
        return {
            "url": f"{self.base}/mcp",
            "permissions": {"trust_level": "trusted"},
            **more,
        }

    def token(self, given: dict[str, str]) -> tuple[int, dict[str, Any]]:
        self.grants.append(given["grant_type"])
        if given["grant_type"] == "refresh_token" and given["refresh_token"] not in self.renewals:
            return 400, {"error": "invalid_grant"}
        access, renewal = f"access-{secrets.token_hex(8)}", f"renewal-{secrets.token_hex(8)}"
        scope = self.asked_scopes[-1]
        self.valid[access] = scope
        self.renewals = {renewal}
        return 200, {
            "access_token": access,
            "token_type": "Bearer",
            "expires_in": 3600,
            "refresh_token": renewal,
            "scope": scope,
        }

    def document(self, path: str) -> dict[str, Any] | None:
        if path.startswith("/.well-known/oauth-protected-resource"):
            return {
                "resource": f"{self.base}/mcp",
                "authorization_servers": [self.signs_in_at or self.base],
                "scopes_supported": ["read"],
            }
        if path == "/.well-known/oauth-authorization-server":
            return {
                "issuer": self.base,
                "authorization_endpoint": f"{self.base}/authorize",
                "token_endpoint": f"{self.base}/token",
                "registration_endpoint": f"{self.base}/register",
                "response_types_supported": ["code"],
                "code_challenge_methods_supported": ["S256"],
                "token_endpoint_auth_methods_supported": ["none"],
            }
        return None


def answer(message: dict[str, Any]) -> dict[str, Any]:
    match message["method"]:
        case "initialize":
            result: dict[str, Any] = {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "locked", "version": "1"},
            }
        case "tools/list":
            schema = {"type": "object"}
            result = {
                "tools": [{"name": name, "inputSchema": schema} for name in ("look", "write")]
            }
        case "tools/call":
            result = {"content": [{"type": "text", "text": "done"}]}
        case "ping":
            result = {}
        case _:
            error = {"code": -32601, "message": "no such method"}
            return {"jsonrpc": "2.0", "id": message["id"], "error": error}
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}


@contextmanager
def sign_in_server() -> Generator[SignInServer]:
    has = SignInServer()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:
            pass

        def reply(self, status: int, body: object = None, **headers: str) -> None:
            data = b"" if body is None else json.dumps(body).encode()
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def flood(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            with suppress(OSError):
                while has.flooded < MOST_FLOODED:
                    has.flooded += self.wfile.write(b" " * 65536)
            self.close_connection = True

        def do_GET(self) -> None:
            path, query = urlsplit(self.path).path, parse_qs(urlsplit(self.path).query)
            if has.floods and path.startswith("/.well-known"):
                self.flood()
            elif path == "/authorize":
                has.asked_scopes.append(query.get("scope", [""])[0])
                back = urlencode({"code": "a-code", "state": query["state"][0]})
                self.reply(302, Location=f"{query['redirect_uri'][0]}?{back}")
            elif (found := has.document(path)) is not None:
                self.reply(200, found)
            else:
                self.reply(405 if path == "/mcp" else 404)

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.path == "/register":
                has.registered += 1
                given = json.loads(body)
                self.reply(201, given | {"client_id": f"client-{has.registered}"})
            elif self.path == "/token":
                self.reply(*has.token({k: v[0] for k, v in parse_qs(body.decode()).items()}))
            else:
                self.mcp(json.loads(body))

        def mcp(self, message: dict[str, Any]) -> None:
            place = f'resource_metadata="{has.base}/.well-known/oauth-protected-resource"'
            token = self.headers.get("Authorization", "").removeprefix("Bearer ")
            scope = has.valid.get(token)
            if scope is None:
                self.reply(401, WWW_Authenticate=f"Bearer {place}")
            elif message.get("params", {}).get("name") == "write" and "write" not in scope:
                wants = 'error="insufficient_scope", scope="write"'
                self.reply(403, WWW_Authenticate=f"Bearer {wants}, {place}")
            elif "id" not in message:
                self.reply(202)
            else:
                self.reply(200, answer(message))

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    has.port = server.server_port
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield has
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

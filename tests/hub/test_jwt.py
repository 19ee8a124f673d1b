"""Tokens of an identity provider: checked against the keys that a real server on loopback publishes."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import HMACAlgorithm, OKPAlgorithm, RSAAlgorithm
from jwt.utils import base64url_encode

from tests.hub.conftest import Servers

ISSUER = "https://id.example"
AUDIENCE = "https://hub.example"


class Provider:
    """Publishes keys; counts how often it is asked."""

    def __init__(self) -> None:
        self.keys: dict[str, Any] = {}
        self.asked = 0
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                provider.asked += 1
                body = json.dumps(
                    {"keys": [_public(id_, key) for id_, key in provider.keys.items()]}
                )
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body.encode())

            def log_message(self, format: str, *args: Any) -> None: ...

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/jwks.json"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def token(self, key: str = "rsa", **changed: Any) -> str:
        claims = {
            "iss": ISSUER,
            "aud": AUDIENCE,
            "sub": "ann",
            "exp": time.time() + 600,
            "scope": "read input approve admin",
            **changed,
        }
        given = {name: value for name, value in claims.items() if value is not None}
        private = self.keys[key]
        algorithm = "RS256" if isinstance(private, RSAPrivateKey) else "EdDSA"
        return jwt.encode(given, private, algorithm, headers={"kid": key})


def _public(id_: str, key: Any) -> dict[str, Any]:
    public: Any = key.public_key()
    if isinstance(key, RSAPrivateKey):
        shape = RSAAlgorithm.to_jwk(public, as_dict=True)
    else:
        shape = OKPAlgorithm.to_jwk(public, as_dict=True)
    return {**shape, "kid": id_, "use": "sig"}


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    provider = Provider()
    provider.keys["rsa"] = generate_private_key(65537, 2048)
    yield provider
    provider.close()


@pytest.fixture(scope="module")
def hub(provider: Provider) -> Iterator[Servers]:
    with ExitStack() as stack:
        servers = Servers(
            stack,
            DUETTY_HUB_JWT_ISSUER=ISSUER,
            DUETTY_HUB_JWT_AUDIENCE=AUDIENCE,
            DUETTY_HUB_JWT_JWKS=provider.url,
        )
        servers.hub.client.post("/users", {"name": "ann"})
        yield servers


def shown(hub: Servers, token: str) -> httpx.Response:
    headers = {"Authorization": f"Bearer {token}"}
    return httpx.get(f"{hub.hub.url()}/auth/whoami", headers=headers, timeout=60)


def test_a_good_token_is_its_users_with_the_scopes_that_a_user_may_have(
    hub: Servers, provider: Provider
) -> None:
    who = shown(hub, provider.token()).json()

    assert (who["user"], who["kind"], who["scopes"]) == ("ann", "agent", ["input", "read"])


@pytest.mark.parametrize(
    "changed",
    [
        {"iss": "https://evil.example"},
        {"aud": "https://other.example/mcp"},
        {"aud": None},
        {"exp": 1},
        {"exp": None},
        {"exp": 10**400},
        {"sub": None},
        {"sub": "nobody-here"},
    ],
    ids=lambda changed: json.dumps(changed)[:40],
)
def test_a_token_of_another_issuer_audience_time_or_user_is_refused(
    hub: Servers, provider: Provider, changed: dict[str, Any]
) -> None:
    assert shown(hub, provider.token(**changed)).status_code == 403


def test_no_signature_and_a_public_key_as_a_secret_are_refused(
    hub: Servers, provider: Provider
) -> None:
    good = jwt.decode(provider.token(), options={"verify_signature": False})
    pem = provider.keys["rsa"].public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)  # fmt: skip
    unsigned = jwt.encode(good, "", "none", headers={"kid": "rsa"})
    head, body = (
        base64url_encode(json.dumps(part).encode())
        for part in ({"alg": "HS256", "kid": "rsa", "typ": "JWT"}, good)
    )
    mac = HMACAlgorithm(HMACAlgorithm.SHA256).sign(head + b"." + body, pem)  # fmt: skip
    confused = b".".join((head, body, base64url_encode(mac))).decode()
    foreign = jwt.encode(good, Ed25519PrivateKey.generate(), "EdDSA", headers={"kid": "rsa"})

    assert [shown(hub, each).status_code for each in (unsigned, confused, foreign)] == [403] * 3


def test_a_new_key_counts_without_a_restart_and_guessed_ones_do_not_flood_the_provider(
    provider: Provider,
) -> None:
    with ExitStack() as stack:
        home = Servers(
            stack,
            DUETTY_HUB_JWT_ISSUER=ISSUER,
            DUETTY_HUB_JWT_AUDIENCE=AUDIENCE,
            DUETTY_HUB_JWT_JWKS=provider.url,
        )
        home.hub.client.post("/users", {"name": "ann"})
        provider.keys["next"] = Ed25519PrivateKey.generate()
        before = provider.asked

        assert shown(home, provider.token("next")).status_code == 200
        asked = provider.asked - before
        private = Ed25519PrivateKey.generate()
        for number in range(20):
            guessed = jwt.encode({"sub": "ann"}, private, "EdDSA", headers={"kid": f"g{number}"})
            assert shown(home, guessed).status_code == 403

        assert asked == 1
        assert provider.asked - before == 1


def test_who_is_removed_is_out_at_once_whatever_the_token_says(
    hub: Servers, provider: Provider
) -> None:
    hub.hub.client.post("/users", {"name": "bob"})
    token = provider.token(sub="bob")
    assert shown(hub, token).status_code == 200

    hub.hub.client.delete("/users/bob")

    assert shown(hub, token).status_code == 403


def test_a_client_without_a_token_finds_the_provider(hub: Servers) -> None:
    refused = httpx.post(f"{hub.hub.url()}/mcp", json={}, timeout=60)
    challenge = refused.headers["www-authenticate"]
    metadata = httpx.get(challenge.partition('resource_metadata="')[2].rstrip('"'), timeout=60)

    assert refused.status_code == 401
    assert metadata.json()["authorization_servers"] == [ISSUER]
    assert metadata.json()["resource"] == AUDIENCE


def test_a_token_as_a_tools_argument_is_refused_with_the_reason_and_never_repeated(
    hub: Servers,
) -> None:
    given = {"session": "x", "user_token": "very-secret-token", "input": "ls"}
    asked = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "wsh_run_command", "arguments": given},
    }
    headers = {"Accept": "application/json, text/event-stream"}
    first = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }
    opened = hub.http.post(
        "/mcp",
        json={"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": first},
        headers=headers,
    )
    headers["Mcp-Session-Id"] = opened.headers["mcp-session-id"]
    answer = hub.http.post("/mcp", json=asked, headers=headers)

    assert "a token is no argument of a tool" in answer.text
    assert "Authorization" in answer.text
    assert "very-secret-token" not in answer.text

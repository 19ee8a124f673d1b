"""A browser that signed in, and the key of its page, without a browser."""

import base64
import json
from dataclasses import dataclass, field
from typing import Any, Protocol

import httpx
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tests.server_process import ServerProcess


class Connection(Protocol):
    def recv(self, timeout: float | None = None) -> Any: ...
    def send(self, message: str) -> Any: ...


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode()


@dataclass
class PageKey:
    """As web/src/protocol/key.ts holds one."""

    private: ec.EllipticCurvePrivateKey = field(
        default_factory=lambda: ec.generate_private_key(ec.SECP256R1())
    )

    @property
    def public(self) -> str:
        point = self.private.public_key().public_bytes(
            Encoding.X962, PublicFormat.UncompressedPoint
        )
        return f"p256:{_text(point)}"

    def proof(self, challenge: str) -> str:
        r, s = decode_dss_signature(self.private.sign(challenge.encode(), ec.ECDSA(SHA256())))
        return _text(r.to_bytes(32, "big") + s.to_bytes(32, "big"))

    def answer(self, hello: str | bytes) -> str:
        """What a page says to the server's first message."""
        challenge = json.loads(hello)["challenge"]
        return json.dumps({"type": "prove", "key": self.public, "proof": self.proof(challenge)})


def cookie_of(server: ServerProcess) -> str:
    """What a browser sends after it followed a one-time link."""
    link = server.client.post("/server/link")["link"]
    with httpx.Client(follow_redirects=False, timeout=60) as browser:
        browser.get(link)
        [(name, value)] = browser.cookies.items()
    return f"{name}={value}"


def prove(socket: Connection, key: PageKey) -> dict[str, Any]:
    """The server's answer to the proof."""
    socket.send(key.answer(socket.recv(60)))
    return json.loads(socket.recv(60))

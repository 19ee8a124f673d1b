"""Who a node is: the key pair that it made once, and keeps. Its host name is for show."""

import base64
import hashlib
import logging
import os
import secrets
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from duetty.errors import StateUnwritable
from duetty.private_file import put_aside

log = logging.getLogger("duetty.hub")

_CONTEXT = b"duetty join 1\0"


class NodeKey:
    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key
        self.public = base64.b64encode(key.public_key().public_bytes_raw()).decode()

    @property
    def node_id(self) -> str:
        return node_id(self.public)

    def sign(self, challenge: str) -> str:
        return base64.b64encode(self._key.sign(_CONTEXT + challenge.encode())).decode()


def load_key(path: Path) -> NodeKey:
    """The key in this file; a new one, if there is none or it is damaged. Only its owner may read it.

    Raises:
        StateUnwritable: if it cannot be read or kept.
    """
    try:
        if not path.exists():
            _make_key(path)
        try:
            return NodeKey(Ed25519PrivateKey.from_private_bytes(path.read_bytes()))
        except ValueError:
            # The server starts all the same; hubs see a new machine.
            put_aside(path)
            log.warning("node_key_damaged", extra={"file": str(path)})
            _make_key(path)
            return NodeKey(Ed25519PrivateKey.from_private_bytes(path.read_bytes()))
    except OSError as error:
        raise StateUnwritable(
            f"the key of this machine ({path}) cannot be used: {error}",
            hint="remove the file: a new one is made, and hubs see a new machine",
        ) from error


def _make_key(path: Path) -> None:
    beside = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as out:
        out.write(Ed25519PrivateKey.generate().private_bytes_raw())
    try:
        os.link(beside, path)  # the first process to link it wins
    except FileExistsError:
        pass
    finally:
        beside.unlink()


def node_id(public: str) -> str:
    return hashlib.sha256(base64.b64decode(public)).hexdigest()[:32]


def new_challenge() -> str:
    return secrets.token_urlsafe(32)


def is_signed(public: str, challenge: str, signature: str) -> bool:
    try:
        key = Ed25519PublicKey.from_public_bytes(base64.b64decode(public, validate=True))
        key.verify(base64.b64decode(signature, validate=True), _CONTEXT + challenge.encode())
    except (ValueError, InvalidSignature):
        return False
    return True

"""Who a node is: the key pair that it made once, and keeps. Its host name is for show.

`cryptography` is loaded where a key is used first, not at the start of each server: it takes
longer than many a module of the server, and memory that a machine without a hub never needs.
"""

import base64
import hashlib
import logging
import os
import secrets
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from duetty.errors import StateUnwritable
from duetty.private_file import put_aside

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

log = logging.getLogger("duetty.hub")

_CONTEXT = b"duetty join 1\0"

_SECRET_BYTES = 32
"""Of an Ed25519 key: any so many bytes are one."""


class NodeKey:
    def __init__(self, secret: bytes) -> None:
        """
        Raises:
            ValueError: if it is no key.
        """
        if len(secret) != _SECRET_BYTES:
            raise ValueError(f"a key has {_SECRET_BYTES} bytes")
        self._secret = secret

    @cached_property
    def _key(self) -> "Ed25519PrivateKey":
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        return Ed25519PrivateKey.from_private_bytes(self._secret)

    @cached_property
    def public(self) -> str:
        return base64.b64encode(self._key.public_key().public_bytes_raw()).decode()

    @property
    def node_id(self) -> str:
        return node_id(self.public)

    def sign(self, challenge: str) -> str:
        return base64.b64encode(self._key.sign(_CONTEXT + challenge.encode())).decode()


def new_key() -> NodeKey:
    return NodeKey(_new_secret())


def _new_secret() -> bytes:
    return secrets.token_bytes(_SECRET_BYTES)


def load_key(path: Path) -> NodeKey:
    """The key in this file; a new one, if there is none or it is damaged. Only its owner may read it.

    Raises:
        StateUnwritable: if it cannot be read or kept.
    """
    try:
        if not path.exists():
            _make_key(path)
        try:
            return NodeKey(path.read_bytes())
        except ValueError:
            # The server starts all the same; hubs see a new machine.
            put_aside(path)
            log.warning("node_key_damaged", extra={"file": str(path)})
            _make_key(path)
            return NodeKey(path.read_bytes())
    except OSError as error:
        raise StateUnwritable(
            f"the key of this machine ({path}) cannot be used: {error}",
            hint="remove the file: a new one is made, and hubs see a new machine",
        ) from error


def _make_key(path: Path) -> None:
    beside = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as out:
        out.write(_new_secret())
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
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        key = Ed25519PublicKey.from_public_bytes(base64.b64decode(public, validate=True))
        key.verify(base64.b64decode(signature, validate=True), _CONTEXT + challenge.encode())
    except (ValueError, InvalidSignature):
        return False
    return True

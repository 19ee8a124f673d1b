"""The key that a signed-in page holds: what a cookie alone, which any port of its host is sent, cannot show.

Where the browser has cryptography (TLS, or loopback) the key is P-256 and cannot leave the browser:
`p256:` and the public point. Elsewhere it is a secret in the page's own storage: `secret:` and that.
"""

import base64
import binascii
import hashlib
import hmac

from duetty.errors import BadArguments

POINT_BYTES, SIGNATURE_BYTES, SECRET_BYTES = 65, 64, 32


def kept(key: str) -> str:
    """The stored form of a page's key.

    Raises:
        BadArguments: if it is none.
    """
    kind, _, text = key.partition(":")
    shown = _bytes(text)
    if kind == "secret" and len(shown) == SECRET_BYTES:
        return f"secret:{hashlib.sha256(shown).hexdigest()}"
    if kind == "p256" and len(shown) == POINT_BYTES and shown[0] == 4:
        return key
    raise BadArguments("key: not a key of a page")


def is_proof(kept_key: str, challenge: str, proof: str) -> bool:
    """Whether the giver of this proof holds the key; takes a millisecond, the first time fifty."""
    kind, _, text = kept_key.partition(":")
    try:
        shown = _bytes(proof)
    except BadArguments:
        return False
    if kind == "secret":
        return hmac.compare_digest(hashlib.sha256(shown).hexdigest(), text)
    return len(shown) == SIGNATURE_BYTES and _is_signed(_bytes(text), challenge.encode(), shown)


def _is_signed(point: bytes, message: bytes, signature: bytes) -> bool:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
    from cryptography.hazmat.primitives.hashes import SHA256

    half = SIGNATURE_BYTES // 2
    r, s = (int.from_bytes(part, "big") for part in (signature[:half], signature[half:]))
    try:
        public = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)
        public.verify(encode_dss_signature(r, s), message, ec.ECDSA(SHA256()))
    except (InvalidSignature, ValueError):
        return False
    return True


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, altchars=b"-_", validate=True)
    except (binascii.Error, ValueError) as error:
        raise BadArguments("key: not base64") from error

"""The server's own token: made at the first start, kept in a file."""

import secrets
from pathlib import Path

from duetty.errors import BadSetting
from duetty.startup.private_files import read_text, write_private

TOKEN_CHARS = 16
"""What a token written by hand must have at least; the server's own has 43."""


def load_token(path: Path) -> str:
    """The server's token, made at the first start; only its owner may read the file.

    Raises:
        BadSetting: if the file holds one that could be guessed.
    """
    token = read_text(path)
    if not token:
        token = secrets.token_urlsafe(32)
        write_private(path, token)
    if len(token) < TOKEN_CHARS:
        raise BadSetting(
            f"the token in {path} has fewer than {TOKEN_CHARS} characters",
            hint="remove the file: the server makes a new one",
        )
    if not (token.isascii() and token.isprintable()) or " " in token:
        raise BadSetting(
            f"the token in {path} has other characters than a token can be sent with",
            hint="remove the file: the server makes a new one",
        )
    if path.stat().st_mode & 0o077:
        path.chmod(0o600)
    return token

"""Results that are a document of their own: a picture, a recording.

HTTP sends them as they are. Elsewhere an answer is one JSON value, and a
document too large for that is an error that says where to get it.
"""

import base64
from collections.abc import AsyncIterator
from dataclasses import dataclass

from duetty.errors import Exhausted
from duetty.wire.results import Document

DOCUMENT_BYTES = 4 * 1024 * 1024
"""A document inside of JSON is held in memory, several times over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    media_type: str
    content: bytes | AsyncIterator[bytes]
    filename: str | None = None
    """Given to what a browser would rather keep than show."""


class DocumentTooLarge(Exhausted):
    code = "document_too_large"


async def whole(stream: Stream) -> Document:
    """The document as one value.

    Raises:
        DocumentTooLarge: if it is.
    """
    content = stream.content
    if not isinstance(content, bytes):
        gathered = bytearray()
        async for chunk in content:
            gathered += chunk
            if len(gathered) > DOCUMENT_BYTES:
                break
        content = bytes(gathered)
    if len(content) > DOCUMENT_BYTES:
        raise DocumentTooLarge(
            f"the document has more than {DOCUMENT_BYTES} bytes", hint="get it over HTTP"
        )
    try:
        return Document(media_type=stream.media_type, encoding="utf8", data=content.decode())
    except UnicodeDecodeError:
        encoded = base64.b64encode(content).decode()
        return Document(media_type=stream.media_type, encoding="base64", data=encoded)

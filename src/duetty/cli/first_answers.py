"""What an MCP host asks first, answered while the server is still starting.

A host asks who is there and which tools it has, and gives up on a server that takes
long. Both answers are known before: `tools/generate_first_answers.py` asks the
dialects for them, `first_answers.tsv` has them, and a test compares the two. Only
messages without anything unusual are answered here; of every other the server is the judge.
"""

import json
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, cast

FILE = Path(__file__).with_name("first_answers.tsv")
"""Dialect, revision, method and result, with tabs between them."""

MODERN = "2026-07-28"
META = "io.modelcontextprotocol/"

Json = dict[str, Any]


class FirstAnswers:
    """The answers that one host gets; of the handshake era only after its handshake."""

    def __init__(self, dialect: Callable[[], str]) -> None:
        self._dialect = dialect
        self._agreed: str | None = None
        self._is_over = False

    def __call__(self, line: bytes) -> bytes | None:
        """The whole answer to this message; None, if the server has to give it."""
        if self._is_over:
            return None
        asked = _parse_request(line)
        if asked is None:
            return None
        key, method, params = asked
        if method == "initialize":
            return self._agree(key, params)
        if not _only(params, ()):
            return None
        meta: Json = params.get("_meta", {})
        if not any(name.startswith(META) for name in meta):
            version = self._agreed
        else:
            version = MODERN if self._agreed is None and _is_modern(meta) else None
        return None if version is None else self._stored_answer(key, version, method)

    def _agree(self, key: bytes, params: Json) -> bytes | None:
        version = params.get("protocolVersion")
        fits = self._agreed is None and version != MODERN and _is_handshake(params)
        answer = self._stored_answer(key, str(version), "initialize") if fits else None
        if answer is None:
            self._is_over = True  # what holds from here on, the server has to say
        else:
            self._agreed = str(version)
        return answer

    def _stored_answer(self, key: bytes, version: str, method: str) -> bytes | None:
        wanted = f"{self._dialect()}\t{version}\t{method}\t".encode()
        try:
            with FILE.open("rb") as file:
                for line in file:
                    if line.startswith(wanted):
                        result = line[len(wanted) :].rstrip(b"\n")
                        return b'{"jsonrpc":"2.0","id":%s,"result":%s}' % (key, result)
        except OSError:
            pass  # no file to be had: the server will answer
        return None


def _parse_request(line: bytes) -> tuple[bytes, str, Json] | None:
    """Id as JSON, method and params of a plain request."""
    try:
        parsed: object = json.loads(line)
    except (ValueError, RecursionError):
        return None
    match parsed:
        case {"jsonrpc": "2.0", "id": str() | int() as key, "method": str() as method}:
            message = cast("Json", parsed)
            params: object = message.get("params", {})
        case _:
            return None
    if isinstance(key, bool) or not _only(message, ("jsonrpc", "id", "method", "params")):
        return None
    if not _is_object(params) or not _is_object(cast("Json", params).get("_meta", {})):
        return None
    return json.dumps(key).encode(), method, cast("Json", params)


def _is_handshake(params: Json) -> bool:
    return (
        _only(params, ("protocolVersion", "capabilities", "clientInfo"))
        and _are_capabilities(params.get("capabilities"))
        and _is_client(params.get("clientInfo"))
    )


def _is_modern(meta: Json) -> bool:
    names = [META + name for name in ("protocolVersion", "clientCapabilities", "clientInfo")]
    return (
        _only(meta, names)
        and meta.get(names[0]) == MODERN
        and _are_capabilities(meta.get(names[1]))
        and (names[2] not in meta or _is_client(meta[names[2]]))
    )


def _are_capabilities(value: object) -> bool:
    return _is_object(value) and all(_is_object(each) for each in cast("Json", value).values())


def _is_client(value: object) -> bool:
    if not _is_object(value):
        return False
    fields = cast("Json", value)
    return {"name", "version"} <= fields.keys() and all(isinstance(x, str) for x in fields.values())


def _is_object(value: object) -> bool:
    return isinstance(value, dict)


def _only(message: Json, names: Collection[str]) -> bool:
    """Whether the message has no other keys, `_meta` apart."""
    return all(key in names or key == "_meta" for key in message)

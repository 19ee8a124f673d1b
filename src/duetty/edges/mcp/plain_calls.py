"""The short way of a plain `tools/call`, past the SDK: recognised and answered in its bytes.

Most of what an agent sends is one call of one tool that needs nothing but its
answer, and the SDK's way to it costs three times this one (docs/adr/0017). What
is taken here is only what the SDK would surely let pass, judged by what the SDK has
let pass before; every doubt goes the long way. Both ways tell the same, and
`tests/edges/mcp/test_plain_calls_equal_sdk.py` compares them.
"""

import json
from dataclasses import dataclass
from typing import Any, NoReturn, cast

from pydantic_core import from_json, to_json

from duetty.edges.mcp.dialect import Answer, Json, Picture
from duetty.hosts import Ability

RESERVED = "io.modelcontextprotocol/"
"""Names in `_meta` that belong to the protocol."""

VERSION = RESERVED + "protocolVersion"

_MESSAGE = frozenset(("jsonrpc", "id", "method", "params"))
_PARAMS = frozenset(("name", "arguments", "_meta"))
MAX_ENVELOPES = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """The client's own data from a request of the modern era that the SDK accepted."""

    abilities: frozenset[Ability]
    declares_tasks: bool
    client: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainCall:
    id: str | int
    name: str
    arguments: Json
    progress_token: str | int | None = None
    envelope: bytes | None = None
    """The protocol's own part of `_meta`, for the modern era."""

    version: object = None
    """The revision that it names."""


def plain_call(raw: bytes | bytearray, *, odd: bool = False) -> PlainCall | None:
    """The call, if the message is one and has nothing in it that would need a second look.

    `odd`: or if only its arguments have what the SDK does not read; see `odd_json`.
    """
    if b'"tools/call"' not in raw:
        return None
    try:
        parsed: object = from_json(raw, allow_inf_nan=False)
    except ValueError:
        parsed = odd_json(raw) if odd else None
    if not isinstance(parsed, dict):
        return None
    message = cast("Json", parsed)
    id_, params = message.get("id"), message.get("params")
    if not (
        message.keys() == _MESSAGE
        and message["jsonrpc"] == "2.0"
        and message["method"] == "tools/call"
        and isinstance(id_, (str, int))
        and type(id_) is not bool
        and isinstance(params, dict)
    ):
        return None
    return _call(id_, cast("Json", params))


def odd_json(raw: bytes | bytearray) -> Json | None:
    """A call of a tool whose arguments hold half a character or are nested very deep, and nothing else odd.

    It is a message by its form. What is wrong with such arguments the operation says, through
    every door the same; the SDK would say that there is no message.
    """
    if b'"tools/call"' not in raw:
        return None
    try:
        parsed: object = json.loads(raw.decode("utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return None
    if not isinstance(parsed, dict) or cast("Json", parsed).get("method") != "tools/call":
        return None
    message = cast("Json", parsed)
    params: object = message.get("params")
    if not isinstance(params, dict):
        return None
    given = cast("Json", params)
    arguments: object = given.get("arguments")
    if not isinstance(arguments, dict):
        return None
    try:
        from_json(json.dumps({**message, "params": {**given, "arguments": {}}}))
    except (ValueError, RecursionError):
        return None
    # No operation has a name with half a character in it: it is as unknown without.
    named = {
        name.encode("utf-8", "replace").decode(): value
        for name, value in cast("Json", arguments).items()
    }
    return {**message, "params": {**given, "arguments": named}}


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _call(id_: str | int, params: Json) -> PlainCall | None:
    name, arguments, meta = params.get("name"), params.get("arguments", {}), params.get("_meta", {})
    if not (
        isinstance(name, str)
        and _PARAMS.issuperset(params)
        and isinstance(arguments, dict)
        and isinstance(meta, dict)
    ):
        return None
    token: str | int | None = None
    reserved: Json = {}
    for key, value in cast("Json", meta).items():
        if key.startswith(RESERVED):
            reserved[key] = value
        elif key == "progressToken" and type(value) in (str, int):
            token = value
        elif key == "progressToken" or not isinstance(value, str):
            return None
    return PlainCall(
        id=id_,
        name=name,
        arguments=cast("Json", arguments),
        progress_token=token,
        envelope=envelope_of(reserved) if reserved else None,
        version=reserved.get(VERSION),
    )


def envelope_of(meta: Json) -> bytes:
    """The protocol's own part of a request's `_meta`, to be known again."""
    return to_json({key: meta[key] for key in sorted(meta) if key.startswith(RESERVED)})


def result_json(answer: Answer, stamp: bytes | None = None) -> bytes:
    """The members of a result, without its braces; `stamp` is `_meta` of one of the modern era."""
    content = to_json(answer.content, inf_nan_mode="null")
    if answer.blocks is not None:
        blocks = [_block(block) for block in answer.blocks]
    elif answer.text is None:
        blocks = [_text(content.decode())]
    else:
        blocks = [_text(to_json(answer.text, inf_nan_mode="null").decode())]
    if answer.failure is not None:
        blocks.insert(0, _text(answer.failure))
    is_error = b"false" if answer.failure is None else b"true"
    members = b'"content":[%s],"structuredContent":%s,"isError":%s' % (
        b",".join(blocks),
        content,
        is_error,
    )
    return members if stamp is None else members + b',"resultType":"complete","_meta":' + stamp


def passed_on_json(result: Json, stamp: bytes | None) -> bytes:
    """The same of a result that another server gave, whose own `_meta` comes before the stamp."""
    if stamp is None:
        return to_json(result)[1:-1]
    meta: Json = result.get("_meta") or {}
    members = to_json({key: each for key, each in result.items() if key != "_meta"})[1:-1]
    stamped = stamp if not meta else to_json(meta)[:-1] + b"," + stamp[1:]
    return members + b',"_meta":' + stamped


def _block(block: str | Picture) -> bytes:
    if isinstance(block, str):
        return _text(block)
    shape = {"type": "image", "data": block.base64, "mimeType": block.media_type}
    return to_json(shape)


def _text(text: str) -> bytes:
    return b'{"type":"text","text":%s}' % to_json(text)


def response_json(id_: str | int, members: bytes) -> bytes:
    return b'{"jsonrpc":"2.0","id":%s,"result":{%s}}' % (to_json(id_), members)


def progress_json(
    token: str | int, progress: float, total: float | None, message: str | None
) -> bytes:
    params: dict[str, Any] = {"progressToken": token, "progress": progress}
    if total is not None:
        params["total"] = total
    if message is not None:
        params["message"] = message
    return to_json({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})

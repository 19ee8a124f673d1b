"""A request's arguments: from its path, its query, its body."""

import base64
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from types import UnionType
from typing import Annotated, Any, Literal, NoReturn, Union, get_args, get_origin
from urllib.parse import parse_qsl

from starlette.requests import Request

from duetty.edges.http.bounded import within
from duetty.edges.http.headers import header_of, headers_of
from duetty.errors import BadArguments, Deadline, UnsupportedMediaType
from duetty.ops import Operation
from duetty.wire.json_values import MAX_VALUES, has_few_values

MAX_BODY_BYTES = 1024 * 1024
MAX_QUERY_FIELDS = 200
MAX_DIGITS = 400
"""Of a whole number: more than any that is meant, and read at once."""

BODY_S = 30.0
"""How long a whole body may take: a mebibyte at 35 kB/s, and a slow attacker no longer."""

BODY_METHODS = frozenset({"POST", "PUT", "PATCH"})


class BodyTooLarge(BadArguments):
    code = "body_too_large"


class HeadTooLarge(BadArguments):
    """The request line and headers together; refused before anything of them is read."""

    code = "headers_too_large"


class Malformed(BadArguments):
    """The body is not one JSON object."""


class RequestTimeout(Deadline):
    """The request did not arrive in time."""

    code = "request_timeout"


class Arguments:
    """How one operation's arguments are found in its requests."""

    def __init__(self, operation: Operation[Any, Any]) -> None:
        self._raw_body = operation.route.raw_body
        self._has_json = operation.route.method in BODY_METHODS and self._raw_body is None
        fields = operation.params.model_fields
        # What has a JSON body says everything there; `server` may stand in both places.
        named = {name: field for name, field in fields.items() if not self._has_json}
        self._many = {name for name, field in named.items() if takes_many(field.annotation)}
        self._kinds = {name: frozenset(_kinds(field.annotation)) for name, field in named.items()}
        self._names = {*named, "server"} - {self._raw_body, "encoding" if self._raw_body else None}

    async def read(self, request: Request) -> dict[str, object]:
        """Raises: DuettyError: if the request is not well-formed."""
        arguments = self._query(request)
        if self._raw_body is not None:
            body = await body_of(request)
            arguments |= {self._raw_body: base64.b64encode(body).decode(), "encoding": "base64"}
        elif self._has_json:
            arguments |= await _json_body(request)
        return arguments | dict(request.path_params)

    def _query(self, request: Request) -> dict[str, object]:
        if not request.scope["query_string"]:
            return {}
        found: dict[str, list[str]] = {}
        for name, value in _fields(request.scope["query_string"]):
            if name in self._names:  # as published: an unknown query parameter changes nothing
                found.setdefault(name, []).append(value)
        twice = [
            name for name, values in found.items() if len(values) > 1 and name not in self._many
        ]
        if twice:
            raise BadArguments(f"{twice[0]}: given more than once")
        given = {
            name: [_value(text, self._kinds.get(name, _TEXT)) for text in values]
            for name, values in found.items()
        }
        return {name: values if name in self._many else values[0] for name, values in given.items()}


def _fields(query: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(
            query.decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=MAX_QUERY_FIELDS,
        )
    except ValueError as error:
        raise BadArguments(
            "the query is not well-formed", hint="it is UTF-8, percent-encoded"
        ) from error


_TEXT: frozenset[type] = frozenset({str})
_BOOLEANS = {"true": True, "false": False, "1": True, "0": False}
_WHOLE = re.compile(r"-?[0-9]{1,25}", re.ASCII)
"""Longer ones are no number that any argument can be."""

_DECIMAL = re.compile(rf"{_WHOLE.pattern}(\.[0-9]{{1,25}})?", re.ASCII)


def _value(text: str, kinds: frozenset[type]) -> object:
    """What a text of a query means for an argument of these kinds; itself where it means nothing,
    so that the operation says what is wrong.
    """
    if bool in kinds and text in _BOOLEANS:
        return _BOOLEANS[text]
    if int in kinds and _WHOLE.fullmatch(text):
        return int(text)
    if float in kinds and _DECIMAL.fullmatch(text):
        return float(text)
    return text


def _kinds(annotation: object) -> Iterator[type]:
    """The plain types that an argument may have, or the items of a list."""
    origin = get_origin(annotation)
    if origin is Literal:
        yield from (type(value) for value in get_args(annotation))
    elif origin is Annotated:
        yield from _kinds(get_args(annotation)[0])
    elif origin is not None:
        for part in get_args(annotation):
            yield from _kinds(part)
    elif isinstance(annotation, type):
        yield annotation


def takes_many(annotation: object) -> bool:
    """Whether a field holds several values, so that a query may name it several times."""
    origin = get_origin(annotation)
    if origin in (Union, UnionType):
        return any(takes_many(part) for part in get_args(annotation))
    if origin is Annotated:
        return takes_many(get_args(annotation)[0])
    return (origin or annotation) in (list, tuple, set, frozenset)


def no_constant(name: str) -> NoReturn:
    """Python reads NaN and Infinity, which are no JSON and which no argument can be."""
    raise ValueError(f"{name} is no JSON")


async def _json_body(request: Request) -> Mapping[str, object]:
    body = await body_of(request)
    if not body.strip():
        return {}
    kind = header_of(request.scope, b"content-type").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise UnsupportedMediaType(
            "the body must be JSON", hint="send 'Content-Type: application/json'"
        )
    return json_object(body)


def json_object(body: bytes) -> Mapping[str, object]:
    """Raises:
    BodyTooLarge, Malformed: if it is none.
    """
    if not has_few_values(body):
        raise BodyTooLarge(
            f"the body has more than {MAX_VALUES} values", hint="send it in several requests"
        )
    try:
        parsed = _decoder.decode(body.decode(json.detect_encoding(body), "surrogatepass"))
    except RecursionError as error:
        raise Malformed("the body is nested too deeply") from error
    except ValueError as error:
        raise Malformed(f"the body is not JSON: {error}") from error
    if not isinstance(parsed, dict):
        raise Malformed("the body must be a JSON object")
    return parsed  # type: ignore[return-value]  # keys of a JSON object are strings


def _integer(digits: str) -> int:
    """Raises:
    Malformed: if it is longer than any number that an argument can be.
    """
    if len(digits) > MAX_DIGITS:
        raise Malformed(f"the body holds a number of more than {MAX_DIGITS} digits")
    return int(digits)


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Which of two values counts would be a matter of who reads it: neither does.

    Raises:
        Malformed: if a key stands twice.
    """
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise Malformed(f"the key {twice[:100]!a} stands twice in one object")
    return found


_decoder = json.JSONDecoder(
    object_pairs_hook=_object, parse_constant=no_constant, parse_int=_integer
)


async def body_of(request: Request) -> bytes:
    """The whole body, if it is not too large, not packed and does not take too long."""
    _refuse_packed(request)
    declared = header_of(request.scope, b"content-length")
    if declared.isdigit() and int(declared[:20]) > MAX_BODY_BYTES:
        raise _too_large()
    try:
        return await within(BODY_S, _whole_body(request))
    except TimeoutError as error:
        raise RequestTimeout(f"the body did not arrive within {BODY_S:.0f} s") from error


async def _whole_body(request: Request) -> bytes:
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise BadArguments("the client went away before its request was complete")
        chunk: bytes = message.get("body", b"")
        size += len(chunk)
        if size > MAX_BODY_BYTES:
            raise _too_large()
        chunks.append(chunk)
        if not message.get("more_body", False):
            return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def _refuse_packed(request: Request) -> None:
    """A compressed body would be typed or read as it came, which no client means."""
    for name, plain in ((b"content-encoding", "identity"), (b"transfer-encoding", "chunked")):
        given = headers_of(request.scope, name)
        if given and given[0].strip().lower() != plain:
            raise UnsupportedMediaType(
                f"{name.decode()}: must be {plain}", hint="send the body as it is"
            )


def _too_large() -> BodyTooLarge:
    return BodyTooLarge(
        f"the body has more than {MAX_BODY_BYTES} bytes", hint="send it in several requests"
    )

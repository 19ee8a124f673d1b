"""OpenAPI 3.1, made from the operation table: each has exactly the same operations.

Imported with the first request for it: pydantic takes a while over so many schemas.
"""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from pydantic import TypeAdapter

from duetty import __version__
from duetty.calls import Effect
from duetty.edges.http.arguments import (
    BODY_METHODS,
    BodyTooLarge,
    HeadTooLarge,
    RequestTimeout,
)
from duetty.edges.http.auth import COOKIE, OPEN_PATHS
from duetty.edges.http.errors import status_of
from duetty.edges.http.operations import ServerStopping
from duetty.edges.http.streams import SCHEMAS, STREAMS, StreamRoute
from duetty.edges.http.upgrade_required import UpgradeRequired
from duetty.errors import (
    ApprovalExpired,
    ApprovalRejected,
    AuthInvalid,
    AuthRequired,
    BadArguments,
    DuettyError,
    Exhausted,
    InputRejected,
    OriginNotAllowed,
    PolicyDenied,
    RateLimited,
    ScopeMissing,
    ServerNotFound,
    ServerUnavailable,
    SessionExited,
    SessionNotFound,
    StoreUnavailable,
    UnsupportedMediaType,
)
from duetty.ops import OPERATIONS, Operation

Json = dict[str, Any]

REF = "#/components/schemas/{model}"

NOUNS: Mapping[str, str] = {
    "server": "The node itself, and the nodes that it speaks for.",
    "session": "One PTY with its process, terminal and log, from open to close.",
    "command": "Type a command line and know exactly how it ended.",
    "input": "Bytes, keys and pastes; who has the keyboard.",
    "screen": "What is visible now.",
    "scrollback": "Rows that left the top of the screen.",
    "block": "Commands as the terminal saw them.",
    "history": "Everything that was ever run.",
    "recording": "What a session printed, with times.",
    "overlay": "Drawn above the screen; the program does not notice.",
    "panel": "Rows taken from an edge of the screen.",
    "token": "Who may call, and what.",
    "auth": "Tickets, and who one is.",
    "stream": "WebSockets and server-sent events.",
    "terminal": "The terminal contract: one request shape for all of it.",
}

ERROR: Json = {
    "type": "object",
    "required": ["error"],
    "additionalProperties": False,
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message"],
            "additionalProperties": False,
            "properties": {
                "code": {"type": "string", "description": "permanent; made for programs"},
                "message": {"type": "string", "description": "what was wrong, for people"},
                "hint": {"type": "string", "description": "what to do about it"},
                "details": {"type": "object"},
            },
        }
    },
}

TICKET_FIELD: Json = {
    "type": "string",
    "description": "from POST /auth/ws-ticket, for a browser, which cannot send a header here",
}

SERVER_FIELD: Json = {
    "type": "string",
    "description": "hostname of the server that is meant, from GET /servers; this one when left out",
}
BODY_SERVER_FIELD: Json = SERVER_FIELD | {"type": ["string", "null"]}
"""As every other field that may be left out of a body."""


def document_json(prefix: str = "") -> bytes:
    return json.dumps(document(prefix), ensure_ascii=False, separators=(",", ":")).encode()


def document_yaml(prefix: str = "") -> bytes:
    import yaml

    text: str = yaml.dump(
        json.loads(document_json(prefix)),  # a copy: YAML would write shared parts as references
        Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper),
        sort_keys=False,
        allow_unicode=True,
        width=120,
    )
    return text.encode()


@cache
def document(prefix: str = "") -> Json:
    schemas: Json = {"Error": ERROR}
    paths: dict[str, Json] = {}
    for operation in OPERATIONS.values():
        paths.setdefault(operation.route.path, {})[operation.route.method.lower()] = _operation(
            operation, schemas
        )
    for stream in STREAMS:
        paths.setdefault(stream.path, {})["get"] = _stream(stream)
    schemas |= SCHEMAS
    nouns = dict.fromkeys(name.partition(".")[0] for name in [*OPERATIONS, STREAMS[0].name])
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Duetty",
            "version": __version__,
            "summary": "One terminal, two drivers: a person and an AI agent share real terminals.",
            "description": (
                'Every error is `{"error": {code, message, hint?, details?}}` with a permanent code. '
                "Send `Authorization: Bearer TOKEN`; `duetty token` prints the token. "
                "To follow a session use a WebSocket or server-sent events (tag `stream`). "
                "Every operation under `/sessions/{session}` is under `/session` too, for the session "
                "that the body or the header `Duetty-Session` names, else the only active one."
            ),
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": prefix or "/"}],
        "tags": [{"name": noun, "description": NOUNS.get(noun, "")} for noun in nouns],
        "security": [{"bearer": []}, {"cookie": []}],
        "paths": paths,
        "components": {
            "schemas": dict(sorted(schemas.items())),
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "cookie": {
                    "type": "apiKey",
                    "in": "cookie",
                    "name": COOKIE,
                    "description": "given to a browser by a link that works once; the name goes on with the instance's; by itself it reads",
                },
            },
        },
    }


def _operation(operation: Operation[Any, Any], schemas: Json) -> Json:
    route = operation.route
    is_open = route.path in OPEN_PATHS
    described: Json = {
        "operationId": operation.name,
        "tags": [operation.name.partition(".")[0]],
        "summary": operation.summary,
        "description": _needs(operation, is_open=is_open),
        "x-effect": operation.effect.value,
        **({} if operation.any_scope else {"x-scope": operation.scope.value}),
        "parameters": list(_parameters(operation, schemas)),
        "responses": _responses(operation, schemas, is_open=is_open),
    }
    if is_open:
        described["security"] = []
    if (body := _body(operation, schemas)) is not None:
        described["requestBody"] = body
    return described


def _stream(stream: StreamRoute) -> Json:
    """A WebSocket answers 101 and then speaks its own shapes, which OpenAPI has no word for."""
    of_session = "{session}" in stream.path
    is_socket = stream.kind == "websocket"
    query = [*stream.query, *((("ticket", TICKET_FIELD),) if is_socket else ())]
    parameters = [_parameter("session", {"type": "string"}, place="path", required=True)]
    errors: list[type[DuettyError]] = [BadArguments, AuthRequired, AuthInvalid, OriginNotAllowed]
    errors += [ScopeMissing, ServerNotFound, Exhausted, RateLimited, ServerUnavailable]
    errors += [SessionNotFound] if of_session else []
    errors += [UpgradeRequired] if is_socket else []
    codes: dict[int, list[str]] = {}
    for kind in errors:
        codes.setdefault(status_of(kind.__new__(kind)), []).append(kind.code)
    messages = [{"$ref": REF.format(model=name)} for name in stream.messages]
    shapes: Json = {"oneOf": messages} if messages else {}
    success: Json = (
        {"101": {"description": "the connection is a WebSocket from here on"}}
        if is_socket
        else {
            "200": {
                "description": "a stream without an end; the schema is that of one event",
                "content": {"text/event-stream": {"schema": _event(shapes)}},
            }
        }
    )
    return {
        "operationId": stream.name,
        "tags": ["stream"],
        "summary": stream.summary,
        "description": stream.needs,
        "x-stream": {
            "kind": stream.kind,
            "from_server": shapes,
            "from_client": {"oneOf": [{"$ref": REF.format(model=name)} for name in stream.asked]}
            if stream.asked
            else {},
        },
        "parameters": [
            *(parameters if of_session else []),
            *(_parameter(name, schema, place="query", required=False) for name, schema in query),
            *(
                [_parameter("server", SERVER_FIELD, place="query", required=False)]
                if stream.is_relayed
                else []
            ),
        ],
        "responses": success
        | {str(status): _error_response(names) for status, names in sorted(codes.items())},
    }


def _event(shapes: Json) -> Json:
    """One server-sent event, field by field: what those who read these documents look for."""
    data = {"type": "string", "contentMediaType": "application/json", "contentSchema": shapes}
    return {
        "type": "object",
        "required": ["id", "event", "data"],
        "properties": {"id": {"type": "string"}, "event": {"type": "string"}, "data": data},
    }


def _needs(operation: Operation[Any, Any], *, is_open: bool) -> str:
    if is_open:
        return "Needs no credential."
    waits = " Answers when it is done, and ends when the caller goes." if operation.waits else ""
    if operation.any_scope:
        return f"Needs a credential, of whichever scope.{waits}"
    return f"Needs the scope `{operation.scope}`.{waits}"


# --- what comes in ------------------------------------------------------------


def _placed(operation: Operation[Any, Any]) -> list[str]:
    return re.findall(r"\{(\w+)\}", operation.route.path)


def _has_json_body(operation: Operation[Any, Any]) -> bool:
    return operation.route.method in BODY_METHODS and operation.route.raw_body is None


def _fields(operation: Operation[Any, Any], schemas: Json) -> tuple[Json, list[str]]:
    """Properties of the arguments, and which must be given."""
    schema = _schema(operation.params, schemas, mode="validation")
    return dict(schema.get("properties", {})), list(schema.get("required", []))


def _parameters(operation: Operation[Any, Any], schemas: Json) -> Iterator[Json]:
    properties, required = _fields(operation, schemas)
    for name in _placed(operation):
        yield _parameter(name, properties[name], place="path", required=True)
    if not _has_json_body(operation):
        raw = operation.route.raw_body
        hidden = {*_placed(operation), *((raw, "encoding") if raw else ())}
        for name, schema in properties.items():
            if name not in hidden:
                yield _parameter(name, schema, place="query", required=name in required)
    if "server" not in properties:
        yield _parameter("server", SERVER_FIELD, place="query", required=False)


def _parameter(name: str, schema: Json, *, place: str, required: bool) -> Json:
    schema = {key: value for key, value in schema.items() if key != "title"}
    description = schema.pop("description", None)
    if place == "query":
        schema = _without_null(schema)
    parameter: Json = {"name": name, "in": place, "required": required, "schema": schema}
    return parameter | ({"description": description} if description else {})


def _without_null(schema: Json) -> Json:
    """A query has no null: what may be null there may be left out."""
    kinds = [each for each in schema.get("anyOf", []) if each.get("type") != "null"]
    if not kinds:
        return schema
    rest = {key: value for key, value in schema.items() if key not in ("anyOf", "default")}
    return {**kinds[0], **rest} if len(kinds) == 1 else {**rest, "anyOf": kinds}


def _body(operation: Operation[Any, Any], schemas: Json) -> Json | None:
    if operation.route.raw_body is not None:
        binary = {"schema": {"type": "string", "format": "binary"}}
        return {
            "description": "the bytes themselves, of any content type",
            "content": {"application/octet-stream": binary},
        }
    if not _has_json_body(operation):
        return None
    properties, required = _fields(operation, schemas)
    inside = {name: it for name, it in properties.items() if name not in _placed(operation)}
    needed = [name for name in required if name in inside]
    schema: Json = {
        "type": "object",
        "properties": inside | ({} if "server" in inside else {"server": BODY_SERVER_FIELD}),
        "additionalProperties": False,
    }
    if needed:
        schema["required"] = needed
    return {"required": bool(needed), "content": {"application/json": {"schema": schema}}}


# --- what goes out ------------------------------------------------------------


def _responses(operation: Operation[Any, Any], schemas: Json, *, is_open: bool) -> Json:
    route = operation.route
    success: Json = {"description": "done"}
    if route.media:
        success["content"] = {kind: {"schema": {}} for kind in route.media}
    elif route.status != 204:
        schema = _schema(operation.result, schemas, mode="serialization")
        success["content"] = {"application/json": {"schema": schema}}
    responses: Json = {str(route.status): success}
    for status, codes in sorted(error_codes(operation, is_open=is_open).items()):
        responses[str(status)] = _error_response(codes)
    return responses


def _error_response(codes: list[str]) -> Json:
    narrowed: Json = {
        "allOf": [
            {"$ref": REF.format(model="Error")},
            {"properties": {"error": {"properties": {"code": {"enum": codes}}}}},
        ]
    }
    return {
        "description": ", ".join(f"`{code}`" for code in codes),
        "content": {"application/json": {"schema": narrowed}},
    }


def error_codes(operation: Operation[Any, Any], *, is_open: bool = False) -> dict[int, list[str]]:
    """Every code that the operation can answer with, by status: its own, and those of every call."""
    found: dict[int, list[str]] = {}
    for kind in [*_common_errors(operation, is_open=is_open), *operation.errors]:
        codes = found.setdefault(status_of(kind.__new__(kind)), [])
        if kind.code not in codes:
            codes.append(kind.code)
    return found


def _common_errors(operation: Operation[Any, Any], *, is_open: bool) -> list[type[DuettyError]]:
    route = operation.route
    errors: list[type[DuettyError]] = [BadArguments, HeadTooLarge, OriginNotAllowed]
    errors += [ServerNotFound, RateLimited]
    if not is_open:
        errors += [AuthRequired, AuthInvalid, ScopeMissing]
        errors += [PolicyDenied, ApprovalRejected, ApprovalExpired]
    if "session" in operation.params.model_fields:
        errors.append(SessionNotFound)
    if "session" in _placed(operation) and operation.effect is Effect.INPUT:
        errors += [SessionExited, InputRejected]
    if route.method in BODY_METHODS:
        errors += [BodyTooLarge, RequestTimeout, UnsupportedMediaType]
    if operation.waits:
        errors.append(ServerStopping)
    return [*errors, ServerUnavailable, StoreUnavailable, DuettyError]


def _schema(annotation: Any, schemas: Json, *, mode: Any) -> Json:
    """The JSON schema of a type; the models in it become components.

    What is given may leave out what an answer always has, so the two are called differently.
    """
    suffix = "" if mode == "serialization" else "Given"
    schema = TypeAdapter(annotation).json_schema(
        ref_template=REF.format(model="{model}" + suffix), mode=mode
    )
    for model, part in schema.pop("$defs", {}).items():
        known = schemas.setdefault(f"{model}{suffix}", part)
        assert known == part, f"two shapes are called {model}"
    if mode == "serialization" and "properties" in schema and "title" in schema:
        title = str(schema["title"])
        known = schemas.setdefault(title, schema)
        assert known == schema, f"two shapes are called {title}"
        return {"$ref": REF.format(model=title)}
    return schema

"""TypeScript types of the page, from the tables; `make docs` writes them, a test compares them.

`operations.ts` has every operation's arguments and answer, `messages.ts` what goes over `/ws/view`.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from duetty.edges.http.websocket.frames import HEAD, Kind
from duetty.edges.http.websocket.messages import VIEWER_MESSAGES
from duetty.edges.http.websocket.server_messages import (
    SERVER_MESSAGES,
    Elements,
    ServerMessage,
    SizeMessage,
    StreamEvent,
)
from duetty.ops import OPERATIONS
from duetty.wire.surface import ElementInfo, Looks

PROTOCOL = Path(__file__).parent.parent / "web/src/protocol"
NOTE = "// Made by tools/generate_page_types.py; do not edit.\n"
OPERATIONS_FILE, MESSAGES_FILE = PROTOCOL / "operations.ts", PROTOCOL / "messages.ts"


def _subclasses(kind: type) -> Iterator[type]:
    for each in kind.__subclasses__():
        yield each
        yield from _subclasses(each)


LEAVE_DEFAULTS_OUT = {
    each.__name__ for base in (ElementInfo, Looks, ServerMessage) for each in _subclasses(base)
}
"""Answers whose fields are left out when they have their default; all others have every field."""


class Shapes:
    """Named shapes, each written once however many operations use it."""

    def __init__(self, known: Mapping[str, str] | None = None) -> None:
        self.written: dict[str, str] = {}
        self._known = known or {}
        """Written elsewhere already: used by name."""
        self.used: set[str] = set()

    def of(self, kind: Any, mode: Any) -> str:
        schema: dict[str, Any] = TypeAdapter(kind).json_schema(mode=mode)
        for name, described in schema.pop("$defs", {}).items():
            self._keep(name, described, mode)
        title = getattr(kind, "__name__", "")
        if schema.get("type") == "object" and "properties" in schema and title:
            assert title not in self._known, f"two shapes are called {title}"
            self._keep(title, schema, mode)
            return title
        return self._type(schema, mode)

    def _keep(self, name: str, schema: dict[str, Any], mode: str) -> None:
        if name in self._known:
            return
        if schema.get("type") != "object" or "properties" not in schema:
            self.written[name] = f"export type {name} = {self._type(schema, mode)};"
            return
        required = set(schema.get("required", []))
        lines = [f"export interface {name} {{"]
        for field, described in schema["properties"].items():
            if text := described.get("description"):
                lines.append(f"  /** {text.replace('*/', '* /')} */")
            is_whole = mode == "serialization" and name not in LEAVE_DEFAULTS_OUT
            mark = "" if field in required or is_whole else "?"
            lines.append(f"  {_key(field)}{mark}: {self._type(described, mode)};")
        if schema.get("additionalProperties") is True:
            lines.append("  [field: string]: unknown;")
        self.written[name] = "\n".join([*lines, "}"])

    def _type(self, schema: dict[str, Any], mode: str) -> str:
        match schema:
            case {"$ref": str(ref)}:
                name = ref.rpartition("/")[2]
                if name in self._known:
                    self.used.add(name)
                return name
            case {"const": value}:
                return json.dumps(value)
            case {"enum": list(values)}:
                return " | ".join(json.dumps(value) for value in values)
            case {"anyOf": list(kinds)} | {"oneOf": list(kinds)}:
                return " | ".join(dict.fromkeys(self._type(kind, mode) for kind in kinds))
            case {"type": "array", "prefixItems": list(items)}:
                return f"[{', '.join(self._type(item, mode) for item in items)}]"
            case {"type": "array"}:
                inner = self._type(schema.get("items", {}), mode)
                return f"({inner})[]" if " | " in inner else f"{inner}[]"
            case {"type": "object", "properties": properties}:
                fields = (f"{_key(k)}: {self._type(v, mode)}" for k, v in properties.items())
                return f"{{ {'; '.join(fields)} }}"
            case {"type": "object"}:
                values = schema.get("additionalProperties", True)
                inner = self._type(values, mode) if isinstance(values, dict) else "unknown"
                return f"Record<string, {inner}>"
            case {"type": "null"}:
                return "null"
            case {"type": "integer" | "number"}:
                return "number"
            case {"type": "string" | "boolean" as plain}:
                return plain
            case _:
                return "unknown"

    def text(self) -> str:
        return "\n\n".join(self.written.values())


def _key(name: str) -> str:
    return name if name.isidentifier() else json.dumps(name)


def _operation_shapes() -> tuple[Shapes, str]:
    shapes = Shapes()
    rows: list[str] = []
    for each in OPERATIONS.values():
        params = shapes.of(each.params, "validation")
        result = shapes.of(each.result, "serialization")
        rows.append(f"  /** {each.summary} */")
        rows.append(f'  "{each.name}": {{ params: {params}; result: {result} }};')
    return shapes, "\n".join(["export interface Operations {", *rows, "}"])


def operation_types() -> str:
    shapes, table = _operation_shapes()
    return f"{NOTE}\n{shapes.text()}\n\n{table}\n"


def message_types() -> str:
    shapes = Shapes(_operation_shapes()[0].written)
    for kind in (Elements, SizeMessage, StreamEvent):  # what a message says, without its stream
        shapes.of(kind, "serialization")
    server = _union("ServerMessage", shapes, SERVER_MESSAGES, "serialization")
    viewer = _union("ViewerMessage", shapes, VIEWER_MESSAGES, "validation")
    frames = [
        *(f"export const {kind.name} = {kind.value};" for kind in Kind),
        f"export const HEAD_BYTES = {HEAD.size};",
    ]
    imported = f'import type {{ {", ".join(sorted(shapes.used))} }} from "./operations";'
    return "\n".join(
        [
            f"{NOTE}// What goes over /ws/view: docs/viewing.md says what it means.",
            imported,
            "",
            "// Kinds of binary frames, and the length of a frame's head.",
            *frames,
            "",
            shapes.text(),
            "",
            server,
            "",
            viewer,
            "",
        ]
    )


def _union(name: str, shapes: Shapes, table: Mapping[str, Any], mode: str) -> str:
    kinds = [
        f'  | ({{ type: "{type_}" }} & {shapes.of(kind, mode)})' for type_, kind in table.items()
    ]
    return f"export type {name} =\n" + "\n".join(kinds) + ";"


if __name__ == "__main__":
    OPERATIONS_FILE.write_text(operation_types(), encoding="utf-8")
    MESSAGES_FILE.write_text(message_types(), encoding="utf-8")

"""TypeScript types of every operation, from the table; `make docs` writes them, a test compares them.

Usage: generate_page_types.py [FILE]
"""

import json
import sys
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from duetty.ops import OPERATIONS

PLACE = Path(__file__).parent.parent / "web/src/protocol/operations.ts"
NOTE = "// Made by tools/generate_page_types.py from the operation table; do not edit.\n"


class Shapes:
    """Named shapes, each written once however many operations use it."""

    def __init__(self) -> None:
        self._written: dict[str, str] = {}

    def of(self, kind: Any, mode: Any) -> str:
        schema: dict[str, Any] = TypeAdapter(kind).json_schema(mode=mode)
        for name, described in schema.pop("$defs", {}).items():
            self._keep(name, described, mode)
        title = getattr(kind, "__name__", "")
        if schema.get("type") == "object" and "properties" in schema and title:
            self._keep(title, schema, mode)
            return title
        return self._type(schema, mode)

    def _keep(self, name: str, schema: dict[str, Any], mode: str) -> None:
        if schema.get("type") != "object" or "properties" not in schema:
            self._written[name] = f"export type {name} = {self._type(schema, mode)};"
            return
        required = set(schema.get("required", []))
        lines = [f"export interface {name} {{"]
        for field, described in schema["properties"].items():
            if text := described.get("description"):
                lines.append(f"  /** {text.replace('*/', '* /')} */")
            mark = "" if field in required or mode == "serialization" else "?"
            lines.append(f"  {_key(field)}{mark}: {self._type(described, mode)};")
        self._written[name] = "\n".join([*lines, "}"])

    def _type(self, schema: dict[str, Any], mode: str) -> str:
        match schema:
            case {"$ref": str(ref)}:
                return ref.rpartition("/")[2]
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
        return "\n\n".join(self._written.values())


def _key(name: str) -> str:
    return name if name.isidentifier() else json.dumps(name)


def page_types() -> str:
    shapes = Shapes()
    rows: list[str] = []
    for each in OPERATIONS.values():
        params = shapes.of(each.params, "validation")
        result = shapes.of(each.result, "serialization")
        rows.append(f"  /** {each.summary} */")
        rows.append(f'  "{each.name}": {{ params: {params}; result: {result} }};')
    table = "\n".join(["export interface Operations {", *rows, "}"])
    return f"{NOTE}\n{shapes.text()}\n\n{table}\n"


if __name__ == "__main__":
    place = Path(sys.argv[1]) if len(sys.argv) > 1 else PLACE
    place.write_text(page_types(), encoding="utf-8")

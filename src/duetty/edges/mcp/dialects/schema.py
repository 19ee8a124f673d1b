"""Short words for the JSON Schema that dialects are written in."""

from duetty.edges.mcp.dialect import Json

STRING: Json = {"type": "string"}
INTEGER: Json = {"type": "integer"}
BOOLEAN: Json = {"type": "boolean"}
MAYBE_INTEGER: Json = {"type": ["integer", "null"]}
MAYBE_STRING: Json = {"type": ["string", "null"]}

APPROVED: Json = {
    "type": "object",
    "description": "a person approved it; edited: another command ran instead",
    "properties": {
        "id": STRING,
        "edited": BOOLEAN,
        "command": MAYBE_STRING,
        "note": MAYBE_STRING,
    },
}


def one_or_more(description: str) -> Json:
    """A text, or several."""
    return {"type": ["string", "array"], "items": {"type": "string"}, "description": description}


def text(description: str, *words: str) -> Json:
    return {"type": "string", "description": description} | ({"enum": list(words)} if words else {})


def number(description: str, default: int | None = None, *, low: int | None = None) -> Json:
    schema: Json = {"type": "integer", "description": description}
    if default is not None:
        schema["default"] = default
    return schema if low is None else schema | {"minimum": low}


def flag(description: str) -> Json:
    return {"type": "boolean", "description": description}


def texts(description: str) -> Json:
    return {"type": "array", "items": STRING, "minItems": 1, "description": description}


def object_of(required: list[str], **properties: Json) -> Json:
    return {"type": "object", "properties": properties, "required": required}


def given(arguments: Json, *names: str, **renamed: str) -> Json:
    """Arguments under the operation's names; what was left out stays left out."""
    pairs = {name: name for name in names} | renamed
    return {ours: arguments[theirs] for ours, theirs in pairs.items() if theirs in arguments}

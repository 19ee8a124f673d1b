"""The fields of a message, checked: a value of the right type, or `BadArguments`."""

from typing import cast

from duetty.errors import BadArguments
from duetty.keeper.wire import Message


def text(message: Message, name: str) -> str:
    value = message.get(name)
    if not isinstance(value, str) or not value:
        raise BadArguments(f"{name!r} must be a text that is not empty")
    return value


def number(message: Message, name: str, *, low: int, high: int) -> int:
    value = message.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise BadArguments(f"{name!r} must be a whole number from {low} to {high}")
    return value


def optional_number(message: Message, name: str) -> int | None:
    value = message.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def seconds(message: Message, name: str) -> float:
    value = message.get(name)
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 3600:
        raise BadArguments(f"{name!r} must be seconds from 0 to 3600")
    return float(value)


def raw(message: Message, name: str) -> bytes:
    return _encoded(text(message, name), name)


def raw_texts(message: Message, name: str) -> tuple[bytes, ...]:
    value = message.get(name)
    if not isinstance(value, list) or not value:
        raise BadArguments(f"{name!r} must be a list that is not empty")
    return tuple(_encoded(item, name) for item in cast("list[object]", value))


def raw_map(message: Message, name: str) -> dict[bytes, bytes]:
    value = message.get(name)
    if not isinstance(value, dict):
        raise BadArguments(f"{name!r} must be a map of texts")
    items = cast("dict[str, object]", value).items()
    found = {_encoded(key, name): _encoded(item, name) for key, item in items}
    if any(not key or b"=" in key for key in found):
        raise BadArguments(f"{name!r} has a name that is empty or contains '='")
    return found


def contents_map(message: Message, name: str) -> dict[bytes, bytes]:
    """As `raw_map`, for what is read and not named: any bytes, NUL too."""
    value = message.get(name)
    if not isinstance(value, dict):
        raise BadArguments(f"{name!r} must be a map of texts")
    items = cast("dict[str, object]", value).items()
    return {_encoded(key, name): _bytes(item, name) for key, item in items}


def messages(message: Message, name: str) -> list[Message]:
    value = message.get(name)
    if not isinstance(value, list):
        raise BadArguments(f"{name!r} must be a list of objects")
    items = cast("list[object]", value)
    return [cast("Message", item) for item in items if isinstance(item, dict)]


def _encoded(value: object, name: str) -> bytes:
    """As the kernel takes it."""
    encoded = _bytes(value, name)
    if b"\0" in encoded:
        raise BadArguments(f"{name!r} contains a NUL")
    return encoded


def _bytes(value: object, name: str) -> bytes:
    """Surrogate escapes give back bytes that are not UTF-8."""
    if not isinstance(value, str):
        raise BadArguments(f"{name!r} must contain texts only")
    try:
        return value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise BadArguments(f"{name!r} contains a text that has no bytes") from None

"""How many values a JSON text holds, known before it is parsed.

A parser holds the loop, in a thread too: a megabyte of empty lists takes it a tenth of a second and a
hundred megabytes of memory. Counting takes a hundredth of that.
"""

MAX_VALUES = 50_000
"""Of one message. What a caller means is text, numbers and some thousand shapes."""


MAX_ANSWER_VALUES = 4 * MAX_VALUES
"""Of one answer of another program: a table that it found."""


def has_few_values(text: bytes | bytearray | str, most: int = MAX_VALUES) -> bool:
    """Whether it holds at most so many, whatever else it is. Text in quotes is one value."""
    if len(text) <= most:
        return True
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    if _marks(raw) <= most:
        return True
    unescaped = raw.replace(b"\\\\", b"").replace(b'\\"', b"")
    if unescaped.count(b'"') > 4 * most:  # each value has two, and its key two
        return False
    return _marks(b"".join(unescaped.split(b'"')[::2])) <= most


def _marks(raw: bytes | bytearray) -> int:
    return raw.count(b",") + raw.count(b"[") + raw.count(b"{")

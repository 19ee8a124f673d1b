"""How many values a JSON text holds, known before it is parsed.

A parser holds the loop, in a thread too: a megabyte of empty lists takes it a tenth of a second and a
hundred megabytes of memory. Counting takes a hundredth of that, and ends when there are too many.
"""

MAX_VALUES = 50_000
"""Of one message. What a caller means is text, numbers and some thousand shapes."""

MAX_ANSWER_VALUES = 4 * MAX_VALUES
"""Of one answer of another program: a table that it found."""

PIECE_BYTES = 256 * 1024


def has_few_values(text: bytes | bytearray | str, most: int = MAX_VALUES) -> bool:
    """Whether it holds at most so many, whatever else it is. Text in quotes is one value."""
    if len(text) <= most:
        return True
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    found, place, is_inside = 0, 0, False
    while place < len(raw):
        piece = raw[place : place + PIECE_BYTES]
        if _ends_escaping(piece):
            piece = raw[place : place + PIECE_BYTES + 1]
        place += len(piece)
        if is_inside or b'"' in piece:
            parts = piece.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')
            found += _marks(b"".join(parts[int(is_inside) :: 2]))
            is_inside ^= len(parts) % 2 == 0
        else:
            found += _marks(piece)
        if found > most:
            return False
    return True


def _ends_escaping(piece: bytes | bytearray) -> bool:
    """Whether its last character is a backslash that means the next one."""
    return (len(piece) - len(piece.rstrip(b"\\"))) % 2 == 1


def _marks(raw: bytes | bytearray) -> int:
    return raw.count(b",") + raw.count(b"[") + raw.count(b"{")
